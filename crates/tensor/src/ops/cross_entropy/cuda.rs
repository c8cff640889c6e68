use super::{CrossEntropy, Kept, Saved};
use crate::cuda::{Cuda, Factor, Indices, Launch, Pointer, Source, View};
use crate::ops::sums::cuda::column_sums;
use crate::product::Update;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("cross_entropy", include_str!("cross_entropy.cu"));

/// Numbers in a block of logits: a gigabyte.
const BLOCK: usize = 256 << 20;

pub(super) fn forward(
    cuda: &Cuda,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
) -> Saved {
    let (of_rows, gradients) = in_blocks(cuda, x, weight, bias, targets, how, wanted, None);
    Saved { loss: total(cuda, &of_rows, how.scale), of_rows, gradients }
}

/// What a target may be had from beside its logit, for each row: the logarithm of that, and the share that the logit has then.
pub(crate) struct Beside<'a> {
    pub(crate) log: &'a Tensor,
    pub(crate) shares: &'a mut Tensor,
}

/// Goes through the rows in blocks: the loss of each, and the gradients.
pub(crate) fn in_blocks(
    cuda: &Cuda,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
    beside: Option<Beside>,
) -> (Tensor, Option<Kept>) {
    let (log_beside, shares) =
        beside.map(|Beside { log, shares }| (log.pointer(), shares.pointer_mut())).unzip();
    let (device, rows, (classes, inputs)) = (x.device(), x.rows(), weight.shape());
    let block = (BLOCK / classes.max(1)).clamp(64, rows.max(64));
    let mut logits = Tensor::scratch(device, block.min(rows), classes);
    let mut of_rows = Tensor::scratch(device, rows, 1);
    let mut kept = wanted.then(|| Kept {
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
            log_beside.map(|log: Pointer| log.at(start)).into(),
            shares.map(|shares: Pointer| shares.at(start)).into(),
        ];
        let threads = [if classes > 2048 { 1024 } else { 256 }, 1];
        // SAFETY: a block, a target and a loss for each row of logits; the targets have been checked, and those behind the classes are not read.
        unsafe { cuda.launch(kernel, Launch { threads, ..Launch::blocks(end - start) }, &arguments) };
        if let Some(kept) = &mut kept {
            let update = if start == 0 { Update::Set } else { Update::Add };
            let dlogits = if rounded {
                Factor::rounded(View::strided(logits_at, end - start, classes, 2 * classes))
            } else {
                Factor::from(View::new(logits_at, end - start, classes))
            };
            let dx = kept.x.pointer_mut().at(start * inputs);
            cuda.multiply(dx, inputs, dlogits.clone(), weight.clone(), Update::Set);
            cuda.multiply(kept.weight.pointer_mut(), inputs, dlogits.transposed(), x_part, update);
            column_sums(cuda, dlogits, kept.bias.pointer_mut(), update);
        }
    }
    if let Some(kept) = kept.as_mut().filter(|_| rows == 0) {
        cuda.zero(kept.weight.pointer_mut(), classes * inputs);
        cuda.zero(kept.bias.pointer_mut(), classes);
    }
    (of_rows, kept)
}

/// `scale · Σ losses`
pub(crate) fn total(cuda: &Cuda, losses: &Tensor, scale: f32) -> Tensor {
    let mut loss = Tensor::scratch(losses.device(), 1, 1);
    let arguments = [loss.pointer_mut().into(), losses.pointer().into(), losses.rows().into(), scale.into()];
    // SAFETY: a loss for each row.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "total"), Launch::blocks(1), &arguments) };
    loss
}

/// `to = factor·kept`, or added to it; the factor stays on the GPU.
pub(crate) fn hand_on(cuda: &Cuda, to: Pointer, kept: &Tensor, factor: &Tensor, update: Update) {
    let count = kept.rows() * kept.columns();
    let arguments = [
        to.into(),
        kept.pointer().into(),
        factor.pointer().into(),
        count.into(),
        (update == Update::Add).into(),
    ];
    // SAFETY: what is kept and where it goes are of one shape.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "hand_on"), Launch::over(count), &arguments) };
}
