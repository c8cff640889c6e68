//! The recurrence as it is defined, for one sequence.

use crate::cell::{Cell, slots, state_slot};

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
}

/// One step of all units: the state before it becomes the one after it. `state[part][unit]`.
pub fn step<C: Cell>(x: &[f64], state: &mut [Vec<f64>], weights: &Weights) {
    let hidden = state[0].len();
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let before = state[0].clone();
    for unit in 0..hidden {
        let mut gates = vec![0.0; slots::<C>()];
        for gate in 0..C::GATES {
            let row = gate * hidden + unit;
            gates[gate] += dot(&weights.input[row * x.len()..][..x.len()], x) + weights.bias[row];
            gates[state_slot::<C>(gate)] += dot(&weights.state[row * hidden..][..hidden], &before);
        }
        if !weights.state_bias.is_empty() {
            for apart in 0..C::APART {
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
