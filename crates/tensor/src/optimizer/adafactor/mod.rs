//! Adafactor: Adam's second moment for the memory of a row and a column.
//!
//! Of a matrix it remembers the mean square of each row, `r`, and of each column, `c`, and takes `r_i·c_j / mean(r)` for the
//! second moment of a weight; of a vector it remembers that of each number. With `β = 1 − t^−0.8` in step `t`:
//!
//! ```text
//! r ← β·r + (1 − β)·mean of g² over a row,  c likewise over a column
//! u = g / √(second moment)
//! w ← w·(1 − rate·λ) − min(rate, 1/√t) · max(10⁻³, rms(w)) / max(1, rms(u)) · u
//! ```
//!
//! A step is a share of the weights' own size, so a rate of 0.01 suits most models. The statistics of all parameters lie behind
//! each other, in the order of their names: the columns of each, and then its rows where it has more than one.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use super::Clip;
use crate::device::on_device;
use crate::params::{Param, Params};
use crate::tensor::Tensor;
use std::ops::Range;

/// Nothing is divided by less than this.
pub const SMALLEST: f32 = f32::EPSILON;
/// Weights count as being at least so large.
pub const SMALLEST_WEIGHT: f32 = 1e-3;

/// The numbers of a step that are the same for all weights.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// `1 − β`
    mix: f32,
    /// `min(rate, 1/√t)`
    rate: f32,
    /// What is left of a weight.
    keep: f32,
}

impl Step {
    pub(super) fn new(t: u64, rate: f32, decay: f32) -> Step {
        let t = t as f64;
        let mix = t.powf(-0.8) as f32;
        Step { mix, rate: rate.min((1.0 / t.sqrt()) as f32), keep: 1.0 - rate * decay }
    }
}

/// A parameter in the flat store, and its statistics.
#[derive(Clone, Debug)]
struct Place {
    weights: Range<usize>,
    rows: usize,
    columns: usize,
    /// How many steps it is frozen.
    frozen_for: u64,
    /// Where its statistics begin: those of the columns.
    statistics: usize,
}

impl Place {
    /// Whether rows are told apart.
    fn has_rows(&self) -> bool {
        self.rows > 1
    }

    fn of_columns(&self) -> Range<usize> {
        self.statistics..self.statistics + self.columns
    }

    fn of_rows(&self) -> Range<usize> {
        let start = self.of_columns().end;
        start..start + if self.has_rows() { self.rows } else { 0 }
    }
}

fn places(params: &Params) -> Vec<(Param, Place)> {
    let mut next = 0;
    let place = |param| {
        let (weights, rows, columns, frozen_for) = params.placed(param);
        let place = Place { weights, rows, columns, frozen_for, statistics: next };
        next = place.of_rows().end;
        (param, place)
    };
    params.in_store().map(place).collect()
}

/// How many numbers are remembered of all parameters.
pub(super) fn statistics(params: &Params) -> usize {
    places(params).last().map_or(0, |(_, last)| last.of_rows().end)
}

/// The mean squares of a parameter's columns, and of its rows where they are told apart: their name, and where they lie.
pub(super) fn named(params: &Params) -> Vec<(String, Range<usize>)> {
    let of_parameter = |(param, place): (Param, Place)| {
        let name = params.name(param);
        let columns = (format!("moment_columns.{name}"), place.of_columns());
        let rows = place.has_rows().then(|| (format!("moment_rows.{name}"), place.of_rows()));
        std::iter::once(columns).chain(rows)
    };
    places(params).into_iter().flat_map(of_parameter).collect()
}

/// A step, the first being 1, of all parameters that are not frozen; `how` says how, from which of its own steps it is to a parameter.
pub(super) fn apply(
    params: &mut Params,
    statistics: &mut Tensor,
    clip: Option<Clip>,
    step: u64,
    how: impl Fn(u64) -> Step,
) {
    let device = params.device().clone();
    let all = places(params).into_iter().map(|(_, place)| place);
    let trained = all.filter(|place| place.frozen_for < step);
    let with_step = |place: Place| {
        let how = how(step - place.frozen_for);
        (place, how)
    };
    let places: Vec<(Place, Step)> = trained.map(with_step).collect();
    let (weights, gradients) = params.weights_and_gradients();
    on_device!(&device,
        cpu => cpu::apply(cpu, &places, weights.data_mut(), gradients, statistics, clip),
        cuda => cuda::apply(cuda, &places, weights.pointer(), gradients, statistics, clip));
}
