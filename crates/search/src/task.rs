//! What models are for.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What a model is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Task {
    /// Text to text.
    Translate,
    /// Text to a label.
    Classify,
    /// The next token of a text.
    LanguageModel,
    /// Text to the same text.
    Autoencode,
}

impl Task {
    /// The verb that runs its models, besides `predict`.
    pub fn verb(self) -> &'static str {
        match self {
            Task::Translate | Task::Autoencode => "translate",
            Task::Classify => "classify",
            Task::LanguageModel => "generate",
        }
    }
}

/// As a config and the command line call it.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Task::Translate => "translate",
            Task::Classify => "classify",
            Task::LanguageModel => "language-model",
            Task::Autoencode => "autoencode",
        })
    }
}
