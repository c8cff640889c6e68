//! `y_j = e^(x_j) / Σ_k e^(x_k)` over the places of each row that count.
//!
//! The first `counts[i]` places of row `i` count; the others are zero in `y` and get no gradient. A row of which nothing
//! counts is all zero. Back: `dx = y ⊙ (dy − Σ y ⊙ dy)`.

mod cpu;
pub mod reference;

use crate::device::Device;
use crate::tape::{Var, record};
use std::sync::Arc;

/// Softmax over the first `counts[i]` places of each row; see the [module](self).
pub fn softmax(x: &Var, counts: &[u32]) -> Var {
    assert_eq!(x.rows(), counts.len(), "a count for each row");
    if let Some(count) = counts.iter().find(|&&count| count as usize > x.columns()) {
        panic!("{count} of {} places", x.columns());
    }
    let Device::Cpu(cpu) = x.device();
    let counts: Arc<[u32]> = counts.into();
    let y = cpu::forward(cpu, x.value(), &counts);
    let (input, kept) = (x.clone(), y.clone());
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let Device::Cpu(cpu) = input.device();
        gradients.add(&input, cpu::backward(cpu, &kept, dy, &counts));
    });
    y
}
