//! As it is defined.

use super::HiddenUnit;
use crate::ops::linear::reference::linear;

/// The units of the rows of `x`, which are as long as those of `weight`.
pub fn dense<U: HiddenUnit>(x: &[f64], weight: &[f64], bias: &[f64], inputs: usize) -> Vec<f64> {
    let sums = linear(x, weight, bias, inputs);
    let units = if U::GATED { bias.len() / 2 } else { bias.len() };
    let row = |row: &[f64]| -> Vec<f64> {
        (0..units).map(|i| U::value(row[i], row.get(units + i).copied().unwrap_or(0.0))).collect()
    };
    sums.chunks(bias.len()).flat_map(row).collect()
}
