use super::Step;
use crate::cuda::{Cuda, Launch, Pointer, Source};
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("optimiser", include_str!("optimiser.cu"));

/// Blocks that sum squares: always as many, so that the sum always has the same order.
const BLOCKS: usize = 1024;

pub(super) fn norm(cuda: &Cuda, gradients: &Tensor) -> Tensor {
    let device = gradients.device();
    // Doubles: two numbers each.
    let mut sums = Tensor::scratch(device, BLOCKS, 2);
    let mut norm = Tensor::scratch(device, 1, 1);
    let (sums, result) = (sums.pointer_mut(), norm.pointer_mut());
    let (first, second) = (cuda.kernel(&SOURCE, "square_sums"), cuda.kernel(&SOURCE, "root_of_sum"));
    // SAFETY: as many sums as blocks, and as many gradients as the tensor has.
    unsafe {
        let arguments = [sums.into(), gradients.pointer().into(), gradients.columns().into()];
        cuda.launch(first, Launch::blocks(BLOCKS), &arguments);
        cuda.launch(second, Launch::blocks(1), &[result.into(), sums.into(), BLOCKS.into()]);
    }
    norm
}

pub(super) fn update(
    cuda: &Cuda,
    weights: Pointer,
    gradients: &Tensor,
    moments: [&mut Tensor; 2],
    norm: Option<&Tensor>,
    how: Step,
) {
    let count = gradients.columns();
    let [m, v] = moments.map(Tensor::pointer_mut);
    let [b1, b2] = how.betas;
    let arguments = [
        weights.into(),
        m.into(),
        v.into(),
        gradients.pointer().into(),
        count.into(),
        norm.map(Tensor::pointer).into(),
        how.limit.unwrap_or_default().into(),
        b1.into(),
        b2.into(),
        how.rate.into(),
        how.root.into(),
        how.epsilon.into(),
    ];
    // SAFETY: weights, moments and gradients are of one length.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "adam"), Launch::over(count), &arguments) };
}
