use crate::config::{EncoderConfig, PositionKind};
use crate::layer::{Dropout, DropoutSite, Linear};
use crate::pass::Pass;
use couplet_tensor::ops::rotary::RotaryConfig;
use couplet_tensor::ops::{MultiHead, rotary, self_attention};
use couplet_tensor::{Params, SequenceLayout, Var};
use std::sync::Arc;

/// Bare layers of self-attention: `C = V·softmax(KᵀQ)` with `Q = W_Q·X`, `K = W_K·X` and `V = W_V·X`, and nothing else.
#[derive(Clone, Debug)]
pub struct SelfAttentionReader {
    /// W_Q, W_K and W_V below each other.
    layers: Vec<Linear>,
    /// Of what each layer saw.
    dropouts: Vec<DropoutSite>,
    heads: usize,
    rotary: bool,
}

impl SelfAttentionReader {
    /// Adds `encoder.in_proj_weight_l0` and so on, for an input of so many numbers a token.
    pub fn new(params: &mut Params, config: &EncoderConfig, inputs: usize) -> Self {
        let inputs = std::iter::once(inputs).chain(config.widths());
        let layer = |(layer, (inputs, width)): (usize, (usize, usize))| {
            Linear::glorot(params, &format!("encoder.in_proj_weight_l{layer}"), None, inputs, 3 * width)
        };
        let layers: Vec<Linear> = inputs.zip(config.widths()).enumerate().map(layer).collect();
        let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
        let site = |layer| DropoutSite::new(params, &format!("encoder.layers.{layer}.dropout"), dropout);
        SelfAttentionReader {
            dropouts: (0..layers.len()).map(site).collect(),
            layers,
            heads: config.heads(),
            rotary: config.positions() == PositionKind::Rotary,
        }
    }

    /// Reads what its tokens are.
    pub fn forward(&self, pass: &Pass, x: Var, rows: &Arc<SequenceLayout>) -> Var {
        let how = MultiHead { heads: self.heads, scale: 1.0, causal: false };
        self.layers.iter().zip(&self.dropouts).fold(x, |x, (layer, site)| {
            let asked = layer.forward(pass, &x); // [source rows, 3·width]
            let width = asked.columns() / 3;
            let turned = RotaryConfig { depth: width / self.heads, columns: 2 * width };
            let asked = if self.rotary { rotary(&asked, rows, turned) } else { asked };
            let (context, _) = self_attention(&asked, rows, how, false); // [source rows, width]
            pass.dropout(context, rows, site)
        })
    }
}
