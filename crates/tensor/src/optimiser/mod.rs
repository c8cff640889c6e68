//! From gradients to new weights.
//!
//! Clipping by global norm, `g ← g·min(1, limit / (‖g‖ + 1e-6))`, and Adam:
//!
//! ```text
//! m ← β₁·m + (1 − β₁)·g
//! v ← β₂·v + (1 − β₂)·g²
//! w ← w − rate · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
//! ```
//!
//! One pass over the gradients finds the norm, a second one clips and updates; the gradients themselves are not changed.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::params::Params;
use crate::profile::{self, Way};
use crate::tensor::Tensor;

/// The norm of all gradients together: 1 × 1.
pub fn gradient_norm(params: &mut Params) -> Tensor {
    let device = params.device().clone();
    let _span = profile::enter("gradient_norm", Way::Update, &device);
    let gradients = params.gradients();
    on_device!(&device, cpu => cpu::norm(cpu, gradients), cuda => cuda::norm(cuda, gradients))
}

/// The numbers of an update that are the same for all weights.
#[derive(Clone, Copy)]
struct Step {
    betas: [f32; 2],
    /// The rate, corrected for the first moment's start at zero.
    rate: f32,
    /// The same correction of the second moment, under the root.
    root: f32,
    epsilon: f32,
    /// The largest norm of the gradients; those above are scaled down to it.
    limit: Option<f32>,
}

/// Adam's settings and what it remembers.
#[derive(Debug)]
pub struct Adam {
    /// `β₁` and `β₂`.
    pub betas: [f32; 2],
    /// `ε`.
    pub epsilon: f32,
    /// The largest norm of all gradients together; they are scaled down to it.
    pub clip: Option<f32>,
    steps: i32,
    moments: Option<[Tensor; 2]>,
}

impl Default for Adam {
    fn default() -> Adam {
        Adam { betas: [0.9, 0.999], epsilon: 1e-8, clip: None, steps: 0, moments: None }
    }
}

impl Adam {
    /// The usual settings, with gradients clipped to a norm.
    pub fn clipped(limit: f32) -> Adam {
        Adam { clip: Some(limit), ..Adam::default() }
    }

    /// Changes the weights by their gradients and begins a new step. Returns the norm of the gradients before clipping, where
    /// they are clipped; on a GPU, reading it waits for the step.
    pub fn step(&mut self, params: &mut Params, rate: f32) -> Option<Tensor> {
        let device = params.device().clone();
        let _span = profile::enter("adam", Way::Update, &device);
        let norm = self.clip.map(|_| gradient_norm(params));
        self.steps += 1;
        let (weights, gradients) = params.weights_and_gradients();
        let length = gradients.columns();
        let [m, v] = self.moments.get_or_insert_with(|| [(); 2].map(|()| Tensor::zeros(&device, 1, length)));
        let [first, second] = self.betas.map(|beta| (1.0 - f64::from(beta).powi(self.steps)) as f32);
        let how = Step {
            betas: self.betas,
            rate: rate / first,
            root: 1.0 / second.sqrt(),
            epsilon: self.epsilon,
            limit: self.clip,
        };
        on_device!(&device,
            cpu => cpu::update(cpu, weights.data_mut(), gradients, [m, v], norm.as_ref(), how),
            cuda => cuda::update(cuda, weights.pointer(), gradients, [m, v], norm.as_ref(), how));
        params.zero_gradients();
        device.memory().end_update();
        norm
    }
}
