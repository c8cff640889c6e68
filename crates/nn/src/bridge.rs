//! From the encoder's last states to the decoder's first.

use crate::config::{BridgeKind, ModelConfig};
use crate::encoder::Encoded;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::cell::{Cell, Lstm};
use couplet_tensor::ops::{gather_rows, tanh};
use couplet_tensor::{Params, Var};

/// The way from one to the other.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// How many layers the decoder has.
    layers: usize,
    /// For each layer and each part of its state; none where states are copied.
    dense: Option<Vec<Vec<Linear>>>,
}

impl Bridge {
    /// Adds the bridge's parameters.
    pub fn new(params: &mut Params, config: &ModelConfig) -> Bridge {
        let (width, decoder) = (config.encoder.width(), &config.decoder);
        let mut project = |layer: usize, part: usize| {
            Linear::new(params, &format!("bridge.{layer}.{part}"), width, decoder.hidden, true)
        };
        let dense = (config.bridge == BridgeKind::Dense).then(|| {
            (0..decoder.layers)
                .map(|layer| (0..Lstm::PARTS).map(|part| project(layer, part)).collect())
                .collect()
        });
        Bridge { layers: decoder.layers, dense }
    }

    /// The first state of each decoder layer, part by part; row `i` is that of the source at place `of[i]`. A decoder layer
    /// above the encoder's topmost one starts from that.
    pub fn forward(&self, pass: &Pass, encoded: &Encoded, of: &[u32]) -> Vec<Vec<Var>> {
        let top = encoded.last.len() - 1;
        let first = |layer: usize, part: usize, state: &Var| {
            let state = gather_rows(state, of); // [readers, width]
            match &self.dense {
                Some(dense) => tanh(&dense[layer][part].forward(pass, &state)), // [readers, hidden]
                None => state,
            }
        };
        let of_layer = |layer: usize| {
            let parts = encoded.last[layer.min(top)].iter().enumerate();
            parts.map(|(part, state)| first(layer, part, state)).collect()
        };
        (0..self.layers).map(of_layer).collect()
    }
}
