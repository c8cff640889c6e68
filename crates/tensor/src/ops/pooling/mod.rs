//! The steps of each sequence become one row: their mean, or the largest of each column.
//!
//! | | shape |
//! |---|---|
//! | `x` | packed rows × width |
//! | `y` | batch × width, a row for each place |
//!
//! A sequence of no steps gives zeros. Back, the mean hands `dy / length` to each step; the largest hands `dy` to the step that
//! it came from, the first of several that are alike.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::profile;
use crate::tape::{Var, record};
use std::sync::Arc;

/// What becomes of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The largest of each column.
    Max,
}

/// A row for each place; see the [module](self).
pub fn pool(x: &Var, rows: &Arc<SequenceLayout>, how: Pooling) -> Var {
    let _span = profile::span("pool", x.device());
    assert_eq!(x.rows(), rows.total(), "x is {:?} for {} packed rows", x.shape(), rows.total());
    let y = on_device!(x.device(),
        cpu => cpu::forward(cpu, x.value(), rows, how),
        cuda => cuda::forward(cuda, x.value(), rows, how));
    let (input, rows, kept) = (x.clone(), Arc::clone(rows), y.clone());
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let both = [input.value(), &kept];
        on_device!(input.device(),
            cpu => gradients.write(&input, |dx, update| cpu::backward(cpu, dx, both, &dy, &rows, how, update)),
            cuda => gradients.write_cuda(&input, |dx, update| cuda::backward(cuda, dx, both, &dy, &rows, how, update)));
    });
    y
}
