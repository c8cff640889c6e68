use crate::cuda::{Cuda, DeviceLayout, Launch, Source};
use crate::layout::SequenceLayout;
use crate::ops::cross_entropy::cuda::total;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("coverage_loss", include_str!("coverage_loss.cu"));

pub(super) fn forward(cuda: &Cuda, weights: &Tensor, rows: &SequenceLayout, scale: f32) -> Tensor {
    let (device, batch, columns) = (weights.device(), rows.batch(), weights.columns());
    let packed = DeviceLayout::new(device, rows);
    let mut losses = Tensor::scratch(device, batch * columns, 1);
    let arguments = [
        losses.pointer_mut().into(),
        weights.pointer().into(),
        packed.starts().into(),
        packed.lengths().into(),
        batch.into(),
        columns.into(),
    ];
    // SAFETY: a number for each column of each target, and the weights are packed so.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), Launch::over(batch * columns), &arguments) };
    total(cuda, &losses, scale)
}

pub(super) fn backward(
    cuda: &Cuda,
    weights: &Tensor,
    rows: &SequenceLayout,
    scale: f32,
    upstream: &Tensor,
) -> Tensor {
    let (device, batch, columns) = (weights.device(), rows.batch(), weights.columns());
    let packed = DeviceLayout::new(device, rows);
    let mut dweights = Tensor::scratch(device, weights.rows(), columns);
    let arguments = [
        dweights.pointer_mut().into(),
        weights.pointer().into(),
        packed.starts().into(),
        packed.lengths().into(),
        upstream.pointer().into(),
        scale.into(),
        batch.into(),
        columns.into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::over(batch * columns), &arguments) };
    dweights
}
