use crate::device::{Cpu, Device};
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

pub(super) fn norm(cpu: &Cpu, device: &Device, gradients: &[f32]) -> f32 {
    let blocks = gradients.len().div_ceil(BLOCK);
    let mut sums = Tensor::scratch(device, 1, blocks);
    cpu.pool.split_rows(blocks, gradients.len(), [sums.data_mut()], |share, [sums]| {
        for (block, sum) in share.zip(sums) {
            let end = gradients.len().min((block + 1) * BLOCK);
            *sum = cpu.isa.run(SquareSum(&gradients[block * BLOCK..end]));
        }
    });
    sums.data().iter().map(|&sum| f64::from(sum)).sum::<f64>().sqrt() as f32
}

/// The numbers of an update that are the same for all weights.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) betas: [f32; 2],
    /// What clipping multiplies the gradients with.
    pub(super) factor: f32,
    /// The rate, corrected for the first moment's start at zero.
    pub(super) rate: f32,
    /// The same correction of the second moment, under the root.
    pub(super) root: f32,
    pub(super) epsilon: f32,
}

struct Adam<'a> {
    how: Step,
    weights: &'a mut [f32],
    gradients: &'a [f32],
    moments: [&'a mut [f32]; 2],
}

impl Kernel for Adam<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Step { betas: [b1, b2], factor, rate, root, epsilon } = self.how;
        let [m, v] = self.moments.map(|moment| moment.chunks_mut(LANES));
        for (((w, g), m), v) in self.weights.chunks_mut(LANES).zip(self.gradients.chunks(LANES)).zip(m).zip(v)
        {
            let g = V::load(g) * V::lit(factor);
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
    gradients: &[f32],
    m: &mut [f32],
    v: &mut [f32],
    how: Step,
) {
    let n = weights.len();
    cpu.pool.split_rows(n, n, [weights, m, v], |range, [weights, m, v]| {
        cpu.isa.run(Adam { how, weights, gradients: &gradients[range], moments: [m, v] });
    });
}
