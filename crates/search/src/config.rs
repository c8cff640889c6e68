//! How to search, as a user writes it.

use serde::{Deserialize, Serialize};

/// The table `[search]` of a config.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct SearchConfig {
    /// How many hypotheses are followed at once. With 1 the search is greedy.
    pub beam: usize,
    /// A finished hypothesis of log-probability `l` and `n` tokens is worth `l / n^length_penalty`.
    pub length_penalty: f32,
    /// An output has at most `max_length + max_length_ratio · source tokens` tokens.
    pub max_length: usize,
    /// See `max_length`.
    pub max_length_ratio: f32,
    /// Tokens of the sources that are decoded together.
    pub batch_tokens: usize,
}

impl Default for SearchConfig {
    fn default() -> Self {
        SearchConfig {
            beam: 5,
            length_penalty: 1.0,
            max_length: 10,
            max_length_ratio: 2.0,
            batch_tokens: 1024,
        }
    }
}

impl SearchConfig {
    /// The most tokens that an output for a source of so many tokens may have.
    pub fn limit(&self, source: usize) -> usize {
        (self.max_length + (self.max_length_ratio * source as f32) as usize).max(1)
    }

    /// What a finished hypothesis is worth.
    pub(crate) fn worth(&self, log_probability: f32, tokens: usize) -> f32 {
        log_probability / (tokens.max(1) as f32).powf(self.length_penalty)
    }
}
