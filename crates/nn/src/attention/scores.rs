//! Attention scores by name: the one list of them.

use crate::activation::{ActivationKind, with_activation};
use couplet_tensor::Var;
use couplet_tensor::activation::Activation;
use couplet_tensor::ops::{AnyScore, Memory, attend};
use couplet_tensor::score::{Additive, Dot, Linear};
use serde::{Deserialize, Serialize};

macro_rules! scores {
    ($($(#[$about:meta])* $kind:ident => $type:ty, $projection:ident;)*) => {
        /// An attention score: how well a query, made of the decoder's state `s`, fits a key, made of an encoder's state `h`.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum ScoreKind {
            $($(#[$about])* $kind,)*
        }

        /// Attention with a score, or none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum AttentionKind {
            $($(#[$about])* $kind,)*
            /// No attention.
            None,
        }

        impl From<ScoreKind> for AttentionKind {
            fn from(score: ScoreKind) -> AttentionKind {
                match score {
                    $(ScoreKind::$kind => AttentionKind::$kind,)*
                }
            }
        }

        impl AttentionKind {
            /// Its score.
            pub fn score(self) -> Option<ScoreKind> {
                match self {
                    $(AttentionKind::$kind => Some(ScoreKind::$kind),)*
                    AttentionKind::None => None,
                }
            }
        }

        impl ScoreKind {
            /// The projections of its queries and keys.
            pub(crate) fn projection(self) -> QkProjection {
                match self {
                    $(ScoreKind::$kind => QkProjection::$projection,)*
                }
            }

            fn engine<A: Activation>(self) -> AnyScore {
                match self {
                    $(ScoreKind::$kind => AnyScore::of::<$type>(),)*
                }
            }
        }
    };
}

// Every score: its name in a config, its type in the engine, where `A` is the config's activation, and the projections of queries and
// keys.
scores! {
    /// `vᵀ tanh(U s + V h)`
    #[default]
    Additive => Additive, Both;
    /// `sᵀ h`
    Dot => Dot, None;
    /// `sᵀ h / √d` with states of width `d`
    ScaledDot => Dot, None;
    /// `sᵀ W h`
    General => Dot, Query;
    /// `vᵀ tanh(W·[s; h] + b)`, where the two halves of `W` are kept apart
    Concat => Additive, BothWithBias;
    /// `σ(pᵀs + qᵀh + r)`
    Linear => Linear<A>, Scalars;
    /// `(W_Q s)ᵀ (W_K h)`
    QueryKey => Dot, Both;
}

/// The projections of queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum QkProjection {
    /// Both are the states.
    None,
    /// Queries are projected to the width of keys, which are the states.
    Query,
    /// Both are projected to the attention's size.
    Both,
    /// The same, with a bias.
    BothWithBias,
    /// Both are projected to one value for each head, with a bias.
    Scalars,
}

impl QkProjection {
    pub(crate) fn has_queries(self) -> bool {
        self != QkProjection::None
    }

    pub(crate) fn has_keys(self) -> bool {
        !matches!(self, QkProjection::None | QkProjection::Query)
    }

    pub(crate) fn has_bias(self) -> bool {
        matches!(self, QkProjection::BothWithBias | QkProjection::Scalars)
    }
}

/// A score as a config describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Score {
    /// Which one.
    pub kind: ScoreKind,
    /// What the linear score does with its sum; no other score has a choice.
    pub activation: ActivationKind,
}

impl From<ScoreKind> for Score {
    fn from(kind: ScoreKind) -> Score {
        Score { kind, activation: ActivationKind::default() }
    }
}

impl Score {
    /// The score as the engine takes it.
    pub fn engine(self) -> AnyScore {
        with_activation!(self.activation, A => self.kind.engine::<A>())
    }

    /// Attention pooling, `f(q, K, V) = Σ_j softmax_j(s(q, k_j))·v_j`: the context of each query, and the weights that made
    /// it. `vector` is that of scores that have one.
    pub fn attend(self, query: &Var, vector: Option<&Var>, memory: &Memory) -> [Var; 2] {
        attend(self.engine(), query, vector, memory)
    }
}
