//! The recurrence as it is defined, for one sequence.

use crate::cell::{Cell, slots};
use crate::ops::AnyCell;
use crate::ops::layer_norm::reference::layer_norm;

/// The weights of a layer.
#[derive(Clone, Debug)]
pub struct Weights<'a> {
    /// gates·hidden × inputs
    pub input: &'a [f64],
    /// gates·hidden × hidden
    pub state: &'a [f64],
    /// gates·hidden
    pub bias: &'a [f64],
    /// apart·hidden, or empty
    pub state_bias: &'a [f64],
    /// Layer normalization of the gates, or none.
    pub norm: Option<Norm<'a>>,
}

/// Gain and bias of the norms, gates·hidden each.
#[derive(Clone, Debug)]
pub struct Norm<'a> {
    /// Of the input's share.
    pub input: [&'a [f64]; 2],
    /// Of the state's share.
    pub state: [&'a [f64]; 2],
}

/// One step of all units: the state before it becomes the one after it. `state[part][unit]`.
pub fn step<C: Cell>(x: &[f64], state: &mut [Vec<f64>], weights: &Weights) {
    let hidden = state[0].len();
    let product = |weight: &[f64], x: &[f64]| -> Vec<f64> {
        let dot = |row: &[f64]| row.iter().zip(x).map(|(w, x)| w * x).sum();
        weight.chunks(x.len()).map(dot).collect()
    };
    let (mut of_input, mut of_state) = (product(weights.input, x), product(weights.state, &state[0]));
    if let Some(Norm { input: [gain, bias], state: [state_gain, state_bias] }) = weights.norm {
        of_input = layer_norm(&of_input, gain, bias);
        of_state = layer_norm(&of_state, state_gain, state_bias);
    }
    for unit in 0..hidden {
        let mut gates = vec![0.0; slots::<C>()];
        for gate in 0..C::GATES {
            let row = gate * hidden + unit;
            gates[gate] += of_input[row] + weights.bias[row];
            gates[AnyCell::of::<C>().state_slot(gate)] += of_state[row];
        }
        if !weights.state_bias.is_empty() {
            for apart in 0..C::SPLIT_GATES {
                gates[C::GATES + apart] += weights.state_bias[apart * hidden + unit];
            }
        }
        let mut own: Vec<f64> = state.iter().map(|part| part[unit]).collect();
        C::forward(&mut gates, &mut own);
        state.iter_mut().zip(own).for_each(|(part, value)| part[unit] = value);
    }
}

/// The outputs of all steps of one sequence, read in the order in which it is given, from and to `state`.
pub fn sequence<C: Cell>(x: &[Vec<f64>], state: &mut [Vec<f64>], weights: &Weights) -> Vec<Vec<f64>> {
    x.iter()
        .map(|x| {
            step::<C>(x, state, weights);
            state[0].clone()
        })
        .collect()
}
