use crate::cuda::{Cuda, DeviceLayout, Launch, Source};
use crate::layout::SequenceLayout;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("rotary", include_str!("rotary.cu"));

/// The first `columns` columns, turned forwards or back.
pub(super) fn turn(
    cuda: &Cuda,
    x: &Tensor,
    rows: &SequenceLayout,
    angles: &Tensor,
    columns: usize,
    back: bool,
) -> Tensor {
    let (count, width) = x.shape();
    let mut y = Tensor::scratch(x.device(), count, width);
    if count * width == 0 {
        return y;
    }
    let packed = DeviceLayout::new(x.device(), rows);
    let arguments = [
        y.pointer_mut().into(),
        x.pointer().into(),
        angles.pointer().into(),
        packed.starts().into(),
        packed.steps.into(),
        count.into(),
        width.into(),
        columns.into(),
        angles.columns().into(),
        (if back { -1.0f32 } else { 1.0 }).into(),
    ];
    // SAFETY: a row of `x` for each packed row, and a row of angles for each step.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "turn"), Launch::over(count * width), &arguments) };
    y
}
