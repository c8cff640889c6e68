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
}

/// As a config and the command line call it.
impl fmt::Display for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Task::Translate => "translate",
            Task::Classify => "classify",
        })
    }
}
