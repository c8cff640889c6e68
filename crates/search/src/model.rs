//! Models as a search sees them: inputs, states, and the scores of a step.

use crate::config::SearchConfig;
use crate::constraint::Rules;
use std::sync::Arc;

/// A model that generates token by token. A state has a row for each hypothesis, of any mixture of inputs and lengths.
pub trait AutoregressiveModel {
    /// The state of the rows.
    type State;

    /// Encodes sources, or prefills prompts; a row for each input. Returns the state before the last prompt token (before the
    /// begin-of-sequence token if the prompt is empty) is fed, and the log-probability of each prompt token of each input.
    fn init(&self, inputs: &[&SearchInput]) -> (Self::State, Vec<Vec<f32>>);

    /// Feeds the last token of each row.
    fn step(&self, tokens: &[u32], state: &Self::State, request: &StepRequest) -> ModelStep<Self::State>;

    /// Returns row `rows[i]` as row `i`.
    fn select(&self, state: &Self::State, rows: &[u32]) -> Self::State;

    /// Adds the rows of another state after those of `state`.
    fn append(&self, state: &mut Self::State, other: Self::State);

    /// Returns true if inputs can join rows that are running.
    fn can_append(&self) -> bool {
        true
    }

    /// Returns true if inputs can have a prompt.
    fn supports_prompt(&self) -> bool {
        true
    }

    /// The begin-of-sequence token and the end-of-sequence token.
    fn bos_eos(&self) -> (u32, u32);
}

impl<M: AutoregressiveModel> AutoregressiveModel for &M {
    type State = M::State;

    fn init(&self, inputs: &[&SearchInput]) -> (M::State, Vec<Vec<f32>>) {
        (**self).init(inputs)
    }

    fn step(&self, tokens: &[u32], state: &M::State, request: &StepRequest) -> ModelStep<M::State> {
        (**self).step(tokens, state, request)
    }

    fn select(&self, state: &M::State, rows: &[u32]) -> M::State {
        (**self).select(state, rows)
    }

    fn append(&self, state: &mut M::State, other: M::State) {
        (**self).append(state, other);
    }

    fn can_append(&self) -> bool {
        (**self).can_append()
    }

    fn supports_prompt(&self) -> bool {
        (**self).supports_prompt()
    }

    fn bos_eos(&self) -> (u32, u32) {
        (**self).bos_eos()
    }
}

/// An input of a search, with its own configuration and rules.
#[derive(Debug)]
pub struct SearchInput {
    /// Source tokens, whose number limits the length of outputs; the prompt, for a model without a source.
    pub tokens: Arc<[u32]>,
    /// Tokens that all outputs have first. They are prefilled and scored, not searched.
    pub prompt: Arc<[u32]>,
    /// Source tokens as ids of the extended target vocabulary; empty for models that do not copy.
    pub copy: Arc<[u32]>,
    /// Constraints on the outputs.
    pub rules: Rules,
    /// Options of the search.
    pub config: Arc<SearchConfig>,
    /// Seeds the samples together with the config's seed: inputs with different ids have different samples.
    pub id: u64,
    /// Set if hypotheses need the attention, even if the config does not.
    pub attention: bool,
}

impl SearchInput {
    /// An input without prompt and copying.
    pub fn new(tokens: impl Into<Arc<[u32]>>, rules: Rules, config: Arc<SearchConfig>) -> SearchInput {
        let (prompt, copy) = (Arc::default(), Arc::default());
        SearchInput { tokens: tokens.into(), prompt, copy, rules, config, id: 0, attention: false }
    }

    /// The maximum length of an output.
    pub(crate) fn limit(&self) -> usize {
        self.config.limit(self.tokens.len())
    }

    /// Why no output is possible, if that is known before the search.
    pub(crate) fn rejection(&self) -> Option<String> {
        let (tokens, limit) = (self.prompt.len(), self.limit());
        let too_long = || format!("the beginning has {tokens} tokens, and an output at most {limit}");
        self.rules.impossible().or_else(|| (tokens > limit).then(too_long))
    }
}

/// The token scores that a search needs of one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreRequest {
    /// The `k` most probable tokens.
    TopK(usize),
    /// The whole distribution, for sampling and constraints.
    All,
}

/// Request of a step. What is not requested is not computed, and not copied from the device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepRequest {
    /// The token scores of each row.
    pub scores: Vec<ScoreRequest>,
    /// Set if attention weights are needed.
    pub attention: bool,
}

/// Result of a step.
#[derive(Clone, Debug)]
pub struct ModelStep<S> {
    /// The next state.
    pub state: S,
    /// The scores of the next token of each row, as requested.
    pub scores: Vec<TokenScores>,
    /// The attention of each row, if it was requested and the model has attention.
    pub attention: Option<Vec<TokenAttention>>,
}

/// Log-probabilities of the next token.
#[derive(Clone, Debug, PartialEq)]
pub enum TokenScores {
    /// The most probable tokens, the best first; of equal ones, the smaller token first. Impossible tokens are omitted.
    TopK(Vec<(u32, f32)>),
    /// All tokens, in their order.
    All(Vec<f32>),
}

/// Attention of a generated token.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TokenAttention {
    /// The attention weight of each source token; empty without attention.
    pub weights: Vec<f32>,
    /// The probability that the token is copied, if the model copies and shows it.
    pub copying: Option<f32>,
}

impl TokenScores {
    /// The requested scores of a distribution.
    pub fn new(log_probabilities: Vec<f32>, request: ScoreRequest) -> TokenScores {
        match request {
            ScoreRequest::TopK(k) => TokenScores::TopK(top_k(&log_probabilities, k, |_| true)),
            ScoreRequest::All => TokenScores::All(log_probabilities),
        }
    }

    /// The whole distribution.
    ///
    /// # Panics
    ///
    /// If only the most probable tokens are known.
    pub(crate) fn all(&self) -> &[f32] {
        match self {
            TokenScores::All(log_probabilities) => log_probabilities,
            TokenScores::TopK(_) => panic!("a model returned the top k where all scores were requested"),
        }
    }
}

/// The `k` most probable of the tokens that are allowed and possible, the best first; of equal ones, the smaller one first.
pub(crate) fn top_k(log_probabilities: &[f32], k: usize, allowed: impl Fn(u32) -> bool) -> Vec<(u32, f32)> {
    let mut best: Vec<(u32, f32)> = Vec::new();
    for (token, &log_p) in (0..).zip(log_probabilities) {
        let among_the_best = best.len() < k || best.last().is_some_and(|last| log_p > last.1);
        if among_the_best && log_p.is_finite() && allowed(token) {
            best.insert(best.partition_point(|other| other.1 >= log_p), (token, log_p));
            best.truncate(k);
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_top_k_are_possible_and_allowed() {
        let row = [-1.0, f32::NEG_INFINITY, -0.5, -2.0, -0.5];
        let found = |k, allowed: fn(u32) -> bool| top_k(&row, k, allowed);
        assert_eq!(found(2, |_| true), [(2, -0.5), (4, -0.5)]);
        assert_eq!(found(9, |_| true), [(2, -0.5), (4, -0.5), (0, -1.0), (3, -2.0)]);
        assert_eq!(found(2, |token| token % 4 != 0), [(2, -0.5), (3, -2.0)]);
    }
}
