use super::{EPSILON, Normalized};
use crate::cuda::{Cuda, Launch, Source};
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = source("layer_norm", include_str!("layer_norm.cu"));

/// Kernels that use the functions of `norm.cu`.
pub(crate) const fn source(name: &'static str, text: &'static str) -> Source<'static> {
    Source { name, text, variant: 0, generate: &norm_functions }
}

fn norm_functions() -> String {
    include_str!("norm.cu").to_owned()
}

/// The result and what the backward pass needs.
pub(super) fn forward(cuda: &Cuda, x: &Tensor, gain: &Tensor, bias: &Tensor) -> (Tensor, Normalized) {
    let (rows, width) = x.shape();
    let [mut y, mut normal] = [(); 2].map(|()| Tensor::scratch(x.device(), rows, width));
    let mut inverse = Tensor::scratch(x.device(), rows, 1);
    let arguments = [
        y.pointer_mut().into(),
        normal.pointer_mut().into(),
        inverse.pointer_mut().into(),
        x.pointer().into(),
        gain.pointer().into(),
        bias.pointer().into(),
        width.into(),
        EPSILON.into(),
    ];
    // SAFETY: a block for each row, and gain and bias are as wide as the rows.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), Launch::blocks(rows), &arguments) };
    (y, Normalized { rows: normal, inverse })
}

/// `dx`, in the memory of `dy`.
pub(crate) fn to_input(cuda: &Cuda, mut dy: Tensor, gain: &Tensor, normalized: &Normalized) -> Tensor {
    let (rows, width) = dy.shape();
    let arguments = [
        dy.pointer_mut().into(),
        gain.pointer().into(),
        normalized.rows.pointer().into(),
        normalized.inverse.pointer().into(),
        width.into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::blocks(rows), &arguments) };
    dy
}
