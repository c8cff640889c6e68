use crate::cuda::{Cuda, Indices, Launch, Source};
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("softmax", include_str!("softmax.cu"));

pub(super) fn forward(cuda: &Cuda, x: &Tensor, counts: &[u32]) -> Tensor {
    let (rows, width) = x.shape();
    let mut y = Tensor::scratch(x.device(), rows, width);
    let counts = Indices::new(x.device(), counts);
    let arguments = [y.pointer_mut().into(), x.pointer().into(), counts.pointer().into(), width.into()];
    // SAFETY: a block and a count for each row.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), Launch::blocks(rows), &arguments) };
    y
}

/// `dy` becomes `dx`.
pub(super) fn backward(cuda: &Cuda, y: &Tensor, mut dy: Tensor, counts: &[u32]) -> Tensor {
    let (rows, width) = y.shape();
    let counts = Indices::new(y.device(), counts);
    let arguments = [dy.pointer_mut().into(), y.pointer().into(), counts.pointer().into(), width.into()];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::blocks(rows), &arguments) };
    dy
}
