//! Hidden units that see some steps of a sequence around each, in one operation: `y_t = drop(a(Σ_j W_j·x_{t+j} + b))`, over steps `j`
//! from so many before `t` to so many behind it. What would lie outside of the sequence is zero.
//!
//! | | shape |
//! |---|---|
//! | `x` | packed rows × inputs |
//! | `W` | sums × taps·inputs, the earliest step's first: `[W_-1 W_0 W_1]` |
//! | `b` | 1 × sums |
//! | `y` | packed rows × outputs |
//!
//! Units `a`, with or without gates, are those of [`dense`](super::dense()): a convolution is a layer of them over what lies side by
//! side, the steps that each step sees. These are laid out for one large product, and again on the way back; they are not kept.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::ops::dense::{self, HiddenUnit};
use crate::ops::dropout::DropoutMask;
use crate::profile;
use crate::tape::{Var, record};
use std::sync::Arc;

/// Which steps around its own a step sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// How many before it.
    pub before: usize,
    /// How many behind it.
    pub after: usize,
}

impl Window {
    /// How many steps it holds, its own among them.
    pub fn taps(self) -> usize {
        self.before + 1 + self.after
    }

    /// The step under one of its taps, where the window is around `step` of a sequence so long.
    fn under(self, tap: usize, step: usize, length: usize) -> Option<usize> {
        (step + tap).checked_sub(self.before).filter(|&under| under < length)
    }
}

/// The inputs of the operation.
#[derive(Clone, Copy)]
struct ConvolutionInputs<'a> {
    x: &'a Var,
    layout: &'a SequenceLayout,
    window: Window,
    weight: &'a Var,
    bias: &'a Var,
}

/// Hidden units of a kind over a window of packed sequences; see the [module](self).
pub fn convolution<U: HiddenUnit>(
    x: &Var,
    rows: &Arc<SequenceLayout>,
    window: Window,
    (weight, bias): (&Var, &Var),
    dropped: Option<&DropoutMask>,
) -> Var {
    let _span = profile::span("convolution", x.device());
    let inputs = window.taps() * x.columns();
    assert_eq!(x.rows(), rows.total(), "x is {:?} for {} packed rows", x.shape(), rows.total());
    assert_eq!(weight.columns(), inputs, "x is {:?}, W is {:?}", x.shape(), weight.shape());
    assert_eq!(bias.shape(), (1, weight.rows()), "b is {:?}, W is {:?}", bias.shape(), weight.shape());
    assert!(!U::GATED || weight.rows().is_multiple_of(2), "W is {:?}, units and gates", weight.shape());
    let dropped = DropoutMask::any(dropped, x.rows());
    let [of_weight, of_bias] = [weight, bias].map(Var::value);
    let (y, before) = on_device!(x.device(),
    cpu => {
        let seen = cpu::unfold(cpu, x.value(), rows, window);
        dense::cpu::forward::<U>(cpu, &seen, of_weight, of_bias, dropped.as_ref())
    },
    cuda => {
        let seen = cuda::unfold(cuda, x.value(), rows, window);
        dense::cuda::forward::<U>(cuda, crate::ops::linear::cuda::forward(cuda, &seen, of_weight, Some(of_bias)), dropped.as_ref())
    });
    let kept = before.unwrap_or_else(|| y.clone());
    let ([x_kept, weight_kept, bias_kept], layout) = ([x, weight, bias].map(Var::clone), Arc::clone(rows));
    let [y] = record(&[x, weight, bias], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let (x, weight, bias) = (&x_kept, &weight_kept, &bias_kept);
        let inputs = ConvolutionInputs { x, layout: &layout, window, weight, bias };
        on_device!(x.device(),
        cpu => {
            let du = dense::cpu::backward::<U>(cpu, &kept, dy, dropped.as_ref());
            cpu::backward(cpu, gradients, &du, inputs);
        },
        cuda => {
            let du = dense::cuda::backward::<U>(cuda, &kept, dy, dropped.as_ref());
            cuda::backward(cuda, gradients, &du, inputs);
        });
    });
    y
}
