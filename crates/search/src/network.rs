//! A neural model as the search sees it.

use crate::model::{Model, Next, Step};
use couplet_data::{END, START};
use couplet_nn::{DecoderState, Packed, Pass, Seq2Seq, Sights};
use couplet_tensor::ops::likeliest;
use couplet_tensor::{Params, Tensor};

/// A sequence-to-sequence model with its weights.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// The model.
    pub model: &'a Seq2Seq,
    /// Its weights.
    pub params: &'a Params,
    /// What of its attention is shown.
    pub shown: Shown,
}

/// Which part of a model's attention is shown; without a choice, the mean of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Which layer, the first being 0.
    pub layer: Option<usize>,
    /// Which head of each layer, the first being 0.
    pub head: Option<usize>,
}

impl Shown {
    /// Which of the weights that stand side by side, layer by layer and head by head.
    fn places(self, Sights { layers, heads }: Sights) -> Vec<usize> {
        let one_of = |one: Option<usize>, all: usize| one.map_or(0..all, |one| one..one + 1);
        let of_layer = |layer: usize| one_of(self.head, heads).map(move |head| layer * heads + head);
        one_of(self.layer, layers).flat_map(of_layer).collect()
    }
}

impl Network<'_> {
    /// How much each row looked at each place of its source, row after row, from the weights of all layers and heads side by side. Nothing
    /// without attention.
    pub(crate) fn shown(&self, weights: Option<&Tensor>) -> Vec<f32> {
        let Some((weights, sights)) = weights.zip(self.model.sights()) else { return Vec::new() };
        let (chosen, places) =
            (self.shown.places(sights), weights.columns() / (sights.layers * sights.heads));
        let of_row = |row: &[f32]| -> Vec<f32> {
            let mean = |place: usize| {
                chosen.iter().map(|one| row[one * places + place]).sum::<f32>() / chosen.len() as f32
            };
            (0..places).map(mean).collect()
        };
        weights.to_vec().chunks(weights.columns().max(1)).flat_map(of_row).collect()
    }
}

impl Model for Network<'_> {
    type State = DecoderState;
    type Next = Tensor;

    fn start(&self, sources: &[&[u32]]) -> DecoderState {
        let pass = Pass::inference(self.params);
        let examples: Vec<u32> = (0..sources.len() as u32).collect();
        let packed = Packed::new(sources, &examples);
        let encoded = self.model.encode(&pass, &packed);
        self.model.start(&pass, &encoded, packed.rows.place_of().into())
    }

    fn step(&self, tokens: &[u32], state: &DecoderState) -> Step<DecoderState, Tensor> {
        let stepped = self.model.step(&Pass::inference(self.params), tokens, state);
        Step {
            next: stepped.logits.value().clone(),
            attention: self.shown(stepped.weights.as_ref()),
            state: stepped.state,
        }
    }

    fn select(&self, state: &DecoderState, rows: &[u32]) -> DecoderState {
        state.select(rows)
    }

    fn ends(&self) -> (u32, u32) {
        (START, END)
    }
}

/// The logits of a step.
impl Next for Tensor {
    fn likeliest(&self, wanted: usize) -> Vec<Vec<(u32, f32)>> {
        likeliest(self, wanted)
    }

    fn log_probabilities(&self) -> Vec<Vec<f32>> {
        self.to_vec().chunks(self.columns().max(1)).map(log_softmax).collect()
    }
}

/// `xᵢ − log Σ e^x`.
fn log_softmax(x: &[f32]) -> Vec<f32> {
    let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let log_sum = x.iter().map(|x| (x - largest).exp()).sum::<f32>().ln();
    x.iter().map(|x| x - largest - log_sum).collect()
}
