//! As it is defined.

/// `x·Wᵀ + b` for `x` of so many columns.
pub fn linear(x: &[f64], weight: &[f64], bias: &[f64], inputs: usize) -> Vec<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let row = |x| weight.chunks(inputs).zip(bias).map(move |(w, b)| dot(x, w) + b);
    x.chunks(inputs).flat_map(row).collect()
}
