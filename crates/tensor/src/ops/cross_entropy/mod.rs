//! Output layer, softmax and cross-entropy in one: `loss = scale · Σ_i −log P(target_i | x_i)`.
//!
//! `P(k | x) = softmax_k(W·x + b)`. With label smoothing `ε`, the target is not one class but a mixture:
//! `loss_i = −(1−ε)·log P(target_i) − ε/classes · Σ_k log P(k)`.
//!
//! | | shape |
//! |---|---|
//! | `x` | rows × inputs |
//! | `W` | classes × inputs |
//! | `b` | 1 × classes, or none |
//! | loss | 1 × 1 |
//!
//! The logits of all rows are never in memory at once: rows are computed in blocks. Where gradients are wanted, a block's are
//! computed right after its loss, from the same logits: `dlogits = scale·(P − mixture)`, `dx = dlogits·W`,
//! `dW = Σ dlogitsᵀ·x`, and only multiplied by the loss's own gradient in the backward pass.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::profile;
use crate::tape::{Gradients, Var, any_tracked, record};
use crate::tensor::Tensor;

/// Scale and label smoothing of the loss.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropy {
    /// The factor of the sum: 1 over the number of targets for their mean.
    pub scale: f32,
    /// The fraction `ε` of the target that is spread over all classes.
    pub smoothing: f32,
}

/// The output layer, from which the logits `W·x + b` are computed.
#[derive(Clone, Copy)]
pub(crate) struct OutputLayer<'a> {
    pub(crate) x: &'a Var,
    pub(crate) weight: &'a Var,
    pub(crate) bias: Option<&'a Var>,
}

impl<'a> OutputLayer<'a> {
    /// The number of classes.
    pub(crate) fn classes(self) -> usize {
        self.weight.rows()
    }

    /// Panics where the shapes do not fit each other or one target per row.
    pub(crate) fn check(self, targets: &[u32]) {
        let (OutputLayer { x, weight, bias }, classes) = (self, self.classes());
        assert_eq!(x.columns(), weight.columns(), "x is {:?}, W is {:?}", x.shape(), weight.shape());
        assert_eq!(x.rows(), targets.len(), "a target for each row");
        bias.into_iter().for_each(|bias| assert_eq!(bias.shape(), (1, classes), "b for {classes} classes"));
    }

    /// All variables that may get gradients.
    pub(crate) fn vars(self) -> impl Iterator<Item = &'a Var> {
        [self.x, self.weight].into_iter().chain(self.bias)
    }
}

struct Saved {
    loss: Tensor,
    of_rows: Tensor,
    gradients: Option<OutputLayerGradients>,
}

/// The gradients of a [`OutputLayer`] for a loss whose own gradient is 1.
pub(crate) struct OutputLayerGradients {
    pub(crate) x: Tensor,
    pub(crate) weight: Tensor,
    pub(crate) bias: Tensor,
}

impl OutputLayerGradients {
    /// In the order of [`OutputLayer::vars`].
    pub(crate) fn tensors(&self) -> [&Tensor; 3] {
        [&self.x, &self.weight, &self.bias]
    }
}

/// Adds to the gradient of `var` the one for a loss whose own gradient is 1, times that of the loss.
pub(crate) fn add_scaled(gradients: &mut Gradients, var: &Var, unscaled: &Tensor, dloss: &Tensor) {
    on_device!(var.device(),
        cpu => gradients.write(var, |to, update| cpu::put_scaled(cpu, to, unscaled, dloss.item(), update)),
        cuda => gradients.write_cuda(var, |to, update| cuda::put_scaled(cuda, to, unscaled, dloss, update)));
}

/// The loss, and the unscaled loss of each row; see the [module](self).
pub fn cross_entropy(
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    targets: &[u32],
    how: CrossEntropy,
) -> (Var, Tensor) {
    let _span = profile::span("cross_entropy", x.device());
    let output_layer = OutputLayer { x, weight, bias };
    output_layer.check(targets);
    let classes = output_layer.classes();
    if let Some(target) = targets.iter().find(|&&target| target as usize >= classes) {
        panic!("target {target} of {classes} classes");
    }
    let inputs: Vec<&Var> = output_layer.vars().collect();
    let wanted = any_tracked(&inputs);
    let saved = on_device!(x.device(),
        cpu => cpu::forward(cpu, output_layer, targets, how, wanted),
        cuda => cuda::forward(cuda, output_layer, targets, how, wanted));
    let [loss] = record(&inputs, [saved.loss], {
        let inputs: Vec<Var> = output_layer.vars().cloned().collect();
        move |gradients, [dloss]| {
            let (Some(dloss), Some(unscaled)) = (dloss, saved.gradients) else { return };
            for (input, unscaled) in inputs.iter().zip(unscaled.tensors()) {
                add_scaled(gradients, input, unscaled, &dloss);
            }
        }
    });
    (loss, saved.of_rows)
}
