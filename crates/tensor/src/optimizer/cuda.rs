use super::{AdamStep, Clip};
use crate::cuda::{Arg, Cuda, Launch, Pointer, Source};
use crate::tensor::Tensor;
use std::ops::Range;

pub(crate) const SOURCE: Source = Source::plain("optimizer", include_str!("optimizer.cu"));

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

/// The norm, or none where nothing is clipped, and the limit: the last arguments of every rule but its own numbers.
pub(super) fn clipping<'a>(clip: Option<Clip>) -> [Arg<'a>; 2] {
    let limit = clip.map_or(0.0, |clip| clip.limit);
    [clip.map(|clip| clip.norm.pointer()).into(), limit.into()]
}

pub(super) fn adam(
    cuda: &Cuda,
    weights: Pointer,
    gradients: &Tensor,
    moments: [&mut Tensor; 2],
    span: &Range<usize>,
    clip: Option<Clip>,
    how: AdamStep,
) {
    let count = span.len();
    let [m, v] = moments.map(|moment| moment.pointer_mut().at(span.start));
    let ([b1, b2], [norm, limit]) = (how.betas, clipping(clip));
    let arguments = [
        weights.at(span.start).into(),
        m.into(),
        v.into(),
        gradients.pointer().at(span.start).into(),
        count.into(),
        norm,
        limit,
        b1.into(),
        b2.into(),
        how.rate.into(),
        how.root.into(),
        how.epsilon.into(),
        how.keep.into(),
    ];
    // SAFETY: weights, moments and gradients are of one length, and the span is a part of it.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "adam"), Launch::over(count), &arguments) };
}

pub(super) fn sgd(
    cuda: &Cuda,
    weights: Pointer,
    gradients: &Tensor,
    moment: &mut Tensor,
    span: &Range<usize>,
    clip: Option<Clip>,
    [momentum, rate]: [f32; 2],
) {
    let count = span.len();
    let [norm, limit] = clipping(clip);
    let arguments = [
        weights.at(span.start).into(),
        moment.pointer_mut().at(span.start).into(),
        gradients.pointer().at(span.start).into(),
        count.into(),
        norm,
        limit,
        momentum.into(),
        rate.into(),
    ];
    // SAFETY: weights, moment and gradients are of one length, and the span is a part of it.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "sgd"), Launch::over(count), &arguments) };
}

pub(super) fn lion(
    cuda: &Cuda,
    weights: Pointer,
    gradients: &Tensor,
    moment: &mut Tensor,
    span: &Range<usize>,
    clip: Option<Clip>,
    [b1, b2, rate, keep]: [f32; 4],
) {
    let count = span.len();
    let [norm, limit] = clipping(clip);
    let arguments = [
        weights.at(span.start).into(),
        moment.pointer_mut().at(span.start).into(),
        gradients.pointer().at(span.start).into(),
        count.into(),
        norm,
        limit,
        b1.into(),
        b2.into(),
        rate.into(),
        keep.into(),
    ];
    // SAFETY: weights, moment and gradients are of one length, and the span is a part of it.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "lion"), Launch::over(count), &arguments) };
}

pub(super) fn average(cuda: &Cuda, average: &mut Tensor, weights: &Tensor, kept: f32) {
    let count = average.columns();
    let arguments = [average.pointer_mut().into(), weights.pointer().into(), count.into(), kept.into()];
    // SAFETY: there are at least as many weights.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "average"), Launch::over(count), &arguments) };
}
