//! The table `[model.encoder]`: what reads.

use super::{
    ConfigError, EmbeddingConfig, FeedForwardKind, KERNEL, NormPlace, PositionKind, check_fraction,
    check_sizes, reject_if,
};
use crate::activation::ActivationKind;
use crate::attention::ScoreKind;
use crate::cell::Cell;
use crate::encoders::EncoderKind;
use crate::layers::Dropout;
use serde::{Deserialize, Serialize};

/// Layers by default.
const LAYERS: usize = 2;

/// The encoder.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderConfig {
    /// Which cell it is made of, a bag of tokens, or layers of attention or of convolutions.
    pub kind: EncoderKind,
    /// What the simple cell does with its sum: `tanh` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationKind>,
    /// What a token is to the first layer.
    pub input: InputKind,
    /// The source tokens' vectors; those of a Transformer and of convolutions are as wide as the states.
    pub embedding: EmbeddingConfig,
    /// Which layers have a second reader, that goes through the source from its end.
    pub bidirectional: Bidirectional,
    /// Whether the only reader goes through the source from its end.
    pub reverse: bool,
    /// Layers on top of each other: as many as there are sizes, or 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layers: Option<usize>,
    /// Units of a layer, in each direction; in a Transformer, of its feed-forward layers. Convolutions have one size for all.
    pub hidden: Sizes,
    /// From this layer on, the first being 1, a layer's input is added to its output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub residual_from: Option<usize>,
    /// The share of sequences that go past each of these layers while training.
    pub stochastic_depth: f32,
    /// The score by which a recurrent layer looks at all of its states so far; what it sees takes the place of its state before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_attention: Option<ScoreKind>,
    /// The share of numbers that are dropped while training: of the embedding and of each layer's output.
    pub dropout: f32,
    /// The share of the source's tokens that are unknown to it while training.
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
    /// How many steps a convolution sees: 3 where nothing is said. A reader sees as many before a step as behind it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kernel: Option<usize>,
    /// Where a Transformer normalizes: `pre` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<NormPlace>,
    /// The hidden units of a Transformer's feed-forward layers: `relu` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_forward: Option<FeedForwardKind>,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        EncoderConfig {
            kind: EncoderKind::default(),
            activation: None,
            input: InputKind::default(),
            embedding: 256.into(),
            bidirectional: true.into(),
            reverse: false,
            layers: None,
            hidden: Sizes::Same(256),
            residual_from: None,
            stochastic_depth: 0.0,
            self_attention: None,
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

impl EncoderConfig {
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

    /// Returns true if the layers have a list of sizes.
    pub(crate) fn has_several_sizes(&self) -> bool {
        matches!(self.hidden, Sizes::Each(_))
    }

    /// The units of each layer, in each direction.
    pub(crate) fn layer_sizes(&self) -> Result<Vec<usize>, ConfigError> {
        let sizes = match &self.hidden {
            Sizes::Same(size) => vec![*size; self.layers.unwrap_or(LAYERS)],
            Sizes::Each(sizes) => sizes.clone(),
        };
        reject_if(
            sizes.is_empty(),
            "model.encoder.hidden = [] has no size",
            "a size, or a list with a size for each layer",
        )?;
        reject_if(
            self.layers.is_some_and(|layers| layers != sizes.len()),
            format!(
                "model.encoder.hidden has {} sizes for model.encoder.layers = {}",
                sizes.len(),
                self.layers.unwrap_or_default()
            ),
            "a size for each layer, or remove model.encoder.layers",
        )?;
        check_sizes(sizes.iter().map(|&size| ("model.encoder.hidden", size)))?;
        Ok(sizes)
    }

    /// Rejects one-hot tokens where states are as wide as the embedding.
    pub(crate) fn check_embedding_input(&self) -> Result<(), ConfigError> {
        reject_if(
            self.input == InputKind::OneHot,
            format!(
                "model.encoder.input = \"one-hot\" cannot be combined with model.encoder.kind = \"{}\"",
                self.kind.entry().kind.name
            ),
            "its states are as wide as its embedding; remove input",
        )
    }

    /// Rejects values that make no encoder of any kind, and keys that its kind does not have.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_sizes([
            ("model.encoder.embedding", self.embedding.size),
            ("model.encoder.layers", self.layers.unwrap_or(1)),
        ])?;
        check_fraction("model.encoder.dropout", self.dropout)?;
        check_fraction("model.encoder.word_dropout", self.word_dropout)?;
        check_fraction("model.encoder.stochastic_depth", self.stochastic_depth)?;
        self.embedding.check("model.encoder", self.input)?;
        let set = [
            ("activation", self.activation.is_some()),
            ("forget_bias", self.forget_bias.is_some()),
            ("reverse", self.reverse),
            ("bidirectional", matches!(self.bidirectional, Bidirectional::Only(_))),
            ("residual_from", self.residual_from.is_some()),
            ("stochastic_depth", self.stochastic_depth > 0.0),
            ("self_attention", self.self_attention.is_some()),
            ("layer_norm", self.layer_norm),
            ("heads", self.heads.is_some()),
            ("positions", self.positions.is_some()),
            ("norm", self.norm.is_some()),
            ("feed_forward", self.feed_forward.is_some()),
            ("kernel", self.kernel.is_some()),
        ];
        let all = || EncoderKind::ALL.iter().map(|kind| kind.entry().kind);
        let kind = self.kind.entry().kind;
        set.iter()
            .filter(|(_, is_set)| *is_set)
            .try_for_each(|(key, _)| kind.check("model.encoder", key, all()))
    }
}

/// What a token is to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// A vector that is learned.
    #[default]
    Embedding,
    /// As many numbers as there are tokens, all of them 0 but its own, which is 1.
    OneHot,
}

/// One size for all layers, or one for each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a size, or a list with a size for each layer")]
pub enum Sizes {
    /// All alike.
    Same(usize),
    /// From the bottom to the top.
    Each(Vec<usize>),
}

impl From<usize> for Sizes {
    fn from(size: usize) -> Sizes {
        Sizes::Same(size)
    }
}

/// Which layers of a recurrent reader have two directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false or \"first\"")]
pub enum Bidirectional {
    /// All of them, or none.
    All(bool),
    /// Some of them.
    Only(OnlyLayer),
}

/// The layer that differs from the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnlyLayer {
    /// The lowest.
    First,
}

impl From<bool> for Bidirectional {
    fn from(all: bool) -> Bidirectional {
        Bidirectional::All(all)
    }
}

impl Bidirectional {
    /// Whether a layer has two directions, the lowest being 0.
    pub fn at(self, layer: usize) -> bool {
        match self {
            Bidirectional::All(all) => all,
            Bidirectional::Only(OnlyLayer::First) => layer == 0,
        }
    }
}
