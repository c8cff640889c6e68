//! As it is defined.

/// The `wanted` largest log-probabilities of a row, with their places.
pub fn top_k(x: &[f64], wanted: usize) -> Vec<(usize, f64)> {
    let sum: f64 = x.iter().map(|x| x.exp()).sum();
    let mut all: Vec<(usize, f64)> = x.iter().map(|x| x - sum.ln()).enumerate().collect();
    all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
    all.truncate(wanted);
    all
}
