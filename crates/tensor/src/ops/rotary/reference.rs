//! As it is defined.

use super::{RotaryConfig, angle};

/// Turns the heads of one row.
pub fn rotary(row: &[f64], step: usize, turned: RotaryConfig) -> Vec<f64> {
    let mut y = row.to_vec();
    let half = turned.depth / 2;
    for head in (0..turned.columns).step_by(turned.depth) {
        for pair in 0..half {
            let (sin, cos) = angle(turned.first + step, pair, turned.depth).sin_cos();
            let (a, b) = (row[head + pair], row[head + half + pair]);
            y[head + pair] = a * cos - b * sin;
            y[head + half + pair] = a * sin + b * cos;
        }
    }
    y
}
