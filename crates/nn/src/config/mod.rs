//! What a model is made of, as a user writes it.

mod attention;
mod check;
mod classifier;
mod copying;
mod decoder;
mod embedding;
mod encoder;
mod language_model;

pub use attention::{AttentionConfig, InputFeeding, LocalKind, QueryKind, QueryLayer};
pub use check::ConfigError;
pub use classifier::{ClassifierConfig, ClassifierHeadConfig, OutputKind, PoolingConfig, PoolingKind};
pub use decoder::{DecoderConfig, ReadoutKind, Tied};
pub use embedding::{EmbeddingConfig, Freeze};
pub use encoder::{Bidirectional, EncoderConfig, InputKind, OnlyLayer, Sizes};
pub use language_model::{LanguageModelConfig, NextTokenConfig};

use crate::cell::Family;
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many steps a convolution sees where nothing is said.
const KERNEL: usize = 3;

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

impl Family {
    /// How many heads look where nothing is said.
    fn usual_heads(self) -> usize {
        if self == Family::Transformer { 4 } else { 1 }
    }

    /// How a step's place is told where nothing is said.
    fn usual_positions(self) -> PositionKind {
        match self {
            Family::Transformer => PositionKind::Sinusoidal,
            Family::Conv => PositionKind::Learned,
            Family::Recurrent | Family::Bare => PositionKind::None,
        }
    }
}

/// The states of a stack of layers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StateShape {
    /// The numbers in each layer's, from the bottom to the top.
    pub widths: Vec<usize>,
    /// The parts of each.
    pub parts: usize,
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
    /// The numbers in the context that the decoder is told of once; none where it is told nothing.
    pub fn context_width(&self, source_vocabulary: usize) -> Option<usize> {
        let width = self.context.projection.unwrap_or_else(|| self.encoder.width(source_vocabulary));
        (self.context.kind != ContextKind::None).then_some(width)
    }

    /// The numbers in each context that reaches every step: the attention's, and the one that the decoder is told once.
    pub fn step_contexts(&self, source_vocabulary: usize) -> [Option<usize>; 2] {
        let told = self.context_width(source_vocabulary).filter(|_| self.context.to.is_every_step());
        [self.attention.context_width(self.encoder.width(source_vocabulary)), told]
    }

    /// What a token is predicted from.
    pub fn readout(&self) -> ReadoutKind {
        let usual =
            if self.attention.score().is_some() { ReadoutKind::Attentional } else { ReadoutKind::State };
        self.decoder.readout.unwrap_or(usual)
    }

    /// What the decoder's first states are made of; none where they are zero. The last states of an encoder's layers cross
    /// layer by layer and part by part, any other context is one vector for all of them.
    pub fn first_states(&self, source_vocabulary: usize) -> Option<StateShape> {
        let context = self.context_width(source_vocabulary).filter(|_| self.context.to.is_init_state())?;
        Some(match self.encoder.cell().filter(|_| self.context.is_last_state()) {
            Some(cell) => StateShape { widths: self.encoder.widths(), parts: cell.parts() },
            None => StateShape { widths: vec![context], parts: 1 },
        })
    }
}

impl ContextConfig {
    /// Whether it is the encoder's last state as it is.
    pub fn is_last_state(&self) -> bool {
        self.kind == ContextKind::Last && self.projection.is_none()
    }
}
