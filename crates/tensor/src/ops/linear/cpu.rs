use crate::device::Cpu;
use crate::ops::sums::column_sums;
use crate::product::{FusionFn, ProductFusion, Right, Update, multiply_around, multiply_into};
use crate::tape::{Gradients, Var};
use crate::tensor::{Block, Tensor};
use std::ops::Range;

/// Up to this many rows, packing a weight takes a good part of the product's time, so that a packed copy is made and kept: a
/// search multiplies with it again at each step. More rows come from a training's sequences, where a weight is used once
/// before it changes.
const KEPT_PACK_ROWS: usize = 512;

/// `x·Wᵀ + b`, and what `last` makes of it.
pub(crate) fn forward(
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    last: Option<&FusionFn<'_>>,
) -> Tensor {
    let mut y = Tensor::scratch(x.device(), x.rows(), weight.rows());
    let columns = y.columns();
    let around = ProductFusion { update: Update::Set, first: bias.map(Tensor::data), last };
    multiply_weight(y.data_mut(), columns, x, weight, 0..weight.columns(), around);
    y
}

/// `out = x · Wᵀ` for some columns of `W`, from a packed copy where one is kept and so few rows would not pay for another; the
/// rows of `out` lie `stride` numbers apart.
pub(crate) fn multiply_weight(
    out: &mut [f32],
    stride: usize,
    x: &Tensor,
    weight: &Tensor,
    columns: Range<usize>,
    around: ProductFusion,
) {
    if weight.keeps_packs() && x.rows() <= KEPT_PACK_ROWS {
        let packed = weight.packed(Block { rows: 0..weight.rows(), columns, transposed: true }, true);
        multiply_around(x.device(), out, stride, x.mat(), Right::Packed(&packed), around);
    } else {
        let right = weight.mat().column_block(columns).transposed();
        multiply_around(x.device(), out, stride, x.mat(), Right::Plain(right), around);
    }
}

/// Sets every row of `out` to `row`.
pub(crate) fn fill_rows(cpu: &Cpu, out: &mut [f32], columns: usize, row: &[f32]) {
    if columns == 0 {
        return;
    }
    cpu.pool.split_rows(out.len() / columns, out.len(), [out], |_, [out]| {
        out.chunks_exact_mut(columns).for_each(|out| out[..row.len()].copy_from_slice(row));
    });
}

pub(crate) fn backward(
    cpu: &Cpu,
    gradients: &mut Gradients,
    dy: &Tensor,
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
) {
    let (device, inputs) = (dy.device(), x.columns());
    gradients.write(x, |dx, update| {
        multiply_into(device, dx, inputs, dy.mat(), Right::Plain(weight.value().mat()), update);
    });
    gradients.write(weight, |dw, update| {
        multiply_into(device, dw, inputs, dy.mat().transposed(), Right::Plain(x.value().mat()), update);
    });
    if let Some(bias) = bias {
        gradients.write(bias, |db, update| column_sums(cpu, dy.mat(), db, update));
    }
}
