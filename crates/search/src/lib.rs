//! From a model to its best output.
//!
//! [`search`] looks for the best outputs of anything that writes token by token, a [`Model`], or draws them: it knows no tensors.
//! What an output must keep to are [`Constraint`]s, collected in [`Rules`]. [`Network`] is such a model, made of a
//! [`couplet_nn::Seq2Seq`] and its weights; an [`Ensemble`] is several of them. A [`Translator`] puts tokenizers around it: text in,
//! text and attention out. [`Loaded`] reads all of it from a model folder.
//!
//! A [`LoadedClassifier`] needs no search: text in, label out. A [`LoadedLanguageModel`] goes on with a text, and says how probable
//! one is.

mod align;
mod beam;
mod classify;
mod config;
mod constraint;
mod ensemble;
mod folder;
mod generate;
mod hypothesis;
mod limit;
mod manifest;
mod model;
mod network;
mod penalty;
mod sample;
mod score;
mod search;
mod steps;
mod task;
#[cfg(test)]
mod tests;
mod translate;

pub use align::{Align, Alignment};
pub use classify::{LoadedClassifier, Prediction, log_probabilities, most_probable, read_padding, text_cut};
pub use config::{
    BeamStopping, LengthNorm, Method, SamplingConfig, SearchConfig, SearchConfigError, Unknown,
};
pub use constraint::{Allowed, Constraint, CoupletConfig, NamedPlaces, Places, Rule, Rules, broken_rules};
pub use ensemble::Ensemble;
pub use folder::{Folder, FolderError, Loaded};
pub use generate::{Continuation, LoadedLanguageModel, losses};
pub use hypothesis::Hypothesis;
pub use limit::TargetLengths;
pub use manifest::Manifest;
pub use model::{Model, Next, Step};
pub use network::{Network, NetworkState, Shown};
pub use score::Scored;
pub use search::{Question, search, search_within};
pub use task::Task;
pub use translate::{Answer, Dictionary, LONGEST_SOURCE, Request, Translation, Translator};
