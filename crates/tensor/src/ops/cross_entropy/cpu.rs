use super::{CrossEntropy, OutputLayer, OutputLayerGradients, Saved};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::linear::fill_rows;
use crate::ops::sums::{AddScaled, column_sums, largest};
use crate::product::{Mat, Right, Update, multiply_into, rows_of_blocks};
use crate::tape::Var;
use crate::tensor::Tensor;

/// Elements of a block of logits: large enough for fast products, small enough to stay in a cache.
const BLOCK: usize = 1 << 20;
/// Cost of one logit, in simple operations.
const COST: usize = 8;

pub(super) fn forward(
    cpu: &Cpu,
    output_layer: OutputLayer,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
) -> Saved {
    let mut of_rows = Tensor::scratch(output_layer.x.device(), targets.len(), 1);
    let gradients = in_blocks(cpu, output_layer, wanted, &mut of_rows, |row, logits, loss| {
        let row = Row { logits, target: targets[row] as usize, copied: f32::NEG_INFINITY, how, wanted };
        loss[0] = cpu.isa.run(row).0;
    });
    Saved { loss: total(&of_rows, how.scale), of_rows, gradients }
}

/// `scale · Σ losses`
pub(crate) fn total(losses: &Tensor, scale: f32) -> Tensor {
    let sum: f64 = losses.data().iter().map(|&loss| f64::from(loss)).sum();
    Tensor::new(losses.device(), 1, 1, &[(sum * f64::from(scale)) as f32])
}

/// Computes the rows in blocks. `of_row` gets the index of a row, its logits and its row of `of_rows`; where gradients are
/// wanted, it replaces the logits by their gradients.
pub(crate) fn in_blocks(
    cpu: &Cpu,
    output_layer: OutputLayer,
    wanted: bool,
    of_rows: &mut Tensor,
    of_row: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) -> Option<OutputLayerGradients> {
    let OutputLayer { x, weight, bias } = output_layer;
    let (x, weight, bias) = (x.value(), weight.value(), bias.map(Var::value));
    let (device, rows, (classes, inputs)) = (x.device(), x.rows(), weight.shape());
    let block = rows_of_blocks(BLOCK / classes.max(1)).min(rows.max(1));
    let mut logits = Tensor::scratch(device, block, classes);
    let mut gradients = wanted.then(|| OutputLayerGradients {
        x: Tensor::scratch(device, rows, inputs),
        weight: Tensor::zeros(device, classes, inputs),
        bias: Tensor::zeros(device, 1, classes),
    });
    let to_logits = weight.packed_whole(true, !wanted);
    let to_inputs = wanted.then(|| weight.packed_whole(false, false));
    let results = of_rows.columns();
    for start in (0..rows).step_by(block) {
        let end = (start + block).min(rows);
        let part = &mut logits.data_mut()[..(end - start) * classes];
        let x_part = x.mat().row_block(start..end);
        let update = match bias {
            Some(bias) => {
                fill_rows(cpu, part, classes, bias.data());
                Update::Add
            }
            None => Update::Set,
        };
        multiply_into(device, part, classes, x_part, Right::Packed(&to_logits), update);

        let found = &mut of_rows.data_mut()[start * results..end * results];
        let operations = part.len() * COST;
        cpu.pool.split_rows(end - start, operations, [&mut *part, found], |share, [logits, found]| {
            let rows = logits.chunks_exact_mut(classes).zip(found.chunks_exact_mut(results));
            for (row, (logits, found)) in share.zip(rows) {
                of_row(start + row, logits, found);
            }
        });

        if let (Some(gradients), Some(to_inputs)) = (&mut gradients, &to_inputs) {
            let dlogits = Mat::new(part, end - start, classes);
            let dx = &mut gradients.x.data_mut()[start * inputs..end * inputs];
            multiply_into(device, dx, inputs, dlogits, Right::Packed(to_inputs), Update::Set);
            let dweight = gradients.weight.data_mut();
            multiply_into(device, dweight, inputs, dlogits.transposed(), Right::Plain(x_part), Update::Add);
            column_sums(cpu, dlogits, gradients.bias.data_mut(), Update::Add);
        }
    }
    gradients
}

/// Computes from the logits of a row its loss and the logits' fraction of the target's probability. Where gradients are wanted, they
/// replace the logits.
///
/// The target may be copied as well: `P = p_target + e^copied`, and the fraction is `p_target / P`. A target beyond the classes can
/// only be copied.
pub(crate) struct Row<'a> {
    pub(crate) logits: &'a mut [f32],
    pub(crate) target: usize,
    pub(crate) copied: f32,
    pub(crate) how: CrossEntropy,
    pub(crate) wanted: bool,
}

impl Kernel for Row<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn run<V: Vector>(self) -> (f32, f32) {
        let Row { logits, target, copied, how, wanted } = self;
        let classes = logits.len() as f32;
        let largest = largest::<V>(logits);
        // With l = logit − largest: −log P(k) = log Σ e^l − l_k.
        let of_target = logits.get(target).map_or(f32::NEG_INFINITY, |logit| logit - largest);
        let (mut exponentials, mut shifted) = (V::lit(0.0), V::lit(0.0));
        let mut chunks = logits.chunks_exact_mut(LANES);
        for chunk in &mut chunks {
            let l = V::load(chunk) - V::lit(largest);
            let e = l.exp();
            exponentials = exponentials + e;
            shifted = shifted + l;
            e.store(chunk);
        }
        let (mut sum, mut shifted) = (exponentials.sum(), shifted.sum());
        for logit in chunks.into_remainder() {
            let l = *logit - largest;
            shifted += l;
            *logit = V::lit(l).exp().array()[0];
            sum += *logit;
        }
        let log_sum = sum.ln();
        let (loss, fraction) = with_copied(log_sum - of_target, copied);
        let sure = 1.0 - how.smoothing;
        if wanted {
            let uniform = V::lit(how.scale * how.smoothing / classes);
            let factor = V::lit(how.scale * (sure * fraction + how.smoothing) / sum);
            for chunk in logits.chunks_mut(LANES) {
                V::load(chunk).mul_add(factor, -uniform).store(chunk);
            }
            logits.get_mut(target).into_iter().for_each(|logit| *logit -= how.scale * sure * fraction);
        }
        let loss = sure * loss;
        // Without smoothing, a class that is ruled out (a logit of −∞) does not matter; 0·∞ would.
        let loss =
            if how.smoothing > 0.0 { loss + how.smoothing * (log_sum - shifted / classes) } else { loss };
        (loss, fraction)
    }
}

/// From `−log p`, `−log(p + e^copied)` and the fraction of `p` in the sum.
fn with_copied(loss: f32, copied: f32) -> (f32, f32) {
    if copied == f32::NEG_INFINITY {
        return (loss, 1.0);
    }
    // The larger of both comes out of the logarithm: log(p + q) = log p + log(1 + q/p).
    let odds = (copied + loss).exp();
    let loss = if odds <= 1.0 { loss - odds.ln_1p() } else { -copied - (1.0 / odds).ln_1p() };
    (loss, 1.0 / (1.0 + odds))
}

/// Sets `to`, or adds to it: `factor·x`.
pub(super) fn put_scaled(cpu: &Cpu, to: &mut [f32], x: &Tensor, factor: f32, update: Update) {
    let n = to.len();
    cpu.pool.split_rows(n, n, [to], |range, [to]| {
        if update == Update::Set {
            to.fill(0.0);
        }
        cpu.isa.run(AddScaled { out: to, x: &x.data()[range], weight: factor });
    });
}
