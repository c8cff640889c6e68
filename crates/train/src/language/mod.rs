//! Texts, one a line: the run of a language model.

mod config;
mod corpus;

pub use config::{LanguageConfig, LanguageDataConfig};
pub use corpus::TextCorpus;
