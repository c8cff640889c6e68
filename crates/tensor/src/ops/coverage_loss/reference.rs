//! As it is defined.

/// The coverage loss of one target's weights, step by step.
pub fn coverage_loss(weights: &[Vec<f64>], scale: f64) -> f64 {
    let before = |step: usize, column: usize| weights[..step].iter().map(|row| row[column]).sum::<f64>();
    let of_step = |(step, row): (usize, &Vec<f64>)| -> f64 {
        row.iter().enumerate().map(|(column, weight)| weight.min(before(step, column))).sum()
    };
    scale * weights.iter().enumerate().map(of_step).sum::<f64>()
}
