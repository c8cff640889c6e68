//! The product as it is defined.

use super::Mat;

/// `a · b`, number by number, in `f64`.
pub fn multiply(a: Mat, b: Mat) -> Vec<f64> {
    assert_eq!(a.columns(), b.rows());
    let dot = |i, j| (0..a.columns()).map(|k| f64::from(a.at(i, k)) * f64::from(b.at(k, j))).sum();
    (0..a.rows()).flat_map(|i| (0..b.columns()).map(move |j| dot(i, j))).collect()
}
