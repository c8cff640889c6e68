use super::{CopyGradients, CopyInputs, CopySource, LEAST, NOWHERE, PointerOutput, Saved};
use crate::device::Cpu;
use crate::lane::{Kernel, Lane, Vector};
use crate::ops::cross_entropy::CrossEntropy;
use crate::ops::cross_entropy::cpu::{Row, in_blocks, total};
use crate::ops::sums::{exp_sum, largest};
use crate::tensor::Tensor;

/// Cost of one element, in simple operations.
const COST: usize = 8;

pub(super) fn forward(cpu: &Cpu, inputs: CopyInputs, how: CrossEntropy, wanted: bool) -> Saved {
    let CopyInputs { output_layer, pointer, source, targets } = inputs;
    let (gate, weights, heads) = (pointer.gate.value(), pointer.weights.value(), pointer.heads);
    let (device, rows) = (weights.device(), targets.len());
    let attention = |row: usize| {
        on_class(source.of_row(row), weights.row(row), heads, targets[row]).map(|a| a.max(LEAST))
    };
    let sure = 1.0 - how.smoothing;
    // The loss of each row, and the vocabulary's fraction of the probability of its target.
    let mut found = Tensor::scratch(device, rows, 2);
    let layer_gradients = in_blocks(cpu, output_layer, wanted, &mut found, |row, logits, found| {
        let u = gate.data()[row];
        let copied = attention(row).map_or(f32::NEG_INFINITY, |a| a.ln() - u);
        let (loss, fraction) =
            cpu.isa.run(Row { logits, target: targets[row] as usize, copied, how, wanted });
        found.copy_from_slice(&[loss - sure * log_sigmoid(u), fraction]);
    });
    let column =
        |column: usize| -> Vec<f32> { found.data().iter().skip(column).step_by(2).copied().collect() };
    let [losses, fractions] = [0, 1].map(column);
    let of_rows = Tensor::new(device, rows, 1, &losses);

    let gradients = layer_gradients.map(|output_layer| {
        let mut dgate = Tensor::scratch(device, rows, 1);
        let mut dweights = Tensor::zeros(device, rows, weights.columns());
        let scale = how.scale * sure;
        for ((row, fraction), dgate) in fractions.iter().enumerate().zip(dgate.data_mut()) {
            *dgate = scale * (Lane::sigmoid(gate.data()[row]) - fraction);
            let Some(a) = attention(row) else { continue };
            let slope = -scale * (1.0 - fraction) / (a * heads as f32);
            let own = row * weights.columns()..(row + 1) * weights.columns();
            let steps = dweights.data_mut()[own].iter_mut().zip(source.of_row(row).iter().cycle());
            steps.filter(|(_, class)| **class == targets[row]).for_each(|(da, _)| *da = slope);
        }
        CopyGradients { output_layer, gate: dgate, weights: dweights }
    });
    Saved { loss: total(&of_rows, how.scale), of_rows, gradients }
}

/// The attention of a row on the steps that have a class, the mean of all heads; nothing where no step has it.
fn on_class(classes: &[u32], weights: &[f32], heads: usize, class: u32) -> Option<f32> {
    let there = weights.iter().zip(classes.iter().cycle()).filter(|&(_, &other)| other == class);
    there.map(|(a, _)| a / heads as f32).reduce(|sum, a| sum + a)
}

/// `log σ(u)`, without overflow.
fn log_sigmoid(u: f32) -> f32 {
    u.min(0.0) - (-u.abs()).exp().ln_1p()
}

/// `log(e^a + e^b)` for a finite `b`.
fn log_add(a: f32, b: f32) -> f32 {
    a.max(b) + (-(a - b).abs()).exp().ln_1p()
}

pub(super) fn mixture(cpu: &Cpu, logits: &Tensor, pointer: &PointerOutput, copied: &CopySource) -> Tensor {
    let (gate, weights, heads) = (pointer.gate.value(), pointer.weights.value(), pointer.heads);
    let (rows, known) = logits.shape();
    let classes = copied.classes(known);
    let mut mixed = Tensor::scratch(logits.device(), rows, classes);
    cpu.pool.split_rows(rows, rows * classes * COST, [mixed.data_mut()], |share, [mixed]| {
        for (row, mixed) in share.zip(mixed.chunks_exact_mut(classes.max(1))) {
            let (of_vocabulary, of_extension) = mixed.split_at_mut(known);
            let u = gate.data()[row];
            cpu.isa.run(Generated { logits: logits.row(row), out: of_vocabulary, log_gate: log_sigmoid(u) });
            of_extension.fill(f32::NEG_INFINITY);
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
