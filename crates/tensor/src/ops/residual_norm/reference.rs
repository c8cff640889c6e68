//! As it is defined.

use crate::ops::layer_norm::reference::layer_norm;

/// The sum, and the sum normalized; nothing is dropped.
pub fn residual_norm(x: &[f64], f: &[f64], gain: &[f64], bias: &[f64]) -> [Vec<f64>; 2] {
    let sum: Vec<f64> = x.iter().zip(f).map(|(x, f)| x + f).collect();
    let normal = layer_norm(&sum, gain, bias);
    [sum, normal]
}
