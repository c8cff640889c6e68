//! Parity with PyTorch: values and gradients against the numbers in `fixtures/pytorch`, which the scripts beside them made.
//!
//! Every case runs with all instruction sets of this machine, and as the fused operation and as its loop where there are
//! both. `cargo test -p couplet-tensor --test pytorch -- --nocapture` says how large the differences are.

mod fixture;
mod layers;
#[path = "../../examples/encoder_decoder/model.rs"]
#[allow(dead_code, reason = "not all of the model is needed here")]
mod model;
mod optimizers;
mod recurrent;
mod scan;
mod training;

/// How far a number may be off, as a share of the largest magnitude of its tensor.
const TOLERANCE: f32 = 1e-5;
/// The same for the loss of each training step, as a share of itself.
const TOLERANCE_OF_LOSSES: f32 = 2e-6;
/// The same for the weights after ten steps. Adam divides by the size of a gradient: a tiny one moves its weight as far as a
/// large one, and is less certain.
const TOLERANCE_OF_TRAINED: f32 = 5e-5;
