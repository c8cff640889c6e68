//! As it is defined.

/// Normalizes the rows of `x`, which are as long as `gain`.
pub fn layer_norm(x: &[f64], gain: &[f64], bias: &[f64]) -> Vec<f64> {
    let width = gain.len();
    let row = |x: &[f64]| -> Vec<f64> {
        let mean = x.iter().sum::<f64>() / width as f64;
        let variance = x.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / width as f64;
        let deviation = (variance + f64::from(super::EPSILON)).sqrt();
        x.iter().zip(gain).zip(bias).map(|((x, g), b)| (x - mean) / deviation * g + b).collect()
    };
    x.chunks(width).flat_map(row).collect()
}
