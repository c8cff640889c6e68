use super::Step;
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::sums::dot;
use crate::tensor::Tensor;

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
    let (device, gradients) = (gradients.device(), gradients.data());
    let blocks = gradients.len().div_ceil(BLOCK);
    let mut sums = Tensor::scratch(device, 1, blocks);
    cpu.pool.split_rows(blocks, gradients.len(), [sums.data_mut()], |share, [sums]| {
        for (block, sum) in share.zip(sums) {
            let end = gradients.len().min((block + 1) * BLOCK);
            *sum = cpu.isa.run(SquareSum(&gradients[block * BLOCK..end]));
        }
    });
    let norm = sums.data().iter().map(|&sum| f64::from(sum)).sum::<f64>().sqrt() as f32;
    Tensor::new(device, 1, 1, &[norm])
}

struct Adam<'a> {
    how: Step,
    /// What clipping multiplies the gradients with.
    factor: f32,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moments: [&'a mut [f32]; 2],
}

impl Kernel for Adam<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Step { betas: [b1, b2], rate, root, epsilon, limit: _ } = self.how;
        let [m, v] = self.moments.map(|moment| moment.chunks_mut(LANES));
        for (((w, g), m), v) in self.weights.chunks_mut(LANES).zip(self.gradients.chunks(LANES)).zip(m).zip(v)
        {
            let g = V::load(g) * V::lit(self.factor);
            let first = V::lit(b1).mul_add(V::load(m), V::lit(1.0 - b1) * g);
            let second = V::lit(b2).mul_add(V::load(v), V::lit(1.0 - b2) * g * g);
            first.store(m);
            second.store(v);
            let divisor = second.sqrt().mul_add(V::lit(root), V::lit(epsilon));
            (V::load(w) - V::lit(rate) * first.div(divisor)).store(w);
        }
    }
}

pub(super) fn update(
    cpu: &Cpu,
    weights: &mut [f32],
    gradients: &Tensor,
    moments: [&mut Tensor; 2],
    norm: Option<&Tensor>,
    how: Step,
) {
    let n = weights.len();
    let factor = match (how.limit, norm) {
        (Some(limit), Some(norm)) => (limit / (norm.item() + 1e-6)).min(1.0),
        _ => 1.0,
    };
    let [m, v] = moments.map(Tensor::data_mut);
    cpu.pool.split_rows(n, n, [weights, m, v], |range, [weights, m, v]| {
        cpu.isa.run(Adam { how, factor, weights, gradients: &gradients.data()[range], moments: [m, v] });
    });
}
