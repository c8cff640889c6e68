//! What a model is made of, as a user writes it.

mod attention;
mod check;
mod classifier;
mod decoder;
mod embedding;
mod encoder;
mod language_model;
#[cfg(test)]
mod tests;

pub use attention::{AttentionConfig, InputFeeding, LocalKind, QueryKind, QueryLayer};
pub use check::ConfigError;
pub(crate) use check::{
    check_fraction, check_heads, check_not_rotary, check_sizes, check_stochastic_depth, reject_if,
};
pub use classifier::{ClassifierConfig, ClassifierHeadConfig, OutputKind, PoolingConfig, PoolingKind};
pub use decoder::{DecoderConfig, ReadoutKind, Tied};
pub use embedding::{EmbeddingConfig, Freeze};
pub use encoder::{Bidirectional, EncoderConfig, InputKind, OnlyLayer, Sizes};
pub use language_model::{LanguageModelConfig, NextTokenConfig};

use crate::builder::ModelBuilder;
use crate::decoders::DecoderKind;
use crate::encoders::SourceEncoder;
use crate::models::Seq2Seq;
use couplet_tensor::Params;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Heads of a Transformer by default.
pub(crate) const HEADS: usize = 4;

/// Steps of a convolution's window by default.
const KERNEL: usize = 3;

/// The size of vocabularies that are not known yet: a prime, which no width equals by accident.
const PLANNED_VOCABULARY: usize = 7_919;

/// The table `[model]` of a config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// How a context that begins the writing becomes the decoder's first states.
    pub bridge: BridgeKind,
    /// `[model.encoder]`
    pub encoder: EncoderConfig,
    /// `[model.context]`
    pub context: ContextConfig,
    /// `[model.attention]`
    pub attention: AttentionConfig,
    /// `[model.decoder]`
    pub decoder: DecoderConfig,
}

/// How a step's place is told to what has no recurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PositionKind {
    /// Not at all.
    None,
    /// By sines and cosines that are added to the tokens' vectors.
    Sinusoidal,
    /// By vectors that are learned and added.
    Learned,
    /// By turning queries and keys.
    Rotary,
}

/// Where a Transformer normalizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NormPlace {
    /// What each sublayer reads.
    #[default]
    Pre,
    /// The sum of what it read and what it made of it.
    Post,
}

/// The hidden units of a feed-forward layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FeedForwardKind {
    /// `max(u, 0)`
    #[default]
    Relu,
    /// `u·Φ(u)`, in its approximation by tanh.
    Gelu,
    /// `gelu(u)·g`, with a gate `g` for each unit.
    Gated,
}

/// What the decoder is told of the source once for all steps: `c = q(h_1..h_m)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// How the encoder's states become one vector.
    pub kind: ContextKind,
    /// The size of a layer `tanh(W·c + b)` on top of it; without one, the vector stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<usize>,
    /// Use by the decoder: its initial state, an input of every step, or both.
    pub to: ContextUse,
}

/// How an encoder's states become one vector.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ContextKind {
    /// The state in which the reader ended, `h_m`; of two readers, each one's own.
    #[default]
    Last,
    /// The mean of all states.
    Mean,
    /// The largest of all states, number by number.
    Max,
    /// Nothing.
    None,
}

/// Use of the context vector by the decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ContextUse {
    /// Initial state of the decoder.
    #[default]
    InitState,
    /// Input of every decoder step.
    EveryStep,
    /// Both.
    Both,
}

impl ContextUse {
    /// Whether it begins the writing.
    pub fn is_init_state(self) -> bool {
        self != ContextUse::EveryStep
    }

    /// Whether it enters every step.
    pub fn is_every_step(self) -> bool {
        self != ContextUse::InitState
    }
}

/// The way from a context to the decoder's first states.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BridgeKind {
    /// `tanh(W·c + b)`, for each layer and each part of the state.
    #[default]
    Dense,
    /// As it is: both sides must have the same layers, sizes and parts of the state.
    Copy,
}

/// The states of a stack of layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateShape {
    /// The width of each layer's state, from the first layer to the last.
    pub widths: Vec<usize>,
    /// The tensors of each.
    pub tensors: usize,
}

impl fmt::Display for StateShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.widths[..] {
            [first, rest @ ..] if rest.iter().all(|width| width == first) => {
                write!(f, "{} × {first}", self.widths.len())
            }
            widths => f.write_str(&widths.iter().map(usize::to_string).collect::<Vec<_>>().join(" and ")),
        }
    }
}

impl ModelConfig {
    /// Rejects what makes no model, before any data is read: the model is built without values, for a vocabulary of an unlikely size.
    pub fn check(&self) -> Result<(), ConfigError> {
        let mut planned = Params::planned();
        let source =
            SourceEncoder::new(&mut ModelBuilder::new(&mut planned), &self.encoder, PLANNED_VOCABULARY)?;
        // States that are as wide as the vocabulary, of a bag of one-hot vectors, may still fit any decoder.
        let is_open = source.encoder.width() == PLANNED_VOCABULARY;
        let vocabulary = if is_open { self.decoder.hidden } else { PLANNED_VOCABULARY };
        Seq2Seq::new(&mut Params::planned(), self, vocabulary, vocabulary).map(|_| ())
    }

    /// Rejects values that make no decoder and no attention, and keys and tables that the kind of decoder does not have.
    pub(crate) fn check_decoder_keys(&self) -> Result<(), ConfigError> {
        self.decoder.check()?;
        self.attention.check()?;
        let usual = ModelConfig::default();
        let tables = [
            ("copy", self.decoder.copy),
            ("[model.attention]", self.attention != usual.attention),
            ("[model.context]", self.context != usual.context),
            ("model.bridge", self.bridge != usual.bridge),
        ];
        let all = || DecoderKind::ALL.iter().map(|kind| kind.entry().kind);
        let kind = self.decoder.kind.entry().kind;
        let set = self.decoder.keys_of_kinds().into_iter().chain(tables).filter(|(_, is_set)| *is_set);
        set.into_iter().try_for_each(|(key, _)| kind.check("model.decoder", key, all()))
    }
}

impl ContextConfig {
    /// Whether it is the encoder's last state as it is.
    pub fn is_last_state(&self) -> bool {
        self.kind == ContextKind::Last && self.projection.is_none()
    }
}
