//! Pools the steps of each sequence to one row: their mean, or the largest value of each column.
//!
//! | | shape |
//! |---|---|
//! | `x` | packed rows × width |
//! | `y` | batch × width |
//!
//! A sequence of no steps gives zeros. Backward: of the mean, each step gets `dy / length`; of the largest value, the step that it
//! came from gets `dy`, the first of several that are equal.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::profile;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The function of the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pooling {
    /// Their mean.
    Mean,
    /// The largest of each column.
    Max,
}

/// What the backward pass needs.
#[derive(Clone, Copy)]
struct Pooled<'a> {
    x: &'a Tensor,
    y: &'a Tensor,
    layout: &'a SequenceLayout,
    pooling: Pooling,
}

/// A row for each sequence; see the [module](self).
pub fn pool(x: &Var, rows: &Arc<SequenceLayout>, pooling: Pooling) -> Var {
    let _span = profile::span("pool", x.device());
    assert_eq!(x.rows(), rows.total(), "x is {:?} for {} packed rows", x.shape(), rows.total());
    let y = on_device!(x.device(),
        cpu => cpu::forward(cpu, x.value(), rows, pooling),
        cuda => cuda::forward(cuda, x.value(), rows, pooling));
    let (input, layout, kept) = (x.clone(), Arc::clone(rows), y.clone());
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let pooled = Pooled { x: input.value(), y: &kept, layout: &layout, pooling };
        on_device!(input.device(),
            cpu => gradients.write(&input, |dx, update| cpu::backward(cpu, pooled, &dy, dx, update)),
            cuda => gradients.write_cuda(&input, |dx, update| cuda::backward(cuda, pooled, &dy, dx, update)));
    });
    y
}
