//! As it is defined.

/// The loss of some logits.
pub fn logistic_loss(z: &[f64], targets: &[bool], scale: f64) -> f64 {
    let row = |(z, &target): (&f64, &bool)| -(1.0 / (1.0 + if target { -z } else { *z }.exp())).ln();
    scale * z.iter().zip(targets).map(row).sum::<f64>()
}
