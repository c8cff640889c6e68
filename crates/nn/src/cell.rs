//! Recurrent cells by name: the one list of them.

use crate::activation::{ActivationKind, with_activation};
use couplet_tensor::activation::Activation;
use couplet_tensor::cell::{Gru, Lstm, Simple};
use couplet_tensor::ops::AnyCell;

/// A recurrent cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CellKind {
    /// The simple recurrent cell, `h' = σ(W·x + U·h + b)`.
    Rnn,
    /// The gated recurrent unit.
    Gru,
    /// Long short-term memory.
    Lstm,
}

impl CellKind {
    /// The keys of a config that only this cell has.
    pub(crate) fn keys(self) -> &'static [&'static str] {
        match self {
            CellKind::Rnn => &["activation"],
            CellKind::Gru => &[],
            CellKind::Lstm => &["forget_bias"],
        }
    }

    /// Its type in the engine, where `A` is the config's activation.
    fn engine<A: Activation>(self) -> AnyCell {
        match self {
            CellKind::Rnn => AnyCell::of::<Simple<A>>(),
            CellKind::Gru => AnyCell::of::<Gru>(),
            CellKind::Lstm => AnyCell::of::<Lstm>(),
        }
    }
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

    /// The tensors of its state: an LSTM has two, `h` and `c`.
    pub fn state_tensors(self) -> usize {
        self.engine().parts()
    }
}
