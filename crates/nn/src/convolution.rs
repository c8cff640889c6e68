//! What a convolutional reader and writer share: layers of gated convolutions, as convolutional sequence-to-sequence learning has
//! them (Gehring et al. 2017), but for the normalization of their weights. Wherever two parts are added, the sum is multiplied by √½,
//! so that it varies no more than each of them.

use crate::layer::{Dropout, Linear};
use crate::pass::Pass;
use couplet_tensor::ops::dense::GatedLinear;
use couplet_tensor::ops::{Window, concat_columns, convolution, dense};
use couplet_tensor::{Init, Param, Params, SequenceLayout, Var};
use std::sync::Arc;

/// A layer `u·σ(g)` of units and gates that see some steps: as many units as it reads numbers.
#[derive(Clone, Debug)]
pub(crate) struct GatedConvolution {
    /// 2·width × taps·width
    weight: Param,
    bias: Param,
    window: Window,
}

impl GatedConvolution {
    /// Adds `name.weight` and `name.bias`. A gate halves what passes, and dropout makes what stays larger: the weights are drawn so
    /// that the layer's output varies as its input does.
    pub(crate) fn new(params: &mut Params, name: &str, window: Window, width: usize, dropout: f32) -> Self {
        let inputs = window.taps() * width;
        let deviation = (4.0 * (1.0 - dropout) / inputs as f32).sqrt();
        let init = Init::Uniform(3f32.sqrt() * deviation);
        GatedConvolution {
            weight: params.add(&format!("{name}.weight"), 2 * width, inputs, init),
            bias: params.add(&format!("{name}.bias"), 1, 2 * width, Init::Constant(0.0)),
            window,
        }
    }

    /// All steps of packed sequences.
    pub(crate) fn sequence(&self, pass: &Pass, x: &Var, rows: &Arc<SequenceLayout>) -> Var {
        let weights = [self.weight, self.bias].map(|param| pass.var(param));
        convolution::<GatedLinear>(x, rows, self.window, (&weights[0], &weights[1]), None)
    }

    /// One step, after those that its window holds besides.
    pub(crate) fn step(&self, pass: &Pass, before: &[Var], x: &Var) -> Var {
        let seen: Vec<&Var> = before.iter().chain([x]).collect();
        let weights = [self.weight, self.bias].map(|param| pass.var(param));
        dense::<GatedLinear>(&concat_columns(&seen), &weights[0], &weights[1], None)
    }
}

/// Adds a layer `W·x + b` whose output varies as its input does, where so many numbers of it are dropped.
pub(crate) fn projection(
    params: &mut Params,
    name: &str,
    inputs: usize,
    outputs: usize,
    dropout: Dropout,
) -> Linear {
    let init = Init::Uniform((3.0 * (1.0 - dropout.rate) / inputs as f32).sqrt());
    Linear {
        weight: params.add(&format!("{name}.weight"), outputs, inputs, init),
        bias: Some(params.add(&format!("{name}.bias"), 1, outputs, Init::Constant(0.0))),
    }
}
