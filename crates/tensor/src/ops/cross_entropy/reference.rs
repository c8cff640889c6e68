//! As it is defined.

use super::CrossEntropy;
use crate::ops::linear::reference::linear;

/// The loss of rows of so many inputs.
pub fn cross_entropy(
    x: &[f64],
    weight: &[f64],
    bias: &[f64],
    targets: &[u32],
    inputs: usize,
    how: CrossEntropy,
) -> f64 {
    let (classes, smoothing) = (bias.len(), f64::from(how.smoothing));
    let logits = linear(x, weight, bias, inputs);
    let row = |(logits, &target): (&[f64], &u32)| {
        let log_sum = logits.iter().map(|l| l.exp()).sum::<f64>().ln();
        let log_p = |k: usize| logits[k] - log_sum;
        let of_all: f64 = (0..classes).map(log_p).sum();
        -(1.0 - smoothing) * log_p(target as usize) - smoothing / classes as f64 * of_all
    };
    f64::from(how.scale) * logits.chunks(classes).zip(targets).map(row).sum::<f64>()
}
