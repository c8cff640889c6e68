//! Binary cross-entropy of one logit a row: `loss = scale · Σ_i −log P(target_i | z_i)` with `P(true | z) = σ(z)`.
//!
//! | | shape |
//! |---|---|
//! | `z` | rows × 1 |
//! | loss | 1 × 1 |
//!
//! `−log σ(z) = softplus(−z)` and `−log(1 − σ(z)) = softplus(z)`, where `softplus(x) = log(1 + e^x)` is computed as
//! `max(x, 0) + log(1 + e^−|x|)`: no exponential overflows, and a small probability keeps its logarithm. Back:
//! `dz_i = scale·(σ(z_i) − target_i)` times the loss's own gradient.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::profile;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The loss, and the unscaled loss of each row; see the [module](self).
pub fn logistic_loss(z: &Var, targets: &[bool], scale: f32) -> (Var, Tensor) {
    let _span = profile::span("logistic_loss", z.device());
    assert_eq!(z.shape(), (targets.len(), 1), "a logit for each of {} targets", targets.len());
    let targets: Arc<[bool]> = targets.into();
    let (loss, of_rows) = on_device!(z.device(),
        _cpu => cpu::forward(z.value(), &targets, scale),
        cuda => cuda::forward(cuda, z.value(), &targets, scale));
    let input = z.clone();
    let [loss] = record(&[z], [loss], move |gradients, [upstream]| {
        let Some(upstream) = upstream else { return };
        let z = input.value();
        let dz = on_device!(input.device(),
            _cpu => cpu::backward(z, &targets, scale, &upstream),
            cuda => cuda::backward(cuda, z, &targets, scale, &upstream));
        gradients.add(&input, dz);
    });
    (loss, of_rows)
}
