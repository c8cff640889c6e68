//! Layers of gated convolutions: each step sees as many steps on its left as on its right, and more of them with every layer.

use super::{Encoded, Encoder, EncoderEntry};
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, EncoderConfig, PositionKind, check_not_rotary, reject_if};
use crate::forward::ForwardPass;
use crate::kinds::KindKeys;
use crate::layers::{DropoutSite, EmbeddingScale, GatedConvolution, Linear};
use couplet_tensor::ops::{Window, scaled_residual};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

pub(super) const ENTRY: EncoderEntry = EncoderEntry {
    kind: KindKeys { name: "conv", keys: &["positions", "kernel"], cell: None },
    positions: PositionKind::Learned,
    scale: EmbeddingScale::One,
    build: |b, config, width| Ok(Arc::new(ConvEncoder::new(b, config, width)?)),
};

#[derive(Clone, Debug)]
struct ConvEncoder {
    /// From the tokens' vectors to the layers' width.
    fc1: Linear,
    /// Convolutions, and dropout of their input.
    layers: Vec<(GatedConvolution, DropoutSite)>,
    /// Back to the width of the tokens' vectors.
    fc2: Linear,
    width: usize,
}

impl ConvEncoder {
    /// Adds `fc1`, `layers.0.convolution` and so on, and `fc2`.
    fn new(b: &mut ModelBuilder, config: &EncoderConfig, width: usize) -> Result<Self, ConfigError> {
        let kernel = config.kernel();
        config.check_embedding_input()?;
        reject_if(
            config.has_several_sizes(),
            "model.encoder.hidden cannot be a list with model.encoder.kind = \"conv\"",
            "a layer's input is added to its output; give all layers one size",
        )?;
        reject_if(
            kernel.is_multiple_of(2),
            format!("model.encoder.kernel = {kernel} is not an odd number"),
            "a step sees itself, and as many steps before it as after it",
        )?;
        check_not_rotary("model.encoder", config.positions(), "conv")?;
        let (sizes, window) = (config.layer_sizes()?, Window { before: kernel / 2, after: kernel / 2 });
        let (hidden, rate) = (sizes[0], config.dropout);
        let dropout = config.dropout();
        let fc1 = Linear::variance_preserving(b.child("fc1"), width, hidden, rate);
        let layer = |layer: usize| {
            let mut b = b.child(format!("layers.{layer}"));
            let site = b.dropout("dropout", dropout);
            (GatedConvolution::new(b.child("convolution"), window, hidden, rate), site)
        };
        let layers = (0..sizes.len()).map(layer).collect();
        let fc2 = Linear::variance_preserving(b.child("fc2"), hidden, width, 0.0);
        Ok(ConvEncoder { fc1, layers, fc2, width })
    }
}

impl Encoder for ConvEncoder {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, fwd: &ForwardPass, x: Var, layout: &Arc<SequenceLayout>) -> Encoded {
        let first = self.fc1.forward(fwd, &x); // [source rows, hidden]
        let hidden = self.layers.iter().fold(first, |x, (convolution, site)| {
            let input = fwd.dropout(x.clone(), layout, site);
            scaled_residual(&convolution.forward(fwd, &input, layout), &x)
        });
        let states = self.fc2.forward(fwd, &hidden); // [source rows, embedding]
        let attention_values = Some(scaled_residual(&states, &x));
        Encoded { attention_values, ..Encoded::without_recurrence(states, layout) }
    }
}
