//! Writers: from what is written so far to the next token.

mod layers;
mod readout;
mod recurrent;

pub use recurrent::RecurrentDecoder;

use crate::pass::Pass;
use crate::tokens::Packed;
use couplet_tensor::ops::gather_rows;
use couplet_tensor::{Tensor, Var};
use layers::LayersState;

/// A writer. Search takes its steps one by one, training takes a sequence at once; both give the same.
pub trait Decoder {
    /// One step: a token for each row of the state.
    fn step(&self, pass: &Pass, tokens: &[u32], state: &DecoderState) -> Stepped;

    /// All steps of packed targets; row `i` of the state belongs to place `i`.
    fn sequence(&self, pass: &Pass, input: &Packed, state: &DecoderState) -> Sequence;
}

/// Where a decoder stands, a row for each hypothesis.
#[derive(Clone, Debug)]
pub struct DecoderState {
    pub(crate) layers: LayersState,
    /// The context that enters every step.
    pub(crate) told: Option<Var>,
}

impl DecoderState {
    /// Row `rows[i]` as row `i`: some may be gone, some may be there several times. The sources are not copied.
    pub fn select(&self, rows: &[u32]) -> DecoderState {
        DecoderState {
            layers: self.layers.select(rows),
            told: self.told.as_ref().map(|told| gather_rows(told, rows)),
        }
    }
}

/// What a step gives.
#[derive(Clone, Debug)]
pub struct Stepped {
    /// How much each token is expected next: rows × vocabulary.
    pub logits: Var,
    /// Where the decoder stands now.
    pub state: DecoderState,
    /// How much each step of its source each row looked at: rows × heads·source steps. Without attention, none.
    pub weights: Option<Tensor>,
}

/// What a whole sequence gives.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// What the next token is predicted from: target rows × hidden.
    pub features: Var,
    /// target rows × heads·source steps; without attention, none
    pub weights: Option<Tensor>,
}
