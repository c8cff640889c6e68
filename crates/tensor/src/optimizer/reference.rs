//! As they are defined.

/// A weight and its two moments.
pub type Weight = [f64; 3];

/// Adam's step `t`, from 1, of one weight; with a decay, AdamW's.
pub fn adam(
    [w, m, v]: Weight,
    g: f64,
    rate: f64,
    [b1, b2]: [f64; 2],
    epsilon: f64,
    decay: f64,
    t: i32,
) -> Weight {
    let m = b1 * m + (1.0 - b1) * g;
    let v = b2 * v + (1.0 - b2) * g * g;
    let (mean, square) = (m / (1.0 - b1.powi(t)), v / (1.0 - b2.powi(t)));
    [w * (1.0 - rate * decay) - rate * mean / (square.sqrt() + epsilon), m, v]
}

/// A step of stochastic gradient descent of one weight with its moment.
pub fn sgd([w, m]: [f64; 2], g: f64, rate: f64, momentum: f64) -> [f64; 2] {
    let m = momentum * m + g;
    [w - rate * m, m]
}

/// A step of Lion of one weight with its moment.
pub fn lion([w, m]: [f64; 2], g: f64, rate: f64, [b1, b2]: [f64; 2], decay: f64) -> [f64; 2] {
    let towards = b1 * m + (1.0 - b1) * g;
    let sign = if towards == 0.0 { 0.0 } else { towards.signum() };
    [w * (1.0 - rate * decay) - rate * sign, b2 * m + (1.0 - b2) * g]
}

/// Gradients, scaled down where their norm is above the limit.
pub fn clip(gradients: &[f64], limit: f64) -> Vec<f64> {
    let norm = gradients.iter().map(|g| g * g).sum::<f64>().sqrt();
    let factor = (limit / (norm + 1e-6)).min(1.0);
    gradients.iter().map(|g| g * factor).collect()
}
