use super::{Dropout, DropoutSite, Linear};
use crate::builder::ModelBuilder;
use crate::config::FeedForwardKind;
use crate::forward::ForwardPass;
use couplet_tensor::activation::Relu;
use couplet_tensor::ops::dense;
use couplet_tensor::ops::dense::{GatedGelu, Gelu};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

/// A Transformer's feed-forward layer: hidden units, and back to the width of the states.
#[derive(Clone, Debug)]
pub(crate) struct FeedForward {
    linear1: Linear,
    linear2: Linear,
    kind: FeedForwardKind,
    /// Dropout of the hidden units.
    dropout: DropoutSite,
}

impl FeedForward {
    /// Adds `linear1`, `linear2` and the site `dropout`.
    pub(crate) fn new(
        b: &mut ModelBuilder,
        width: usize,
        hidden: usize,
        kind: FeedForwardKind,
        dropout: Dropout,
    ) -> Self {
        let sums = if kind == FeedForwardKind::Gated { 2 * hidden } else { hidden };
        FeedForward {
            linear1: Linear::glorot(&mut b.child("linear1"), "", width, sums),
            linear2: Linear::glorot(&mut b.child("linear2"), "", hidden, width),
            kind,
            dropout: b.dropout("dropout", dropout),
        }
    }

    pub(crate) fn forward(&self, fwd: &ForwardPass, x: &Var, layout: &Arc<SequenceLayout>) -> Var {
        let mask = fwd.dropout_mask(layout, &self.dropout);
        let (weight, bias) = self.linear1.weights(fwd);
        let bias = bias.expect("it was built with one");
        let units = match self.kind {
            FeedForwardKind::Relu => dense::<Relu>,
            FeedForwardKind::Gelu => dense::<Gelu>,
            FeedForwardKind::Gated => dense::<GatedGelu>,
        };
        self.linear2.forward(fwd, &units(x, &weight, &bias, mask.as_ref()))
    }
}
