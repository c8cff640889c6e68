use super::{AdamStep, Clip, LionStep, SgdStep, SpanUpdate};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::sums::dot;
use crate::tensor::Tensor;

/// Squares are summed in blocks of this many elements, and the blocks' sums in order, for any number of workers.
const BLOCK: usize = 1024;

/// `Σ x²`
pub(super) struct SquareSum<'a>(pub(super) &'a [f32]);

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
pub(super) fn square_sum(cpu: &Cpu, device: &crate::Device, values: &[f32]) -> f64 {
    let blocks = values.len().div_ceil(BLOCK);
    let mut sums = Tensor::scratch(device, 1, blocks);
    cpu.pool.split_rows(blocks, values.len(), [sums.data_mut()], |share, [sums]| {
        for (block, sum) in share.zip(sums) {
            let end = values.len().min((block + 1) * BLOCK);
            *sum = cpu.isa.run(SquareSum(&values[block * BLOCK..end]));
        }
    });
    sums.data().iter().map(|&sum| f64::from(sum)).sum()
}

/// The factor by which clipping scales the gradients.
pub(super) fn factor(clip: Option<Clip>) -> f32 {
    clip.map_or(1.0, |Clip { norm, limit }| (limit / (norm.item() + 1e-6)).min(1.0))
}

impl SpanUpdate<'_> {
    /// Calls `rule` with the gradients of some elements and their weights and moments, on all workers.
    fn split<const N: usize>(
        self,
        cpu: &Cpu,
        weights_and_moments: [&mut [f32]; N],
        rule: impl Fn(&[f32], [&mut [f32]; N]) + Sync,
    ) {
        let n = self.span.len();
        let gradients = &self.gradients.data()[self.span.clone()];
        let of_span = weights_and_moments.map(|values| &mut values[self.span.clone()]);
        cpu.pool.split_rows(n, n, of_span, |range, of_range| rule(&gradients[range], of_range));
    }
}

struct Adam<'a> {
    step: AdamStep,
    factor: f32,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moments: [&'a mut [f32]; 2],
}

impl Kernel for Adam<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let AdamStep { betas: [b1, b2], rate, root, epsilon, keep } = self.step;
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
    update: SpanUpdate,
    weights: &mut [f32],
    moments: [&mut Tensor; 2],
    step: AdamStep,
) {
    let factor = factor(update.clip);
    let [m, v] = moments.map(Tensor::data_mut);
    update.split(cpu, [weights, m, v], |gradients, [weights, m, v]| {
        cpu.isa.run(Adam { step, factor, weights, gradients, moments: [m, v] });
    });
}

struct Sgd<'a> {
    step: SgdStep,
    factor: f32,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moment: &'a mut [f32],
}

impl Kernel for Sgd<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let SgdStep { momentum, rate } = self.step;
        let weights = self.weights.chunks_mut(LANES).zip(self.gradients.chunks(LANES));
        for ((w, g), m) in weights.zip(self.moment.chunks_mut(LANES)) {
            let next = V::lit(momentum).mul_add(V::load(m), V::load(g) * V::lit(self.factor));
            next.store(m);
            (V::load(w) - V::lit(rate) * next).store(w);
        }
    }
}

pub(super) fn sgd(cpu: &Cpu, update: SpanUpdate, weights: &mut [f32], moment: &mut Tensor, step: SgdStep) {
    let factor = factor(update.clip);
    update.split(cpu, [weights, moment.data_mut()], |gradients, [weights, moment]| {
        cpu.isa.run(Sgd { step, factor, weights, gradients, moment });
    });
}

struct Lion<'a> {
    step: LionStep,
    factor: f32,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moment: &'a mut [f32],
}

impl Kernel for Lion<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let LionStep { betas: [b1, b2], rate, keep } = self.step;
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

pub(super) fn lion(cpu: &Cpu, update: SpanUpdate, weights: &mut [f32], moment: &mut Tensor, step: LionStep) {
    let factor = factor(update.clip);
    update.split(cpu, [weights, moment.data_mut()], |gradients, [weights, moment]| {
        cpu.isa.run(Lion { step, factor, weights, gradients, moment });
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
