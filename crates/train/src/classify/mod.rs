//! Texts and their labels: the run of a classifier.

mod config;
mod corpus;

pub use config::{ClassifyConfig, ClassifyDataConfig};
pub use corpus::{Assessed, LabelledCorpus, LabelledExamples, assess, read_labelled};
