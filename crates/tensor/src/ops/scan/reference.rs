//! The decoder as it is defined, for one target and its source.

use crate::cell::Cell;
use crate::ops::attention;
use crate::ops::recurrent::reference::{Weights, step};
use crate::score::Score;

/// The layers of a decoder, and how it attends.
#[derive(Clone, Debug)]
pub struct Decoder<'a> {
    /// From the bottom to the top.
    pub layers: Vec<Weights<'a>>,
    /// heads·depth × hidden, or empty
    pub query: &'a [f64],
    /// heads·depth, or empty
    pub vector: &'a [f64],
    /// How many heads attend.
    pub heads: usize,
    /// The source's keys.
    pub keys: Vec<Vec<f64>>,
    /// The source's values.
    pub values: Vec<Vec<f64>>,
}

/// A step's output, its context, and the weights of each head.
pub type StepValues = (Vec<f64>, Vec<f64>, Vec<Vec<f64>>);

/// All steps of one target, from `state[layer][part][unit]` and a first context.
pub fn sequence<C: Cell, S: Score>(
    decoder: &Decoder,
    x: &[Vec<f64>],
    mut state: Vec<Vec<Vec<f64>>>,
    mut context: Vec<f64>,
) -> Vec<StepValues> {
    let mut steps = Vec::new();
    for x in x {
        let mut input = [x.as_slice(), &context].concat();
        for (weights, state) in decoder.layers.iter().zip(&mut state) {
            step::<C>(&input, state, weights);
            input = state[0].clone();
        }
        let query: Vec<f64> = if decoder.query.is_empty() {
            input.clone()
        } else {
            let dot = |row: &[f64]| row.iter().zip(&input).map(|(w, s)| w * s).sum();
            decoder.query.chunks(input.len()).map(dot).collect()
        };
        let Decoder { vector, keys, values, heads, .. } = decoder;
        let (next, weights) =
            attention::reference::attend::<S>(&query, vector, keys, values, *heads, context.len());
        context = next;
        steps.push((input, context.clone(), weights));
    }
    steps
}
