//! What a decoder is told of the source once for all steps: `c = q(h_1..h_m)`.

use crate::config::{ContextConfig, ContextKind, Reach};
use crate::encoder::Encoded;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::{Pooling, pool, tanh};
use couplet_tensor::{Params, Var};

/// The states of each source as one vector: batch × width. `None` makes none of them.
pub fn pooled(kind: ContextKind, encoded: &Encoded) -> Option<Var> {
    match kind {
        ContextKind::Last => encoded.last.last().map(|top| top[0].clone()),
        ContextKind::Mean => Some(pool(&encoded.states, &encoded.rows, Pooling::Mean)),
        ContextKind::Max => Some(pool(&encoded.states, &encoded.rows, Pooling::Max)),
        ContextKind::None => None,
    }
}

/// How an encoder's states become a context, and how the decoder gets it.
#[derive(Clone, Debug)]
pub struct Context {
    kind: ContextKind,
    projection: Option<Linear>,
    to: Reach,
}

/// What of the source reaches the decoder, a row for each source.
#[derive(Clone, Debug)]
pub struct Told {
    /// What its first states are made of, layer by layer and part by part; nothing where they are zero.
    pub first: Vec<Vec<Var>>,
    /// What enters every step.
    pub each_step: Option<Var>,
}

impl Context {
    /// Adds the context's parameters, for encoder states of `width` numbers.
    pub fn new(params: &mut Params, config: &ContextConfig, width: usize) -> Context {
        let project = |size| Linear::new(params, "context.projection", width, size, true);
        Context { kind: config.kind, projection: config.projection.map(project), to: config.to }
    }

    /// What the decoder is told. A last state as it is begins the writing layer by layer and part by part, an LSTM's with
    /// both of its parts; any other context is one vector for all of them.
    pub fn forward(&self, pass: &Pass, encoded: &Encoded) -> Told {
        let context = pooled(self.kind, encoded).map(|c| match &self.projection {
            Some(projection) => tanh(&projection.forward(pass, &c)), // [batch, projection]
            None => c,                                               // [batch, width]
        });
        let as_it_is = self.kind == ContextKind::Last && self.projection.is_none();
        let first = match &context {
            Some(_) if as_it_is => encoded.last.clone(),
            Some(c) => vec![vec![c.clone()]],
            None => Vec::new(),
        };
        Told {
            first: if self.to.start() { first } else { Vec::new() },
            each_step: context.filter(|_| self.to.steps()),
        }
    }
}
