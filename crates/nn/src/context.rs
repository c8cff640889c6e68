//! What a decoder is told of the source once for all steps: `c = q(h_1..h_m)`.

use crate::config::{ContextConfig, ContextKind};
use crate::encoder::Encoded;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::{Pooling, pool};
use couplet_tensor::{Params, Var};

/// The states of each source as one vector: batch × width. `None` makes none of them.
pub fn pooled(kind: ContextKind, encoded: &Encoded) -> Option<Var> {
    match kind {
        ContextKind::Last => {
            let last = encoded.last.last().map(|top| &top[0]);
            encoded.end.as_ref().or(last).cloned()
        }
        ContextKind::Mean => Some(pool(&encoded.states, &encoded.rows, Pooling::Mean)),
        ContextKind::Max => Some(pool(&encoded.states, &encoded.rows, Pooling::Max)),
        ContextKind::None => None,
    }
}

/// How an encoder's states become a context, and how the decoder gets it.
#[derive(Clone, Debug)]
pub struct Context {
    config: ContextConfig,
    projection: Option<Linear>,
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
        Context { projection: config.projection.map(project), config: config.clone() }
    }

    /// What the decoder is told. A last state as it is begins the writing layer by layer and part by part, an LSTM's with
    /// both of its parts; any other context is one vector for all of them.
    pub fn forward(&self, pass: &Pass, encoded: &Encoded) -> Told {
        let ContextConfig { kind, to, .. } = self.config;
        let context = pooled(kind, encoded).map(|c| match &self.projection {
            Some(projection) => projection.tanh(pass, &c), // [batch, projection]
            None => c,                                     // [batch, width]
        });
        let first = match &context {
            Some(_) if self.config.is_last_state() => encoded.last.clone(),
            Some(c) => vec![vec![c.clone()]],
            None => Vec::new(),
        };
        Told {
            first: if to.is_init_state() { first } else { Vec::new() },
            each_step: context.filter(|_| to.is_every_step()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ContextUse;
    use crate::testing::{assert_near, set, two_sources};
    use couplet_tensor::Device;

    /// Of (1, 2) (3, −4) (5, −1): the last is (5, −1), the mean (9/3, −3/3) = (3, −1), the largest (5, 2). A single state is
    /// all three.
    #[test]
    fn contexts_by_hand() {
        let contexts: [(ContextKind, [f32; 2]); 3] = [
            (ContextKind::Last, [5.0, -1.0]),
            (ContextKind::Mean, [3.0, -1.0]),
            (ContextKind::Max, [5.0, 2.0]),
        ];
        for (kind, [first, second]) in contexts {
            let context = pooled(kind, &two_sources()).expect("a context");
            assert_near(&context.value().to_vec(), &[first, second, 7.0, 8.0]);
        }
        assert!(pooled(ContextKind::None, &two_sources()).is_none());
    }

    /// tanh(0.1·3 + 0.2·(−1) + 0.1) = tanh(0.2) = 0.19738 of the mean, and tanh(0.1·7 + 0.2·8 + 0.1) = tanh(2.4) = 0.98367.
    #[test]
    fn a_projection_by_hand() {
        let config = ContextConfig { kind: ContextKind::Mean, projection: Some(1), to: ContextUse::Both };
        let mut params = Params::new(&Device::cpu(), 1);
        let context = Context::new(&mut params, &config, 2);
        set(&mut params, &[("context.projection.weight", &[0.1, 0.2]), ("context.projection.bias", &[0.1])]);
        let told = context.forward(&Pass::inference(&params), &two_sources());
        let expected = [0.19738, 0.98367];
        assert_near(&told.each_step.expect("it enters every step").value().to_vec(), &expected);
        assert_near(&told.first[0][0].value().to_vec(), &expected);
    }

    #[test]
    fn a_context_goes_where_it_is_sent() {
        let params = Params::new(&Device::cpu(), 1);
        for (to, first, each_step) in
            [(ContextUse::InitState, 1, false), (ContextUse::EveryStep, 0, true), (ContextUse::Both, 1, true)]
        {
            let config = ContextConfig { to, ..ContextConfig::default() };
            let context = Context { config, projection: None };
            let told = context.forward(&Pass::inference(&params), &two_sources());
            assert_eq!((told.first.len(), told.each_step.is_some()), (first, each_step), "{to:?}");
        }
    }
}
