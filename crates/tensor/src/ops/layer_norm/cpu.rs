use super::{EPSILON, Normalized};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::sums::dot;
use crate::tensor::Tensor;

/// Cost of one element, in simple operations.
pub(crate) const COST: usize = 4;

/// The result and what the backward pass needs.
pub(super) fn forward(cpu: &Cpu, x: &Tensor, gain: &Tensor, bias: &Tensor) -> (Tensor, Normalized) {
    let (rows, width) = x.shape();
    let [mut y, mut normal] = [(); 2].map(|()| Tensor::scratch(x.device(), rows, width));
    let mut inverse = Tensor::scratch(x.device(), rows, 1);
    let outputs = [y.data_mut(), normal.data_mut(), inverse.data_mut()];
    cpu.pool.split_rows(rows, rows * width * COST, outputs, |share, [y, normal, inverse]| {
        for (i, row) in share.enumerate() {
            let (y, normal) = (&mut y[i * width..][..width], &mut normal[i * width..][..width]);
            let (gain, bias) = (gain.data(), bias.data());
            inverse[i] = cpu.isa.run(Forward { x: x.row(row), gain, bias, y, normal });
        }
    });
    (y, Normalized { rows: normal, inverse })
}

pub(crate) struct Forward<'a> {
    pub(crate) x: &'a [f32],
    pub(crate) gain: &'a [f32],
    pub(crate) bias: &'a [f32],
    pub(crate) y: &'a mut [f32],
    pub(crate) normal: &'a mut [f32],
}

impl Kernel for Forward<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        let Forward { x, gain, bias, y, normal } = self;
        let width = x.len().max(1) as f32;
        let sum = x.chunks(LANES).fold(V::lit(0.0), |sum, x| sum + V::load(x)).sum();
        let mean = sum / width;
        normal.iter_mut().zip(x).for_each(|(normal, x)| *normal = x - mean);
        let inverse = 1.0 / (dot::<V>(normal, normal) / width + EPSILON).sqrt();
        for (i, y) in y.chunks_mut(LANES).enumerate() {
            let range = i * LANES..i * LANES + y.len();
            let scaled = V::load(&normal[range.clone()]) * V::lit(inverse);
            scaled.store(&mut normal[range.clone()]);
            scaled.mul_add(V::load(&gain[range.clone()]), V::load(&bias[range])).store(y);
        }
        inverse
    }
}

/// `dx`, in the memory of `dy`.
pub(crate) fn to_input(cpu: &Cpu, mut dy: Tensor, gain: &Tensor, normalized: &Normalized) -> Tensor {
    let (rows, width) = dy.shape();
    cpu.pool.split_rows(rows, rows * width * COST, [dy.data_mut()], |share, [dy]| {
        for (row, dy) in share.zip(dy.chunks_exact_mut(width.max(1))) {
            let (normal, inverse) = normalized.row(row);
            cpu.isa.run(Backward { dy, gain: gain.data(), normal, inverse });
        }
    });
    dy
}

impl Normalized {
    /// A row with its `r`.
    pub(crate) fn row(&self, row: usize) -> (&[f32], f32) {
        (self.rows.row(row), self.inverse.data()[row])
    }
}

pub(crate) struct Backward<'a> {
    pub(crate) dy: &'a mut [f32],
    pub(crate) gain: &'a [f32],
    pub(crate) normal: &'a [f32],
    pub(crate) inverse: f32,
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Backward { dy, gain, normal, inverse } = self;
        let width = dy.len().max(1) as f32;
        let mut sum = V::lit(0.0);
        for (dy, gain) in dy.chunks_mut(LANES).zip(gain.chunks(LANES)) {
            let g = V::load(dy) * V::load(gain);
            g.store(dy);
            sum = sum + g;
        }
        let mean = V::lit(sum.sum() / width);
        let along = V::lit(dot::<V>(dy, normal) / width);
        for (dy, normal) in dy.chunks_mut(LANES).zip(normal.chunks(LANES)) {
            let rest = V::load(dy) - mean - V::load(normal) * along;
            (rest * V::lit(inverse)).store(dy);
        }
    }
}
