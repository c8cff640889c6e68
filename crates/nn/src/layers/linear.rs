use crate::builder::ModelBuilder;
use crate::forward::ForwardPass;
use couplet_tensor::activation::Tanh;
use couplet_tensor::ops::{dense, linear};
use couplet_tensor::{Init, Param, Var};

/// `x·Wᵀ + b`
#[derive(Clone, Debug)]
pub struct Linear {
    /// outputs × inputs
    pub weight: Param,
    /// 1 × outputs
    pub bias: Option<Param>,
}

/// Uniform up to `√(6 / (inputs + outputs))`, as PyTorch initializes a Transformer.
pub(crate) fn glorot(inputs: usize, outputs: usize) -> Init {
    Init::Uniform((6.0 / (inputs + outputs) as f32).sqrt())
}

impl Linear {
    /// Adds `weight` and, with a bias, `bias`, uniform up to `1/√inputs` as in PyTorch.
    pub fn new(mut b: ModelBuilder, inputs: usize, outputs: usize, bias: bool) -> Linear {
        let init = Init::Uniform(1.0 / (inputs as f32).sqrt());
        Linear {
            weight: b.add("weight", outputs, inputs, init),
            bias: bias.then(|| b.add("bias", 1, outputs, init)),
        }
    }

    /// Adds `{prefix}weight` with an initial distribution, and `{prefix}bias`, which is zero.
    pub fn with_init(
        b: &mut ModelBuilder,
        prefix: &str,
        [inputs, outputs]: [usize; 2],
        init: Init,
    ) -> Linear {
        Linear {
            weight: b.add(&format!("{prefix}weight"), outputs, inputs, init),
            bias: Some(b.add(&format!("{prefix}bias"), 1, outputs, Init::Constant(0.0))),
        }
    }

    /// Adds `{prefix}weight` and `{prefix}bias` as PyTorch initializes them in a Transformer.
    pub fn glorot(b: &mut ModelBuilder, prefix: &str, inputs: usize, outputs: usize) -> Linear {
        Linear::with_init(b, prefix, [inputs, outputs], glorot(inputs, outputs))
    }

    /// Adds `weight` and `bias` of a layer whose output varies as much as its input does, where a fraction of the input is dropped.
    pub fn variance_preserving(mut b: ModelBuilder, inputs: usize, outputs: usize, dropped: f32) -> Linear {
        let init = Init::Uniform((3.0 * (1.0 - dropped) / inputs as f32).sqrt());
        Linear::with_init(&mut b, "", [inputs, outputs], init)
    }

    /// `x·Wᵀ + b`
    pub fn forward(&self, fwd: &ForwardPass, x: &Var) -> Var {
        let (weight, bias) = self.weights(fwd);
        linear(x, &weight, bias.as_ref())
    }

    /// `tanh(x·Wᵀ + b)` of a layer with a bias, as one operation, which keeps its result only.
    pub fn tanh(&self, fwd: &ForwardPass, x: &Var) -> Var {
        let (weight, bias) = self.weights(fwd);
        dense::<Tanh>(x, &weight, &bias.expect("a layer of hidden units has a bias"), None)
    }

    /// The weight and the bias as variables.
    pub fn weights(&self, fwd: &ForwardPass) -> (Var, Option<Var>) {
        (fwd.var(self.weight), self.bias.map(|bias| fwd.var(bias)))
    }
}
