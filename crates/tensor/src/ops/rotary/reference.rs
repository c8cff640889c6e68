//! As it is defined.

use super::{RotaryConfig, angle};

/// Rotates the heads of one row.
pub fn rotary(row: &[f64], position: usize, config: RotaryConfig) -> Vec<f64> {
    let mut y = row.to_vec();
    let half = config.depth / 2;
    for head in (0..config.columns).step_by(config.depth) {
        for pair in 0..half {
            let (sin, cos) = angle(position, pair, config.depth).sin_cos();
            let (a, b) = (row[head + pair], row[head + half + pair]);
            y[head + pair] = a * cos - b * sin;
            y[head + half + pair] = a * sin + b * cos;
        }
    }
    y
}
