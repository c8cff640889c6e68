use crate::config::EncoderConfig;
use crate::layer::Dropout;
use crate::pass::Pass;
use crate::transformer::{FeedForward, OwnAttention, Residual};
use couplet_tensor::{Params, SequenceLayout, Var};
use std::sync::Arc;

/// A Transformer's encoder: in each layer every token looks at all of them, and a feed-forward layer follows.
#[derive(Clone, Debug)]
pub struct TransformerReader {
    layers: Vec<(OwnAttention, FeedForward)>,
    residual: Residual,
}

impl TransformerReader {
    /// Adds `encoder.layers.0.self_attn.in_proj_weight` and so on.
    pub fn new(params: &mut Params, config: &EncoderConfig) -> Self {
        let (width, kind) = (config.embedding.size, config.feed_forward.unwrap_or_default());
        let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
        let mut residual = Residual::new(config.norm.unwrap_or_default(), dropout);
        let layer = |(layer, hidden): (usize, usize)| {
            let name = format!("encoder.layers.{layer}");
            let own = format!("{name}.self_attn");
            let own = OwnAttention::new(params, &own, width, config.heads(), false, config.positions());
            let feed_forward = FeedForward::new(params, &name, width, hidden, kind, dropout);
            residual.add_sublayers(params, &name, 2, width);
            (own, feed_forward)
        };
        let layers = config.units().into_iter().enumerate().map(layer).collect();
        residual.add_norm(params, "encoder.norm", width);
        TransformerReader { layers, residual }
    }

    /// Reads what its tokens are, their places told.
    pub fn forward(&self, pass: &Pass, x: Var, rows: &Arc<SequenceLayout>) -> Var {
        let residual = &self.residual;
        let mut stream = residual.begin(pass, x);
        for (attention, feed_forward) in &self.layers {
            let seen = attention.sequence(pass, &stream.read, rows); // [source rows, width]
            stream = residual.join(pass, &stream, &seen, rows);
            let fed = feed_forward.forward(pass, &stream.read, rows); // [source rows, width]
            stream = residual.join(pass, &stream, &fed, rows);
        }
        residual.end(pass, stream)
    }
}
