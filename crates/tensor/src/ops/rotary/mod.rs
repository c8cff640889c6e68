//! Rotary positions: queries and keys are rotated by an angle that grows with their step, so that their inner products depend on how
//! far apart they are.
//!
//! | | shape |
//! |---|---|
//! | `x`, `y` | packed rows × columns |
//!
//! Of the first `columns` columns, each head's `depth` are pairs `(a, b)`, `a` from its first half and `b` from its second. Pair `i` of
//! step `t` becomes `(a·cos φ − b·sin φ, a·sin φ + b·cos φ)` with `φ = t / 10000^(2i / depth)`. The other columns stay.
//!
//! Backward pass: rotated by as much the other way.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::{Device, on_device};
use crate::layout::SequenceLayout;
use crate::profile;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The columns that are rotated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotaryConfig {
    /// The columns of a head, an even number.
    pub depth: usize,
    /// The columns of all heads of queries, or of queries and keys.
    pub columns: usize,
}

/// `φ` of a pair.
pub(crate) fn angle(step: usize, pair: usize, depth: usize) -> f64 {
    step as f64 / 10_000f64.powf(2.0 * pair as f64 / depth as f64)
}

/// Cosines and sines of all pairs at some positions: positions × depth.
fn table(device: &Device, positions: impl Iterator<Item = usize>, depth: usize) -> Tensor {
    let row = |position: usize| {
        let angles = (0..depth / 2).map(move |pair| angle(position, pair, depth));
        let (cosines, sines): (Vec<f32>, Vec<f32>) =
            angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip();
        [cosines, sines].concat()
    };
    let rows: Vec<Vec<f32>> = positions.map(row).collect();
    Tensor::new(device, rows.len(), depth, &rows.concat())
}

/// The row of the table that each row of `x` is rotated by.
#[derive(Clone)]
enum TableRows {
    /// The step of its sequence.
    Steps(Arc<SequenceLayout>),
    /// Given for each row.
    Given(Vec<u32>),
}

/// Rotates queries and keys by their steps; see the [module](self).
pub fn rotary(x: &Var, layout: &Arc<SequenceLayout>, config: RotaryConfig) -> Var {
    let _span = profile::span("rotary", x.device());
    assert_eq!(x.rows(), layout.total(), "x is {:?} for {} packed rows", x.shape(), layout.total());
    config.check(x);
    let angles = table(x.device(), 0..layout.steps(), config.depth);
    let y = rotated(x.value(), &angles, config, &TableRows::Steps(Arc::clone(layout)), false);
    let (input, rows) = (x.clone(), TableRows::Steps(Arc::clone(layout)));
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        gradients.add(&input, rotated(&dy, &angles, config, &rows, true));
    });
    y
}

/// Rotates queries and keys of one step of each row, row `i` at position `positions[i]` of its sequence. There is no backward pass.
pub fn rotary_step(x: &Var, positions: &[u32], config: RotaryConfig) -> Var {
    let _span = profile::span("rotary", x.device());
    assert_eq!(x.rows(), positions.len(), "a position for each row of x, which is {:?}", x.shape());
    config.check(x);
    let mut different = positions.to_vec();
    different.sort_unstable();
    different.dedup();
    let row = |position: &u32| different.partition_point(|other| other < position) as u32;
    let rows = TableRows::Given(positions.iter().map(row).collect());
    let angles = table(x.device(), different.iter().map(|&position| position as usize), config.depth);
    Var::constant(rotated(x.value(), &angles, config, &rows, false))
}

impl RotaryConfig {
    fn check(self, x: &Var) {
        let RotaryConfig { depth, columns } = self;
        assert!(depth > 0 && depth.is_multiple_of(2), "pairs of {depth} columns");
        let fits = columns.is_multiple_of(depth) && columns <= x.columns();
        assert!(fits, "x is {:?}, of which {columns} columns are heads of {depth}", x.shape());
    }
}

/// Rotates forwards or back.
fn rotated(x: &Tensor, angles: &Tensor, config: RotaryConfig, rows: &TableRows, back: bool) -> Tensor {
    let sign = if back { -1.0 } else { 1.0 };
    on_device!(x.device(),
        cpu => cpu::rotated(cpu, x, angles, config.columns, rows, sign),
        cuda => cuda::rotated(cuda, x, angles, config.columns, rows, sign))
}
