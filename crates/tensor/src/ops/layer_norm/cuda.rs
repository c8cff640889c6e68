use super::EPSILON;
use crate::cuda::{Cuda, Launch, Pointer, Source};
use crate::ops::sums::cuda::{column_sums, column_sums_of_product};
use crate::product::Update;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = source("layer_norm", include_str!("layer_norm.cu"));

/// Kernels that use the functions of `norm.cu`.
pub(crate) const fn source(name: &'static str, text: &'static str) -> Source<'static> {
    Source { name, text, variant: 0, generate: &norm_functions }
}

fn norm_functions() -> String {
    include_str!("norm.cu").to_owned()
}

/// The result, the normalized rows, and `r` of each row.
pub(super) fn forward(cuda: &Cuda, x: &Tensor, gain: &Tensor, bias: &Tensor) -> (Tensor, Tensor, Tensor) {
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
    (y, normal, inverse)
}

pub(crate) fn to_bias(cuda: &Cuda, db: Pointer, dy: &Tensor, update: Update) {
    column_sums(cuda, dy.view(), db, update);
}

pub(crate) fn to_gain(cuda: &Cuda, dg: Pointer, dy: &Tensor, normal: &Tensor, update: Update) {
    column_sums_of_product(cuda, dy.view(), normal.view(), dg, update);
}

/// `dy` becomes `dx`.
pub(crate) fn to_input(
    cuda: &Cuda,
    mut dy: Tensor,
    gain: &Tensor,
    normal: &Tensor,
    inverse: &Tensor,
) -> Tensor {
    let (rows, width) = dy.shape();
    let arguments = [
        dy.pointer_mut().into(),
        gain.pointer().into(),
        normal.pointer().into(),
        inverse.pointer().into(),
        width.into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::blocks(rows), &arguments) };
    dy
}
