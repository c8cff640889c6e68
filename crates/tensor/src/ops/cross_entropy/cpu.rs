use super::{CrossEntropy, Kept, Pass};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::linear::fill_rows;
use crate::ops::sums::{AddScaled, column_sums, largest};
use crate::product::{Mat, Right, Update, multiply_into, rows_of_blocks};
use crate::tensor::Tensor;

/// Numbers in a block of logits: large enough for fast products, small enough to stay in a cache.
const BLOCK: usize = 2 << 20;
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
) -> Pass {
    let (device, rows, (classes, inputs)) = (x.device(), x.rows(), weight.shape());
    let block = rows_of_blocks(BLOCK / classes.max(1)).min(rows.max(1));
    let mut logits = Tensor::scratch(device, block, classes);
    let mut of_rows = Tensor::scratch(device, rows, 1);
    let mut kept = wanted.then(|| Kept {
        x: Tensor::scratch(device, rows, inputs),
        weight: Tensor::zeros(device, classes, inputs),
        bias: Tensor::zeros(device, 1, classes),
    });
    let to_logits = weight.packed_whole(true);
    let to_inputs = wanted.then(|| weight.packed_whole(false));
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

        let losses = &mut of_rows.data_mut()[start..end];
        let operations = part.len() * COST;
        cpu.pool.split_rows(end - start, operations, [&mut *part, losses], |share, [logits, losses]| {
            for ((row, logits), loss) in share.zip(logits.chunks_exact_mut(classes)).zip(losses) {
                *loss = cpu.isa.run(Row { logits, target: targets[start + row] as usize, how, wanted });
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
    let sum: f64 = of_rows.data().iter().map(|&loss| f64::from(loss)).sum();
    let loss = Tensor::new(device, 1, 1, &[(sum * f64::from(how.scale)) as f32]);
    Pass { loss, of_rows, gradients: kept }
}

/// One row: its logits in, its loss out; where gradients are wanted, the logits become theirs.
struct Row<'a> {
    logits: &'a mut [f32],
    target: usize,
    how: CrossEntropy,
    wanted: bool,
}

impl Kernel for Row<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        let Row { logits, target, how, wanted } = self;
        let classes = logits.len() as f32;
        let largest = largest::<V>(logits);
        // With l = logit − largest: −log P(k) = log Σ e^l − l_k.
        let of_target = logits[target] - largest;
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
        if wanted {
            let uniform = V::lit(how.scale * how.smoothing / classes);
            let factor = V::lit(how.scale / sum);
            for chunk in logits.chunks_mut(LANES) {
                V::load(chunk).mul_add(factor, -uniform).store(chunk);
            }
            logits[target] -= how.scale * (1.0 - how.smoothing);
        }
        let loss = (1.0 - how.smoothing) * (log_sum - of_target);
        // Without smoothing, a class that is ruled out (a logit of −∞) does not matter; 0·∞ would.
        if how.smoothing > 0.0 { loss + how.smoothing * (log_sum - shifted / classes) } else { loss }
    }
}

/// `to = factor·kept`, or added to it.
pub(super) fn hand_on(cpu: &Cpu, to: &mut [f32], kept: &Tensor, factor: f32, update: Update) {
    let n = to.len();
    cpu.pool.split_rows(n, n, [to], |range, [to]| {
        if update == Update::Set {
            to.fill(0.0);
        }
        cpu.isa.run(AddScaled { out: to, x: &kept.data()[range], weight: factor });
    });
}
