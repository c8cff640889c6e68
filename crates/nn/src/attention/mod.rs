//! How a decoder looks at the encoder's states.

mod score;

pub use score::{AttentionKind, Score, ScoreKind};
pub(crate) use score::{Made, ScanOps, ScanWeights};

use crate::config::AttentionConfig;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::{Memory, linear, scale};
use couplet_tensor::{Init, Param, Params, Rows, Var};
use std::sync::Arc;

/// Attention: a score, and what queries, keys and values are made of.
#[derive(Clone, Debug)]
pub struct Attention {
    score: Score,
    /// Without it, keys are the encoder's states.
    key: Option<Linear>,
    /// keys' width × decoder's units; without it, queries are the decoder's states
    query: Option<Param>,
    /// 1 × keys' width, for scores that have one
    vector: Option<Param>,
    /// Without it, values are the encoder's states.
    value: Option<Linear>,
    /// What keys are multiplied by: 1/√d where inner products are scaled.
    key_scale: Option<f32>,
    heads: usize,
}

impl Attention {
    /// Adds the attention's parameters, for encoder states of `width` and decoder states of `hidden` numbers. Without a score
    /// there is no attention.
    pub fn new(
        params: &mut Params,
        config: &AttentionConfig,
        width: usize,
        hidden: usize,
    ) -> Option<Attention> {
        let score = config.score()?;
        let AttentionConfig { heads, size, .. } = *config;
        let made = score.kind.made();
        let uniform = |inputs: usize| Init::Uniform(1.0 / (inputs as f32).sqrt());
        let keys = config.key_width(score.kind, width);
        let has_key = !matches!(made, Made::Neither | Made::Query);
        let bias = matches!(made, Made::BothWithBias | Made::Numbers);
        Some(Attention {
            key: has_key.then(|| Linear::new(params, "attention.key", width, keys, bias)),
            query: (made != Made::Neither)
                .then(|| params.add("attention.query.weight", keys, hidden, uniform(hidden))),
            vector: score.has_vector().then(|| params.add("attention.vector", 1, keys, uniform(keys))),
            value: config.values.then(|| Linear::new(params, "attention.value", width, size, false)),
            key_scale: config.is_scaled().then(|| 1.0 / ((keys / heads) as f32).sqrt()),
            heads,
            score,
        })
    }

    /// The keys and values of packed sources' states, made once for all steps; reader `i` looks at the source at place
    /// `of[i]`.
    pub fn memory(&self, pass: &Pass, states: &Var, rows: &Arc<Rows>, of: Arc<[u32]>) -> Memory {
        let project = |projection: &Option<Linear>| {
            projection.as_ref().map_or_else(|| states.clone(), |projection| projection.forward(pass, states))
        };
        let keys = project(&self.key); // [source rows, keys' width]
        Memory {
            keys: self.key_scale.map_or_else(|| keys.clone(), |factor| scale(&keys, factor)),
            values: project(&self.value), // [source rows, values' width]
            heads: self.heads,
            rows: Arc::clone(rows),
            of,
        }
    }

    /// What states look at: their contexts, and the weights that made them.
    pub fn forward(&self, pass: &Pass, states: &Var, memory: &Memory) -> [Var; 2] {
        let query = self.query.map_or_else(|| states.clone(), |query| linear(states, &pass.var(query), None));
        let vector = self.vector.map(|vector| pass.var(vector));
        self.score.attend(&query, vector.as_ref(), memory)
    }

    /// How many times it looks at the source in each step.
    pub fn heads(&self) -> usize {
        self.heads
    }

    /// Its score.
    pub(crate) fn score(&self) -> Score {
        self.score
    }

    /// The weights of its queries and of its score.
    pub(crate) fn weights(&self, pass: &Pass) -> [Option<Var>; 2] {
        [self.query, self.vector].map(|param| param.map(|param| pass.var(param)))
    }
}
