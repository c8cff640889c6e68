//! Attention scores by name: the one list of them, and what a model does with a score whose type it does not know.

use crate::activation::{ActivationKind, with_activation};
use couplet_tensor::activation::Activation;
use couplet_tensor::cell::Cell as EngineCell;
use couplet_tensor::ops::{LayerWeights, Memory, Scan, ScanState, Scanned, attend};
use couplet_tensor::score::{Additive, Dot, Linear, Score as EngineScore};
use couplet_tensor::{Rows, Var};
use serde::{Deserialize, Serialize};
use std::fmt::Debug;
use std::marker::PhantomData;
use std::sync::Arc;

macro_rules! scores {
    ($($(#[$about:meta])* $kind:ident => $type:ty, $made:ident;)*) => {
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
            /// How states become queries and keys.
            pub(crate) fn made(self) -> Made {
                match self {
                    $(ScoreKind::$kind => Made::$made,)*
                }
            }

            fn ops<A: Activation>(self) -> &'static dyn ScoreOps {
                match self {
                    $(ScoreKind::$kind => &PhantomData::<$type>,)*
                }
            }

            fn scan_ops<C: EngineCell, A: Activation>(self) -> &'static dyn ScanOps {
                match self {
                    $(ScoreKind::$kind => &PhantomData::<(C, $type)>,)*
                }
            }
        }
    };
}

// Every score: its name in a config, its type in the engine, where `A` is the config's activation, and how states become queries
// and keys.
scores! {
    /// `vᵀ tanh(U s + V h)`
    #[default]
    Additive => Additive, Both;
    /// `sᵀ h`
    Dot => Dot, Neither;
    /// `sᵀ h / √d`, where a state has `d` numbers
    ScaledDot => Dot, Neither;
    /// `sᵀ W h`
    General => Dot, Query;
    /// `vᵀ tanh(W·[s; h] + b)`, where the two halves of `W` are kept apart
    Concat => Additive, BothWithBias;
    /// `σ(pᵀs + qᵀh + r)`
    Linear => Linear<A>, Numbers;
    /// `(W_Q s)ᵀ (W_K h)`
    QueryKey => Dot, Both;
}

/// How states become queries and keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// Both are the states.
    Neither,
    /// A query is a projection as wide as the keys, which are the states.
    Query,
    /// Both are projections of the attention's size.
    Both,
    /// The same, with a bias.
    BothWithBias,
    /// Both are one number for each head, with a bias.
    Numbers,
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
    /// Attention pooling, `f(q, K, V) = Σ_j softmax_j(s(q, k_j))·v_j`: the context of each query, and the weights that made
    /// it. `vector` is that of scores that have one.
    pub fn attend(self, query: &Var, vector: Option<&Var>, memory: &Memory) -> [Var; 2] {
        self.ops().attend(query, vector, memory)
    }

    /// Whether it has a vector.
    pub fn has_vector(self) -> bool {
        self.ops().has_vector()
    }

    fn ops(self) -> &'static dyn ScoreOps {
        with_activation!(self.activation, A => self.kind.ops::<A>())
    }

    /// What the engine does with it and a cell.
    pub(crate) fn scan_ops<C: EngineCell>(self) -> &'static dyn ScanOps {
        with_activation!(self.activation, A => self.kind.scan_ops::<C, A>())
    }
}

/// The engine's operations with one score.
trait ScoreOps {
    fn has_vector(&self) -> bool;

    fn attend(&self, query: &Var, vector: Option<&Var>, memory: &Memory) -> [Var; 2];
}

impl<S: EngineScore> ScoreOps for PhantomData<S> {
    fn has_vector(&self) -> bool {
        S::VECTOR
    }

    fn attend(&self, query: &Var, vector: Option<&Var>, memory: &Memory) -> [Var; 2] {
        attend::<S>(query, vector, memory)
    }
}

/// The weights of layers whose context is fed back.
#[derive(Clone, Debug)]
pub(crate) struct ScanWeights {
    pub(crate) layers: Vec<LayerWeights>,
    pub(crate) query: Option<Var>,
    pub(crate) vector: Option<Var>,
}

/// The engine's operations with one cell and one score.
pub(crate) trait ScanOps: Debug + Sync {
    /// All steps of packed targets.
    fn sequence(
        &self,
        weights: ScanWeights,
        x: &Var,
        rows: &Arc<Rows>,
        start: &ScanState,
        memory: &Memory,
    ) -> Scanned;

    /// One step without a way back: the next state and the attention's weights.
    fn step(&self, weights: ScanWeights, x: &Var, state: &ScanState, memory: &Memory) -> (ScanState, Var);
}

impl<C: EngineCell, S: EngineScore> ScanOps for PhantomData<(C, S)> {
    fn sequence(
        &self,
        weights: ScanWeights,
        x: &Var,
        rows: &Arc<Rows>,
        start: &ScanState,
        memory: &Memory,
    ) -> Scanned {
        scan::<C, S>(weights).sequence(x, rows, start, memory)
    }

    fn step(&self, weights: ScanWeights, x: &Var, state: &ScanState, memory: &Memory) -> (ScanState, Var) {
        scan::<C, S>(weights).advance(x, state, memory)
    }
}

fn scan<C: EngineCell, S: EngineScore>(weights: ScanWeights) -> Scan<C, S> {
    let ScanWeights { layers, query, vector } = weights;
    Scan { layers, query, vector, kind: PhantomData }
}
