//! Decoders: from the tokens so far to the next one. The one list of their kinds.
//!
//! A new kind is a file with its keys, its check and its module, and two lines here: `mod` and one in [`DecoderKind`].

mod attention;
mod context;
mod conv;
mod copy;
mod recurrence;
mod recurrent;
mod transformer;

pub use context::pooled;

use crate::builder::ModelBuilder;
use crate::cell::CellKind;
use crate::config::{ConfigError, DecoderConfig, InputKind, ModelConfig, PositionKind, Tied, reject_if};
use crate::encoders::{Encoded, Encoder};
use crate::forward::ForwardPass;
use crate::inputs::{InputLayer, TokenInput, TokenInputConfig};
use crate::kinds::{KindKeys, kinds};
use crate::layers::{Embedding, EmbeddingScale, Linear};
use crate::state::DecoderState;
use crate::tokens::PackedTokens;
use couplet_tensor::ops::{PointerOutput, concat_columns};
use couplet_tensor::{Init, Tensor, Var};
use std::fmt::Debug;
use std::sync::Arc;

/// From the tokens so far to the hidden state that the next one is predicted from: step by step in a search, whole sequences in
/// training (teacher forcing). Both compute the same, up to rounding.
pub trait Decoder: Debug + Send + Sync {
    /// The state before the first step; row `i` attends to source `source_of[i]` in the order of the layout.
    fn init_state(&self, fwd: &ForwardPass, source: &Encoded, source_of: Arc<[u32]>) -> DecoderState;

    /// One step: a token for each row of the state.
    fn step(&self, fwd: &ForwardPass, tokens: &[u32], state: &DecoderState, attention: bool) -> StepOutput;

    /// All steps of packed targets; row `i` of the state belongs to sequence `i` of the layout. Attention weights are returned on request.
    fn forward(
        &self,
        fwd: &ForwardPass,
        target: &PackedTokens,
        state: &DecoderState,
        attention: bool,
    ) -> DecoderOutput;

    /// The projection of hidden states to the vocabulary.
    fn output_projection(&self) -> &Linear;

    /// Layers and heads of its attention to the source; none without attention.
    fn attention_shape(&self) -> Option<AttentionShape> {
        None
    }

    /// Returns true if it can copy tokens of the source.
    fn supports_copy(&self) -> bool {
        false
    }
}

/// Layers and heads of a decoder's attention to the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AttentionShape {
    /// The number of layers that attend.
    pub layers: usize,
    /// The number of heads of each.
    pub heads: usize,
}

/// The output of one step.
#[derive(Clone, Debug)]
pub struct StepOutput {
    /// The hidden states that the next tokens are predicted from: rows × width.
    pub hidden: Var,
    /// The state after the step.
    pub state: DecoderState,
    /// The attention weights, if they were requested: rows × layers·heads·source steps.
    pub attention: Option<Tensor>,
    /// The probabilities of source tokens, if the decoder copies.
    pub pointer: Option<PointerOutput>,
}

/// The output for whole sequences.
#[derive(Clone, Debug)]
pub struct DecoderOutput {
    /// The hidden states that the next tokens are predicted from: target rows × width.
    pub hidden: Var,
    /// The attention weights, if they were requested: target rows × layers·heads·source steps.
    pub attention: Option<Var>,
    /// The probabilities of source tokens, if the decoder copies.
    pub pointer: Option<PointerOutput>,
}

kinds! {
    /// A kind of decoder.
    DecoderKind: DecoderEntry {
        /// Layers of the simple recurrent cell, `h' = σ(W·x + U·h + b)`.
        Rnn => recurrent::entry("rnn", CellKind::Rnn),
        /// Layers of the gated recurrent unit.
        Gru => recurrent::entry("gru", CellKind::Gru),
        /// Layers of long short-term memory.
        #[default]
        Lstm => recurrent::entry("lstm", CellKind::Lstm),
        /// A bare layer of attention, from whose context a token is predicted.
        Attention => attention::ENTRY,
        /// A Transformer's decoder.
        Transformer => transformer::ENTRY,
        /// Layers of gated convolutions, each with attention.
        Conv => conv::ENTRY,
    }
}

