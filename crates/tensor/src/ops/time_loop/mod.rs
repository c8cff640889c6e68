//! The common parts of the time loops of a recurrent layer and of a scan.

mod any_cell;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod units;

pub use any_cell::AnyCell;

use crate::ops::LayerWeights;
use crate::tensor::Tensor;

/// What the backward pass needs: the gates as the cell left them, and the states of all steps, one tensor for each part.
pub(crate) struct Saved {
    pub(crate) slots: Tensor,
    pub(crate) states: Vec<Tensor>,
}

/// All steps of a layer after the backward loop, from which the gradients of its weights are computed.
pub(crate) struct LayerSteps<'a> {
    pub(crate) cell: AnyCell,
    pub(crate) weights: &'a LayerWeights,
    /// The gradients of all slots.
    pub(crate) dgates: &'a Tensor,
    /// The hidden state before each step.
    pub(crate) states_before: &'a Tensor,
}
