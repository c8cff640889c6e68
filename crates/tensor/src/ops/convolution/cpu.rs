use super::{ConvolutionInputs, Window};
use crate::device::Cpu;
use crate::layout::SequenceLayout;
use crate::ops::sums::column_sums;
use crate::product::{Right, Update, multiply_into};
use crate::tape::Gradients;
use crate::tensor::Tensor;

/// What each step sees, side by side: packed rows × taps·inputs.
pub(super) fn unfold(cpu: &Cpu, x: &Tensor, rows: &SequenceLayout, window: Window) -> Tensor {
    let (inputs, columns) = (x.columns(), window.taps() * x.columns());
    let mut seen = Tensor::scratch(x.device(), x.rows(), columns);
    cpu.pool.split_rows(x.rows(), x.rows() * columns, [seen.data_mut()], |share, [seen]| {
        for (row, seen) in share.zip(seen.chunks_exact_mut(columns.max(1))) {
            let (place, step) = rows.locate(row);
            for (tap, seen) in seen.chunks_exact_mut(inputs).enumerate() {
                match window.under(tap, step, rows.length(place)) {
                    Some(under) => seen.copy_from_slice(x.row(rows.row(place, under))),
                    None => seen.fill(0.0),
                }
            }
        }
    });
    seen
}

/// Adds up what all windows say of a step, in the order of their taps.
fn fold(cpu: &Cpu, dx: &mut [f32], dseen: &Tensor, rows: &SequenceLayout, window: Window, update: Update) {
    let inputs = dseen.columns() / window.taps();
    // Seen from the other end: tap `j` of a window lies on the step that is the mirrored tap of this one.
    let mirrored = Window { before: window.after, after: window.before };
    cpu.pool.split_rows(dseen.rows(), dseen.rows() * dseen.columns(), [dx], |share, [dx]| {
        for (row, dx) in share.zip(dx.chunks_exact_mut(inputs.max(1))) {
            let (place, step) = rows.locate(row);
            if update == Update::Set {
                dx.fill(0.0);
            }
            for tap in 0..window.taps() {
                let own = window.taps() - 1 - tap;
                if let Some(around) = mirrored.under(own, step, rows.length(place)) {
                    let dseen = &dseen.row(rows.row(place, around))[tap * inputs..][..inputs];
                    Update::Add.apply(dx, dseen);
                }
            }
        }
    });
}

pub(super) fn backward(cpu: &Cpu, gradients: &mut Gradients, du: &Tensor, inputs: ConvolutionInputs) {
    let ConvolutionInputs { x, layout, window, weight, bias } = inputs;
    let (device, columns) = (du.device(), weight.columns());
    gradients.write(x, |dx, update| {
        let mut dseen = Tensor::scratch(device, du.rows(), columns);
        let right = Right::Plain(weight.value().mat());
        multiply_into(device, dseen.data_mut(), columns, du.mat(), right, Update::Set);
        fold(cpu, dx, &dseen, layout, window, update);
    });
    gradients.write(weight, |dw, update| {
        let seen = unfold(cpu, x.value(), layout, window);
        multiply_into(device, dw, columns, du.mat().transposed(), Right::Plain(seen.mat()), update);
    });
    gradients.write(bias, |db, update| column_sums(cpu, du.mat(), db, update));
}
