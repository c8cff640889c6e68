//! What a model is made of, as a user writes it.

mod check;
mod classifier;
mod copying;
mod embedding;
mod language_model;

pub use check::ConfigError;
pub use classifier::{ClassifierConfig, FeatureConfig, FeatureKind, LabellerConfig, OutputKind};
pub use embedding::{EmbeddingConfig, VectorTraining};
pub use language_model::{LanguageModelConfig, NextTokenConfig};

use crate::activation::ActivationKind;
use crate::attention::{AttentionKind, Made, Score, ScoreKind};
use crate::cell::{Cell, Family, ReaderKind, WriterKind};
use serde::{Deserialize, Serialize};
use std::fmt;

/// How many steps a convolution sees where nothing is said.
const KERNEL: usize = 3;

/// The reach of a local window where nothing is said: that of Luong et al. (2015).
const WINDOW: usize = 10;

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

/// The reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderConfig {
    /// Which cell it is made of, a bag of tokens, or layers of attention or of convolutions.
    pub kind: ReaderKind,
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
    /// The score by which a recurrent layer looks at all of its states so far; what it sees takes the place of its state before.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub self_attention: Option<ScoreKind>,
    /// The share of numbers that are dropped while training: of the embedding and of each layer's output.
    pub dropout: f32,
    /// The share of the source's tokens that are unknown to it while training.
    pub word_dropout: f32,
    /// Whether all steps of a sequence drop the same numbers.
    pub variational: bool,
    /// Whether the shares of the gates are normalised: `LN(W·x) + LN(U·h) + b`.
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
    /// Where a Transformer normalises: `pre` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<NormPlace>,
    /// The hidden units of a Transformer's feed-forward layers: `relu` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_forward: Option<FeedForwardKind>,
}

/// What a token is to a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputKind {
    /// A vector that is learnt.
    #[default]
    Embedding,
    /// As many numbers as there are tokens, all of them 0 but its own, which is 1.
    OneHot,
}

/// How a step's place is told to what has no recurrence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PositionKind {
    /// Not at all.
    None,
    /// By sines and cosines that are added to the tokens' vectors.
    Sinusoidal,
    /// By vectors that are learnt and added.
    Learned,
    /// By turning queries and keys.
    Rotary,
}

/// Where a Transformer normalises.
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

/// What the decoder is told of the source once for all steps: `c = q(h_1..h_m)`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ContextConfig {
    /// How the encoder's states become one vector.
    pub kind: ContextKind,
    /// The size of a layer `tanh(W·c + b)` on top of it; without one, the vector stays as it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub projection: Option<usize>,
    /// How the decoder gets it.
    pub to: Reach,
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

/// How a context reaches the decoder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reach {
    /// As its first state.
    #[default]
    Start,
    /// As an input of every step.
    Steps,
    /// Both.
    Both,
}

impl Reach {
    /// Whether it begins the writing.
    pub fn start(self) -> bool {
        self != Reach::Steps
    }

    /// Whether it enters every step.
    pub fn steps(self) -> bool {
        self != Reach::Start
    }
}

/// How the decoder looks at the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionConfig {
    /// How well a query fits a key.
    pub score: AttentionKind,
    /// What the linear score does with its sum: `tanh` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationKind>,
    /// Length of queries and keys where they are projections, and of values where they are.
    pub size: usize,
    /// How many times the source is looked at in each step, each time with a part of queries, keys and values of its own.
    pub heads: usize,
    /// Whether values are a projection of the encoder's states, and not the states themselves.
    pub values: bool,
    /// Whether inner products are divided by the square root of their length.
    pub scaled: bool,
    /// Which of the decoder's layers asks.
    pub layer: QueryLayer,
    /// Which of its states asks.
    pub query: QueryKind,
    /// Whether the context enters the next step.
    pub feed: bool,
    /// Where in the source it looks, where it does not look everywhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub local: Option<LocalKind>,
    /// How many steps a local window has on either side: 10 where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<usize>,
    /// Whether the score sees how much each step was looked at before.
    pub coverage: bool,
    /// The weight of the coverage loss in training, `Σ_j min(a_j, Σ a_j before)`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coverage_loss: Option<f32>,
}

/// Where local attention looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum LocalKind {
    /// Step `t` looks around step `t` of the source.
    Monotonic,
    /// Each state says where: around `S·σ(vᵀ tanh(W·s))`, in a source of `S` steps.
    Predictive,
}

