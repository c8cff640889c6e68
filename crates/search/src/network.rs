//! Neural sequence-to-sequence models in a search.

use crate::model::{
    AutoregressiveModel, ModelStep, ScoreRequest, SearchInput, StepRequest, TokenAttention, TokenScores,
};
use couplet_data::{END, START, UNK};
use couplet_nn::{AttentionShape, DecoderState, ForwardPass, PackedTokens, Seq2Seq};
use couplet_tensor::ops::{CopySource, PointerOutput, copy_mixture, gather_rows, log_softmax, top_k};
use couplet_tensor::{Params, Tensor, Var};
use std::sync::Arc;

/// A sequence-to-sequence model with its weights.
#[derive(Clone, Copy, Debug)]
pub struct Network<'a> {
    /// The model.
    pub model: &'a Seq2Seq,
    /// Its weights.
    pub params: &'a Params,
    /// The part of its attention that a search gets.
    pub shown: Shown,
}

/// The rows of a [`Network`], one for each hypothesis.
#[derive(Clone, Debug, Default)]
pub struct NetworkRows {
    decoder: DecoderState,
    /// The tokens that each row can copy; none for a model that does not copy.
    copy: Vec<Arc<[u32]>>,
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
    /// The indices of the chosen weights among those of all layers and heads.
    fn indices(self, AttentionShape { layers, heads }: AttentionShape) -> Vec<usize> {
        let one_of = |one: Option<usize>, all: usize| one.map_or(0..all, |one| one..one + 1);
        let of_layer = |layer: usize| one_of(self.head, heads).map(move |head| layer * heads + head);
        one_of(self.layer, layers).flat_map(of_layer).collect()
    }
}

impl Network<'_> {
    /// The shown attention of each row, from the weights of all layers and heads; none without attention.
    pub(crate) fn attention(
        &self,
        weights: &Tensor,
        pointer: Option<&PointerOutput>,
    ) -> Option<Vec<TokenAttention>> {
        let shape = self.model.attention_shape()?;
        let (chosen, steps) = (self.shown.indices(shape), weights.columns() / (shape.layers * shape.heads));
        let gates = pointer.filter(|_| self.shown.copying).map(|pointer| pointer.gate.value().to_vec());
        let token = |(i, row): (usize, &[f32])| {
            let mean =
                |j: usize| chosen.iter().map(|one| row[one * steps + j]).sum::<f32>() / chosen.len() as f32;
            let copying = gates.as_ref().map(|gates| 1.0 / (1.0 + gates[i].exp()));
            TokenAttention { weights: (0..steps).map(mean).collect(), copying }
        };
        let values = weights.to_vec();
        let row = |i: usize| (i, &values[i * weights.columns()..][..weights.columns()]);
        Some((0..weights.rows()).map(row).map(token).collect())
    }
}

impl AutoregressiveModel for Network<'_> {
    type State = NetworkRows;

    /// Encodes sources. A target prefix is a constraint, not a prompt.
    fn init(&self, inputs: &[&SearchInput]) -> (NetworkRows, Vec<Vec<f32>>) {
        let fwd = ForwardPass::inference(self.params);
        let sources: Vec<&[u32]> = inputs.iter().map(|input| &*input.tokens).collect();
        let examples: Vec<u32> = (0..sources.len() as u32).collect();
        let packed = PackedTokens::new(&sources, &examples);
        let encoded = self.model.encode(&fwd, &packed);
        let decoder = self.model.init_state(&fwd, &encoded, packed.layout.unsorted_indices().into());
        let copies = self.model.supports_copy();
        let copy = inputs.iter().filter(|_| copies).map(|input| Arc::clone(&input.copy)).collect();
        (NetworkRows { decoder, copy }, vec![Vec::new(); inputs.len()])
    }

    fn step(&self, tokens: &[u32], state: &NetworkRows, request: &StepRequest) -> ModelStep<NetworkRows> {
        let fwd = ForwardPass::inference(self.params);
        let known = |&token: &u32| if (token as usize) < self.model.vocabulary() { token } else { UNK };
        let tokens: Vec<u32> = tokens.iter().map(known).collect();
        let step = self.model.step(&fwd, &tokens, &state.decoder, request.attention);
        let logits = self.model.logits(&fwd, &step.hidden); // [rows, vocabulary]
        let pointer = step.pointer.as_ref();
        let mixed = pointer.map(|pointer| {
            let copy: Vec<&[u32]> = state.copy.iter().map(|tokens| &**tokens).collect();
            let source = CopySource::per_row(&copy, pointer.weights.columns() / pointer.heads);
            copy_mixture(logits.value(), pointer, &source)
        });
        ModelStep {
            scores: token_scores(mixed.as_ref().unwrap_or(logits.value()), &request.scores),
            attention: step.attention.as_ref().and_then(|weights| self.attention(weights, pointer)),
            state: NetworkRows { decoder: step.state, copy: state.copy.clone() },
        }
    }

    fn select(&self, state: &NetworkRows, rows: &[u32]) -> NetworkRows {
        let copy = state.copy.first().map_or_else(Vec::new, |_| {
            rows.iter().map(|&row| Arc::clone(&state.copy[row as usize])).collect()
        });
        NetworkRows { decoder: state.decoder.select(rows), copy }
    }

    fn append(&self, state: &mut NetworkRows, other: NetworkRows) {
        state.decoder.append(other.decoder);
        state.copy.extend(other.copy);
    }

    fn supports_prompt(&self) -> bool {
        false
    }

    fn can_append(&self) -> bool {
        DecoderState::can_append(self.params.device())
    }

    fn bos_eos(&self) -> (u32, u32) {
        (START, END)
    }
}

/// The requested scores of each row, from logits, or from log-probabilities with −∞ for tokens that cannot be copied.
pub(crate) fn token_scores(logits: &Tensor, requests: &[ScoreRequest]) -> Vec<TokenScores> {
    let is_all = |request: &ScoreRequest| *request == ScoreRequest::All;
    let k = |request: &ScoreRequest| if let ScoreRequest::TopK(k) = request { *k } else { 0 };
    let largest = requests.iter().map(k).max().unwrap_or(0);
    let rows = |all: bool| {
        let rows: Vec<u32> =
            (0..).zip(requests).filter(|(_, request)| is_all(request) == all).map(|(i, _)| i).collect();
        match rows.len() {
            0 => None,
            count if count == requests.len() => Some(logits.clone()),
            _ => Some(gather_rows(&Var::constant(logits.clone()), &rows).value().clone()),
        }
    };
    let distributions = rows(true).map_or_else(Vec::new, |all| all.to_vec());
    let mut distributions = distributions.chunks(logits.columns().max(1)).map(log_softmax);
    let mut best = rows(false).map_or_else(Vec::new, |rows| top_k(&rows, largest)).into_iter();
    let scores = |request: &ScoreRequest| match *request {
        ScoreRequest::All => distributions.next().map(TokenScores::All),
        ScoreRequest::TopK(k) => best.next().map(|mut row| {
            row.retain(|&(_, log_probability)| log_probability > f32::NEG_INFINITY);
            row.truncate(k);
            TokenScores::TopK(row)
        }),
    };
    requests.iter().map(scores).collect::<Option<_>>().expect("a row for each request")
}
