use crate::cuda::{Cuda, Indices, Launch, Source};
use crate::ops::cross_entropy::cuda::total;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("logistic_loss", include_str!("logistic_loss.cu"));

/// The loss, and the unscaled loss of each row.
pub(super) fn forward(cuda: &Cuda, z: &Tensor, targets: &[bool], scale: f32) -> (Tensor, Tensor) {
    let rows = z.rows();
    let mut of_rows = Tensor::scratch(z.device(), rows, 1);
    let targets = indices(z, targets);
    let arguments = [of_rows.pointer_mut().into(), z.pointer().into(), targets.pointer().into(), rows.into()];
    // SAFETY: a logit, a target and a loss for each row.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), Launch::over(rows), &arguments) };
    (total(cuda, &of_rows, scale), of_rows)
}

/// `dz`, from the gradient of the loss, which stays on the GPU.
pub(super) fn backward(cuda: &Cuda, z: &Tensor, targets: &[bool], scale: f32, upstream: &Tensor) -> Tensor {
    let rows = z.rows();
    let mut dz = Tensor::scratch(z.device(), rows, 1);
    let targets = indices(z, targets);
    let arguments = [
        dz.pointer_mut().into(),
        z.pointer().into(),
        targets.pointer().into(),
        upstream.pointer().into(),
        scale.into(),
        rows.into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::over(rows), &arguments) };
    dz
}

fn indices(z: &Tensor, targets: &[bool]) -> Indices {
    let numbers: Vec<u32> = targets.iter().map(|&target| target.into()).collect();
    Indices::new(z.device(), &numbers)
}
