//! The parameters of single layers.

use crate::pass::Pass;
use couplet_tensor::cell::Cell;
use couplet_tensor::ops::{LayerWeights, embedding, linear};
use couplet_tensor::{Init, Param, Params, Var};

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

    /// `x·Wᵀ + b`
    pub fn forward(&self, pass: &Pass, x: &Var) -> Var {
        let bias = self.bias.map(|bias| pass.var(bias));
        linear(x, &pass.var(self.weight), bias.as_ref())
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

    /// The vectors of tokens.
    pub fn forward(&self, pass: &Pass, tokens: &[u32]) -> Var {
        embedding(&pass.var(self.weight), tokens)
    }
}

/// A recurrent layer in one direction.
#[derive(Clone, Debug)]
pub struct RecurrentLayer {
    input: Param,
    state: Param,
    bias: Param,
    state_bias: Option<Param>,
}

impl RecurrentLayer {
    /// Adds `name.weight_ih_SUFFIX` and so on, named and distributed as PyTorch has them.
    pub fn new<C: Cell>(params: &mut Params, name: &str, suffix: &str, inputs: usize, hidden: usize) -> Self {
        let init = Init::Uniform(1.0 / (hidden as f32).sqrt());
        let mut add =
            |part: &str, rows, columns| params.add(&format!("{name}.{part}_{suffix}"), rows, columns, init);
        RecurrentLayer {
            input: add("weight_ih", C::GATES * hidden, inputs),
            state: add("weight_hh", C::GATES * hidden, hidden),
            bias: add("bias_ih", 1, C::GATES * hidden),
            state_bias: (C::APART > 0).then(|| add("bias_hh", 1, C::APART * hidden)),
        }
    }

    /// The weights as variables.
    pub fn weights(&self, pass: &Pass) -> LayerWeights {
        LayerWeights {
            input: pass.var(self.input),
            state: pass.var(self.state),
            bias: pass.var(self.bias),
            state_bias: self.state_bias.map(|bias| pass.var(bias)),
            norm: None,
        }
    }
}
