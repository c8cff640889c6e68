//! Element by element: `y = f(x)` and `y = f(a, b)`.
//!
//! A function is a type with its formula and its gradient, written over [`Lane`]; [`Unary`] ones, every [`Activation`] among
//! them, compute their gradient from the result, so that the input need not be kept.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use crate::activation::{Activation, Relu, Sigmoid, Tanh};
use crate::device::on_device;
use crate::lane::Lane;
use crate::profile;
use crate::tape::{Var, record};
use std::f32::consts::FRAC_1_SQRT_2;

/// A function of one number.
pub trait Unary: Copy + Send + Sync + 'static {
    /// What a [profile] calls it.
    const NAME: &'static str = "unary";
    /// `y = f(x)`
    fn forward<L: Lane>(self, x: L) -> L;
    /// `dx` from `y` and `dy`.
    fn backward<L: Lane>(self, y: L, dy: L) -> L;
}

/// A function of two numbers.
pub trait Binary: Copy + Send + Sync + 'static {
    /// What a [profile] calls it.
    const NAME: &'static str = "binary";
    /// `y = f(a, b)`
    fn forward<L: Lane>(self, a: L, b: L) -> L;
    /// `da` and `db` from `a`, `b` and `dy`.
    fn backward<L: Lane>(self, a: L, b: L, dy: L) -> [L; 2];
}

/// Every activation is such a function.
impl<A: Activation> Unary for A {
    const NAME: &'static str = A::NAME;

    #[inline(always)]
    fn forward<L: Lane>(self, x: L) -> L {
        A::value(x)
    }
    #[inline(always)]
    fn backward<L: Lane>(self, y: L, dy: L) -> L {
        dy * A::slope(y)
    }
}

#[derive(Clone, Copy)]
struct Scale(f32);
impl Unary for Scale {
    const NAME: &'static str = "scale";

    #[inline(always)]
    fn forward<L: Lane>(self, x: L) -> L {
        x * L::lit(self.0)
    }
    #[inline(always)]
    fn backward<L: Lane>(self, _y: L, dy: L) -> L {
        dy * L::lit(self.0)
    }
}

#[derive(Clone, Copy)]
struct Sum;
impl Binary for Sum {
    const NAME: &'static str = "add";

    #[inline(always)]
    fn forward<L: Lane>(self, a: L, b: L) -> L {
        a + b
    }
    #[inline(always)]
    fn backward<L: Lane>(self, _a: L, _b: L, dy: L) -> [L; 2] {
        [dy, dy]
    }
}

#[derive(Clone, Copy)]
struct ScaledResidual;
impl Binary for ScaledResidual {
    const NAME: &'static str = "balanced_sum";

    #[inline(always)]
    fn forward<L: Lane>(self, a: L, b: L) -> L {
        (a + b) * L::lit(FRAC_1_SQRT_2)
    }
    #[inline(always)]
    fn backward<L: Lane>(self, _a: L, _b: L, dy: L) -> [L; 2] {
        [dy * L::lit(FRAC_1_SQRT_2); 2]
    }
}

#[derive(Clone, Copy)]
struct Product;
impl Binary for Product {
    const NAME: &'static str = "multiply_elements";

    #[inline(always)]
    fn forward<L: Lane>(self, a: L, b: L) -> L {
        a * b
    }
    #[inline(always)]
    fn backward<L: Lane>(self, a: L, b: L, dy: L) -> [L; 2] {
        [dy * b, dy * a]
    }
}

/// `tanh x`
pub fn tanh(x: &Var) -> Var {
    unary(x, Tanh)
}

/// `1 / (1 + e^-x)`
pub fn sigmoid(x: &Var) -> Var {
    unary(x, Sigmoid)
}

/// `max(x, 0)`
pub fn relu(x: &Var) -> Var {
    unary(x, Relu)
}

/// `factor · x`
pub fn scale(x: &Var, factor: f32) -> Var {
    unary(x, Scale(factor))
}

/// `a + b`
pub fn add(a: &Var, b: &Var) -> Var {
    binary(a, b, Sum)
}

/// `√½·(a + b)`, which varies no more than two parts that vary alike.
pub fn scaled_residual(a: &Var, b: &Var) -> Var {
    binary(a, b, ScaledResidual)
}

/// `a ⊙ b`, element by element.
pub fn multiply_elements(a: &Var, b: &Var) -> Var {
    binary(a, b, Product)
}

/// The kernels of every function.
#[cfg(feature = "cuda")]
pub(super) fn all_kernels() -> Vec<(&'static str, String)> {
    use crate::activation::for_all_activations;
    use cuda::{whole_binary, whole_unary};
    let unary =
        for_all_activations!(A => whole_unary(A::default())).into_iter().chain([whole_unary(Scale(0.5))]);
    let binary = [whole_binary(Sum), whole_binary(ScaledResidual), whole_binary(Product)];
    unary.chain(binary).collect()
}

/// Any function of one number.
pub fn unary<F: Unary>(x: &Var, f: F) -> Var {
    let _span = profile::span(F::NAME, x.device());
    let y =
        on_device!(x.device(), cpu => cpu::unary(cpu, x.value(), f), cuda => cuda::unary(cuda, x.value(), f));
    let (input, kept) = (x.clone(), y.clone());
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let dx = on_device!(input.device(),
            cpu => cpu::unary_back(cpu, &kept, dy, f),
            cuda => cuda::unary_back(cuda, &kept, dy, f));
        gradients.add(&input, dx);
    });
    y
}

/// Any function of two numbers.
pub fn binary<F: Binary>(a: &Var, b: &Var, f: F) -> Var {
    let _span = profile::span(F::NAME, a.device());
    assert_eq!(a.shape(), b.shape(), "element by element");
    let y = on_device!(a.device(),
        cpu => cpu::binary(cpu, a.value(), b.value(), f),
        cuda => cuda::binary(cuda, a.value(), b.value(), f));
    let inputs = [a.clone(), b.clone()];
    let [y] = record(&[a, b], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let [a, b] = inputs.each_ref().map(Var::value);
        let [da, db] = on_device!(a.device(),
            cpu => cpu::binary_back(cpu, a, b, dy, f),
            cuda => cuda::binary_back(cuda, a, b, dy, f));
        gradients.add(&inputs[0], da);
        gradients.add(&inputs[1], db);
    });
    y
}
