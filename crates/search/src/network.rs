//! A neural model as the search sees it.

use crate::model::{Model, Next, Step};
use couplet_data::{END, START, UNK};
use couplet_nn::{DecoderState, Packed, Pass, Seq2Seq, Sights};
use couplet_tensor::ops::{CopySource, copy_mixture, log_softmax, top_k};
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
    /// What a model that copies can copy: each source's tokens as the target's, of which those that the vocabulary does not have stand
    /// behind it.
    pub copied: Option<&'a [&'a [u32]]>,
}

/// Where a network stands, a row for each hypothesis.
#[derive(Clone, Debug)]
pub struct NetworkState {
    decoder: DecoderState,
    /// What each row can copy.
    copied: Option<CopySource>,
}

/// Which part of a model's attention is shown; without a choice, the mean of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Shown {
    /// Which layer, the first being 0.
    pub layer: Option<usize>,
    /// Which head of each layer, the first being 0.
    pub head: Option<usize>,
    /// Whether it is shown, too, how probable it was that a token is copied.
    pub copying: bool,
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
    type State = NetworkState;
    type Next = Tensor;

    fn start(&self, sources: &[&[u32]]) -> NetworkState {
        let pass = Pass::inference(self.params);
        let examples: Vec<u32> = (0..sources.len() as u32).collect();
        let packed = Packed::new(sources, &examples);
        let encoded = self.model.encode(&pass, &packed);
        let decoder = self.model.start(&pass, &encoded, packed.rows.unsorted_indices().into());
        let copied = self.copied.map(|sources| CopySource::new(sources, examples.into()));
        NetworkState { decoder, copied }
    }

    fn step(&self, tokens: &[u32], state: &NetworkState) -> Step<NetworkState, Tensor> {
        let read = |&token: &u32| if (token as usize) < self.model.vocabulary() { token } else { UNK };
        let read: Vec<u32> = tokens.iter().map(read).collect();
        let stepped = self.model.step(&Pass::inference(self.params), &read, &state.decoder);
        let logits = stepped.logits.value();
        let pointing = stepped.pointing.as_ref().zip(state.copied.as_ref());
        let next = pointing
            .map_or_else(|| logits.clone(), |(pointing, copied)| copy_mixture(logits, pointing, copied));
        Step {
            next,
            attention: self.shown(stepped.weights.as_ref()),
            state: NetworkState { decoder: stepped.state, copied: state.copied.clone() },
        }
    }

    fn select(&self, state: &NetworkState, rows: &[u32]) -> NetworkState {
        NetworkState {
            decoder: state.decoder.select(rows),
            copied: state.copied.as_ref().map(|copied| copied.select(rows)),
        }
    }

    fn ends(&self) -> (u32, u32) {
        (START, END)
    }
}

/// How much each token is expected: the logits of a vocabulary, or the logarithms of all probabilities where those that can only be copied
/// stand behind it. What cannot be copied is −∞.
impl Next for Tensor {
    fn likeliest(&self, wanted: usize) -> Vec<Vec<(u32, f32)>> {
        let mut rows = top_k(self, wanted);
        rows.iter_mut()
            .for_each(|row| row.retain(|&(_, log_probability)| log_probability > f32::NEG_INFINITY));
        rows
    }

    fn log_probabilities(&self) -> Vec<Vec<f32>> {
        self.to_vec().chunks(self.columns().max(1)).map(log_softmax).collect()
    }
}
