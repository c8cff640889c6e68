use super::Linear;
use crate::builder::ModelBuilder;
use crate::config::PositionKind;
use crate::forward::ForwardPass;
use couplet_tensor::ops::rotary::RotaryConfig;
use couplet_tensor::ops::{KvView, MultiHead, attend_cached, rotary, rotary_step, self_attention};
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// Multi-head attention of a sequence to itself.
#[derive(Clone, Debug)]
pub(crate) struct SelfAttention {
    /// Queries, keys and values.
    in_proj: Linear,
    out_proj: Linear,
    config: MultiHead,
    width: usize,
    rotary: Option<RotaryConfig>,
}

impl SelfAttention {
    /// Adds `in_proj_weight`, `in_proj_bias` and `out_proj`.
    pub(crate) fn new(
        mut b: ModelBuilder,
        width: usize,
        heads: usize,
        causal: bool,
        positions: PositionKind,
    ) -> Self {
        let head_dim = width / heads;
        SelfAttention {
            in_proj: Linear::glorot(&mut b, "in_proj_", width, 3 * width),
            out_proj: Linear::glorot(&mut b.child("out_proj"), "", width, width),
            config: MultiHead { heads, scale: 1.0 / (head_dim as f32).sqrt(), causal },
            width,
            rotary: (positions == PositionKind::Rotary)
                .then_some(RotaryConfig { depth: head_dim, columns: 2 * width }),
        }
    }

    /// All steps of packed sequences.
    pub(crate) fn forward(&self, fwd: &ForwardPass, x: &Var, layout: &Arc<SequenceLayout>) -> Var {
        let qkv = self.in_proj.forward(fwd, x); // [rows, 3·width]
        let qkv = self.rotary.map_or_else(|| qkv.clone(), |config| rotary(&qkv, layout, config));
        let (context, _) = self_attention(&qkv, layout, self.config, false); // [rows, width]
        self.out_proj.forward(fwd, &context)
    }

    /// Queries, keys and values of one step of each row, at its position: rows × 3·width. All of it is cached, of which attention reads the
    /// last 2·width columns.
    pub(crate) fn project(&self, fwd: &ForwardPass, x: &Var, positions: &[u32]) -> Tensor {
        let qkv = self.in_proj.forward(fwd, x);
        let qkv = self.rotary.map_or_else(|| qkv.clone(), |config| rotary_step(&qkv, positions, config));
        qkv.value().clone()
    }

    /// One step: attention to the cache, which holds the keys and values of this step already.
    pub(crate) fn attend(&self, fwd: &ForwardPass, qkv: &Tensor, cache: KvView) -> Var {
        let [context, _] = attend_cached(qkv, self.width, cache, self.config);
        self.out_proj.forward(fwd, &Var::constant(context)) // [rows, width]
    }
}
