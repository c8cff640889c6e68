//! The parameters of single layers.

use crate::cell::Cell;
use crate::pass::Pass;
use couplet_tensor::activation::Tanh;
use couplet_tensor::ops::{
    self, AnyCell, DropoutScope, GateNorm, LayerWeights, Norm, Recurrent, dense, embedding, linear, recurrent,
};
use couplet_tensor::{Direction, Init, Param, Params, SequenceLayout, Var};
use std::sync::Arc;

/// `x·Wᵀ + b`
#[derive(Clone, Debug)]
pub struct Linear {
    /// outputs × inputs
    pub weight: Param,
    /// 1 × outputs
    pub bias: Option<Param>,
}

impl Linear {
    /// Adds `name.weight` and, with a bias, `name.bias`, evenly distributed up to `1/√inputs` as PyTorch has them.
    pub fn new(params: &mut Params, name: &str, inputs: usize, outputs: usize, bias: bool) -> Linear {
        let init = Init::Uniform(1.0 / (inputs as f32).sqrt());
        Linear {
            weight: params.add(&format!("{name}.weight"), outputs, inputs, init),
            bias: bias.then(|| params.add(&format!("{name}.bias"), 1, outputs, init)),
        }
    }

    /// Adds parameters of these names, the weight evenly distributed up to `√(6 / (inputs + outputs))` and the bias zero, as PyTorch
    /// has them in a Transformer.
    pub fn glorot(
        params: &mut Params,
        weight: &str,
        bias: Option<&str>,
        inputs: usize,
        outputs: usize,
    ) -> Linear {
        let init = Init::Uniform((6.0 / (inputs + outputs) as f32).sqrt());
        Linear {
            weight: params.add(weight, outputs, inputs, init),
            bias: bias.map(|bias| params.add(bias, 1, outputs, Init::Constant(0.0))),
        }
    }

    /// `x·Wᵀ + b`
    pub fn forward(&self, pass: &Pass, x: &Var) -> Var {
        let (weight, bias) = self.weights(pass);
        linear(x, &weight, bias.as_ref())
    }

    /// `tanh(x·Wᵀ + b)` of a layer with a bias, as one operation, which keeps nothing but its result.
    pub fn tanh(&self, pass: &Pass, x: &Var) -> Var {
        let (weight, bias) = self.weights(pass);
        dense::<Tanh>(x, &weight, &bias.expect("a layer of hidden units has a bias"), None)
    }

    /// The weight and the bias as variables.
    pub fn weights(&self, pass: &Pass) -> (Var, Option<Var>) {
        (pass.var(self.weight), self.bias.map(|bias| pass.var(bias)))
    }
}

/// A vector for each token.
#[derive(Clone, Debug)]
pub struct Embedding {
    /// vocabulary × width
    pub weight: Param,
}

impl Embedding {
    /// Adds `name.weight`.
    pub fn new(params: &mut Params, name: &str, vocabulary: usize, width: usize) -> Embedding {
        Embedding { weight: params.add(&format!("{name}.weight"), vocabulary, width, Init::Uniform(0.1)) }
    }

    /// Adds `name.weight` for a Transformer, which multiplies its vectors by `√width`: their numbers are then around 1.
    pub fn scaled(params: &mut Params, name: &str, vocabulary: usize, width: usize) -> Embedding {
        let init = Init::Uniform((3.0 / width as f32).sqrt());
        Embedding { weight: params.add(&format!("{name}.weight"), vocabulary, width, init) }
    }

    /// The vectors of tokens.
    pub fn forward(&self, pass: &Pass, tokens: &[u32]) -> Var {
        embedding(&pass.var(self.weight), tokens)
    }
}

/// How a layer's output is dropped while training.
#[derive(Clone, Copy, Debug)]
pub struct Dropout {
    /// The share of numbers that become zero.
    pub rate: f32,
    /// Which numbers of a sequence do so together.
    pub together: DropoutScope,
}

impl Dropout {
    /// Of single numbers, or of the same ones in all steps of a sequence.
    pub fn of_numbers(rate: f32, variational: bool) -> Dropout {
        Dropout {
            rate,
            together: if variational { DropoutScope::Variational } else { DropoutScope::Element },
        }
    }
}

/// A point of a model at which values are dropped while training, with random numbers of its own.
#[derive(Clone, Copy, Debug)]
pub struct DropoutSite {
    rate: f32,
    scope: DropoutScope,
    /// The random stream of its masks: the hash of its path.
    stream: u64,
}

impl DropoutSite {
    /// The site of a path such as `encoder.layers.0.dropout1`, which no other site and no parameter of the model has.
    pub fn new(params: &mut Params, path: &str, Dropout { rate, together }: Dropout) -> DropoutSite {
        DropoutSite { rate, scope: together, stream: params.claim_stream(path) }
    }

    /// Dropout in an update of a run, as an operation takes it.
    pub(crate) fn in_update(&self, seed: u64, update: u32) -> ops::Dropout {
        ops::Dropout { rate: self.rate, seed, update, stream: self.stream, scope: self.scope }
    }
}

fn norm(pass: &Pass, [gain, bias]: NormParams) -> Norm {
    Norm { gain: pass.var(gain), bias: pass.var(bias) }
}

/// The place of the forget gate among an LSTM's gates.
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

impl RecurrentLayer {
    /// Adds `name.weight_ih_SUFFIX` and so on, named and distributed as PyTorch has them; for a cell with normalized gates also
    /// `name.norm_weight_ih_SUFFIX` and so on.
    pub fn new(
        params: &mut Params,
        name: &str,
        suffix: &str,
        cell: Cell,
        inputs: usize,
        hidden: usize,
    ) -> Self {
        let init = Init::Uniform(1.0 / (hidden as f32).sqrt());
        let engine = cell.engine();
        let (gates, apart) = (engine.gates() * hidden, engine.apart() * hidden);
        let mut add = |part: &str, rows, columns, init| {
            params.add(&format!("{name}.{part}_{suffix}"), rows, columns, init)
        };
        let mut layer = RecurrentLayer {
            cell: engine,
            input: add("weight_ih", gates, inputs, init),
            state: add("weight_hh", gates, hidden, init),
            bias: add("bias_ih", 1, gates, init),
            state_bias: (apart > 0).then(|| add("bias_hh", 1, apart, init)),
            norm: None,
        };
        if cell.layer_norm {
            let mut add = |part: &str, number| add(part, 1, gates, Init::Constant(number));
            layer.norm = Some(["ih", "hh"].map(|share| {
                [add(&format!("norm_weight_{share}"), 1.0), add(&format!("norm_bias_{share}"), 0.0)]
            }));
        }
        if let Some(forget) = cell.forget_bias {
            params.fill(layer.bias, FORGET * hidden..(FORGET + 1) * hidden, forget);
        }
        layer
    }

    /// Its cell.
    pub(crate) fn cell(&self) -> AnyCell {
        self.cell
    }

    /// The weights as variables.
    pub fn weights(&self, pass: &Pass) -> LayerWeights {
        LayerWeights {
            input: pass.var(self.input),
            state: pass.var(self.state),
            bias: pass.var(self.bias),
            state_bias: self.state_bias.map(|bias| pass.var(bias)),
            norm: self
                .norm
                .map(|[input, state]| GateNorm { input: norm(pass, input), state: norm(pass, state) }),
        }
    }

    /// Goes over packed sequences, from a state or from zero.
    pub fn forward(
        &self,
        pass: &Pass,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        direction: Direction,
        start: Option<&[Var]>,
    ) -> Recurrent {
        recurrent(self.cell, x, rows, direction, &self.weights(pass), start)
    }
}
