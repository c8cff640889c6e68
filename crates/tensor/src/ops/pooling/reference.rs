//! As it is defined, for one sequence.

use super::Pooling;

/// What becomes of the steps of a sequence, each of so many numbers.
pub fn pool(steps: &[Vec<f64>], width: usize, how: Pooling) -> Vec<f64> {
    let column = |j: usize| {
        let numbers = steps.iter().map(|step| step[j]);
        match how {
            _ if steps.is_empty() => 0.0,
            Pooling::Mean => numbers.sum::<f64>() / steps.len() as f64,
            Pooling::Max => numbers.fold(f64::NEG_INFINITY, f64::max),
        }
    };
    (0..width).map(column).collect()
}
