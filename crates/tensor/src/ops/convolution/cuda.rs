use super::{ConvolutionInputs, Window};
use crate::cuda::{Cuda, DeviceLayout, Launch, Pointer, Source};
use crate::layout::SequenceLayout;
use crate::ops::sums::cuda::column_sums;
use crate::product::Update;
use crate::tape::Gradients;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("convolution", include_str!("convolution.cu"));

/// What each step sees, side by side: packed rows × taps·inputs.
pub(super) fn unfold(cuda: &Cuda, x: &Tensor, rows: &SequenceLayout, window: Window) -> Tensor {
    let (total, columns) = (x.rows(), window.taps() * x.columns());
    let mut seen = Tensor::scratch(x.device(), total, columns);
    let rows = DeviceLayout::new(x.device(), rows);
    let arguments = [
        seen.pointer_mut().into(),
        x.pointer().into(),
        rows.starts().into(),
        rows.lengths().into(),
        rows.steps.into(),
        total.into(),
        x.columns().into(),
        window.taps().into(),
        window.before.into(),
    ];
    if total * columns > 0 {
        // SAFETY: `x` has a row for each packed row, and `seen` room for all taps of each.
        unsafe { cuda.launch(cuda.kernel(&SOURCE, "unfold"), Launch::over(total * columns), &arguments) };
    }
    seen
}

/// Adds up what all windows say of a step, in the order of their taps.
fn fold(cuda: &Cuda, dx: Pointer, dseen: &Tensor, rows: &SequenceLayout, window: Window, update: Update) {
    let (total, inputs) = (dseen.rows(), dseen.columns() / window.taps());
    let rows = DeviceLayout::new(dseen.device(), rows);
    let arguments = [
        dx.into(),
        dseen.pointer().into(),
        rows.starts().into(),
        rows.lengths().into(),
        rows.steps.into(),
        total.into(),
        inputs.into(),
        window.taps().into(),
        window.before.into(),
        (update == Update::Add).into(),
    ];
    if total * inputs > 0 {
        // SAFETY: as in `unfold`, the other way round.
        unsafe { cuda.launch(cuda.kernel(&SOURCE, "fold"), Launch::over(total * inputs), &arguments) };
    }
}

pub(super) fn backward(cuda: &Cuda, gradients: &mut Gradients, du: &Tensor, inputs: ConvolutionInputs) {
    let ConvolutionInputs { x, layout, window, weight, bias } = inputs;
    let columns = weight.columns();
    gradients.write_cuda(x, |dx, update| {
        let mut dseen = Tensor::scratch(du.device(), du.rows(), columns);
        cuda.multiply(dseen.pointer_mut(), columns, du.view(), weight.value().view(), Update::Set);
        fold(cuda, dx, &dseen, layout, window, update);
    });
    gradients.write_cuda(weight, |dw, update| {
        let seen = unfold(cuda, x.value(), layout, window);
        cuda.multiply(dw, columns, du.view().transposed(), seen.view(), update);
    });
    gradients.write_cuda(bias, |db, update| column_sums(cuda, du.view(), db, update));
}
