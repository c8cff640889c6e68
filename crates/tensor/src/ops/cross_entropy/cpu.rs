use super::{CrossEntropy, Kept, Saved};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::linear::fill_rows;
use crate::ops::sums::{AddScaled, column_sums, largest};
use crate::product::{Mat, Right, Update, multiply_into, rows_of_blocks};
use crate::tensor::Tensor;

/// Numbers in a block of logits: large enough for fast products, small enough to stay in a cache.
const BLOCK: usize = 1 << 20;
/// What one logit costs, in simple operations.
const COST: usize = 8;

pub(super) fn forward(
    cpu: &Cpu,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
) -> Saved {
    let mut of_rows = Tensor::scratch(x.device(), x.rows(), 1);
    let gradients = in_blocks(cpu, x, weight, bias, wanted, &mut of_rows, |row, logits, loss| {
        let row = Row { logits, target: targets[row] as usize, beside: f32::NEG_INFINITY, how, wanted };
        loss[0] = cpu.isa.run(row).0;
    });
    Saved { loss: total(&of_rows, how.scale), of_rows, gradients }
}

/// `scale · Σ losses`
pub(crate) fn total(losses: &Tensor, scale: f32) -> Tensor {
    let sum: f64 = losses.data().iter().map(|&loss| f64::from(loss)).sum();
    Tensor::new(losses.device(), 1, 1, &[(sum * f64::from(scale)) as f32])
}

/// Goes through the rows in blocks. `of_row` gets the number of a row, its logits and its place in `of_rows`; where gradients are
/// wanted, it makes the logits those of the logits.
pub(crate) fn in_blocks(
    cpu: &Cpu,
    x: &Tensor,
    weight: &Tensor,
    bias: Option<&Tensor>,
    wanted: bool,
    of_rows: &mut Tensor,
    of_row: impl Fn(usize, &mut [f32], &mut [f32]) + Sync,
) -> Option<Kept> {
    let (device, rows, (classes, inputs)) = (x.device(), x.rows(), weight.shape());
    let block = rows_of_blocks(BLOCK / classes.max(1)).min(rows.max(1));
    let mut logits = Tensor::scratch(device, block, classes);
    let mut kept = wanted.then(|| Kept {
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

        if let (Some(kept), Some(to_inputs)) = (&mut kept, &to_inputs) {
            let dlogits = Mat::new(part, end - start, classes);
            let dx = &mut kept.x.data_mut()[start * inputs..end * inputs];
            multiply_into(device, dx, inputs, dlogits, Right::Packed(to_inputs), Update::Set);
            let dweight = kept.weight.data_mut();
            multiply_into(device, dweight, inputs, dlogits.transposed(), Right::Plain(x_part), Update::Add);
            column_sums(cpu, dlogits, kept.bias.data_mut(), Update::Add);
        }
    }
    kept
}

/// One row: its logits in; its loss out, and the share that the logits have in the target's probability. Where gradients are wanted,
/// the logits become theirs.
///
/// The target may be had in another way as well: `P = p_target + e^beside`, and `share = p_target / P`. A target behind the classes can
/// be had in no other way.
pub(crate) struct Row<'a> {
    pub(crate) logits: &'a mut [f32],
    pub(crate) target: usize,
    pub(crate) beside: f32,
    pub(crate) how: CrossEntropy,
    pub(crate) wanted: bool,
}

impl Kernel for Row<'_> {
    type Output = (f32, f32);

    #[inline(always)]
    fn run<V: Vector>(self) -> (f32, f32) {
        let Row { logits, target, beside, how, wanted } = self;
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
        let (loss, share) = with_beside(log_sum - of_target, beside);
        let sure = 1.0 - how.smoothing;
        if wanted {
            let uniform = V::lit(how.scale * how.smoothing / classes);
            let factor = V::lit(how.scale * (sure * share + how.smoothing) / sum);
            for chunk in logits.chunks_mut(LANES) {
                V::load(chunk).mul_add(factor, -uniform).store(chunk);
            }
            logits.get_mut(target).into_iter().for_each(|logit| *logit -= how.scale * sure * share);
        }
        let loss = sure * loss;
        // Without smoothing, a class that is ruled out (a logit of −∞) does not matter; 0·∞ would.
        let loss =
            if how.smoothing > 0.0 { loss + how.smoothing * (log_sum - shifted / classes) } else { loss };
        (loss, share)
    }
}

/// From `−log p` and the logarithm of what is beside it, `−log(p + e^beside)` and the share of `p` in it.
fn with_beside(loss: f32, beside: f32) -> (f32, f32) {
    if beside == f32::NEG_INFINITY {
        return (loss, 1.0);
    }
    // The larger of both comes out of the logarithm: log(p + q) = log p + log(1 + q/p).
    let odds = (beside + loss).exp();
    let loss = if odds <= 1.0 { loss - odds.ln_1p() } else { -beside - (1.0 / odds).ln_1p() };
    (loss, 1.0 / (1.0 + odds))
}

/// `to = factor·kept`, or added to it.
pub(crate) fn hand_on(cpu: &Cpu, to: &mut [f32], kept: &Tensor, factor: f32, update: Update) {
    let n = to.len();
    cpu.pool.split_rows(n, n, [to], |range, [to]| {
        if update == Update::Set {
            to.fill(0.0);
        }
        cpu.isa.run(AddScaled { out: to, x: &kept.data()[range], weight: factor });
    });
}
