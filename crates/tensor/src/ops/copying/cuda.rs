use super::{CopySource, LEAST, Pointed, Saved, Values};
use crate::cuda::{Cuda, Indices, Launch, Source};
use crate::ops::cross_entropy::CrossEntropy;
use crate::ops::cross_entropy::cuda::{Beside, in_blocks, total};
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("copying", include_str!("copying.cu"));

pub(super) fn forward(
    cuda: &Cuda,
    values: &Values,
    copied: &CopySource,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
) -> Saved {
    let Values { x, weight, bias, gate, weights, heads } = *values;
    let (device, rows) = (x.device(), x.rows());
    let (classes, of) = (Indices::new(device, &copied.classes), Indices::new(device, &copied.of));
    let target_indices = Indices::new(device, targets);
    let [mut attention, mut log, mut shares] = [(); 3].map(|()| Tensor::scratch(device, rows, 1));
    let arguments = [
        attention.pointer_mut().into(),
        log.pointer_mut().into(),
        gate.pointer().into(),
        weights.pointer().into(),
        classes.pointer().into(),
        of.pointer().into(),
        target_indices.pointer().into(),
        rows.into(),
        copied.steps.into(),
        heads.into(),
        LEAST.into(),
    ];
    // SAFETY: a gate, weights for each step of each head, a source and a target for each row.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "beside"), Launch::over(rows), &arguments) };

    let beside = Beside { log: &log, shares: &mut shares };
    let (mut of_rows, kept) = in_blocks(cuda, x, weight, bias, targets, how, wanted, Some(beside));
    let mut gradients = kept.map(|kept| Pointed {
        kept,
        gate: Tensor::scratch(device, rows, 1),
        weights: Tensor::scratch(device, rows, weights.columns()),
    });
    let (dgate, dweights) = gradients
        .as_mut()
        .map(|gradients| (gradients.gate.pointer_mut(), gradients.weights.pointer_mut()))
        .unzip();
    let arguments = [
        of_rows.pointer_mut().into(),
        dgate.into(),
        dweights.into(),
        gate.pointer().into(),
        shares.pointer().into(),
        attention.pointer().into(),
        classes.pointer().into(),
        of.pointer().into(),
        target_indices.pointer().into(),
        rows.into(),
        copied.steps.into(),
        heads.into(),
        how.scale.into(),
        (1.0 - how.smoothing).into(),
    ];
    // SAFETY: as above, and the gradients have the shapes of gate and weights.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "finish"), Launch::over(rows), &arguments) };
    Saved { loss: total(cuda, &of_rows, how.scale), of_rows, gradients }
}

pub(super) fn mixture(
    cuda: &Cuda,
    logits: &Tensor,
    gate: &Tensor,
    weights: &Tensor,
    heads: usize,
    copied: &CopySource,
) -> Tensor {
    let (device, (rows, known)) = (logits.device(), logits.shape());
    let classes = copied.classes(known);
    let mut mixed = Tensor::scratch(device, rows, classes);
    let (class_indices, of) = (Indices::new(device, &copied.classes), Indices::new(device, &copied.of));
    let arguments = [
        mixed.pointer_mut().into(),
        logits.pointer().into(),
        gate.pointer().into(),
        weights.pointer().into(),
        class_indices.pointer().into(),
        of.pointer().into(),
        known.into(),
        classes.into(),
        copied.steps.into(),
        heads.into(),
        LEAST.into(),
    ];
    // SAFETY: a block for each row of logits, with its gate, weights and source; a class of a source is below `classes`.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "mixture"), Launch::blocks(rows), &arguments) };
    mixed
}
