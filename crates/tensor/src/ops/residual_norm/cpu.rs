use super::ResidualInputs;
use crate::device::Cpu;
use crate::ops::dropout::DropoutMask;
use crate::ops::layer_norm::cpu::{Backward, COST, Forward};
use crate::ops::layer_norm::{NormWeights, Normalized};
use crate::tape::Var;
use crate::tensor::Tensor;

/// The outputs and what the backward pass needs.
pub(super) fn forward(
    cpu: &Cpu,
    inputs: ResidualInputs,
    dropped: Option<&DropoutMask>,
) -> ([Tensor; 2], Normalized) {
    let ResidualInputs { x, f, weights: NormWeights { gain, bias } } = inputs;
    let [x, f, gain, bias] = [x, f, gain, bias].map(Var::value);
    let (rows, width) = x.shape();
    let [mut sum, mut y, mut normal] = [(); 3].map(|()| Tensor::scratch(x.device(), rows, width));
    let mut inverse = Tensor::scratch(x.device(), rows, 1);
    let outputs = [sum.data_mut(), y.data_mut(), normal.data_mut(), inverse.data_mut()];
    cpu.pool.split_rows(rows, rows * width * COST, outputs, |share, [sum, y, normal, inverse]| {
        for (i, row) in share.enumerate() {
            let own = i * width..(i + 1) * width;
            let (sum, y, normal) = (&mut sum[own.clone()], &mut y[own.clone()], &mut normal[own]);
            sum.copy_from_slice(f.row(row));
            dropped.iter().for_each(|dropped| dropped.apply_row(row, sum));
            sum.iter_mut().zip(x.row(row)).for_each(|(sum, x)| *sum += x);
            inverse[i] = cpu.isa.run(Forward { x: sum, gain: gain.data(), bias: bias.data(), y, normal });
        }
    });
    ([sum, y], Normalized { rows: normal, inverse })
}

/// The gradient before dropout, from that after it.
pub(super) fn drop(cpu: &Cpu, ds: &Tensor, dropped: Option<&DropoutMask>) -> Tensor {
    let Some(dropped) = dropped else { return ds.clone() };
    let (rows, width) = ds.shape();
    let mut df = Tensor::scratch(ds.device(), rows, width);
    cpu.pool.split_rows(rows, rows * width * COST, [df.data_mut()], |share, [df]| {
        for (row, df) in share.zip(df.chunks_exact_mut(width.max(1))) {
            df.copy_from_slice(ds.row(row));
            dropped.apply_row(row, df);
        }
    });
    df
}

/// The gradients of `x`, in the memory of `dy`, and of `f`.
pub(super) fn backward(
    cpu: &Cpu,
    ds: Option<&Tensor>,
    mut dy: Tensor,
    gain: &Tensor,
    normalized: &Normalized,
    dropped: Option<&DropoutMask>,
) -> [Tensor; 2] {
    let (rows, width) = dy.shape();
    cpu.pool.split_rows(rows, rows * width * COST, [dy.data_mut()], |share, [dy]| {
        for (row, dy) in share.zip(dy.chunks_exact_mut(width.max(1))) {
            let (normal, inverse) = normalized.row(row);
            cpu.isa.run(Backward { dy, gain: gain.data(), normal, inverse });
            if let Some(ds) = ds {
                dy.iter_mut().zip(ds.row(row)).for_each(|(dy, ds)| *dy += ds);
            }
        }
    });
    let df = drop(cpu, &dy, dropped);
    [dy, df]
}
