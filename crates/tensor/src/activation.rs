//! Activations of gates, scores and layers.
//!
//! Pointwise mathematics, written over [`Lane`]: the simple recurrent [cell](crate::cell::Simple), the linear
//! [score](crate::score::Linear) and the pointwise [operations](crate::ops::pointwise) share it.

use crate::lane::Lane;

/// A function of one number whose slope follows from its value.
pub trait Activation: Copy + Send + Sync + 'static {
    /// What a [profile](crate::profile) calls it.
    const NAME: &'static str = "activation";

    /// `y = a(x)`
    fn value<L: Lane>(x: L) -> L;

    /// `a'(x)`, from `y = a(x)`.
    fn slope<L: Lane>(y: L) -> L;
}

/// The values of an expression for every activation of this crate, as an array: `for_all_activations!(A => f::<A>())`.
macro_rules! for_all_activations {
    ($A:ident => $value:expr) => {
        [
            {
                type $A = $crate::activation::Tanh;
                $value
            },
            {
                type $A = $crate::activation::Sigmoid;
                $value
            },
            {
                type $A = $crate::activation::Relu;
                $value
            },
            {
                type $A = $crate::activation::Identity;
                $value
            },
        ]
    };
}
pub(crate) use for_all_activations;

/// `tanh x`
#[derive(Clone, Copy, Debug, Default)]
pub struct Tanh;

impl Activation for Tanh {
    const NAME: &'static str = "tanh";

    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x.tanh()
    }

    #[inline(always)]
    fn slope<L: Lane>(y: L) -> L {
        L::lit(1.0) - y * y
    }
}

/// `1 / (1 + e^-x)`
#[derive(Clone, Copy, Debug, Default)]
pub struct Sigmoid;

impl Activation for Sigmoid {
    const NAME: &'static str = "sigmoid";

    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x.sigmoid()
    }

    #[inline(always)]
    fn slope<L: Lane>(y: L) -> L {
        y * (L::lit(1.0) - y)
    }
}

/// `max(x, 0)`; at zero its slope is zero.
#[derive(Clone, Copy, Debug, Default)]
pub struct Relu;

impl Activation for Relu {
    const NAME: &'static str = "relu";

    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x.max(L::lit(0.0))
    }

    #[inline(always)]
    fn slope<L: Lane>(y: L) -> L {
        y.positive()
    }
}

/// `x` itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Identity;

impl Activation for Identity {
    const NAME: &'static str = "identity";

    #[inline(always)]
    fn value<L: Lane>(x: L) -> L {
        x
    }

    #[inline(always)]
    fn slope<L: Lane>(_y: L) -> L {
        L::lit(1.0)
    }
}
