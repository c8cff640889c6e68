use super::{AdamStep, Clip, LionStep, SgdStep, SpanUpdate};
use crate::cuda::{Arg, Cuda, Launch, Pointer, Source};
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("optimizer", include_str!("optimizer.cu"));

/// Blocks that sum squares: always as many, so that the sum always has the same order.
const BLOCKS: usize = 1024;

pub(super) fn norm(cuda: &Cuda, gradients: &Tensor) -> Tensor {
    let device = gradients.device();
    // Doubles: as wide as two floats each.
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

/// The norm, or none where nothing is clipped, and the limit: arguments of every rule.
pub(super) fn clipping<'a>(clip: Option<Clip>) -> [Arg<'a>; 2] {
    let limit = clip.map_or(0.0, |clip| clip.limit);
    [clip.map(|clip| clip.norm.pointer()).into(), limit.into()]
}

/// Launches a rule's kernel: it takes weights, moments, gradients, their count, norm and limit, and then the constants of the step.
fn launch_rule(
    cuda: &Cuda,
    kernel: &'static str,
    update: SpanUpdate,
    weights: Pointer,
    moments: &mut [&mut Tensor],
    constants: &[f32],
) {
    let SpanUpdate { gradients, span, clip } = update;
    let count = span.len();
    let updated = std::iter::once(weights).chain(moments.iter_mut().map(|moment| moment.pointer_mut()));
    let of_span = updated.chain([gradients.pointer()]).map(|pointer| Arg::from(pointer.at(span.start)));
    let constants = constants.iter().map(|&constant| Arg::from(constant));
    let arguments: Vec<Arg> = of_span.chain([count.into()]).chain(clipping(clip)).chain(constants).collect();
    // SAFETY: weights, moments and gradients are of one length, and the span is a part of it.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, kernel), Launch::over(count), &arguments) };
}

pub(super) fn adam(
    cuda: &Cuda,
    update: SpanUpdate,
    weights: Pointer,
    mut moments: [&mut Tensor; 2],
    step: AdamStep,
) {
    let AdamStep { betas: [b1, b2], rate, root, epsilon, keep } = step;
    let constants = [b1, b2, rate, root, epsilon, keep];
    launch_rule(cuda, "adam", update, weights, &mut moments, &constants);
}

pub(super) fn sgd(cuda: &Cuda, update: SpanUpdate, weights: Pointer, moment: &mut Tensor, step: SgdStep) {
    let SgdStep { momentum, rate } = step;
    launch_rule(cuda, "sgd", update, weights, &mut [moment], &[momentum, rate]);
}

pub(super) fn lion(cuda: &Cuda, update: SpanUpdate, weights: Pointer, moment: &mut Tensor, step: LionStep) {
    let LionStep { betas: [b1, b2], rate, keep } = step;
    launch_rule(cuda, "lion", update, weights, &mut [moment], &[b1, b2, rate, keep]);
}

pub(super) fn average(cuda: &Cuda, average: &mut Tensor, weights: &Tensor, kept: f32) {
    let count = average.columns();
    let arguments = [average.pointer_mut().into(), weights.pointer().into(), count.into(), kept.into()];
    // SAFETY: there are at least as many weights.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "average"), Launch::over(count), &arguments) };
}
