//! Models for tests, each row by itself.

use crate::history::Hypothesis;
use crate::model::StepRequest;
use crate::model::{AutoregressiveModel, ModelStep, SearchInput, TokenAttention, TokenScores};
use crate::search::search_inputs;
use std::cell::RefCell;

pub(crate) const START: u32 = 0;
pub(crate) const END: u32 = 1;

/// A model of single rows.
pub(crate) trait RowModel {
    type Row: Clone;

    /// The row of a source before its first token.
    fn start(&self, source: &[u32]) -> Self::Row;

    /// The row after a token, the log-probabilities of the next one, and the attention weights.
    fn next(&self, row: &Self::Row, token: u32) -> (Self::Row, Vec<f32>, Vec<f32>);
}

/// A model of many rows, which records the requests of all steps.
#[derive(Debug)]
pub(crate) struct ByRows<T> {
    pub(crate) model: T,
    pub(crate) requests: RefCell<Vec<StepRequest>>,
}

impl<T> ByRows<T> {
    pub(crate) fn new(model: T) -> ByRows<T> {
        ByRows { model, requests: RefCell::default() }
    }
}

impl<T: RowModel> AutoregressiveModel for ByRows<T> {
    type State = Vec<T::Row>;

    fn init(&self, inputs: &[&SearchInput]) -> (Self::State, Vec<Vec<f32>>) {
        let prefilled = |input: &&SearchInput| {
            let (mut row, mut last, mut scores) = (self.model.start(&input.tokens), START, Vec::new());
            for &token in input.prompt.iter() {
                let (next, log_probabilities, _) = self.model.next(&row, last);
                scores.push(log_probabilities[token as usize]);
                (row, last) = (next, token);
            }
            (row, scores)
        };
        inputs.iter().map(prefilled).unzip()
    }

    fn step(&self, tokens: &[u32], state: &Self::State, request: &StepRequest) -> ModelStep<Self::State> {
        assert!(tokens.len() == state.len() && tokens.len() == request.scores.len(), "a token for each row");
        self.requests.borrow_mut().push(request.clone());
        let (mut rows, mut scores, mut attention) = (Vec::new(), Vec::new(), Vec::new());
        for ((row, &token), &request) in state.iter().zip(tokens).zip(&request.scores) {
            let (next, log_probabilities, weights) = self.model.next(row, token);
            rows.push(next);
            scores.push(TokenScores::new(log_probabilities, request));
            attention.push(TokenAttention { weights, copying: None });
        }
        ModelStep { state: rows, scores, attention: Some(attention).filter(|_| request.attention) }
    }

    fn select(&self, state: &Self::State, rows: &[u32]) -> Self::State {
        rows.iter().map(|&row| state[row as usize].clone()).collect()
    }

    fn append(&self, state: &mut Self::State, other: Self::State) {
        state.extend(other);
    }

    fn bos_eos(&self) -> (u32, u32) {
        (START, END)
    }
}

/// The outputs of one input.
pub(crate) fn outputs(model: &impl AutoregressiveModel, input: SearchInput) -> Vec<Hypothesis> {
    search_inputs(model, vec![input], usize::MAX).remove(0).expect("rules that can be satisfied")
}
