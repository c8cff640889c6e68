//! As they are defined.

/// A weight and its two moments.
pub type Weight = [f64; 3];

/// Adam's step `t`, from 1, of one weight.
pub fn adam([w, m, v]: Weight, g: f64, rate: f64, [b1, b2]: [f64; 2], epsilon: f64, t: i32) -> Weight {
    let m = b1 * m + (1.0 - b1) * g;
    let v = b2 * v + (1.0 - b2) * g * g;
    let (mean, square) = (m / (1.0 - b1.powi(t)), v / (1.0 - b2.powi(t)));
    [w - rate * mean / (square.sqrt() + epsilon), m, v]
}

/// Gradients, scaled down where their norm is above the limit.
pub fn clip(gradients: &[f64], limit: f64) -> Vec<f64> {
    let norm = gradients.iter().map(|g| g * g).sum::<f64>().sqrt();
    let factor = (limit / (norm + 1e-6)).min(1.0);
    gradients.iter().map(|g| g * factor).collect()
}
