//! Input layers: from a source to vectors, before any encoder.

mod tokens;

pub use tokens::TokenInput;
pub(crate) use tokens::TokenInputConfig;

use crate::forward::ForwardPass;
use crate::layers::Embedding;
use crate::tokens::PackedTokens;
use couplet_tensor::{SequenceLayout, Var};
use std::fmt::Debug;
use std::sync::Arc;

/// From packed sources to vectors and their layout, which may differ from that of the sources: a convolutional network over audio
/// frames shortens sequences.
pub trait InputLayer: Debug + Send + Sync {
    /// The width of the vectors.
    fn width(&self) -> usize;

    /// The vectors of packed sequences, which begin at position 0: rows × width.
    fn forward(&self, fwd: &ForwardPass, input: &PackedTokens) -> (Var, Arc<SequenceLayout>);

    /// The embedding of tokens, which a decoder may share.
    fn embedding(&self) -> Option<&Embedding> {
        None
    }
}
