//! `y = (x − mean) / √(variance + ε) ⊙ gain + bias`, each row by itself.
//!
//! | | shape |
//! |---|---|
//! | `x`, `y` | rows × width |
//! | `gain`, `bias` | 1 × width |
//!
//! With `n = (x − mean)·r` and `r = 1/√(variance + ε)`, back: `dbias = Σ dy`, `dgain = Σ dy ⊙ n` over the rows, and with
//! `g = dy ⊙ gain`: `dx = r·(g − mean(g) − n·mean(g ⊙ n))`.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::profile;
use crate::tape::{Var, record};

/// Added to the variance, as PyTorch does by default.
pub const EPSILON: f32 = 1e-5;

/// Normalizes each row; see the [module](self).
pub fn layer_norm(x: &Var, gain: &Var, bias: &Var) -> Var {
    let _span = profile::span("layer_norm", x.device());
    let width = x.columns();
    assert_eq!((gain.shape(), bias.shape()), ((1, width), (1, width)), "x is {:?}", x.shape());
    let (y, normal, inverse) = on_device!(x.device(),
        cpu => cpu::forward(cpu, x.value(), gain.value(), bias.value()),
        cuda => cuda::forward(cuda, x.value(), gain.value(), bias.value()));
    let (input, weights) = (x.clone(), [gain.clone(), bias.clone()]);
    let [y] = record(&[x, gain, bias], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let [gain, bias] = &weights;
        let dx = on_device!(input.device(),
        cpu => {
            gradients.write(bias, |db, update| cpu::to_bias(cpu, db, &dy, update));
            gradients.write(gain, |dg, update| cpu::to_gain(cpu, dg, &dy, &normal, update));
            cpu::to_input(cpu, dy, gain.value(), &normal, &inverse)
        },
        cuda => {
            gradients.write_cuda(bias, |db, update| cuda::to_bias(cuda, db, &dy, update));
            gradients.write_cuda(gain, |dg, update| cuda::to_gain(cuda, dg, &dy, &normal, update));
            cuda::to_input(cuda, dy, gain.value(), &normal, &inverse)
        });
        gradients.add(&input, dx);
    });
    y
}
