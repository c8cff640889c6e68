//! How a decoder looks at the encoder's states.

use crate::config::AttentionConfig;
use crate::encoder::Encoded;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::Memory;
use couplet_tensor::{Init, Param, Params};
use std::sync::Arc;

/// Additive attention: `vᵀ tanh(W_query·s + W_key·h)`.
#[derive(Clone, Debug)]
pub struct Attention {
    key: Linear,
    /// size × decoder's units
    pub(crate) query: Param,
    /// 1 × size
    pub(crate) vector: Param,
}

impl Attention {
    /// Adds the attention's parameters, for encoder states of `width` and decoder states of `hidden` numbers.
    pub fn new(params: &mut Params, config: &AttentionConfig, width: usize, hidden: usize) -> Attention {
        let uniform = |inputs: usize| Init::Uniform(1.0 / (inputs as f32).sqrt());
        Attention {
            key: Linear::new(params, "attention.key", width, config.size, false),
            query: params.add("attention.query.weight", config.size, hidden, uniform(hidden)),
            vector: params.add("attention.vector", 1, config.size, uniform(config.size)),
        }
    }

    /// The keys and values of the sources, made once for all steps; reader `i` looks at the source at place `of[i]`.
    pub fn memory(&self, pass: &Pass, encoded: &Encoded, of: Arc<[u32]>) -> Memory {
        Memory {
            keys: self.key.forward(pass, &encoded.states), // [source rows, size]
            values: encoded.states.clone(),                // [source rows, width]
            heads: 1,
            rows: Arc::clone(&encoded.rows),
            of,
        }
    }
}
