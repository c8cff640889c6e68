use super::Dropout;
use crate::cuda::{Cuda, DeviceRows, Launch, Source};
use crate::rows::Rows;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("dropout", include_str!("dropout.cu"));

/// The same for values and for gradients.
pub(super) fn apply(cuda: &Cuda, x: &Tensor, rows: &Rows, how: Dropout) -> Tensor {
    let (count, width) = x.shape();
    let mut y = Tensor::scratch(x.device(), count, width);
    if count * width == 0 {
        return y;
    }
    let rows = DeviceRows::new(x.device(), rows);
    let [key0, key1] = how.stream().key();
    let arguments = [
        y.pointer_mut().into(),
        x.pointer().into(),
        count.into(),
        width.into(),
        rows.starts().into(),
        rows.examples().into(),
        rows.steps.into(),
        key0.into(),
        key1.into(),
        how.update.into(),
        how.threshold().into(),
        how.kept().into(),
        how.variational.into(),
    ];
    // SAFETY: a row of `x` for each packed row.
    unsafe {
        cuda.launch(cuda.kernel(&SOURCE, "dropout"), Launch::over(count * width.div_ceil(4)), &arguments);
    };
    y
}
