//! The bridge from a context to the decoder's initial states.

use crate::builder::ModelBuilder;
use crate::config::{BridgeKind, ConfigError, StateShape, reject_if};
use crate::forward::ForwardPass;
use crate::layers::Linear;
use couplet_tensor::ops::gather_rows;
use couplet_tensor::{Tensor, Var};

/// Computes the decoder's initial states.
#[derive(Clone, Debug)]
pub(super) struct Bridge {
    /// The decoder's states.
    to: StateShape,
    map: BridgeMap,
}

#[derive(Clone, Debug)]
enum BridgeMap {
    /// All states are zero.
    Zero,
    Copy,
    /// A projection for each layer and each tensor of its state.
    Dense(Vec<Vec<Linear>>),
}

impl Bridge {
    /// Adds `0.0` and so on, a projection for each layer and each tensor of its state, between states of these shapes.
    pub(super) fn new(
        mut b: ModelBuilder,
        kind: BridgeKind,
        from: Option<&StateShape>,
        to: StateShape,
    ) -> Result<Bridge, ConfigError> {
        let map = match (from, kind) {
            (None, _) => BridgeMap::Zero,
            (Some(from), BridgeKind::Copy) => {
                check_copy(from, &to)?;
                BridgeMap::Copy
            }
            (Some(from), BridgeKind::Dense) => {
                let mut project = |layer: usize, tensor: usize| {
                    let inputs = from.widths[layer.min(from.widths.len() - 1)];
                    Linear::new(b.child(format!("{layer}.{tensor}")), inputs, to.widths[layer], true)
                };
                let mut of_layer = |layer| (0..to.tensors).map(|tensor| project(layer, tensor)).collect();
                BridgeMap::Dense((0..to.widths.len()).map(&mut of_layer).collect())
            }
        };
        Ok(Bridge { to, map })
    }

    /// The initial state of each decoder layer, tensor by tensor; row `i` is that of source `source_of[i]`. Where `from` has fewer layers or
    /// tensors than the decoder, its last one goes to all that are left.
    pub(super) fn forward(&self, fwd: &ForwardPass, from: &[Vec<Var>], source_of: &[u32]) -> Vec<Vec<Var>> {
        let source = |layer: usize, tensor: usize| {
            let tensors = &from[layer.min(from.len() - 1)];
            gather_rows(&tensors[tensor.min(tensors.len() - 1)], source_of) // [rows, width]
        };
        let initial = |layer: usize, tensor: usize| match &self.map {
            BridgeMap::Zero => {
                let device = fwd.params().device();
                Var::constant(Tensor::zeros(device, source_of.len(), self.to.widths[layer]))
            }
            BridgeMap::Copy => source(layer, tensor),
            BridgeMap::Dense(dense) => dense[layer][tensor].tanh(fwd, &source(layer, tensor)), // [rows, hidden]
        };
        let of_layer = |layer| (0..self.to.tensors).map(|tensor| initial(layer, tensor)).collect();
        (0..self.to.widths.len()).map(of_layer).collect()
    }
}

fn check_copy(from: &StateShape, to: &StateShape) -> Result<(), ConfigError> {
    reject_if(
        from.widths != to.widths,
        format!("model.bridge = \"copy\" cannot take {from} encoder states to {to} decoder states"),
        "use bridge = \"dense\", or give both sides the same layers and sizes \
         (both directions of the encoder count)",
    )?;
    reject_if(
        from.tensors != to.tensors,
        format!(
            "model.bridge = \"copy\" cannot take a state of {} to one of {}",
            count(from.tensors),
            count(to.tensors)
        ),
        "use bridge = \"dense\", or give both sides cells with as many: an LSTM's state has 2, others 1",
    )
}

fn count(tensors: usize) -> String {
    if tensors == 1 { "1 tensor".to_owned() } else { format!("{tensors} tensors") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::{Device, Params};

    fn shape(widths: &[usize], parts: usize) -> StateShape {
        StateShape { widths: widths.to_vec(), tensors: parts }
    }

    fn numbers(states: &[Vec<Var>]) -> Vec<Vec<f32>> {
        states.iter().flatten().map(|part| part.value().to_vec()).collect()
    }

    /// A vector (0.5, −1) becomes both parts of an LSTM's state of one unit: tanh(2·0.5 + 1·(−1) + 0.3) = tanh(0.3) = 0.29131
    /// and tanh(0.4·0.5 + 0·(−1) + 0) = tanh(0.2) = 0.19738. Two readers of the same source get the same.
    #[test]
    fn a_vector_becomes_all_parts_by_hand() {
        let mut params = Params::new(&Device::cpu(), 1);
        let bridge = Bridge::new(
            ModelBuilder::new(&mut params),
            BridgeKind::Dense,
            Some(&shape(&[2], 1)),
            shape(&[1], 2),
        )
        .unwrap();
        set(&mut params, &[("0.0.weight", &[2.0, 1.0]), ("0.0.bias", &[0.3])]);
        set(&mut params, &[("0.1.weight", &[0.4, 0.0]), ("0.1.bias", &[0.0])]);
        let context = vec![vec![matrix(&[&[9.0, 9.0], &[0.5, -1.0]])]];
        let first = bridge.forward(&ForwardPass::inference(&params), &context, &[1, 1]);
        assert_near(&numbers(&first).concat(), &[0.29131, 0.29131, 0.19738, 0.19738]);
    }

    #[test]
    fn states_are_copied_or_zero() {
        let mut params = Params::new(&Device::cpu(), 1);
        let states = vec![vec![matrix(&[&[1.0], &[2.0]])], vec![matrix(&[&[3.0], &[4.0]])]];
        let same = shape(&[1, 1], 1);
        let copy =
            Bridge::new(ModelBuilder::new(&mut params), BridgeKind::Copy, Some(&same), same.clone()).unwrap();
        let zero = Bridge::new(ModelBuilder::new(&mut params), BridgeKind::Copy, None, same).unwrap();
        let fwd = ForwardPass::inference(&params);
        assert_eq!(numbers(&copy.forward(&fwd, &states, &[1, 0])), [[2.0, 1.0], [4.0, 3.0]]);
        assert_eq!(numbers(&zero.forward(&fwd, &[], &[1, 0])), [[0.0, 0.0], [0.0, 0.0]]);
    }
}
