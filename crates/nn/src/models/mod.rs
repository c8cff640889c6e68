//! Whole models: an encoder and what follows it. Each has its loss, and what it is used for.

mod classifier;
mod language_model;
mod seq2seq;

pub use classifier::Classifier;
pub use language_model::LanguageModel;
pub use seq2seq::Seq2Seq;

use couplet_tensor::{Tensor, Var};

/// The loss of a batch.
#[derive(Clone, Debug)]
pub struct LossStats {
    /// The mean over all targets.
    pub mean: Var,
    /// The loss of each target, row by row.
    pub per_target: Tensor,
    /// The number of targets: tokens or labels.
    pub targets: usize,
    /// The number of tokens, on both sides where there are two.
    pub tokens: usize,
}
