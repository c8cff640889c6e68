use crate::builder::ModelBuilder;
use crate::forward::ForwardPass;
use couplet_tensor::ops::dense::GatedLinear;
use couplet_tensor::ops::{Window, concat_columns, convolution, dense};
use couplet_tensor::{Init, Param, SequenceLayout, Var};
use std::sync::Arc;

/// A gated convolution `u·σ(g)` (Gehring et al. 2017, without weight normalization): units and gates of a window of steps, as many
/// units as the input has columns. Wherever two terms are added around it, the sum is scaled by √½, so that it varies no more than each.
#[derive(Clone, Debug)]
pub(crate) struct GatedConvolution {
    /// 2·width × taps·width
    weight: Param,
    bias: Param,
    window: Window,
}

impl GatedConvolution {
    /// Adds `weight` and `bias`. A gate halves its unit, and dropout scales what it keeps: initial weights make the output vary as
    /// much as the input does.
    pub(crate) fn new(mut b: ModelBuilder, window: Window, width: usize, dropout: f32) -> Self {
        let inputs = window.taps() * width;
        let deviation = (4.0 * (1.0 - dropout) / inputs as f32).sqrt();
        let init = Init::Uniform(3f32.sqrt() * deviation);
        GatedConvolution {
            weight: b.add("weight", 2 * width, inputs, init),
            bias: b.add("bias", 1, 2 * width, Init::Constant(0.0)),
            window,
        }
    }

    /// All steps of packed sequences.
    pub(crate) fn forward(&self, fwd: &ForwardPass, x: &Var, layout: &Arc<SequenceLayout>) -> Var {
        let weights = [self.weight, self.bias].map(|param| fwd.var(param));
        convolution::<GatedLinear>(x, layout, self.window, (&weights[0], &weights[1]), None)
    }

    /// One step, after the earlier ones of its window.
    pub(crate) fn step(&self, fwd: &ForwardPass, earlier: &[Var], x: &Var) -> Var {
        let window: Vec<&Var> = earlier.iter().chain([x]).collect();
        let weights = [self.weight, self.bias].map(|param| fwd.var(param));
        dense::<GatedLinear>(&concat_columns(&window), &weights[0], &weights[1], None)
    }
}
