use super::{CopySource, LEAST, NOWHERE, Pointed, Saved, Values};
use crate::device::Cpu;
use crate::lane::{Kernel, Lane, Vector};
use crate::ops::cross_entropy::CrossEntropy;
use crate::ops::cross_entropy::cpu::{Row, in_blocks, total};
use crate::ops::sums::{exp_sum, largest};
use crate::tensor::Tensor;

/// What one number costs, in simple operations.
const COST: usize = 8;

pub(super) fn forward(
    cpu: &Cpu,
    values: &Values,
    copied: &CopySource,
    targets: &[u32],
    how: CrossEntropy,
    wanted: bool,
) -> Saved {
    let Values { x, weight, bias, gate, weights, heads } = *values;
    let device = x.device();
    let attention = |row: usize| {
        on_class(copied.of_row(row), weights.row(row), heads, targets[row]).map(|a| a.max(LEAST))
    };
    let sure = 1.0 - how.smoothing;
    // The loss of each row, and the vocabulary's share in the probability of its target.
    let mut found = Tensor::scratch(device, x.rows(), 2);
    let kept = in_blocks(cpu, x, weight, bias, wanted, &mut found, |row, logits, found| {
        let u = gate.data()[row];
        let beside = attention(row).map_or(f32::NEG_INFINITY, |a| a.ln() - u);
        let (loss, share) = cpu.isa.run(Row { logits, target: targets[row] as usize, beside, how, wanted });
        found.copy_from_slice(&[loss - sure * log_sigmoid(u), share]);
    });
    let column =
        |column: usize| -> Vec<f32> { found.data().iter().skip(column).step_by(2).copied().collect() };
    let [losses, shares] = [0, 1].map(column);
    let of_rows = Tensor::new(device, x.rows(), 1, &losses);

    let gradients = kept.map(|kept| {
        let mut dgate = Tensor::scratch(device, x.rows(), 1);
        let mut dweights = Tensor::zeros(device, x.rows(), weights.columns());
        let scale = how.scale * sure;
        for ((row, share), dgate) in shares.iter().enumerate().zip(dgate.data_mut()) {
            *dgate = scale * (Lane::sigmoid(gate.data()[row]) - share);
            let Some(a) = attention(row) else { continue };
            let slope = -scale * (1.0 - share) / (a * heads as f32);
            let own = row * weights.columns()..(row + 1) * weights.columns();
            let places = dweights.data_mut()[own].iter_mut().zip(copied.of_row(row).iter().cycle());
            places.filter(|(_, class)| **class == targets[row]).for_each(|(da, _)| *da = slope);
        }
        Pointed { kept, gate: dgate, weights: dweights }
    });
    Saved { loss: total(&of_rows, how.scale), of_rows, gradients }
}

/// The attention of a row on the steps that have a class, the mean of all heads; nothing where no step has it.
fn on_class(classes: &[u32], weights: &[f32], heads: usize, class: u32) -> Option<f32> {
    let there = weights.iter().zip(classes.iter().cycle()).filter(|&(_, &other)| other == class);
    there.map(|(a, _)| a / heads as f32).reduce(|sum, a| sum + a)
}

/// `log σ(u)`, without a number that overflows.
fn log_sigmoid(u: f32) -> f32 {
    u.min(0.0) - (-u.abs()).exp().ln_1p()
}

/// `log(e^a + e^b)` for a finite `b`.
fn log_add(a: f32, b: f32) -> f32 {
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}

pub(super) fn mixture(
    cpu: &Cpu,
    logits: &Tensor,
    gate: &Tensor,
    weights: &Tensor,
    heads: usize,
    copied: &CopySource,
) -> Tensor {
    let (rows, known) = logits.shape();
    let classes = copied.classes(known);
    let mut mixed = Tensor::scratch(logits.device(), rows, classes);
    cpu.pool.split_rows(rows, rows * classes * COST, [mixed.data_mut()], |share, [mixed]| {
        for (row, mixed) in share.zip(mixed.chunks_exact_mut(classes.max(1))) {
            let (of_vocabulary, behind) = mixed.split_at_mut(known);
            let u = gate.data()[row];
            cpu.isa.run(Generated { logits: logits.row(row), out: of_vocabulary, log_gate: log_sigmoid(u) });
            behind.fill(f32::NEG_INFINITY);
            let (source, weights) = (copied.of_row(row), weights.row(row));
            for (step, &class) in source.iter().enumerate().filter(|&(_, &class)| class != NOWHERE) {
                let is_first = !source[..step].contains(&class);
                let attention = on_class(source, weights, heads, class).filter(|_| is_first);
                if let Some(a) = attention {
                    let p = &mut mixed[class as usize];
                    *p = log_add(*p, a.max(LEAST).ln() + log_sigmoid(-u));
                }
            }
        }
    });
    mixed
}

/// `log g + log softmax(logits)`
struct Generated<'a> {
    logits: &'a [f32],
    out: &'a mut [f32],
    log_gate: f32,
}

impl Kernel for Generated<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Generated { logits, out, log_gate } = self;
        let largest = largest::<V>(logits);
        out.copy_from_slice(logits);
        let shift = log_gate - largest - exp_sum::<V>(out, largest).ln();
        out.iter_mut().zip(logits).for_each(|(out, logit)| *out = logit + shift);
    }
}
