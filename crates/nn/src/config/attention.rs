//! The table `[model.attention]`: how the writer looks at the source.

use super::{ConfigError, check_sizes, reject_if};
use crate::activation::ActivationKind;
use crate::attention::{AttentionKind, QkProjection, Score, ScoreKind};
use serde::{Deserialize, Serialize};

/// The reach of a local window where nothing is said: that of Luong et al. (2015).
const WINDOW: usize = 10;

/// How the decoder looks at the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionConfig {
    /// How well a query fits a key.
    pub score: AttentionKind,
    /// What the linear score does with its sum: `tanh` where nothing is said.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub activation: Option<ActivationKind>,
    /// Length of queries and keys where they are projections, of values where they are, and of what a predicted window's place is made of.
    pub size: usize,
    /// How many times the source is looked at in each step, each time with a part of queries, keys and values of its own.
    pub heads: usize,
    /// Whether values are a projection of the encoder's states, and not the states themselves.
    pub value_projection: bool,
    /// Whether inner products are divided by the square root of their length.
    pub scaled: bool,
    /// Which of the decoder's layers asks.
    pub query_layer: QueryLayer,
    /// Which of its states asks.
    pub query: QueryKind,
    /// Whether the context is an input of the next decoder step.
    pub input_feeding: InputFeeding,
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

impl Default for AttentionConfig {
    fn default() -> Self {
        AttentionConfig {
            score: AttentionKind::default(),
            activation: None,
            size: 256,
            heads: 1,
            value_projection: false,
            scaled: false,
            query_layer: QueryLayer::default(),
            query: QueryKind::default(),
            input_feeding: InputFeeding::default(),
            local: None,
            window: None,
            coverage: false,
            coverage_loss: None,
        }
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
        match score.projection() {
            QkProjection::None | QkProjection::Query => width,
            QkProjection::Both | QkProjection::BothWithBias => self.size,
            QkProjection::Scalars => self.heads,
        }
    }

    /// The numbers in a context, for encoder states of `width`; none where there is no attention.
    pub fn context_width(&self, width: usize) -> Option<usize> {
        self.score().map(|_| if self.value_projection { self.size } else { width })
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

impl AttentionConfig {
    /// Rejects values that make no attention.
    pub(crate) fn check(&self) -> Result<(), ConfigError> {
        check_sizes([("model.attention.size", self.size), ("model.attention.heads", self.heads)])?;
        let chosen = [
            ("heads", self.heads != 1),
            ("value_projection", self.value_projection),
            ("scaled", self.scaled),
            ("query_layer", self.query_layer != QueryLayer::Last),
            ("query", self.query != QueryKind::Current),
            ("input_feeding", self.input_feeding == InputFeeding::None),
            ("local", self.local.is_some()),
            ("window", self.window.is_some()),
            ("coverage", self.coverage),
            ("coverage_loss", self.coverage_loss.is_some()),
            ("activation", self.activation.is_some()),
        ];
        if self.score == AttentionKind::None {
            return chosen.into_iter().try_for_each(|(key, chosen)| {
                reject_if(
                    chosen,
                    format!("model.attention.{key} cannot be combined with model.attention.score = \"none\""),
                    "choose a score, or remove it",
                )
            });
        }
        reject_if(
            self.activation.is_some() && self.score != AttentionKind::Linear,
            "model.attention.activation needs model.attention.score = \"linear\"",
            "only the linear score has a choice of activation; remove it",
        )?;
        use AttentionKind::{Dot, General, QueryKey, ScaledDot};
        reject_if(
            self.scaled && !matches!(self.score, Dot | ScaledDot | General | QueryKey),
            "model.attention.scaled needs a score that is an inner product",
            "scale \"dot\", \"general\" or \"query-key\", or remove it",
        )?;
        reject_if(
            self.query == QueryKind::Previous && self.input_feeding == InputFeeding::None,
            "model.attention.query = \"previous\" cannot be combined with model.attention.input_feeding = \"none\"",
            "the context of the previous state enters the next one; set input_feeding = \"context\", or query = \"current\"",
        )?;
        reject_if(
            self.window.is_some() && self.local.is_none(),
            "model.attention.window needs model.attention.local",
            "choose local = \"monotonic\" or \"predictive\", or remove it",
        )?;
        check_sizes([("model.attention.window", self.window())])?;
        reject_if(
            self.coverage && self.input_feeding == InputFeeding::None,
            "model.attention.coverage cannot be combined with model.attention.input_feeding = \"none\"",
            "coverage moves from step to step, as a context that is fed back does; set input_feeding = \"context\"",
        )?;
        let weight = self.coverage_loss.unwrap_or(1.0);
        reject_if(
            !(weight > 0.0 && weight.is_finite()),
            format!("model.attention.coverage_loss must not be {weight}"),
            "a weight above 0; to have no such loss, remove it",
        )
    }
}

/// Input feeding: what of a step's attention is an input of the next step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum InputFeeding {
    /// The context vector.
    #[default]
    Context,
    /// Nothing.
    None,
}

/// Center of the window of local attention.
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
    Last,
    /// The lowest: what it sees enters all others.
    First,
}

/// Which state asks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueryKind {
    /// That of the step itself: `c_i` is made with `s_i`.
    #[default]
    Current,
    /// That of the step before: `c_i` is made with `s_{i-1}`, and enters `s_i`.
    Previous,
}
