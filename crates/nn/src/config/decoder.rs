//! The table `[model.decoder]`: what writes.

use super::{
    ConfigError, EmbeddingConfig, FeedForwardKind, InputKind, KERNEL, NormPlace, PositionKind,
    check_fraction, check_sizes, reject_if,
};
use crate::activation::ActivationKind;
use crate::cell::Cell;
use crate::decoders::DecoderKind;
use crate::layers::Dropout;
use serde::{Deserialize, Serialize};

/// The writer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecoderConfig {
    /// Which cell it is made of, or layers of attention or of convolutions.
    pub kind: DecoderKind,
    /// What the simple cell does with its sum: `tanh` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationKind>,
    /// Layers on top of each other.
    pub layers: usize,
    /// Units of a layer, and of the attention vector from which a token is predicted; in a Transformer, of its feed-forward
    /// layers.
    pub hidden: usize,
    /// The target tokens' vectors; in a Transformer they are as wide as all states, of convolutions as what they compare with the
    /// source.
    pub embedding: EmbeddingConfig,
    /// From this layer on, the first being 1, what a layer reads of the one below is added to its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_from: Option<usize>,
    /// The share of sequences that go past each of these layers while training.
    pub stochastic_depth: f32,
    /// What a token is predicted from: the state and the context where there is attention, else the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readout: Option<ReadoutKind>,
    /// Whether a writer, recurrent or a Transformer, can also copy what it looks at: a token of the source, known to its vocabulary or not.
    pub copy: bool,
    /// Which weights are the same.
    pub tie_embeddings: Tied,
    /// The share of numbers that are dropped while training: of the embedding and of what a token is predicted from; where the
    /// first layer looks at the source, also of what each layer above it reads of the one below.
    pub dropout: f32,
    /// The share of the target's tokens that are unknown to it while training, when it reads what it wrote.
    pub word_dropout: f32,
    /// Whether all steps of a sequence drop the same numbers.
    pub variational_dropout: bool,
    /// Whether the shares of the gates are normalized: `LN(W·x) + LN(U·h) + b`.
    pub layer_norm: bool,
    /// What the bias of the LSTM's forget gate is before training; random where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forget_bias: Option<f32>,
    /// How many heads look, each with a part of the width: 4 in a Transformer, else 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heads: Option<usize>,
    /// How a step's place is told: `sinusoidal` in a Transformer, `learned` to convolutions, else `none`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub positions: Option<PositionKind>,
    /// How many steps a convolution sees, its own and those before: 3 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<usize>,
    /// Where a Transformer normalizes: `pre` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<NormPlace>,
    /// The hidden units of a Transformer's feed-forward layers: `relu` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_forward: Option<FeedForwardKind>,
}

impl Default for DecoderConfig {
    fn default() -> Self {
        DecoderConfig {
            kind: DecoderKind::default(),
            activation: None,
            layers: 2,
            hidden: 512,
            embedding: 256.into(),
            residual_from: None,
            stochastic_depth: 0.0,
            readout: None,
            copy: false,
            tie_embeddings: Tied::default(),
            dropout: 0.2,
            word_dropout: 0.0,
            variational_dropout: false,
            layer_norm: false,
            forget_bias: None,
            heads: None,
            positions: None,
            kernel: None,
            norm: None,
            feed_forward: None,
        }
    }
}

impl DecoderConfig {
    /// The cell of its layers; none without recurrence.
    pub fn cell(&self) -> Option<Cell> {
        let cell = self.kind.entry().kind.cell?;
        Some(Cell::new(cell, self.activation, self.layer_norm, self.forget_bias))
    }

    /// Dropout of the embedding and of hidden states.
    pub(crate) fn dropout(&self) -> Dropout {
        Dropout::new(self.dropout, self.variational_dropout)
    }

    /// The position encoding.
    pub(crate) fn positions(&self) -> PositionKind {
        self.positions.unwrap_or(self.kind.entry().positions)
    }

    /// The steps of a convolution's window.
    pub(crate) fn kernel(&self) -> usize {
        self.kernel.unwrap_or(KERNEL)
    }

    /// Rejects values that make no decoder of any kind.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_sizes([
            ("model.decoder.layers", self.layers),
            ("model.decoder.hidden", self.hidden),
            ("model.decoder.embedding", self.embedding.size),
        ])?;
        check_fraction("model.decoder.dropout", self.dropout)?;
        check_fraction("model.decoder.word_dropout", self.word_dropout)?;
        check_fraction("model.decoder.stochastic_depth", self.stochastic_depth)?;
        self.embedding.check("model.decoder", InputKind::Embedding)?;
        reject_if(
            self.tie_embeddings == Tied::All && self.embedding.pretrained.is_some(),
            "model.decoder.embedding.pretrained cannot be combined with model.decoder.tie_embeddings = \"all\"",
            "the target's vectors are the source's; name the file in model.encoder.embedding",
        )
    }

    /// The keys that only some kinds have, and whether they are set.
    pub(crate) fn keys_of_kinds(&self) -> [(&'static str, bool); 11] {
        [
            ("activation", self.activation.is_some()),
            ("forget_bias", self.forget_bias.is_some()),
            ("residual_from", self.residual_from.is_some()),
            ("stochastic_depth", self.stochastic_depth > 0.0),
            ("readout", self.readout.is_some()),
            ("layer_norm", self.layer_norm),
            ("heads", self.heads.is_some()),
            ("positions", self.positions.is_some()),
            ("norm", self.norm.is_some()),
            ("feed_forward", self.feed_forward.is_some()),
            ("kernel", self.kernel.is_some()),
        ]
    }
}

/// What a token is predicted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadoutKind {
    /// The state `s`.
    State,
    /// The attention vector `tanh(W·[s; c] + b)`.
    Attentional,
    /// `tanh(W·[s; c; x] + b)`, with the vector `x` of the token before.
    DeepOutput,
}

/// Which weights are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tied {
    /// None.
    #[default]
    None,
    /// Those of the target's vectors and of the output.
    Output,
    /// Those of the source's vectors too, where both sides have one vocabulary.
    All,
}
