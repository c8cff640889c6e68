//! Recurrent cells by name: the one list of them, and what a model does with a cell whose type it does not know.

use crate::activation::{ActivationKind, with_activation};
use crate::attention::{ScanOps, Score};
use couplet_tensor::activation::Activation;
use couplet_tensor::cell::{Cell as EngineCell, Gru, Lstm, Simple};
use couplet_tensor::ops::{LayerWeights, Recurrent, recurrent};
use couplet_tensor::{Direction, Rows, Var};
use serde::{Deserialize, Serialize};
use std::marker::PhantomData;
use std::sync::Arc;

macro_rules! cells {
    ($($(#[$about:meta])* $kind:ident => $type:ty,)*) => {
        /// A recurrent cell.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum CellKind {
            $($(#[$about])* $kind,)*
        }

        /// A reader: layers of a cell, or none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum ReaderKind {
            $($(#[$about])* $kind,)*
            /// The tokens' vectors themselves, without any order.
            Bag,
        }

        impl ReaderKind {
            /// The cell of its layers.
            pub fn cell(self) -> Option<CellKind> {
                match self {
                    $(ReaderKind::$kind => Some(CellKind::$kind),)*
                    ReaderKind::Bag => None,
                }
            }
        }

        impl CellKind {
            fn ops<A: Activation>(self) -> &'static dyn CellOps {
                match self {
                    $(CellKind::$kind => &PhantomData::<$type>,)*
                }
            }
        }
    };
}

// Every cell: its name in a config, and its type in the engine, where `A` is the config's activation.
cells! {
    /// The simple recurrent cell, `h' = σ(W·x + U·h + b)`.
    Rnn => Simple<A>,
    /// The gated recurrent unit.
    Gru => Gru,
    /// Long short-term memory.
    #[default]
    Lstm => Lstm,
}

/// A cell as a config describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Which one.
    pub kind: CellKind,
    /// What the simple cell does with its sum; no other cell has a choice.
    pub activation: ActivationKind,
    /// Whether the input's and the state's share of its gates are normalised.
    pub layer_norm: bool,
    /// What the bias of the LSTM's forget gate is before training, where it is not random.
    pub forget_bias: Option<f32>,
}

impl Cell {
    /// What the engine does with it.
    pub(crate) fn ops(self) -> &'static dyn CellOps {
        with_activation!(self.activation, A => self.kind.ops::<A>())
    }

    /// Parts of its state: an LSTM has two.
    pub fn parts(self) -> usize {
        self.ops().parts()
    }
}

/// The engine's operations with one cell.
pub(crate) trait CellOps: Sync {
    /// Gates, in the order of the weights' row blocks.
    fn gates(&self) -> usize;

    /// How many of the gates have a bias of the state's share.
    fn apart(&self) -> usize;

    /// Parts of the state.
    fn parts(&self) -> usize;

    /// A layer over packed sequences.
    fn sequence(
        &self,
        x: &Var,
        rows: &Arc<Rows>,
        direction: Direction,
        weights: &LayerWeights,
        start: Option<&[Var]>,
    ) -> Recurrent;

    /// The layers of a decoder whose context is fed back, with a score.
    fn scan(&self, score: Score) -> &'static dyn ScanOps;
}

impl<C: EngineCell> CellOps for PhantomData<C> {
    fn gates(&self) -> usize {
        C::GATES
    }

    fn apart(&self) -> usize {
        C::APART
    }

    fn parts(&self) -> usize {
        C::PARTS
    }

    fn sequence(
        &self,
        x: &Var,
        rows: &Arc<Rows>,
        direction: Direction,
        weights: &LayerWeights,
        start: Option<&[Var]>,
    ) -> Recurrent {
        recurrent::<C>(x, rows, direction, weights, start)
    }

    fn scan(&self, score: Score) -> &'static dyn ScanOps {
        score.scan_ops::<C>()
    }
}
