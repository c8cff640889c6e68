//! Outputs of a search: finished hypotheses, and the tokens that live ones share.

use crate::model::TokenAttention;

/// An output.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Hypothesis {
    /// The tokens, the prompt included, without the begin-of-sequence and the end-of-sequence token.
    pub tokens: Vec<u32>,
    /// The log-probability, that of the end-of-sequence token included where it was reached.
    pub log_probability: f32,
    /// The log-probability normalized by the length, less penalties.
    pub score: f32,
    /// The attention of each token; empty unless the search needs it.
    pub attention: Vec<TokenAttention>,
    /// Set where it reached the length limit before its end.
    pub truncated: bool,
}

/// A token of a hypothesis, with a back-pointer to the previous one.
struct Entry {
    token: u32,
    previous: Option<usize>,
    attention: TokenAttention,
}

/// The tokens of all hypotheses of a source. Common prefixes are stored once.
#[derive(Default)]
pub(crate) struct BeamHistory(Vec<Entry>);

impl BeamHistory {
    /// Adds a token after another; returns its index.
    pub(crate) fn push(&mut self, token: u32, previous: Option<usize>, attention: TokenAttention) -> usize {
        self.0.push(Entry { token, previous, attention });
        self.0.len() - 1
    }

    /// The token at an index.
    pub(crate) fn token(&self, index: usize) -> u32 {
        self.0[index].token
    }

    /// All tokens up to an index.
    pub(crate) fn tokens(&self, last: Option<usize>) -> Vec<u32> {
        self.collect(last, |entry| entry.token)
    }

    /// The attention of each of them.
    pub(crate) fn attention(&self, last: Option<usize>) -> Vec<TokenAttention> {
        self.collect(last, |entry| entry.attention.clone())
    }

    fn collect<T>(&self, last: Option<usize>, part: impl Fn(&Entry) -> T) -> Vec<T> {
        let indices = std::iter::successors(last, |&index| self.0[index].previous);
        let mut parts: Vec<T> = indices.map(|index| part(&self.0[index])).collect();
        parts.reverse();
        parts
    }
}