/// Which layer asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueryLayer {
    /// The topmost.
    #[default]
    Top,
    /// The lowest: what it sees enters all others.
    First,
}

/// Which state asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueryKind {
    /// That of the step itself: `c_i` is made with `s_i`.
    #[default]
    New,
    /// That of the step before: `c_i` is made with `s_{i-1}`, and enters `s_i`.
    Previous,
}

/// The writer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecoderConfig {
    /// Which cell it is made of, or layers of attention or of convolutions.
    pub kind: WriterKind,
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
    /// What a token is predicted from: the state and the context where there is attention, else the state.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub readout: Option<ReadoutKind>,
    /// Whether a writer, recurrent or a Transformer, can also copy what it looks at: a token of the source, known to its vocabulary or not.
    pub copy: bool,
    /// Which weights are the same.
    pub tied: Tied,
    /// The share of numbers that are dropped while training: of the embedding and of what a token is predicted from; where the
    /// first layer looks at the source, also of what each layer above it reads of the one below.
    pub dropout: f32,
    /// The share of the target's tokens that are unknown to it while training, when it reads what it wrote.
    pub word_dropout: f32,
    /// Whether all steps of a sequence drop the same numbers.
    pub variational: bool,
    /// Whether the shares of the gates are normalised: `LN(W·x) + LN(U·h) + b`.
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
    /// Where a Transformer normalises: `pre` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub norm: Option<NormPlace>,
    /// The hidden units of a Transformer's feed-forward layers: `relu` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub feed_forward: Option<FeedForwardKind>,
}

/// What a token is predicted from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReadoutKind {
    /// The state `s`.
    State,
    /// The attention vector `tanh(W·[s; c] + b)`.
    Joined,
    /// `tanh(W·[s; c; x] + b)`, with the vector `x` of the token before.
    JoinedWord,
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

