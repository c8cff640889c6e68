//! Output projection, softmax and cross-entropy in one: `loss = scale · Σ_i −log P(target_i | x_i)`.
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
//! The logits of all rows are never there at once: rows go through in blocks. Where gradients are wanted, a block's are
//! computed right after its loss, while its logits are at hand: `dlogits = scale·(P − mixture)`, `dx = dlogits·W`,
//! `dW = Σ dlogitsᵀ·x`, and only multiplied with the loss's own gradient on the way back.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::profile;
use crate::tape::{Var, any_tracked, record};
use crate::tensor::Tensor;

/// What is summed, and how.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CrossEntropy {
    /// What the sum is multiplied with: 1 over the number of targets for their mean.
    pub scale: f32,
    /// The share `ε` of the target that is spread over all classes.
    pub smoothing: f32,
}

struct Saved {
    loss: Tensor,
    of_rows: Tensor,
    gradients: Option<Kept>,
}

/// The gradients for a loss whose own gradient is 1.
pub(crate) struct Kept {
    pub(crate) x: Tensor,
    pub(crate) weight: Tensor,
    pub(crate) bias: Tensor,
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
    let classes = weight.rows();
    assert_eq!(x.columns(), weight.columns(), "x is {:?}, W is {:?}", x.shape(), weight.shape());
    assert_eq!(x.rows(), targets.len(), "a target for each row");
    bias.into_iter().for_each(|bias| assert_eq!(bias.shape(), (1, classes), "b for {classes} classes"));
    if let Some(target) = targets.iter().find(|&&target| target as usize >= classes) {
        panic!("target {target} of {classes} classes");
    }
    let inputs: Vec<&Var> = [x, weight].into_iter().chain(bias).collect();
    let bias_value = bias.map(Var::value);
    let wanted = any_tracked(&inputs);
    let pass = on_device!(x.device(),
        cpu => cpu::forward(cpu, x.value(), weight.value(), bias_value, targets, how, wanted),
        cuda => cuda::forward(cuda, x.value(), weight.value(), bias_value, targets, how, wanted));
    let [loss] = record(&inputs, [pass.loss], {
        let (x, weight, bias, kept) = (x.clone(), weight.clone(), bias.cloned(), pass.gradients);
        move |gradients, [upstream]| {
            let (Some(upstream), Some(kept)) = (upstream, kept) else { return };
            let kept = [(&x, kept.x), (&weight, kept.weight)]
                .into_iter()
                .chain(bias.as_ref().map(|bias| (bias, kept.bias)));
            for (input, kept) in kept {
                on_device!(input.device(),
                    cpu => gradients.write(input, |to, update| cpu::hand_on(cpu, to, &kept, upstream.item(), update)),
                    cuda => gradients.write_cuda(input, |to, update| cuda::hand_on(cuda, to, &kept, &upstream, update)));
            }
        }
    });
    (loss, pass.of_rows)
}
