use super::{AdamStep, Clip};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::sums::dot;
use crate::tensor::Tensor;
use std::ops::Range;

/// Squares are summed in blocks of this many numbers, and the blocks' sums in order, however many workers there are.
const BLOCK: usize = 1024;

struct SquareSum<'a>(&'a [f32]);

impl Kernel for SquareSum<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        dot::<V>(self.0, self.0)
    }
}

pub(super) fn norm(cpu: &Cpu, gradients: &Tensor) -> Tensor {
    let norm = square_sum(cpu, gradients.device(), gradients.data()).sqrt() as f32;
    Tensor::new(gradients.device(), 1, 1, &[norm])
}

/// `Σ x²`
pub(super) fn square_sum(cpu: &Cpu, device: &crate::Device, numbers: &[f32]) -> f64 {
    let blocks = numbers.len().div_ceil(BLOCK);
    let mut sums = Tensor::scratch(device, 1, blocks);
    cpu.pool.split_rows(blocks, numbers.len(), [sums.data_mut()], |share, [sums]| {
        for (block, sum) in share.zip(sums) {
            let end = numbers.len().min((block + 1) * BLOCK);
            *sum = cpu.isa.run(SquareSum(&numbers[block * BLOCK..end]));
        }
    });
    sums.data().iter().map(|&sum| f64::from(sum)).sum()
}

/// What clipping multiplies the gradients with.
pub(super) fn factor(clip: Option<Clip>) -> f32 {
    clip.map_or(1.0, |Clip { norm, limit }| (limit / (norm.item() + 1e-6)).min(1.0))
}

struct Adam<'a> {
    how: AdamStep,
    factor: f32,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moments: [&'a mut [f32]; 2],
}

impl Kernel for Adam<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let AdamStep { betas: [b1, b2], rate, root, epsilon, keep } = self.how;
        let [m, v] = self.moments.map(|moment| moment.chunks_mut(LANES));
        for (((w, g), m), v) in self.weights.chunks_mut(LANES).zip(self.gradients.chunks(LANES)).zip(m).zip(v)
        {
            let g = V::load(g) * V::lit(self.factor);
            let first = V::lit(b1).mul_add(V::load(m), V::lit(1.0 - b1) * g);
            let second = V::lit(b2).mul_add(V::load(v), V::lit(1.0 - b2) * g * g);
            first.store(m);
            second.store(v);
            let divisor = second.sqrt().mul_add(V::lit(root), V::lit(epsilon));
            (V::load(w) * V::lit(keep) - V::lit(rate) * first.div(divisor)).store(w);
        }
    }
}

pub(super) fn adam(
    cpu: &Cpu,
    weights: &mut [f32],
    gradients: &Tensor,
    moments: [&mut Tensor; 2],
    span: &Range<usize>,
    clip: Option<Clip>,
    how: AdamStep,
) {
    let (n, factor) = (span.len(), factor(clip));
    let gradients = &gradients.data()[span.clone()];
    let [m, v] = moments.map(|moment| &mut moment.data_mut()[span.clone()]);
    cpu.pool.split_rows(n, n, [&mut weights[span.clone()], m, v], |range, [weights, m, v]| {
        cpu.isa.run(Adam { how, factor, weights, gradients: &gradients[range], moments: [m, v] });
    });
}

struct Sgd<'a> {
    momentum: f32,
    rate: f32,
    factor: f32,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moment: &'a mut [f32],
}

impl Kernel for Sgd<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let weights = self.weights.chunks_mut(LANES).zip(self.gradients.chunks(LANES));
        for ((w, g), m) in weights.zip(self.moment.chunks_mut(LANES)) {
            let next = V::lit(self.momentum).mul_add(V::load(m), V::load(g) * V::lit(self.factor));
            next.store(m);
            (V::load(w) - V::lit(self.rate) * next).store(w);
        }
    }
}

pub(super) fn sgd(
    cpu: &Cpu,
    weights: &mut [f32],
    gradients: &Tensor,
    moment: &mut Tensor,
    span: &Range<usize>,
    clip: Option<Clip>,
    [momentum, rate]: [f32; 2],
) {
    let (n, factor) = (span.len(), factor(clip));
    let gradients = &gradients.data()[span.clone()];
    let of_span = [weights, moment.data_mut()].map(|numbers| &mut numbers[span.clone()]);
    cpu.pool.split_rows(n, n, of_span, |range, [weights, moment]| {
        cpu.isa.run(Sgd { momentum, rate, factor, weights, gradients: &gradients[range], moment });
    });
}

struct Lion<'a> {
    /// `β₁`, `β₂`, the rate, and what is left of a weight.
    how: [f32; 4],
    factor: f32,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moment: &'a mut [f32],
}

impl Kernel for Lion<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let [b1, b2, rate, keep] = self.how;
        let weights = self.weights.chunks_mut(LANES).zip(self.gradients.chunks(LANES));
        for ((w, g), m) in weights.zip(self.moment.chunks_mut(LANES)) {
            let (g, before) = (V::load(g) * V::lit(self.factor), V::load(m));
            let towards = V::lit(b1).mul_add(before, V::lit(1.0 - b1) * g);
            V::lit(b2).mul_add(before, V::lit(1.0 - b2) * g).store(m);
            let sign = towards.positive() - (-towards).positive();
            (V::load(w) * V::lit(keep) - V::lit(rate) * sign).store(w);
        }
    }
}

pub(super) fn lion(
    cpu: &Cpu,
    weights: &mut [f32],
    gradients: &Tensor,
    moment: &mut Tensor,
    span: &Range<usize>,
    clip: Option<Clip>,
    how: [f32; 4],
) {
    let (n, factor) = (span.len(), factor(clip));
    let gradients = &gradients.data()[span.clone()];
    let of_span = [weights, moment.data_mut()].map(|numbers| &mut numbers[span.clone()]);
    cpu.pool.split_rows(n, n, of_span, |range, [weights, moment]| {
        cpu.isa.run(Lion { how, factor, weights, gradients: &gradients[range], moment });
    });
}

struct Averaging<'a> {
    kept: f32,
    average: &'a mut [f32],
    weights: &'a [f32],
}

impl Kernel for Averaging<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (a, w) in self.average.chunks_mut(LANES).zip(self.weights.chunks(LANES)) {
            let weight = V::load(w);
            V::lit(self.kept).mul_add(V::load(a) - weight, weight).store(a);
        }
    }
}

pub(super) fn average(cpu: &Cpu, average: &mut [f32], weights: &[f32], kept: f32) {
    let n = average.len();
    cpu.pool.split_rows(n, n, [average], |range, [average]| {
        cpu.isa.run(Averaging { kept, average, weights: &weights[range] });
    });
}
