use crate::device::Cpu;
use crate::ops::sums::column_sums;
use crate::product::{FEW_ROWS, Right, Update, multiply_into};
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

pub(super) fn forward(cpu: &Cpu, x: &Tensor, weight: &Tensor, bias: Option<&Tensor>) -> Tensor {
    let mut y = Tensor::scratch(x.device(), x.rows(), weight.rows());
    let columns = y.columns();
    let update = match bias {
        Some(bias) => {
            fill_rows(cpu, y.data_mut(), columns, bias.data());
            Update::Add
        }
        None => Update::Set,
    };
    multiply_weight(&mut y, x, weight, true, update);
    y
}

/// `out = x · weight`, or its transpose, from a packed copy where one is kept and few rows would not pay for another.
fn multiply_weight(out: &mut Tensor, x: &Tensor, weight: &Tensor, transposed: bool, update: Update) {
    let columns = out.columns();
    if weight.keeps_packs() && x.rows() <= FEW_ROWS {
        let packed = weight.packed_whole(transposed);
        multiply_into(x.device(), out.data_mut(), columns, x.mat(), Right::Packed(&packed), update);
    } else {
        let mat = if transposed { weight.mat().transposed() } else { weight.mat() };
        multiply_into(x.device(), out.data_mut(), columns, x.mat(), Right::Plain(mat), update);
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

pub(super) fn backward(
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
