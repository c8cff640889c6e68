use super::{CopyGradients, CopyInputs, CopySource, LEAST, PointerOutput, Saved};
use crate::cuda::{Arg, Cuda, Indices, Launch, Source};
use crate::device::Device;
use crate::ops::cross_entropy::CrossEntropy;
use crate::ops::cross_entropy::cuda::{CopiedTargets, in_blocks, total};
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("copying", include_str!("copying.cu"));

/// A [`CopySource`] on the GPU.
struct SourceIndices {
    classes: Indices,
    of: Indices,
}

impl SourceIndices {
    fn new(device: &Device, source: &CopySource) -> SourceIndices {
        SourceIndices { classes: Indices::new(device, &source.classes), of: Indices::new(device, &source.of) }
    }
}

pub(super) fn forward(cuda: &Cuda, inputs: CopyInputs, how: CrossEntropy, wanted: bool) -> Saved {
    let CopyInputs { output_layer, pointer, source, targets } = inputs;
    let (gate, weights) = (pointer.gate.value(), pointer.weights.value());
    let (device, rows) = (weights.device(), targets.len());
    let (indices, target_indices) = (SourceIndices::new(device, source), Indices::new(device, targets));
    // What both kernels take of rows and sources.
    let sources: [Arg; 6] = [
        indices.classes.pointer().into(),
        indices.of.pointer().into(),
        target_indices.pointer().into(),
        rows.into(),
        source.steps.into(),
        pointer.heads.into(),
    ];
    let [mut attention, mut log, mut fractions] = [(); 3].map(|()| Tensor::scratch(device, rows, 1));
    let outputs = [attention.pointer_mut().into(), log.pointer_mut().into()];
    let pointers = [gate.pointer().into(), weights.pointer().into()];
    let arguments = [&outputs, &pointers, &sources[..], &[LEAST.into()]].concat();
    // SAFETY: a gate, weights for each step of each head, a source and a target for each row.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "beside"), Launch::over(rows), &arguments) };

    let copied = CopiedTargets { log: &log, fractions: &mut fractions };
    let (mut of_rows, layer_gradients) = in_blocks(cuda, output_layer, targets, how, wanted, Some(copied));
    let mut gradients = layer_gradients.map(|output_layer| CopyGradients {
        output_layer,
        gate: Tensor::scratch(device, rows, 1),
        weights: Tensor::scratch(device, rows, weights.columns()),
    });
    let (dgate, dweights) = gradients
        .as_mut()
        .map(|gradients| (gradients.gate.pointer_mut(), gradients.weights.pointer_mut()))
        .unzip();
    let outputs = [of_rows.pointer_mut().into(), dgate.into(), dweights.into()];
    let kept = [gate.pointer().into(), fractions.pointer().into(), attention.pointer().into()];
    let loss = [how.scale.into(), (1.0 - how.smoothing).into()];
    let arguments = [&outputs, &kept, &sources[..], &loss].concat();
    // SAFETY: as above, and the gradients have the shapes of gate and weights.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "finish"), Launch::over(rows), &arguments) };
    Saved { loss: total(cuda, &of_rows, how.scale), of_rows, gradients }
}

pub(super) fn mixture(cuda: &Cuda, logits: &Tensor, pointer: &PointerOutput, source: &CopySource) -> Tensor {
    let (device, (rows, known)) = (logits.device(), logits.shape());
    let classes = source.classes(known);
    let mut mixed = Tensor::scratch(device, rows, classes);
    let indices = SourceIndices::new(device, source);
    let arguments = [
        mixed.pointer_mut().into(),
        logits.pointer().into(),
        pointer.gate.value().pointer().into(),
        pointer.weights.value().pointer().into(),
        indices.classes.pointer().into(),
        indices.of.pointer().into(),
        known.into(),
        classes.into(),
        source.steps.into(),
        pointer.heads.into(),
        LEAST.into(),
    ];
    // SAFETY: a block for each row of logits, with its gate, weights and source; a class of a source is below `classes`.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "mixture"), Launch::blocks(rows), &arguments) };
    mixed
}
