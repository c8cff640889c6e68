//! `y_j = e^(x_j) / Σ_k e^(x_k)` over the places of each row that count.
//!
//! The first `counts[i]` places of row `i` count; the others are zero in `y` and get no gradient. A row of which nothing
//! counts is all zero. Back: `dx = y ⊙ (dy − Σ y ⊙ dy)`.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::profile;
use crate::tape::{Var, record};
use std::sync::Arc;

/// Softmax over the first `counts[i]` places of each row; see the [module](self).
pub fn softmax(x: &Var, counts: &[u32]) -> Var {
    let _span = profile::span("softmax", x.device());
    assert_eq!(x.rows(), counts.len(), "a count for each row");
    if let Some(count) = counts.iter().find(|&&count| count as usize > x.columns()) {
        panic!("{count} of {} places", x.columns());
    }
    let counts: Arc<[u32]> = counts.into();
    let y = on_device!(x.device(),
        cpu => cpu::forward(cpu, x.value(), &counts),
        cuda => cuda::forward(cuda, x.value(), &counts));
    let (input, kept) = (x.clone(), y.clone());
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let dx = on_device!(input.device(),
            cpu => cpu::backward(cpu, &kept, dy, &counts),
            cuda => cuda::backward(cuda, &kept, dy, &counts));
        gradients.add(&input, dx);
    });
    y
}

/// `log softmax(x)_i = x_i − log Σ_k e^(x_k)` of one row, where it is read: no gradient.
///
/// ```
/// use couplet_tensor::ops::log_softmax;
///
/// assert_eq!(log_softmax(&[0.0, 1000.0]), [-1000.0, 0.0]); // finite, where e^1000 is not
/// ```
pub fn log_softmax(x: &[f32]) -> Vec<f32> {
    let largest = x.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let log_sum = x.iter().map(|x| (x - largest).exp()).sum::<f32>().ln();
    x.iter().map(|x| x - largest - log_sum).collect()
}
