//! From what is known of a source to the decoder's first states.

use crate::config::{BridgeKind, StateShape};
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::gather_rows;
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
            Way::Dense(dense) => dense[layer][part].tanh(pass, &source(layer, part)), // [readers, hidden]
        };
        let of_layer = |layer| (0..self.to.parts).map(|part| first(layer, part)).collect();
        (0..self.to.widths.len()).map(of_layer).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::Device;

    fn shape(widths: &[usize], parts: usize) -> StateShape {
        StateShape { widths: widths.to_vec(), parts }
    }

    fn numbers(states: &[Vec<Var>]) -> Vec<Vec<f32>> {
        states.iter().flatten().map(|part| part.value().to_vec()).collect()
    }

    /// A vector (0.5, −1) becomes both parts of an LSTM's state of one unit: tanh(2·0.5 + 1·(−1) + 0.3) = tanh(0.3) = 0.29131
    /// and tanh(0.4·0.5 + 0·(−1) + 0) = tanh(0.2) = 0.19738. Two readers of the same source get the same.
    #[test]
    fn a_vector_becomes_all_parts_by_hand() {
        let mut params = Params::new(&Device::cpu(), 1);
        let bridge = Bridge::new(&mut params, BridgeKind::Dense, Some(&shape(&[2], 1)), shape(&[1], 2));
        set(&mut params, &[("bridge.0.0.weight", &[2.0, 1.0]), ("bridge.0.0.bias", &[0.3])]);
        set(&mut params, &[("bridge.0.1.weight", &[0.4, 0.0]), ("bridge.0.1.bias", &[0.0])]);
        let context = vec![vec![matrix(&[&[9.0, 9.0], &[0.5, -1.0]])]];
        let first = bridge.forward(&Pass::inference(&params), &context, &[1, 1]);
        assert_near(&numbers(&first).concat(), &[0.29131, 0.29131, 0.19738, 0.19738]);
    }

    #[test]
    fn states_are_copied_or_zero() {
        let mut params = Params::new(&Device::cpu(), 1);
        let states = vec![vec![matrix(&[&[1.0], &[2.0]])], vec![matrix(&[&[3.0], &[4.0]])]];
        let same = shape(&[1, 1], 1);
        let copy = Bridge::new(&mut params, BridgeKind::Copy, Some(&same), same.clone());
        let zero = Bridge::new(&mut params, BridgeKind::Copy, None, same);
        let pass = Pass::inference(&params);
        assert_eq!(numbers(&copy.forward(&pass, &states, &[1, 0])), [[2.0, 1.0], [4.0, 3.0]]);
        assert_eq!(numbers(&zero.forward(&pass, &[], &[1, 0])), [[0.0, 0.0], [0.0, 0.0]]);
    }
}
