//! As it is defined.

use super::Window;
use crate::layout::SequenceLayout;
use crate::ops::dense::{HiddenUnit, reference::dense};

/// The units of packed rows of so many inputs.
pub fn convolution<U: HiddenUnit>(
    x: &[f64],
    rows: &SequenceLayout,
    window: Window,
    (weight, bias): (&[f64], &[f64]),
    inputs: usize,
) -> Vec<f64> {
    let seen = |(place, step): (usize, usize), tap: usize| match (step + tap).checked_sub(window.before) {
        Some(under) if under < rows.length(place) => x[rows.row(place, under) * inputs..][..inputs].to_vec(),
        _ => vec![0.0; inputs],
    };
    let wide: Vec<f64> =
        rows.places().flat_map(|at| (0..window.taps()).flat_map(move |tap| seen(at, tap))).collect();
    dense::<U>(&wide, weight, bias, window.taps() * inputs)
}
