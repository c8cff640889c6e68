//! Recurrent cells: the mathematics of one unit.
//!
//! A cell is pointwise mathematics only, written over [`Lane`]: the matrix products, the time loop and the threads belong to
//! the operations that drive it ([`crate::ops::recurrent()`], [`crate::ops::scan`]), which take it as an
//! [`AnyCell`]. A new cell is one file like [`lstm`](Lstm)'s, and an entry of `all`.

mod gru;
mod lstm;
mod simple;

pub use gru::Gru;
pub use lstm::Lstm;
pub use simple::Simple;

use crate::activation::for_all_activations;
use crate::lane::Lane;
use crate::ops::AnyCell;

/// Every cell of this crate: kernels and self-tests are derived from this list.
pub(crate) fn all() -> Vec<AnyCell> {
    let simple = for_all_activations!(A => AnyCell::of::<Simple<A>>());
    simple.into_iter().chain([AnyCell::of::<Gru>(), AnyCell::of::<Lstm>()]).collect()
}

/// Maximum number of gate values of a cell, those that are kept apart counted twice.
pub const MAX_SLOTS: usize = 8;
/// Maximum number of parts of a cell's state.
pub const MAX_PARTS: usize = 4;

/// The pointwise mathematics of a recurrent cell.
///
/// A gate's value before its activation is a sum, `W_input·x + W_state·h + bias`. A cell gets one value per gate, a *slot*;
/// for its last [`SPLIT_GATES`](Cell::SPLIT_GATES) gates it gets two, to treat the input's and the state's term
/// differently. The slots are: all gates in order (of those that are apart, the input's term), then the state's terms of
/// those that are apart.
pub trait Cell: Copy + Send + Sync + 'static {
    /// Gates, in the order of the weights' row blocks.
    const GATES: usize;
    /// The number of gates, the last ones, whose state's term has a slot of its own.
    const SPLIT_GATES: usize = 0;
    /// Parts of the state. The first is the output `h`, which goes to the next layer and into the products.
    const STATE_TENSORS: usize = 1;

    /// One step of one unit. `slots` holds the gates before their activation and then what `backward` needs; `state` holds
    /// the state before the step and then the one after it.
    fn forward<L: Lane>(slots: &mut [L], state: &mut [L]);

    /// The backward pass. `slots` holds what `forward` left and then the gradients of the gates before their activation;
    /// `gradient` holds that of the state after the step and then the part of the gradient of the state before it that does
    /// not go through a product.
    fn backward<L: Lane>(slots: &mut [L], before: &[L], after: &[L], gradient: &mut [L]);
}

/// The number of slots of a cell.
pub const fn slots<C: Cell>() -> usize {
    const {
        assert!(
            C::GATES + C::SPLIT_GATES <= MAX_SLOTS
                && C::STATE_TENSORS <= MAX_PARTS
                && C::SPLIT_GATES <= C::GATES
        );
    };
    C::GATES + C::SPLIT_GATES
}
