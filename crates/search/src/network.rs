//! A neural model as the search sees it.

use crate::model::{Model, Step};
use couplet_data::{END, START};
use couplet_nn::{DecoderState, Packed, Pass, Seq2Seq};
use couplet_tensor::Params;
use couplet_tensor::ops::softmax;

/// A sequence-to-sequence model with its weights.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// The model.
    pub model: &'a Seq2Seq,
    /// Its weights.
    pub params: &'a Params,
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

    fn step(&self, tokens: &[u32], state: &DecoderState) -> Step<DecoderState> {
        let stepped = self.model.step(&Pass::inference(self.params), tokens, state);
        let all = vec![stepped.logits.columns() as u32; tokens.len()];
        Step {
            probabilities: softmax(&stepped.logits, &all).value().to_vec(),
            attention: stepped.weights.to_vec(),
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
