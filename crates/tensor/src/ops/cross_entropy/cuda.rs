use super::{CrossEntropy, OutputLayer, OutputLayerGradients, Saved};
use crate::cuda::{Cuda, Factor, Indices, Launch, Pointer, Source, View};
use crate::ops::sums::cuda::column_sums;
use crate::product::Update;
use crate::tape::Var;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("cross_entropy", include_str!("cross_entropy.cu"));

/// Elements of a block of logits: a gigabyte.
const BLOCK: usize = 256 << 20;

pub(super) fn forward(
    cuda: &Cuda,
    output_layer: OutputLayer,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
) -> Saved {
    let (of_rows, gradients) = in_blocks(cuda, output_layer, targets, how, wanted, None);
    Saved { loss: total(cuda, &of_rows, how.scale), of_rows, gradients }
}

/// The part of each target's probability that is copied.
pub(crate) struct CopiedTargets<'a> {
    /// Its logarithm, relative to the vocabulary's part.
    pub(crate) log: &'a Tensor,
    /// Overwritten: the vocabulary's fraction of the whole.
    pub(crate) fractions: &'a mut Tensor,
}

/// Computes the rows in blocks: the loss of each, and the gradients.
pub(crate) fn in_blocks(
    cuda: &Cuda,
    output_layer: OutputLayer,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
    copied: Option<CopiedTargets>,
) -> (Tensor, Option<OutputLayerGradients>) {
    let OutputLayer { x, weight, bias } = output_layer;
    let (x, weight, bias) = (x.value(), weight.value(), bias.map(Var::value));
    let (log_copied, fractions) =
        copied.map(|CopiedTargets { log, fractions }| (log.pointer(), fractions.pointer_mut())).unzip();
    let (device, rows, (classes, inputs)) = (x.device(), x.rows(), weight.shape());
    let block = (BLOCK / classes.max(1)).clamp(64, rows.max(64));
    let mut logits = Tensor::scratch(device, block.min(rows), classes);
    let mut of_rows = Tensor::scratch(device, rows, 1);
    let mut gradients = wanted.then(|| OutputLayerGradients {
        x: Tensor::scratch(device, rows, inputs),
        weight: Tensor::scratch(device, classes, inputs),
        bias: Tensor::scratch(device, 1, classes),
    });
    let targets = Indices::new(device, targets);
    let kernel = cuda.kernel(&SOURCE, "rows");
    // Where the products round their factors, the kernel writes the logits' gradients rounded: `Gradients` there.
    let rounded = cuda.rounds_factors(block.min(rows) * classes * inputs);
    let wanted_as = match (wanted, rounded) {
        (false, _) => 0u32,
        (true, false) => 1,
        (true, true) => 2,
    };
    let weight = Factor::from(weight.view());
    let logits_at = logits.pointer_mut();
    for start in (0..rows).step_by(block) {
        let end = (start + block).min(rows);
        let x_part = Factor::from(x.view().row_block(start..end));
        cuda.multiply(logits_at, classes, x_part.clone(), weight.transposed(), Update::Set);
        let arguments = [
            logits_at.into(),
            bias.map(Tensor::pointer).into(),
            targets.pointer().at(start).into(),
            of_rows.pointer_mut().at(start).into(),
            classes.into(),
            how.scale.into(),
            how.smoothing.into(),
            wanted_as.into(),
            log_copied.map(|log: Pointer| log.at(start)).into(),
            fractions.map(|fractions: Pointer| fractions.at(start)).into(),
        ];
        let threads = [if classes > 2048 { 1024 } else { 256 }, 1];
        // SAFETY: a block, a target and a loss for each row of logits; the targets have been checked, and those beyond the classes are not read.
        unsafe { cuda.launch(kernel, Launch { threads, ..Launch::blocks(end - start) }, &arguments) };
        if let Some(gradients) = &mut gradients {
            let update = if start == 0 { Update::Set } else { Update::Add };
            let dlogits = if rounded {
                Factor::rounded(View::strided(logits_at, end - start, classes, 2 * classes))
            } else {
                Factor::from(View::new(logits_at, end - start, classes))
            };
            let dx = gradients.x.pointer_mut().at(start * inputs);
            cuda.multiply(dx, inputs, dlogits.clone(), weight.clone(), Update::Set);
            cuda.multiply(gradients.weight.pointer_mut(), inputs, dlogits.transposed(), x_part, update);
            column_sums(cuda, dlogits, gradients.bias.pointer_mut(), update);
        }
    }
    if let Some(gradients) = gradients.as_mut().filter(|_| rows == 0) {
        cuda.zero(gradients.weight.pointer_mut(), classes * inputs);
        cuda.zero(gradients.bias.pointer_mut(), classes);
    }
    (of_rows, gradients)
}

/// `scale · Σ losses`
pub(crate) fn total(cuda: &Cuda, losses: &Tensor, scale: f32) -> Tensor {
    let mut loss = Tensor::scratch(losses.device(), 1, 1);
    let arguments = [loss.pointer_mut().into(), losses.pointer().into(), losses.rows().into(), scale.into()];
    // SAFETY: a loss for each row.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "total"), Launch::blocks(1), &arguments) };
    loss
}

/// Sets `to`, or adds to it: `factor·x`, with the factor on the GPU.
pub(super) fn put_scaled(cuda: &Cuda, to: Pointer, x: &Tensor, factor: &Tensor, update: Update) {
    let count = x.rows() * x.columns();
    let arguments = [
        to.into(),
        x.pointer().into(),
        factor.pointer().into(),
        count.into(),
        (update == Update::Add).into(),
    ];
    // SAFETY: both are of one shape.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "hand_on"), Launch::over(count), &arguments) };
}
