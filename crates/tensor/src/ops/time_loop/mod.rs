//! What the time loops of a recurrent layer and of a scan have in common.

mod any_cell;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod units;

pub use any_cell::AnyCell;

use crate::tensor::Tensor;

/// What the way back needs: the gates as the cell left them, and the states of all steps, part by part.
pub(crate) struct Saved {
    pub(crate) slots: Tensor,
    pub(crate) states: Vec<Tensor>,
}
