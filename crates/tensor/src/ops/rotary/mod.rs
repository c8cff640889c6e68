//! Rotary positions: queries and keys are turned by an angle that grows with their step, so that their inner products depend on how
//! far apart they are.
//!
//! | | shape |
//! |---|---|
//! | `x`, `y` | packed rows × columns |
//!
//! Of the first `turned` columns, each head's `depth` are pairs `(a, b)`, `a` from its first half and `b` from its second. Pair `i` of
//! step `t` becomes `(a·cos φ − b·sin φ, a·sin φ + b·cos φ)` with `φ = t / 10000^(2i / depth)`. The other columns stay.
//!
//! Back: turned by as much the other way.

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

/// Which columns are turned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RotaryConfig {
    /// The columns of a head, an even number.
    pub depth: usize,
    /// The columns of all heads of queries, or of queries and keys.
    pub columns: usize,
    /// The step of the first rows: a search that goes on where it stood begins later than at 0.
    pub first: usize,
}

/// `φ` of a pair.
pub(crate) fn angle(step: usize, pair: usize, depth: usize) -> f64 {
    step as f64 / 10_000f64.powf(2.0 * pair as f64 / depth as f64)
}

/// Cosines and sines of all pairs, for the steps of packed rows: steps × depth.
fn table(device: &Device, steps: usize, turned: RotaryConfig) -> Tensor {
    let row = |step: usize| {
        let angles = (0..turned.depth / 2).map(move |pair| angle(turned.first + step, pair, turned.depth));
        let (cosines, sines): (Vec<f32>, Vec<f32>) =
            angles.map(|angle| (angle.cos() as f32, angle.sin() as f32)).unzip();
        [cosines, sines].concat()
    };
    let numbers: Vec<f32> = (0..steps).flat_map(row).collect();
    Tensor::new(device, steps, turned.depth, &numbers)
}

/// Turns queries and keys by their steps; see the [module](self).
pub fn rotary(x: &Var, rows: &Arc<SequenceLayout>, turned: RotaryConfig) -> Var {
    let _span = profile::span("rotary", x.device());
    assert_eq!(x.rows(), rows.total(), "x is {:?} for {} packed rows", x.shape(), rows.total());
    let RotaryConfig { depth, columns, .. } = turned;
    assert!(depth > 0 && depth.is_multiple_of(2), "pairs of {depth} columns");
    let fits = columns.is_multiple_of(depth) && columns <= x.columns();
    assert!(fits, "x is {:?}, of which {columns} columns are heads of {depth}", x.shape());
    let angles = table(x.device(), rows.steps(), turned);
    let turn = move |x: &Tensor, rows: &SequenceLayout, back: bool| {
        on_device!(x.device(),
            cpu => cpu::turn(cpu, x, rows, &angles, columns, back),
            cuda => cuda::turn(cuda, x, rows, &angles, columns, back))
    };
    let y = turn(x.value(), rows, false);
    let (input, rows) = (x.clone(), Arc::clone(rows));
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        gradients.add(&input, turn(&dy, &rows, true));
    });
    y
}
