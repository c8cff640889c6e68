//! Writers: from what is written so far to the next token.

mod recurrent;

pub use recurrent::RecurrentDecoder;

use crate::pass::Pass;
use crate::tokens::Packed;
use couplet_tensor::ops::{Memory, ScanState, gather_rows};
use couplet_tensor::{Tensor, Var};

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
    pub(crate) scan: ScanState,
    pub(crate) memory: Memory,
}

impl DecoderState {
    /// Row `rows[i]` as row `i`: some may be gone, some may be there several times. The sources are not copied.
    pub fn select(&self, rows: &[u32]) -> DecoderState {
        let pick = |part: &Var| gather_rows(part, rows);
        let layers = self.scan.layers.iter().map(|layer| layer.iter().map(pick).collect()).collect();
        let of = rows.iter().map(|&row| self.memory.of[row as usize]).collect();
        DecoderState {
            scan: ScanState { layers, context: pick(&self.scan.context) },
            memory: Memory { of, ..self.memory.clone() },
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
    /// How much each step of its source each row looked at: rows × source steps.
    pub weights: Tensor,
}

/// What a whole sequence gives.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// What the next token is predicted from: target rows × hidden.
    pub features: Var,
    /// target rows × source steps
    pub weights: Tensor,
}
