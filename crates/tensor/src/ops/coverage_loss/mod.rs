//! What is looked at again: `loss = scale · Σ_t Σ_j min(a_tj, Σ_{u<t} a_uj)`, the coverage loss of See et al. (2017).
//!
//! | | shape |
//! |---|---|
//! | `a` | packed target rows × columns: the weights that a step gives each step of its source |
//! | loss | 1 × 1 |
//!
//! Column by column, a target's steps are walked through in order. Back: where `a_tj` is the smaller one, it gets the loss's gradient
//! times `scale`; else all `a_uj` before it do.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::profile;
use crate::tape::{Var, record};
use std::sync::Arc;

/// The coverage loss of weights; see the [module](self).
pub fn coverage_loss(weights: &Var, rows: &Arc<SequenceLayout>, scale: f32) -> Var {
    let _span = profile::span("coverage_loss", weights.device());
    assert_eq!(weights.rows(), rows.total(), "weights of {} packed rows", rows.total());
    let loss = on_device!(weights.device(),
        _cpu => cpu::forward(weights.value(), rows, scale),
        cuda => cuda::forward(cuda, weights.value(), rows, scale));
    let (input, rows) = (weights.clone(), Arc::clone(rows));
    let [loss] = record(&[weights], [loss], move |gradients, [upstream]| {
        let Some(upstream) = upstream else { return };
        let weights = input.value();
        let dweights = on_device!(input.device(),
            _cpu => cpu::backward(weights, &rows, scale, &upstream),
            cuda => cuda::backward(cuda, weights, &rows, scale, &upstream));
        gradients.add(&input, dweights);
    });
    loss
}
