//! A layer of hidden units in one operation: `y = drop(a(x·Wᵀ + b))`, or with a gate `y = drop(a(u, g))`, `[u g] = x·Wᵀ + b`.
//!
//! | | shape |
//! |---|---|
//! | `x` | rows × inputs |
//! | `W` | outputs × inputs; with a gate, 2·outputs × inputs: first the units', then their gates' |
//! | `b` | 1 × as many as `W` has rows |
//! | `y` | rows × outputs |
//!
//! Every [`Activation`] is such a unit `a`, and its slope follows from `y`: then nothing but `y` is kept, and it is computed where
//! the product lay. The others keep `x·Wᵀ + b` besides. Back: through dropout and unit in one pass, then as
//! [`linear`](super::linear()).

pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;
mod unit;

pub(crate) use unit::for_all_units;
pub use unit::{GatedGelu, GatedLinear, Gelu, HiddenUnit};

#[cfg(doc)]
use crate::activation::Activation;
use crate::device::on_device;
use crate::ops::dropout::DropoutMask;
use crate::ops::linear;
use crate::profile;
use crate::tape::{Var, record};

/// Hidden units of a kind; see the [module](self).
pub fn dense<U: HiddenUnit>(x: &Var, weight: &Var, bias: &Var, dropped: Option<&DropoutMask>) -> Var {
    let _span = profile::span(U::NAME, x.device());
    assert_eq!(x.columns(), weight.columns(), "x is {:?}, W is {:?}", x.shape(), weight.shape());
    assert_eq!(bias.shape(), (1, weight.rows()), "b is {:?}, W is {:?}", bias.shape(), weight.shape());
    assert!(!U::GATED || weight.rows().is_multiple_of(2), "W is {:?}, units and gates", weight.shape());
    let dropped = DropoutMask::any(dropped, x.rows());
    let [of_x, of_weight, of_bias] = [x, weight, bias].map(Var::value);
    let (y, before) = on_device!(x.device(),
        cpu => cpu::forward::<U>(cpu, of_x, of_weight, of_bias, dropped.as_ref()),
        cuda => cuda::forward::<U>(cuda, linear::cuda::forward(cuda, of_x, of_weight, Some(of_bias)), dropped.as_ref()));
    let (inputs, kept) = ([x.clone(), weight.clone(), bias.clone()], before.unwrap_or_else(|| y.clone()));
    let [y] = record(&[x, weight, bias], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let [x, weight, bias] = &inputs;
        on_device!(x.device(),
        cpu => {
            let du = cpu::backward::<U>(cpu, &kept, dy, dropped.as_ref());
            linear::cpu::backward(cpu, gradients, &du, x, weight, Some(bias));
        },
        cuda => {
            let du = cuda::backward::<U>(cuda, &kept, dy, dropped.as_ref());
            linear::cuda::backward(cuda, gradients, &du, x, weight, Some(bias));
        });
    });
    y
}
