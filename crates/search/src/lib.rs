//! From a model to its best output.
//!
//! [`search`] is a beam search over anything that writes token by token, a [`Model`]: it knows no tensors. [`Network`] is
//! such a model, made of a [`couplet_nn::Seq2Seq`] and its weights. A [`Translator`] puts tokenizers around it: text in,
//! text and attention out. [`Loaded`] reads all of it from a model folder.
//!
//! A [`LoadedClassifier`] needs no search: text in, label out.

mod beam;
mod classify;
mod config;
mod folder;
mod model;
mod network;
mod task;
mod translate;

pub use beam::{Hypothesis, search};
pub use classify::{LoadedClassifier, Prediction, log_probabilities, most_probable, text_cut};
pub use config::SearchConfig;
pub use folder::{Folder, FolderError, Loaded};
pub use model::{Model, Step};
pub use network::{Network, Shown};
pub use task::Task;
pub use translate::{LONGEST_SOURCE, Translation, Translator};
