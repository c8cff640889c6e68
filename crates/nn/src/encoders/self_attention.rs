//! Bare layers of self-attention: `C = V·softmax(KᵀQ)` with `Q = W_Q·X`, `K = W_K·X` and `V = W_V·X`, and nothing else.

use super::{Encoded, Encoder, EncoderEntry};
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, EncoderConfig, PositionKind, check_heads};
use crate::forward::ForwardPass;
use crate::kinds::KindKeys;
use crate::layers::{DropoutSite, EmbeddingScale, Linear, glorot};
use couplet_tensor::ops::rotary::RotaryConfig;
use couplet_tensor::ops::{MultiHead, rotary, self_attention};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

pub(super) const ENTRY: EncoderEntry = EncoderEntry {
    kind: KindKeys { name: "self-attention", keys: &["heads", "positions"], cell: None },
    positions: PositionKind::None,
    scale: EmbeddingScale::One,
    build: |b, config, width| Ok(Arc::new(SelfAttentionEncoder::new(b, config, width)?)),
};

#[derive(Clone, Debug)]
struct SelfAttentionEncoder {
    /// W_Q, W_K and W_V below each other, and dropout of the context.
    layers: Vec<(Linear, DropoutSite)>,
    heads: usize,
    rotary: bool,
    width: usize,
}

impl SelfAttentionEncoder {
    /// Adds `in_proj_weight_l0` and so on.
    fn new(b: &mut ModelBuilder, config: &EncoderConfig, input: usize) -> Result<Self, ConfigError> {
        let (heads, positions, widths) =
            (config.heads.unwrap_or(1), config.positions(), config.layer_sizes()?);
        widths.iter().try_for_each(|&width| check_heads("model.encoder", width, heads, positions))?;
        let dropout = config.dropout();
        let inputs = std::iter::once(input).chain(widths.iter().copied());
        let layer = |(layer, (input, &width)): (usize, (usize, &usize))| {
            let name = format!("in_proj_weight_l{layer}");
            let weight = b.add(&name, 3 * width, input, glorot(input, 3 * width));
            let site = b.dropout(&format!("layers.{layer}.dropout"), dropout);
            (Linear { weight, bias: None }, site)
        };
        let layers = inputs.zip(&widths).enumerate().map(layer).collect();
        let rotary = positions == PositionKind::Rotary;
        Ok(SelfAttentionEncoder { layers, heads, rotary, width: widths.last().copied().unwrap_or(input) })
    }
}

impl Encoder for SelfAttentionEncoder {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, fwd: &ForwardPass, x: Var, layout: &Arc<SequenceLayout>) -> Encoded {
        let config = MultiHead { heads: self.heads, scale: 1.0, causal: false };
        let states = self.layers.iter().fold(x, |x, (layer, site)| {
            let qkv = layer.forward(fwd, &x); // [source rows, 3·width]
            let width = qkv.columns() / 3;
            let rotation = RotaryConfig { depth: width / self.heads, columns: 2 * width };
            let qkv = if self.rotary { rotary(&qkv, layout, rotation) } else { qkv };
            let (context, _) = self_attention(&qkv, layout, config, false); // [source rows, width]
            fwd.dropout(context, layout, site)
        });
        Encoded::without_recurrence(states, layout)
    }
}
