use super::Pooling;
use crate::cuda::{Cuda, DeviceLayout, Launch, Pointer, Source};
use crate::layout::SequenceLayout;
use crate::product::Update;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("pool", include_str!("pool.cu"));

pub(super) fn forward(cuda: &Cuda, x: &Tensor, rows: &SequenceLayout, how: Pooling) -> Tensor {
    let (device, batch, width) = (x.device(), rows.batch(), x.columns());
    let mut y = Tensor::scratch(device, batch, width);
    let rows = DeviceLayout::new(device, rows);
    let arguments = [
        y.pointer_mut().into(),
        x.pointer().into(),
        rows.starts().into(),
        rows.lengths().into(),
        batch.into(),
        width.into(),
        (how == Pooling::Max).into(),
    ];
    // SAFETY: a row of `x` for each packed row, and one of `y` for each place.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), Launch::over(batch * width), &arguments) };
    y
}

/// Hands `dy` to the steps that `y` was made of.
pub(super) fn backward(
    cuda: &Cuda,
    dx: Pointer,
    [x, y]: [&Tensor; 2],
    dy: &Tensor,
    rows: &SequenceLayout,
    how: Pooling,
    update: Update,
) {
    let (batch, width) = dy.shape();
    let rows = DeviceLayout::new(dy.device(), rows);
    let arguments = [
        dx.into(),
        x.pointer().into(),
        y.pointer().into(),
        dy.pointer().into(),
        rows.starts().into(),
        rows.lengths().into(),
        batch.into(),
        width.into(),
        (how == Pooling::Max).into(),
        (update == Update::Add).into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::over(batch * width), &arguments) };
}
