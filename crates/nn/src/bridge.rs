//! From what is known of a source to the decoder's first states.

use crate::config::{BridgeKind, StateShape};
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::{gather_rows, tanh};
use couplet_tensor::{Params, Tensor, Var};

/// The way from one to the other.
#[derive(Clone, Debug)]
pub struct Bridge {
    /// The decoder's states.
    to: StateShape,
    way: Way,
}

#[derive(Clone, Debug)]
enum Way {
    /// There is nothing to begin with.
    Zero,
    Copy,
    /// A projection for each layer and each part of its state.
    Dense(Vec<Vec<Linear>>),
}

impl Bridge {
    /// Adds the bridge's parameters, between states of these shapes.
    pub fn new(params: &mut Params, kind: BridgeKind, from: Option<&StateShape>, to: StateShape) -> Bridge {
        let way = match (from, kind) {
            (None, _) => Way::Zero,
            (Some(_), BridgeKind::Copy) => Way::Copy,
            (Some(from), BridgeKind::Dense) => {
                let mut project = |layer: usize, part: usize| {
                    let inputs = from.widths[layer.min(from.widths.len() - 1)];
                    Linear::new(params, &format!("bridge.{layer}.{part}"), inputs, to.widths[layer], true)
                };
                let mut of_layer = |layer| (0..to.parts).map(|part| project(layer, part)).collect();
                Way::Dense((0..to.widths.len()).map(&mut of_layer).collect())
            }
        };
        Bridge { to, way }
    }

    /// The first state of each decoder layer, part by part; row `i` is that of the source at place `of[i]`. Where `from` has
    /// fewer layers or parts than the decoder, its last one goes to all that are left.
    pub fn forward(&self, pass: &Pass, from: &[Vec<Var>], of: &[u32]) -> Vec<Vec<Var>> {
        let source = |layer: usize, part: usize| {
            let parts = &from[layer.min(from.len() - 1)];
            gather_rows(&parts[part.min(parts.len() - 1)], of) // [readers, width]
        };
        let first = |layer: usize, part: usize| match &self.way {
            Way::Zero => {
                Var::constant(Tensor::zeros(pass.params().device(), of.len(), self.to.widths[layer]))
            }
            Way::Copy => source(layer, part),
            Way::Dense(dense) => tanh(&dense[layer][part].forward(pass, &source(layer, part))), // [readers, hidden]
        };
        let of_layer = |layer| (0..self.to.parts).map(|part| first(layer, part)).collect();
        (0..self.to.widths.len()).map(of_layer).collect()
    }
}
