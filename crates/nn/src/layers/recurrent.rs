use crate::builder::ModelBuilder;
use crate::cell::Cell;
use crate::forward::ForwardPass;
use couplet_tensor::ops::{AnyCell, GateNorm, LayerWeights, Norm, Recurrent, recurrent};
use couplet_tensor::{Direction, Init, Param, SequenceLayout, Var};
use std::sync::Arc;

/// The index of the forget gate among an LSTM's gates.
const FORGET: usize = 1;

/// A recurrent layer in one direction.
#[derive(Clone, Debug)]
pub struct RecurrentLayer {
    cell: AnyCell,
    input: Param,
    state: Param,
    bias: Param,
    state_bias: Option<Param>,
    norm: Option<[NormParams; 2]>,
}

/// The parameters of a norm: gain and bias, each 1 × gates·hidden.
type NormParams = [Param; 2];

fn norm(fwd: &ForwardPass, [gain, bias]: NormParams) -> Norm {
    Norm { gain: fwd.var(gain), bias: fwd.var(bias) }
}

impl RecurrentLayer {
    /// Adds `weight_ih_SUFFIX` and so on, named and initialized as in PyTorch; for a cell with normalized gates also
    /// `norm_weight_ih_SUFFIX` and so on.
    pub fn new(b: &mut ModelBuilder, suffix: &str, cell: Cell, inputs: usize, hidden: usize) -> Self {
        let init = Init::Uniform(1.0 / (hidden as f32).sqrt());
        let engine = cell.engine();
        let (gates, apart) = (engine.gates() * hidden, engine.apart() * hidden);
        let mut add =
            |part: &str, rows, columns, init| b.add(&format!("{part}_{suffix}"), rows, columns, init);
        let mut layer = RecurrentLayer {
            cell: engine,
            input: add("weight_ih", gates, inputs, init),
            state: add("weight_hh", gates, hidden, init),
            bias: add("bias_ih", 1, gates, init),
            state_bias: (apart > 0).then(|| add("bias_hh", 1, apart, init)),
            norm: None,
        };
        if cell.layer_norm {
            let mut add = |part: &str, value| add(part, 1, gates, Init::Constant(value));
            layer.norm = Some(["ih", "hh"].map(|term| {
                [add(&format!("norm_weight_{term}"), 1.0), add(&format!("norm_bias_{term}"), 0.0)]
            }));
        }
        if let Some(forget) = cell.forget_bias {
            b.fill(layer.bias, FORGET * hidden..(FORGET + 1) * hidden, forget);
        }
        layer
    }

    /// Its cell.
    pub(crate) fn cell(&self) -> AnyCell {
        self.cell
    }

    /// The weights as variables.
    pub fn weights(&self, fwd: &ForwardPass) -> LayerWeights {
        LayerWeights {
            input: fwd.var(self.input),
            state: fwd.var(self.state),
            bias: fwd.var(self.bias),
            state_bias: self.state_bias.map(|bias| fwd.var(bias)),
            norm: self
                .norm
                .map(|[input, state]| GateNorm { input: norm(fwd, input), state: norm(fwd, state) }),
        }
    }

    /// Hidden states of packed sequences, from initial states or from zero.
    pub fn forward(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        layout: &Arc<SequenceLayout>,
        direction: Direction,
        initial: Option<&[Var]>,
    ) -> Recurrent {
        recurrent(self.cell, x, layout, direction, &self.weights(fwd), initial)
    }
}
