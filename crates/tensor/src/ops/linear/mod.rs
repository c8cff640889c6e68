//! `y = x·Wᵀ + b`.
//!
//! | | shape |
//! |---|---|
//! | `x` | rows × inputs |
//! | `W` | outputs × inputs |
//! | `b` | 1 × outputs, or none |
//! | `y` | rows × outputs |
//!
//! Back: `dx = dy·W`, `dW = dyᵀ·x`, `db` the sums of `dy`'s columns.

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

pub(crate) use cpu::{fill_rows, multiply_weight};

use crate::device::on_device;
use crate::profile;
use crate::tape::{Var, record};

/// `x·Wᵀ + b`; see the [module](self).
pub fn linear(x: &Var, weight: &Var, bias: Option<&Var>) -> Var {
    let _span = profile::span("linear", x.device());
    assert_eq!(x.columns(), weight.columns(), "x is {:?}, W is {:?}", x.shape(), weight.shape());
    if let Some(bias) = bias {
        assert_eq!(bias.shape(), (1, weight.rows()), "b is {:?}, W is {:?}", bias.shape(), weight.shape());
    }
    let bias_value = bias.map(Var::value);
    let y = on_device!(x.device(),
        _cpu => cpu::forward(x.value(), weight.value(), bias_value, None),
        cuda => cuda::forward(cuda, x.value(), weight.value(), bias_value));
    let inputs: Vec<&Var> = [x, weight].into_iter().chain(bias).collect();
    let (x, weight, bias) = (x.clone(), weight.clone(), bias.cloned());
    let [y] = record(&inputs, [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        on_device!(x.device(),
            cpu => cpu::backward(cpu, gradients, &dy, &x, &weight, bias.as_ref()),
            cuda => cuda::backward(cuda, gradients, &dy, &x, &weight, bias.as_ref()));
    });
    y
}
