//! The residual sum of a layer, and that sum normalized: `s = x + drop(f)` and `y = (s − mean) / √(variance + ε) ⊙ gain + bias`.
//!
//! | | shape |
//! |---|---|
//! | `x`, `f`, `s`, `y` | rows × width |
//! | `gain`, `bias` | 1 × width |
//!
//! Backward: the gradient of `s`, its own and that of the [norm](super::layer_norm()), is that of `x`, and that of `f` after the
//! mask.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::ops::dropout::DropoutMask;
use crate::ops::layer_norm::NormWeights;
use crate::profile;
use crate::tape::{Var, record};

/// The inputs of the operation.
#[derive(Clone, Copy)]
struct ResidualInputs<'a> {
    x: &'a Var,
    f: &'a Var,
    weights: NormWeights<'a>,
}

/// The sum and the sum normalized; see the [module](self).
pub fn residual_norm(x: &Var, f: &Var, dropped: Option<&DropoutMask>, gain: &Var, bias: &Var) -> [Var; 2] {
    let _span = profile::span("residual_norm", x.device());
    assert_eq!(x.shape(), f.shape(), "what is added has the shape of what it is added to");
    let inputs = ResidualInputs { x, f, weights: NormWeights { gain, bias } };
    inputs.weights.check(x);
    let dropped = DropoutMask::any(dropped, x.rows());
    let (outputs, normalized) = on_device!(x.device(),
        cpu => cpu::forward(cpu, inputs, dropped.as_ref()),
        cuda => cuda::forward(cuda, inputs, dropped.as_ref()));
    let inputs = [x, f, gain, bias];
    record(&inputs, outputs, {
        let inputs = inputs.map(Var::clone);
        move |gradients, [ds, dy]| {
            let [x, f, gain, bias] = &inputs;
            // Without a gradient of the norm there is only that of the sum.
            let Some(dy) = dy else {
                let ds = ds.expect("the gradient of one output at least");
                let df = on_device!(x.device(),
                    cpu => cpu::drop(cpu, &ds, dropped.as_ref()),
                    cuda => cuda::drop(cuda, &ds, dropped.as_ref()));
                gradients.add(f, df);
                return gradients.add(x, ds);
            };
            NormWeights { gain, bias }.add_gradients(gradients, &dy, &normalized);
            let [dx, df] = on_device!(x.device(),
                cpu => cpu::backward(cpu, ds.as_ref(), dy, gain.value(), &normalized, dropped.as_ref()),
                cuda => cuda::backward(cuda, ds.as_ref(), dy, gain.value(), &normalized, dropped.as_ref()));
            gradients.add(f, df);
            gradients.add(x, dx);
        }
    })
}
