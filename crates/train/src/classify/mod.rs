//! Texts and their labels: the run of a classifier.

mod config;
mod corpus;

pub use config::{ClassifyConfig, ClassifyDataConfig};
pub use corpus::{Assessed, LabeledCorpus, LabeledExamples, assess, read_labeled};
