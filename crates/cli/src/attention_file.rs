//! Attention as JSON: what `couplet attend --json` prints and `couplet plot` reads.

use crate::failure::Failure;
use couplet_plot::Attention;
use couplet_search::Translation;
use serde::{Deserialize, Serialize};
use std::path::Path;

/// One sequence, with what may be known of it.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct AttentionFile {
    /// What was written, as a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) text: Option<String>,
    /// The length-normalized log-probability of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) score: Option<f32>,
    /// Whether it reached the length limit before its end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) truncated: Option<bool>,
    source: Vec<String>,
    target: Vec<String>,
    /// A row for each target token. What is not a number has no JSON but `null`.
    weights: Vec<Vec<Option<f32>>>,
}

impl AttentionFile {
    pub(crate) fn new(written: &Translation, attention: &Attention) -> AttentionFile {
        let Translation { text, score, truncated, .. } = written;
        let Attention { source, target, weights } = attention.clone();
        let weights = weights.into_iter().map(|row| row.into_iter().map(Some).collect()).collect();
        AttentionFile {
            text: Some(text.clone()),
            score: Some(*score),
            truncated: Some(*truncated),
            source,
            target,
            weights,
        }
    }

    /// One line.
    pub(crate) fn to_json(&self) -> String {
        serde_json::to_string(self).expect("text and numbers have a JSON") + "\n"
    }

    pub(crate) fn read(path: &Path) -> Result<Attention, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| Failure::io(path, &error))?;
        let wrong = |error: &dyn std::fmt::Display| {
            Failure::new(
                format!("{}: not an attention: {error}", path.display()),
                Some(
                    "give it what `couplet attend --json` prints: source, target, and a row of weights for each target token"
                        .to_owned(),
                ),
            )
        };
        let file: AttentionFile = serde_json::from_str(&text).map_err(|error| wrong(&error))?;
        let number = |weight: Option<f32>| weight.unwrap_or(f32::NAN);
        let weights = file.weights.into_iter().map(|row| row.into_iter().map(number).collect()).collect();
        let attention = Attention { source: file.source, target: file.target, weights };
        attention.check().map_err(|error| wrong(&error))?;
        Ok(attention)
    }
}
