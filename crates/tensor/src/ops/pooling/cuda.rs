use super::{Pooled, Pooling};
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
    // SAFETY: a row of `x` for each packed row, and one of `y` for each sequence.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), Launch::over(batch * width), &arguments) };
    y
}

/// Sets `dx`, or adds to it.
pub(super) fn backward(cuda: &Cuda, pooled: Pooled, dy: &Tensor, dx: Pointer, update: Update) {
    let Pooled { x, y, layout, pooling } = pooled;
    let (batch, width) = dy.shape();
    let rows = DeviceLayout::new(dy.device(), layout);
    let arguments = [
        dx.into(),
        x.pointer().into(),
        y.pointer().into(),
        dy.pointer().into(),
        rows.starts().into(),
        rows.lengths().into(),
        batch.into(),
        width.into(),
        (pooling == Pooling::Max).into(),
        (update == Update::Add).into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::over(batch * width), &arguments) };
}
