use super::TableRows;
use crate::cuda::{Cuda, DeviceLayout, Indices, Launch, Source};
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("rotary", include_str!("rotary.cu"));

/// The first `columns` columns, rotated forwards or, with a negative sign, back.
pub(super) fn rotated(
    cuda: &Cuda,
    x: &Tensor,
    angles: &Tensor,
    columns: usize,
    rows: &TableRows,
    sign: f32,
) -> Tensor {
    let (count, width) = x.shape();
    let mut y = Tensor::scratch(x.device(), count, width);
    if count * width == 0 {
        return y;
    }
    let (layout, given) = match rows {
        TableRows::Steps(layout) => (Some(DeviceLayout::new(x.device(), layout)), None),
        TableRows::Given(given) => (None, Some(Indices::new(x.device(), given))),
    };
    let arguments = [
        y.pointer_mut().into(),
        x.pointer().into(),
        angles.pointer().into(),
        layout.as_ref().map(DeviceLayout::starts).into(),
        layout.as_ref().map_or(0, |layout| layout.steps).into(),
        given.as_ref().map(Indices::pointer).into(),
        count.into(),
        width.into(),
        columns.into(),
        angles.columns().into(),
        sign.into(),
    ];
    // SAFETY: a row of `x` for each packed or given row, and a row of angles for each step or each given number.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "turn"), Launch::over(count * width), &arguments) };
    y
}
