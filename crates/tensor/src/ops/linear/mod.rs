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

mod cpu;
pub mod reference;

pub(crate) use cpu::fill_rows;

use crate::device::Device;
use crate::tape::{Var, record};

/// `x·Wᵀ + b`; see the [module](self).
pub fn linear(x: &Var, weight: &Var, bias: Option<&Var>) -> Var {
    assert_eq!(x.columns(), weight.columns(), "x is {:?}, W is {:?}", x.shape(), weight.shape());
    if let Some(bias) = bias {
        assert_eq!(bias.shape(), (1, weight.rows()), "b is {:?}, W is {:?}", bias.shape(), weight.shape());
    }
    let Device::Cpu(cpu) = x.device();
    let y = cpu::forward(cpu, x.value(), weight.value(), bias.map(Var::value));
    let inputs: Vec<&Var> = [x, weight].into_iter().chain(bias).collect();
    let (x, weight, bias) = (x.clone(), weight.clone(), bias.cloned());
    let [y] = record(&inputs, [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let Device::Cpu(cpu) = x.device();
        gradients.write(&x, |dx, update| cpu::to_input(dx, &dy, weight.value(), update));
        gradients.write(&weight, |dw, update| cpu::to_weight(dw, &dy, x.value(), update));
        if let Some(bias) = &bias {
            gradients.write(bias, |db, update| cpu::to_bias(cpu, db, &dy, update));
        }
    });
    y
}
