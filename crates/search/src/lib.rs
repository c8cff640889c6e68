//! From a model to its best output.
//!
//! A [`DecodeBatch`] searches for the best outputs of an [`AutoregressiveModel`], or samples them: [`SearchInput`]s join and leave it at
//! any step. It names no tensor. [`Constraint`]s on an output are collected in [`Rules`]. [`Network`] is such a model, a
//! [`couplet_nn::Seq2Seq`] with its weights; an [`Ensemble`] is several of them. A [`Translator`] puts tokenizers around it: text in,
//! text and attention out. [`Loaded`] reads all of it from a model folder.
//!
//! A [`LoadedClassifier`] needs no search: text in, label out. A [`LoadedLanguageModel`] goes on with a text, and says how probable
//! one is.

mod align;
mod batch;
mod beam;
mod classify;
mod config;
mod constraint;
mod ensemble;
mod folder;
mod generate;
mod history;
mod limit;
mod manifest;
mod model;
mod network;
mod penalty;
mod sample;
mod score;
mod search;
mod task;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;
mod translate;

pub use align::{Align, Alignment};
pub use batch::{DecodeBatch, RequestId, SearchEvent};
pub use classify::{LoadedClassifier, Prediction, log_probabilities, most_probable, read_padding, text_cut};
pub use config::{
    BeamStopping, LengthNorm, Method, SamplingConfig, SearchConfig, SearchConfigError, Unknown,
};
pub use constraint::{Allowed, Constraint, CoupletConfig, NamedPlaces, Places, Rule, Rules, broken_rules};
pub use ensemble::Ensemble;
pub use folder::{Folder, FolderError, Loaded};
pub use generate::{Continuation, LoadedLanguageModel, losses};
pub use history::Hypothesis;
pub use limit::TargetLengths;
pub use manifest::Manifest;
pub use model::{
    AutoregressiveModel, ModelStep, ScoreRequest, SearchInput, StepRequest, TokenAttention, TokenScores,
};
pub use network::{Network, NetworkRows, Shown};
pub use score::Scored;
pub use search::{search, search_inputs};
pub use task::Task;
pub use translate::{Answer, Dictionary, LONGEST_SOURCE, Request, Translation, Translator};
