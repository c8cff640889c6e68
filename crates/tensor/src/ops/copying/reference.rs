//! As it is defined.

use super::CopySource;
use crate::ops::CrossEntropy;
use crate::ops::linear::reference::linear;

/// The probabilities of all classes in each row, from the logits of the vocabulary's, the logits of the gates, and the attention of
/// one head.
pub fn mixture(
    logits: &[f64],
    gates: &[f64],
    attention: &[f64],
    copied: &CopySource,
    known: usize,
) -> Vec<Vec<f64>> {
    let of_row = |(row, (logits, gate)): (usize, (&[f64], &f64))| {
        let g = 1.0 / (1.0 + (-gate).exp());
        let sum: f64 = logits.iter().map(|l| l.exp()).sum();
        let mut p: Vec<f64> = logits.iter().map(|l| g * l.exp() / sum).collect();
        p.resize(copied.classes(known), 0.0);
        for (&class, a) in copied.of_row(row).iter().zip(&attention[row * copied.steps..]) {
            p.get_mut(class as usize).into_iter().for_each(|p| *p += (1.0 - g) * a);
        }
        p
    };
    logits.chunks(known).zip(gates).enumerate().map(of_row).collect()
}

/// The loss: `numbers` are x, W, b, u and a, of one head.
pub fn copy_loss(
    [x, weight, bias, gates, attention]: [&[f64]; 5],
    copied: &CopySource,
    targets: &[u32],
    how: CrossEntropy,
) -> f64 {
    let (classes, smoothing) = (bias.len(), f64::from(how.smoothing));
    let logits = linear(x, weight, bias, weight.len() / classes);
    let mixed = mixture(&logits, gates, attention, copied, classes);
    let row = |((p, logits), &target): ((&Vec<f64>, &[f64]), &u32)| {
        let log_sum = logits.iter().map(|l| l.exp()).sum::<f64>().ln();
        let of_all: f64 = logits.iter().map(|l| l - log_sum).sum();
        -(1.0 - smoothing) * p[target as usize].ln() - smoothing / classes as f64 * of_all
    };
    f64::from(how.scale) * mixed.iter().zip(logits.chunks(classes)).zip(targets).map(row).sum::<f64>()
}
