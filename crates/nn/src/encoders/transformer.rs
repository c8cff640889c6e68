//! A Transformer's encoder: in each layer, self-attention over all steps and a feed-forward layer.

use super::{Encoded, Encoder, EncoderEntry};
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, EncoderConfig, HEADS, PositionKind, check_heads};
use crate::forward::ForwardPass;
use crate::kinds::KindKeys;
use crate::layers::{EmbeddingScale, FeedForward, SelfAttention, SublayerConnection};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

pub(super) const ENTRY: EncoderEntry = EncoderEntry {
    kind: KindKeys { name: "transformer", keys: &["heads", "positions", "norm", "feed_forward"], cell: None },
    positions: PositionKind::Sinusoidal,
    scale: EmbeddingScale::SqrtWidth,
    build: |b, config, width| Ok(Arc::new(TransformerEncoder::new(b, config, width)?)),
};

#[derive(Clone, Debug)]
struct TransformerEncoder {
    layers: Vec<(SelfAttention, FeedForward)>,
    connection: SublayerConnection,
    width: usize,
}

impl TransformerEncoder {
    /// Adds `layers.0.self_attn.in_proj_weight` and so on.
    fn new(b: &mut ModelBuilder, config: &EncoderConfig, width: usize) -> Result<Self, ConfigError> {
        config.check_embedding_input()?;
        let (heads, positions) = (config.heads.unwrap_or(HEADS), config.positions());
        check_heads("model.encoder", width, heads, positions)?;
        let feed_forward = config.feed_forward.unwrap_or_default();
        let dropout = config.dropout();
        let mut connection = SublayerConnection::new(config.norm.unwrap_or_default(), dropout);
        let layer = |(layer, hidden): (usize, usize)| {
            let b = &mut b.child(format!("layers.{layer}"));
            let attention = SelfAttention::new(b.child("self_attn"), width, heads, false, positions);
            let feed_forward = FeedForward::new(b, width, hidden, feed_forward, dropout);
            connection.add_sublayers(b, 2, width);
            (attention, feed_forward)
        };
        let layers = config.layer_sizes()?.into_iter().enumerate().map(layer).collect();
        connection.add_norm(b.child("norm"), width);
        Ok(TransformerEncoder { layers, connection, width })
    }
}

impl Encoder for TransformerEncoder {
    fn width(&self) -> usize {
        self.width
    }

    fn forward(&self, fwd: &ForwardPass, x: Var, layout: &Arc<SequenceLayout>) -> Encoded {
        let mut stream = self.connection.begin(fwd, x);
        for (attention, feed_forward) in &self.layers {
            let context = attention.forward(fwd, &stream.input, layout); // [source rows, width]
            stream = self.connection.add(fwd, &stream, &context, layout);
            let output = feed_forward.forward(fwd, &stream.input, layout); // [source rows, width]
            stream = self.connection.add(fwd, &stream, &output, layout);
        }
        Encoded::without_recurrence(self.connection.end(fwd, stream), layout)
    }
}
