//! A neural model as the search sees it.

use crate::model::{Model, Step};
use couplet_data::{END, START};
use couplet_nn::{DecoderState, Packed, Pass, Seq2Seq};
use couplet_tensor::ops::likeliest;
use couplet_tensor::{Params, Tensor};

/// A sequence-to-sequence model with its weights.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// The model.
    pub model: &'a Seq2Seq,
    /// Its weights.
    pub params: &'a Params,
    /// Which of the attention's heads is shown, the first being 0; without a choice, the mean of all.
    pub head: Option<usize>,
}

impl Network<'_> {
    /// How much each row looked at each place of its source, row after row, from the weights of all heads side by side. Nothing
    /// without attention.
    pub(crate) fn shown(&self, weights: Option<&Tensor>) -> Vec<f32> {
        let Some((weights, attention)) = weights.zip(self.model.attention()) else { return Vec::new() };
        let (heads, places) = (attention.heads(), weights.columns() / attention.heads());
        let of_row = |row: &[f32]| -> Vec<f32> {
            let chosen = self.head.map_or(0..heads, |head| head..head + 1);
            let mean = |place: usize| {
                chosen.clone().map(|head| row[head * places + place]).sum::<f32>() / chosen.len() as f32
            };
            (0..places).map(mean).collect()
        };
        weights.to_vec().chunks(weights.columns().max(1)).flat_map(of_row).collect()
    }
}

impl Model for Network<'_> {
    type State = DecoderState;

    fn start(&self, sources: &[&[u32]]) -> DecoderState {
        let pass = Pass::inference(self.params);
        let examples: Vec<u32> = (0..sources.len() as u32).collect();
        let packed = Packed::new(sources, &examples);
        let encoded = self.model.encode(&pass, &packed);
        self.model.start(&pass, &encoded, packed.rows.place_of().into())
    }

    fn step(&self, tokens: &[u32], state: &DecoderState, wanted: usize) -> Step<DecoderState> {
        let stepped = self.model.step(&Pass::inference(self.params), tokens, state);
        Step {
            likeliest: likeliest(stepped.logits.value(), wanted),
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
