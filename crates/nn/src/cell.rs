//! Recurrent cells by name: the one list of them.

use crate::activation::{ActivationKind, with_activation};
use couplet_tensor::activation::Activation;
use couplet_tensor::cell::{Gru, Lstm, Simple};
use couplet_tensor::ops::AnyCell;
use serde::{Deserialize, Serialize};

macro_rules! cells {
    ($($(#[$about:meta])* $kind:ident => $type:ty,)*) => {
        /// A recurrent cell.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum CellKind {
            $($(#[$about])* $kind,)*
        }

        /// A reader: layers of a cell, of attention, or of convolutions, or none.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum ReaderKind {
            $($(#[$about])* $kind,)*
            /// The tokens' vectors themselves, without any order.
            Bag,
            /// Bare layers of self-attention, `C = V·softmax(KᵀQ)`.
            SelfAttention,
            /// A Transformer's encoder.
            Transformer,
            /// Layers of gated convolutions.
            Conv,
        }

        /// A writer: layers of a cell, of attention, or of convolutions.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(rename_all = "kebab-case")]
        pub enum WriterKind {
            $($(#[$about])* $kind,)*
            /// A bare layer of attention, whose context is what a token is predicted from.
            Attention,
            /// A Transformer's decoder.
            Transformer,
            /// Layers of gated convolutions, each with attention.
            Conv,
        }

        impl WriterKind {
            /// The cell of its layers.
            pub fn cell(self) -> Option<CellKind> {
                match self {
                    $(WriterKind::$kind => Some(CellKind::$kind),)*
                    WriterKind::Attention | WriterKind::Transformer | WriterKind::Conv => None,
                }
            }
        }

        impl ReaderKind {
            /// The cell of its layers.
            pub fn cell(self) -> Option<CellKind> {
                match self {
                    $(ReaderKind::$kind => Some(CellKind::$kind),)*
                    ReaderKind::Bag
                    | ReaderKind::SelfAttention
                    | ReaderKind::Transformer
                    | ReaderKind::Conv => None,
                }
            }
        }

        impl WriterKind {
            /// What it has in common with readers.
            pub(crate) fn family(self) -> Family {
                match self {
                    $(WriterKind::$kind)|* => Family::Recurrent,
                    WriterKind::Attention => Family::Bare,
                    WriterKind::Transformer => Family::Transformer,
                    WriterKind::Conv => Family::Conv,
                }
            }
        }

        impl ReaderKind {
            /// What it has in common with writers.
            pub(crate) fn family(self) -> Family {
                match self {
                    $(ReaderKind::$kind)|* => Family::Recurrent,
                    ReaderKind::Bag | ReaderKind::SelfAttention => Family::Bare,
                    ReaderKind::Transformer => Family::Transformer,
                    ReaderKind::Conv => Family::Conv,
                }
            }
        }

        impl CellKind {
            fn engine<A: Activation>(self) -> AnyCell {
                match self {
                    $(CellKind::$kind => AnyCell::of::<$type>(),)*
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

/// What readers and writers have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Family {
    /// Layers of a cell.
    Recurrent,
    /// A Transformer's layers.
    Transformer,
    /// Gated convolutions.
    Conv,
    /// Bare attention, or no layers at all.
    Bare,
}

/// A cell as a config describes it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Cell {
    /// Which one.
    pub kind: CellKind,
    /// What the simple cell does with its sum; no other cell has a choice.
    pub activation: ActivationKind,
    /// Whether the input's and the state's share of its gates are normalized.
    pub layer_norm: bool,
    /// What the bias of the LSTM's forget gate is before training, where it is not random.
    pub forget_bias: Option<f32>,
}

impl Cell {
    /// A cell with what a config says of it.
    pub(crate) fn new(
        kind: CellKind,
        activation: Option<ActivationKind>,
        layer_norm: bool,
        forget_bias: Option<f32>,
    ) -> Cell {
        Cell { kind, activation: activation.unwrap_or_default(), layer_norm, forget_bias }
    }

    /// The cell as the engine takes it.
    pub fn engine(self) -> AnyCell {
        with_activation!(self.activation, A => self.kind.engine::<A>())
    }

    /// Parts of its state: an LSTM has two.
    pub fn parts(self) -> usize {
        self.engine().parts()
    }
}
