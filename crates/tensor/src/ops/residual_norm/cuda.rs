use super::ResidualInputs;
use crate::cuda::{Cuda, Launch, Source};
use crate::ops::dropout::DropoutMask;
use crate::ops::dropout::cuda::Dropping;
use crate::ops::layer_norm::{self, EPSILON, NormWeights, Normalized};
use crate::tape::Var;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = layer_norm::cuda::source("residual_norm", include_str!("residual_norm.cu"));

/// The outputs and what the backward pass needs.
pub(super) fn forward(
    cuda: &Cuda,
    inputs: ResidualInputs,
    dropped: Option<&DropoutMask>,
) -> ([Tensor; 2], Normalized) {
    let ResidualInputs { x, f, weights: NormWeights { gain, bias } } = inputs;
    let [x, f, gain, bias] = [x, f, gain, bias].map(Var::value);
    let (rows, width) = x.shape();
    let [mut sum, mut y, mut normal] = [(); 3].map(|()| Tensor::scratch(x.device(), rows, width));
    let mut inverse = Tensor::scratch(x.device(), rows, 1);
    let (dropping, _packed) = Dropping::new(x.device(), dropped);
    let arguments = [
        sum.pointer_mut().into(),
        y.pointer_mut().into(),
        normal.pointer_mut().into(),
        inverse.pointer_mut().into(),
        x.pointer().into(),
        f.pointer().into(),
        gain.pointer().into(),
        bias.pointer().into(),
        width.into(),
        EPSILON.into(),
        (&dropping).into(),
    ];
    // SAFETY: a block for each row, and gain and bias are as wide as the rows.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "forward"), Launch::blocks(rows), &arguments) };
    ([sum, y], Normalized { rows: normal, inverse })
}

/// The gradient before dropout, from that after it.
pub(super) fn drop(cuda: &Cuda, ds: &Tensor, dropped: Option<&DropoutMask>) -> Tensor {
    if dropped.is_none() {
        return ds.clone();
    }
    let (rows, width) = ds.shape();
    let mut df = Tensor::scratch(ds.device(), rows, width);
    let (dropping, _packed) = Dropping::new(ds.device(), dropped);
    let arguments =
        [df.pointer_mut().into(), ds.pointer().into(), rows.into(), width.into(), (&dropping).into()];
    if rows * width > 0 {
        // SAFETY: both have `rows` rows of `width` numbers.
        unsafe { cuda.launch(cuda.kernel(&SOURCE, "drop"), Launch::over(rows * width), &arguments) };
    }
    df
}

/// The gradients of `x`, in the memory of `dy`, and of `f`.
pub(super) fn backward(
    cuda: &Cuda,
    ds: Option<&Tensor>,
    mut dy: Tensor,
    gain: &Tensor,
    normalized: &Normalized,
    dropped: Option<&DropoutMask>,
) -> [Tensor; 2] {
    let (rows, width) = dy.shape();
    let arguments = [
        dy.pointer_mut().into(),
        ds.map(Tensor::pointer).into(),
        gain.pointer().into(),
        normalized.rows.pointer().into(),
        normalized.inverse.pointer().into(),
        width.into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "backward"), Launch::blocks(rows), &arguments) };
    let df = drop(cuda, &dy, dropped);
    [dy, df]
}
