//! The likeliest places of each row under `softmax(x)`, with the logarithms of their probabilities:
//! `log p_j = x_j − log Σ_k e^(x_k)`.
//!
//! It is what a search needs of a step: a few numbers of a row, not all. There is no way back. On a GPU, the softmax is computed
//! there and the places are picked by the processor.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::profile;
use crate::tensor::Tensor;

/// A place of a row, and the logarithm of its probability.
pub type ScoredIndex = (u32, f32);

/// The `wanted` likeliest places of each row of `x`, or all where there are fewer, the likeliest first; of equal ones, the
/// one further left first.
pub fn top_k(x: &Tensor, wanted: usize) -> Vec<Vec<ScoredIndex>> {
    let _span = profile::span("likeliest", x.device());
    on_device!(x.device(), cpu => cpu::top_k(cpu, x, wanted), _cuda => cuda::top_k(x, wanted))
}
