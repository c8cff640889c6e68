use crate::device::Cpu;
use crate::lane::{Kernel, Vector};
use crate::ops::sums::{softmax_row, softmax_row_back};
use crate::tensor::Tensor;

/// What one number costs, in simple operations.
const COST: usize = 8;

pub(super) fn forward(cpu: &Cpu, x: &Tensor, counts: &[u32]) -> Tensor {
    let (rows, width) = x.shape();
    let mut y = Tensor::scratch(x.device(), rows, width);
    cpu.pool.split_rows(rows, rows * width * COST, [y.data_mut()], |share, [y]| {
        for (row, y) in share.zip(y.chunks_exact_mut(width.max(1))) {
            let (counting, rest) = y.split_at_mut(counts[row] as usize);
            counting.copy_from_slice(&x.row(row)[..counting.len()]);
            rest.fill(0.0);
            cpu.isa.run(Forward(counting));
        }
    });
    y
}

struct Forward<'a>(&'a mut [f32]);

impl Kernel for Forward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        softmax_row::<V>(self.0);
    }
}

/// `dy` becomes `dx`.
pub(super) fn backward(cpu: &Cpu, y: &Tensor, mut dy: Tensor, counts: &[u32]) -> Tensor {
    let (rows, width) = y.shape();
    cpu.pool.split_rows(rows, rows * width * COST, [dy.data_mut()], |share, [dy]| {
        for (row, dy) in share.zip(dy.chunks_exact_mut(width.max(1))) {
            let (counting, rest) = dy.split_at_mut(counts[row] as usize);
            rest.fill(0.0);
            let y = &y.row(row)[..counting.len()];
            cpu.isa.run(Backward { y, dy: counting });
        }
    });
    dy
}

struct Backward<'a> {
    y: &'a [f32],
    dy: &'a mut [f32],
}

impl Kernel for Backward<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        softmax_row_back::<V>(self.y, self.dy);
    }
}
