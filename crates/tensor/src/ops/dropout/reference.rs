//! As it is defined.

use super::Dropout;
use crate::layout::SequenceLayout;

/// What each number is multiplied by.
pub fn mask(rows: &SequenceLayout, width: usize, how: Dropout) -> Vec<f64> {
    let stream = how.stream();
    let factor = |place: usize, step: usize, unit: usize| {
        let example = rows.examples()[place];
        f64::from(how.factors(&stream, example, step as u32, (unit / 4) as u32)[unit % 4])
    };
    rows.places().flat_map(|(place, step)| (0..width).map(move |unit| factor(place, step, unit))).collect()
}
