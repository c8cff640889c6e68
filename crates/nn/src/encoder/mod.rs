//! Readers: from the source's tokens to states.

mod recurrent;

pub use recurrent::RecurrentEncoder;

use couplet_tensor::{Rows, Var};
use std::sync::Arc;

/// What an encoder returns, whichever it is.
#[derive(Clone, Debug)]
pub struct Encoded {
    /// The states of all tokens: source rows × width.
    pub states: Var,
    /// How the sources are packed.
    pub rows: Arc<Rows>,
    /// The state in which each layer ended, part by part: batch × width.
    pub last: Vec<Vec<Var>>,
}
