//! Adafactor: Adam's second moment for the memory of a row and a column.
//!
//! Of a matrix it keeps the mean square of each row, `r`, and of each column, `c`, and takes `r_i·c_j / mean(r)` for the
//! second moment of a weight; of a vector it keeps that of each element. With `β = 1 − t^−0.8` in step `t`:
//!
//! ```text
//! r ← β·r + (1 − β)·mean of g² over a row,  c likewise over a column
//! u = g / √(second moment)
//! w ← w·(1 − rate·λ) − min(rate, 1/√t) · max(10⁻³, rms(w)) / max(1, rms(u)) · u
//! ```
//!
//! A step is a fraction of the weights' own size, so a learning rate of 0.01 suits most models. The statistics of all parameters are
//! stored in one tensor, in the order of their names: the columns of each, and then its rows where it has more than one.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use super::Clip;
use crate::device::on_device;
use crate::params::{Param, Params};
use crate::tensor::Tensor;
use std::ops::Range;

/// The minimum of every divisor.
pub const SMALLEST: f32 = f32::EPSILON;
/// The minimum of the root mean square of weights.
pub const SMALLEST_WEIGHT: f32 = 1e-3;

/// The constants of a step.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// `1 − β`
    mix: f32,
    /// `min(rate, 1/√t)`
    rate: f32,
    /// The factor of weight decay.
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
struct ParamStatistics {
    weights: Range<usize>,
    rows: usize,
    columns: usize,
    /// The number of steps for which it is frozen.
    frozen_for: u64,
    /// The start of its statistics: those of the columns.
    statistics: usize,
}

impl ParamStatistics {
    /// Whether it has statistics of rows.
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

fn all_statistics(params: &Params) -> Vec<(Param, ParamStatistics)> {
    let mut next = 0;
    let of_param = |param| {
        let (weights, rows, columns, frozen_for) = params.placed(param);
        let statistics = ParamStatistics { weights, rows, columns, frozen_for, statistics: next };
        next = statistics.of_rows().end;
        (param, statistics)
    };
    params.in_store().map(of_param).collect()
}

/// The length of the statistics of all parameters.
pub(super) fn statistics(params: &Params) -> usize {
    all_statistics(params).last().map_or(0, |(_, last)| last.of_rows().end)
}

/// The names and ranges of the statistics of all parameters: of a parameter's columns, and of its rows where it has such.
pub(super) fn named(params: &Params) -> Vec<(String, Range<usize>)> {
    let of_parameter = |(param, statistics): (Param, ParamStatistics)| {
        let name = params.name(param);
        let columns = (format!("moment_columns.{name}"), statistics.of_columns());
        let rows = statistics.has_rows().then(|| (format!("moment_rows.{name}"), statistics.of_rows()));
        std::iter::once(columns).chain(rows)
    };
    all_statistics(params).into_iter().flat_map(of_parameter).collect()
}

/// A step, the first being 1, of all parameters that are not frozen; `how` takes the number of steps of a parameter since then.
pub(super) fn apply(
    params: &mut Params,
    statistics: &mut Tensor,
    clip: Option<Clip>,
    step: u64,
    how: impl Fn(u64) -> Step,
) {
    let device = params.device().clone();
    let all = all_statistics(params).into_iter().map(|(_, param)| param);
    let trained = all.filter(|param| param.frozen_for < step);
    let with_step = |param: ParamStatistics| {
        let how = how(step - param.frozen_for);
        (param, how)
    };
    let trained: Vec<(ParamStatistics, Step)> = trained.map(with_step).collect();
    let (weights, gradients) = params.weights_and_gradients();
    on_device!(&device,
        cpu => cpu::apply(cpu, &trained, weights.data_mut(), gradients, statistics, clip),
        cuda => cuda::apply(cuda, &trained, weights.pointer(), gradients, statistics, clip));
}
