//! Writers: from what is written so far to the next token.

mod attention;
mod convolutional;
mod layers;
mod pointer;
mod readout;
mod recurrent;
mod transformer;

pub use attention::AttentionDecoder;
pub use convolutional::ConvolutionalDecoder;
pub use recurrent::RecurrentDecoder;
pub use transformer::TransformerDecoder;

use crate::cell::WriterKind;
use crate::config::{DecoderConfig, Tied};
use crate::layer::{Dropout, DropoutSite, Embedding, Linear};
use crate::pass::Pass;
use crate::tokens::Packed;
use attention::AttentionState;
use convolutional::ConvolutionalState;
use couplet_tensor::ops::{PointerOutput, concat_columns};
use couplet_tensor::{Init, Params, Tensor, Var};
use recurrent::RecurrentState;
use transformer::TransformerState;

/// A writer. Search takes its steps one by one, training takes a sequence at once; both give the same.
pub(crate) trait Decoder {
    /// Where it stands, a row for each hypothesis.
    type State;

    /// One step: a token for each row of the state.
    fn step(&self, pass: &Pass, tokens: &[u32], state: &Self::State) -> Stepped<Self::State>;

    /// All steps of packed targets; row `i` of the state belongs to place `i`.
    fn sequence(&self, pass: &Pass, input: &Packed, state: &Self::State) -> Sequence;
}

/// How a model looks at the source in each step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sights {
    /// How many layers look.
    pub layers: usize,
    /// How many times each of them.
    pub heads: usize,
}

/// Where a decoder stands, whichever it is, a row for each hypothesis.
#[derive(Clone, Debug)]
pub struct DecoderState(pub(crate) WriterState);

/// The state of each kind of writer.
#[derive(Clone, Debug)]
pub(crate) enum WriterState {
    Recurrent(Box<RecurrentState>),
    Attention(AttentionState),
    Transformer(TransformerState),
    Convolutional(ConvolutionalState),
}

impl DecoderState {
    /// Row `rows[i]` as row `i`: some may be gone, some may be there several times. The sources are not copied.
    pub fn select(&self, rows: &[u32]) -> DecoderState {
        DecoderState(match &self.0 {
            WriterState::Recurrent(state) => WriterState::Recurrent(state.select(rows).into()),
            WriterState::Attention(state) => WriterState::Attention(state.select(rows)),
            WriterState::Transformer(state) => WriterState::Transformer(state.select(rows)),
            WriterState::Convolutional(state) => WriterState::Convolutional(state.select(rows)),
        })
    }
}

/// What a step gives.
#[derive(Clone, Debug)]
pub struct Stepped<S = DecoderState> {
    /// How much each token is expected next: rows × vocabulary.
    pub logits: Var,
    /// Where the decoder stands now.
    pub state: S,
    /// How much each step of its source each row looked at: rows × layers·heads·source steps. Without attention, none.
    pub weights: Option<Tensor>,
    /// Where a writer that copies points.
    pub pointing: Option<PointerOutput>,
}

impl<S> Stepped<S> {
    /// The same for any writer.
    pub(crate) fn any(self, state: impl FnOnce(S) -> WriterState) -> Stepped {
        let Stepped { logits, state: own, weights, pointing } = self;
        Stepped { logits, state: DecoderState(state(own)), weights, pointing }
    }
}

/// What a whole sequence gives.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// What the next token is predicted from: target rows × hidden.
    pub features: Var,
    /// target rows × layers·heads·source steps; without attention, none, and none from a Transformer or a convolutional writer that learns
    pub weights: Option<Var>,
    /// Where a writer that copies points.
    pub pointing: Option<PointerOutput>,
}

/// The weights of all layers side by side: rows × layers·heads·source steps.
fn beside(weights: Vec<Tensor>) -> Option<Tensor> {
    let weights: Vec<Var> = weights.into_iter().map(Var::constant).collect();
    let all: Vec<&Var> = weights.iter().collect();
    (!all.is_empty()).then(|| concat_columns(&all).value().clone())
}

/// The vectors of the target's tokens, which may be those of the source's.
fn embedding_of(
    params: &mut Params,
    config: &DecoderConfig,
    vocabulary: usize,
    shared: Option<&Embedding>,
) -> Embedding {
    let new = if config.kind == WriterKind::Transformer { Embedding::scaled } else { Embedding::new };
    match shared.filter(|_| config.tie_embeddings == Tied::All) {
        Some(shared) => shared.clone(),
        None => new(params, "decoder.embedding", vocabulary, config.embedding.size),
    }
}

/// From what a token is predicted from to the vocabulary: the target's vectors where they are tied.
fn output_of(
    params: &mut Params,
    config: &DecoderConfig,
    vocabulary: usize,
    embedding: &Embedding,
) -> Linear {
    match config.tie_embeddings {
        Tied::None => Linear::new(params, "decoder.output", config.feature_width(), vocabulary, true),
        Tied::Output | Tied::All => Linear {
            weight: embedding.weight,
            bias: Some(params.add("decoder.output.bias", 1, vocabulary, Init::Constant(0.0))),
        },
    }
}

/// Dropout of a decoder's first values, the tokens' vectors, and of its last ones, what a token is predicted from.
#[derive(Clone, Debug)]
struct DecoderDropout {
    embedding: DropoutSite,
    output: DropoutSite,
}

impl DecoderDropout {
    fn new(params: &mut Params, config: &DecoderConfig) -> DecoderDropout {
        let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
        let [embedding, output] = ["embedding", "output"]
            .map(|part| DropoutSite::new(params, &format!("decoder.{part}.dropout"), dropout));
        DecoderDropout { embedding, output }
    }
}
