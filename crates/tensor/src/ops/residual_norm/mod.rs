//! What a layer adds to what it read, and that normalized: `s = x + drop(f)` and `y = (s − mean) / √(variance + ε) ⊙ gain + bias`.
//!
//! | | shape |
//! |---|---|
//! | `x`, `f`, `s`, `y` | rows × width |
//! | `gain`, `bias` | 1 × width |
//!
//! Back: the gradient of `s`, its own and that of the [norm](super::layer_norm()), goes to `x` as it is and to `f` through the
//! mask.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::ops::dropout::DropoutMask;
use crate::ops::layer_norm;
use crate::profile;
use crate::tape::{Var, record};

/// The sum and the sum normalized; see the [module](self).
pub fn residual_norm(x: &Var, f: &Var, dropped: Option<&DropoutMask>, gain: &Var, bias: &Var) -> [Var; 2] {
    let _span = profile::span("residual_norm", x.device());
    let width = x.columns();
    assert_eq!(x.shape(), f.shape(), "what is added has the shape of what it is added to");
    assert_eq!((gain.shape(), bias.shape()), ((1, width), (1, width)), "x is {:?}", x.shape());
    let dropped = DropoutMask::any(dropped, x.rows());
    let values = [x, f, gain, bias].map(Var::value);
    let (outputs, normal, inverse) = on_device!(x.device(),
        cpu => cpu::forward(cpu, values, dropped.as_ref()),
        cuda => cuda::forward(cuda, values, dropped.as_ref()));
    let inputs = [x.clone(), f.clone(), gain.clone(), bias.clone()];
    record(&[x, f, gain, bias], outputs, move |gradients, [ds, dy]| {
        let [x, f, gain, bias] = &inputs;
        // Without a gradient of the norm there is only what was added.
        let Some(dy) = dy else {
            let ds = ds.expect("the gradient of one output at least");
            let df = on_device!(x.device(),
                cpu => cpu::drop(cpu, &ds, dropped.as_ref()),
                cuda => cuda::drop(cuda, &ds, dropped.as_ref()));
            gradients.add(f, df);
            return gradients.add(x, ds);
        };
        let [dx, df] = on_device!(x.device(),
        cpu => {
            gradients.write(bias, |db, update| layer_norm::cpu::to_bias(cpu, db, &dy, update));
            gradients.write(gain, |dg, update| layer_norm::cpu::to_gain(cpu, dg, &dy, &normal, update));
            cpu::backward(cpu, ds.as_ref(), dy, [gain.value(), &normal, &inverse], dropped.as_ref())
        },
        cuda => {
            gradients.write_cuda(bias, |db, update| layer_norm::cuda::to_bias(cuda, db, &dy, update));
            gradients.write_cuda(gain, |dg, update| layer_norm::cuda::to_gain(cuda, dg, &dy, &normal, update));
            cuda::backward(cuda, ds.as_ref(), dy, [gain.value(), &normal, &inverse], dropped.as_ref())
        });
        gradients.add(f, df);
        gradients.add(x, dx);
    })
}