/// Checks the config and builds a decoder.
type BuildDecoder = fn(&mut ModelBuilder, &DecoderInputs) -> Result<Arc<dyn Decoder>, ConfigError>;

/// An entry of the list of kinds.
pub(crate) struct DecoderEntry {
    pub(crate) kind: KindKeys,
    /// Positions by default.
    pub(crate) positions: PositionKind,
    build: BuildDecoder,
}

/// Inputs of a decoder's construction.
pub(crate) struct DecoderInputs<'a> {
    pub(crate) config: &'a ModelConfig,
    pub(crate) encoder: &'a dyn Encoder,
    /// The size of the target's vocabulary.
    pub(crate) vocabulary: usize,
    /// The source's embedding, for a decoder that is tied to it.
    pub(crate) shared: Option<&'a Embedding>,
}

/// Adds the parameters of a decoder: `decoder`, and for some kinds `context`, `bridge` and `attention`.
pub(crate) fn build(b: &mut ModelBuilder, inputs: &DecoderInputs) -> Result<Arc<dyn Decoder>, ConfigError> {
    inputs.config.check_decoder_keys()?;
    (inputs.config.decoder.kind.entry().build)(b, inputs)
}

impl DecoderInputs<'_> {
    /// Adds `embedding`, unless it is tied to the source's, and `positions`.
    fn token_input(&self, b: &mut ModelBuilder, scale: EmbeddingScale) -> TokenInput {
        let config = &self.config.decoder;
        let input = TokenInputConfig {
            kind: InputKind::Embedding,
            vocabulary: self.vocabulary,
            width: config.embedding.size,
            scale,
            positions: config.positions(),
            dropout: config.dropout(),
            tied: self.shared.filter(|_| config.tie_embeddings == Tied::All),
        };
        TokenInput::new(b, input)
    }

    /// Adds `output`, the projection of hidden states of a width to the vocabulary; its weight may be tied to the embedding.
    fn output(&self, b: &mut ModelBuilder, input: &TokenInput, width: usize) -> Result<Linear, ConfigError> {
        check_tied(self, width)?;
        let tied = self.config.decoder.tie_embeddings != Tied::None;
        Ok(match input.embedding().filter(|_| tied) {
            None => Linear::new(b.child("output"), width, self.vocabulary, true),
            Some(embedding) => Linear {
                weight: embedding.weight,
                bias: Some(b.child("output").add("bias", 1, self.vocabulary, Init::Constant(0.0))),
            },
        })
    }
}

fn check_tied(inputs: &DecoderInputs, width: usize) -> Result<(), ConfigError> {
    let DecoderConfig { tie_embeddings, embedding, .. } = &inputs.config.decoder;
    reject_if(
        *tie_embeddings != Tied::None && width != embedding.size,
        format!(
            "model.decoder.tie_embeddings cannot tie an embedding of width {} to hidden states of width {width}",
            embedding.size
        ),
        "weights that are tied have one size; make both equal, or tie_embeddings = \"none\"",
    )?;
    let source = &inputs.config.encoder.embedding;
    reject_if(
        *tie_embeddings == Tied::All && (inputs.shared.is_none() || source.size != embedding.size),
        "model.decoder.tie_embeddings = \"all\" needs the same embedding on both sides",
        "give model.encoder and model.decoder the same embedding, or use tie_embeddings = \"output\"",
    )
}

/// The attention weights of all layers next to each other, if they are requested: rows × layers·heads·source steps.
fn concat_layers(weights: Vec<Tensor>, requested: bool) -> Option<Tensor> {
    let weights: Vec<Var> = weights.into_iter().map(Var::constant).collect();
    let all: Vec<&Var> = weights.iter().collect();
    (requested && !all.is_empty()).then(|| concat_columns(&all).value().clone())
}
