//! `y = (x − mean) / √(variance + ε) ⊙ gain + bias`, each row by itself.
//!
//! | | shape |
//! |---|---|
//! | `x`, `y` | rows × width |
//! | `gain`, `bias` | 1 × width |
//!
//! With `n = (x − mean)·r` and `r = 1/√(variance + ε)`, the gradients are `dbias = Σ dy`, `dgain = Σ dy ⊙ n` over the rows, and with
//! `g = dy ⊙ gain`: `dx = r·(g − mean(g) − n·mean(g ⊙ n))`.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::ops::sums;
use crate::profile;
use crate::tape::{Gradients, Var, record};
use crate::tensor::Tensor;

/// Added to the variance, as PyTorch does by default.
pub const EPSILON: f32 = 1e-5;

/// Gain and bias of a norm.
#[derive(Clone, Copy)]
pub(crate) struct NormWeights<'a> {
    pub(crate) gain: &'a Var,
    pub(crate) bias: &'a Var,
}

impl NormWeights<'_> {
    /// Panics where they do not fit the rows of `x`.
    pub(crate) fn check(self, x: &Var) {
        let shape = (1, x.columns());
        assert_eq!((self.gain.shape(), self.bias.shape()), (shape, shape), "x is {:?}", x.shape());
    }

    /// Adds their gradients, from that of the result.
    pub(crate) fn add_gradients(self, gradients: &mut Gradients, dy: &Tensor, normalized: &Normalized) {
        let (NormWeights { gain, bias }, normal) = (self, &normalized.rows);
        on_device!(dy.device(),
        cpu => {
            gradients.write(bias, |db, update| sums::column_sums(cpu, dy.mat(), db, update));
            gradients.write(gain, |dg, update| sums::column_sums_of_product(cpu, dy.mat(), normal.mat(), dg, update));
        },
        cuda => {
            gradients.write_cuda(bias, |db, update| sums::cuda::column_sums(cuda, dy.view(), db, update));
            gradients.write_cuda(gain, |dg, update| {
                sums::cuda::column_sums_of_product(cuda, dy.view(), normal.view(), dg, update);
            });
        });
    }
}

/// What the backward pass needs of the normalized rows.
pub(crate) struct Normalized {
    /// `n`, before gain and bias.
    pub(crate) rows: Tensor,
    /// `r` of each row.
    pub(crate) inverse: Tensor,
}

/// Normalizes each row; see the [module](self).
pub fn layer_norm(x: &Var, gain: &Var, bias: &Var) -> Var {
    let _span = profile::span("layer_norm", x.device());
    NormWeights { gain, bias }.check(x);
    let (y, normalized) = on_device!(x.device(),
        cpu => cpu::forward(cpu, x.value(), gain.value(), bias.value()),
        cuda => cuda::forward(cuda, x.value(), gain.value(), bias.value()));
    let [x_kept, gain_kept, bias_kept] = [x, gain, bias].map(Var::clone);
    let [y] = record(&[x, gain, bias], [y], move |gradients, [dy]| {
        let (Some(dy), gain, bias) = (dy, &gain_kept, &bias_kept) else { return };
        NormWeights { gain, bias }.add_gradients(gradients, &dy, &normalized);
        let dx = on_device!(x_kept.device(),
            cpu => cpu::to_input(cpu, dy, gain.value(), &normalized),
            cuda => cuda::to_input(cuda, dy, gain.value(), &normalized));
        gradients.add(&x_kept, dx);
    });
    y
}