impl Default for EncoderConfig {
    fn default() -> Self {
        EncoderConfig {
            kind: ReaderKind::default(),
            activation: None,
            input: InputKind::default(),
            embedding: 256.into(),
            bidirectional: true.into(),
            reverse: false,
            layers: None,
            hidden: Sizes::Same(256),
            residual_from: None,
            self_attention: None,
            dropout: 0.2,
            word_dropout: 0.0,
            variational: false,
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

impl Default for AttentionConfig {
    fn default() -> Self {
        AttentionConfig {
            score: AttentionKind::default(),
            activation: None,
            size: 256,
            heads: 1,
            values: false,
            scaled: false,
            layer: QueryLayer::default(),
            query: QueryKind::default(),
            feed: true,
            local: None,
            window: None,
            coverage: false,
            coverage_loss: None,
        }
    }
}

impl Default for DecoderConfig {
    fn default() -> Self {
        DecoderConfig {
            kind: WriterKind::default(),
            activation: None,
            layers: 2,
            hidden: 512,
            embedding: 256.into(),
            residual_from: None,
            readout: None,
            copy: false,
            tied: Tied::default(),
            dropout: 0.2,
            word_dropout: 0.0,
            variational: false,
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

impl EncoderConfig {
    /// The cell of its layers; a bag has none.
    pub fn cell(&self) -> Option<Cell> {
        let cell = self.kind.cell()?;
        Some(Cell::new(cell, self.activation, self.layer_norm, self.forget_bias))
    }

    /// The units of each layer, in each direction; a bag has no layers.
    pub fn units(&self) -> Vec<usize> {
        match (self.kind, &self.hidden) {
            (ReaderKind::Bag, _) => Vec::new(),
            (_, Sizes::Same(size)) => vec![*size; self.layers.unwrap_or(2)],
            (_, Sizes::Each(sizes)) => sizes.clone(),
        }
    }

    /// The width of what a token is to the first layer, for a vocabulary of so many tokens.
    pub fn input_width(&self, vocabulary: usize) -> usize {
        match self.input {
            InputKind::Embedding => self.embedding.size,
            InputKind::OneHot => vocabulary,
        }
    }

    /// The numbers in each layer's states, both directions of a recurrent one side by side.
    pub fn widths(&self) -> Vec<usize> {
        let width = |(layer, units): (usize, usize)| match self.kind {
            ReaderKind::Transformer | ReaderKind::Conv => self.embedding.size,
            ReaderKind::SelfAttention => units,
            _ if self.bidirectional.at(layer) => 2 * units,
            _ => units,
        };
        self.units().into_iter().enumerate().map(width).collect()
    }

    /// How many heads look.
    pub fn heads(&self) -> usize {
        self.heads.unwrap_or(self.kind.family().usual_heads())
    }

    /// How a step's place is told.
    pub fn positions(&self) -> PositionKind {
        self.positions.unwrap_or(self.kind.family().usual_positions())
    }

    /// How many steps a convolution sees.
    pub fn kernel(&self) -> usize {
        self.kernel.unwrap_or(KERNEL)
    }

    /// Numbers in an encoder's state: those of the topmost layer, or of the input itself.
    pub fn width(&self, vocabulary: usize) -> usize {
        self.widths().last().copied().unwrap_or_else(|| self.input_width(vocabulary))
    }
}

impl DecoderConfig {
    /// The cell of its layers; attention has none.
    pub fn cell(&self) -> Option<Cell> {
        let cell = self.kind.cell()?;
        Some(Cell::new(cell, self.activation, self.layer_norm, self.forget_bias))
    }

    /// The states of its layers; attention has none.
    pub fn states(&self) -> Option<StateShape> {
        let parts = self.cell()?.parts();
        Some(StateShape { widths: vec![self.hidden; self.layers], parts })
    }

    /// The numbers in what a token is predicted from.
    pub fn feature_width(&self) -> usize {
        match self.kind {
            WriterKind::Transformer | WriterKind::Conv => self.embedding.size,
            _ => self.hidden,
        }
    }

    /// How many heads look.
    pub fn heads(&self) -> usize {
        self.heads.unwrap_or(self.kind.family().usual_heads())
    }

    /// How a step's place is told.
    pub fn positions(&self) -> PositionKind {
        self.positions.unwrap_or(self.kind.family().usual_positions())
    }

    /// How many steps a convolution sees.
    pub fn kernel(&self) -> usize {
        self.kernel.unwrap_or(KERNEL)
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
        let told = self.context_width(source_vocabulary).filter(|_| self.context.to.steps());
        [self.attention.context_width(self.encoder.width(source_vocabulary)), told]
    }

    /// What a token is predicted from.
    pub fn readout(&self) -> ReadoutKind {
        let usual = if self.attention.score().is_some() { ReadoutKind::Joined } else { ReadoutKind::State };
        self.decoder.readout.unwrap_or(usual)
    }

    /// What the decoder's first states are made of; none where they are zero. The last states of an encoder's layers cross
    /// layer by layer and part by part, any other context is one vector for all of them.
    pub fn first_states(&self, source_vocabulary: usize) -> Option<StateShape> {
        let context = self.context_width(source_vocabulary).filter(|_| self.context.to.start())?;
        Some(match self.encoder.cell().filter(|_| self.context.is_last_state()) {
            Some(cell) => StateShape { widths: self.encoder.widths(), parts: cell.parts() },
            None => StateShape { widths: vec![context], parts: 1 },
        })
    }
}

impl AttentionConfig {
    /// How well a query fits a key; none where there is no attention.
    pub fn score(&self) -> Option<Score> {
        let activation = self.activation.unwrap_or_default();
        self.score.score().map(|kind| Score { kind, activation })
    }

    /// The numbers in a key, all heads side by side, for encoder states of `width`.
    pub fn key_width(&self, score: ScoreKind, width: usize) -> usize {
        match score.made() {
            Made::Neither | Made::Query => width,
            Made::Both | Made::BothWithBias => self.size,
            Made::Numbers => self.heads,
        }
    }

    /// The numbers in a context, for encoder states of `width`; none where there is no attention.
    pub fn context_width(&self, width: usize) -> Option<usize> {
        self.score().map(|_| if self.values { self.size } else { width })
    }

    /// How many steps a local window has on either side.
    pub fn window(&self) -> usize {
        self.window.unwrap_or(WINDOW)
    }

    /// Whether inner products are scaled.
    pub fn is_scaled(&self) -> bool {
        self.scaled || self.score == AttentionKind::ScaledDot
    }
}

impl ContextConfig {
    /// Whether it is the encoder's last state as it is.
    pub fn is_last_state(&self) -> bool {
        self.kind == ContextKind::Last && self.projection.is_none()
    }
}
