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
pub mod reference;

use crate::device::Device;
use crate::params::Params;
use crate::tensor::Tensor;

/// The norm of all gradients together.
pub fn gradient_norm(params: &mut Params) -> f32 {
    let device = params.device().clone();
    let Device::Cpu(cpu) = &device;
    cpu::norm(cpu, &device, params.gradients())
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
    /// they are clipped.
    pub fn step(&mut self, params: &mut Params, rate: f32) -> Option<f32> {
        let norm = self.clip.map(|_| gradient_norm(params));
        let clipped = match (self.clip, norm) {
            (Some(limit), Some(norm)) => (limit / (norm + 1e-6)).min(1.0),
            _ => 1.0,
        };
        self.steps += 1;
        let device = params.device().clone();
        let length = params.count();
        let [m, v] = self.moments.get_or_insert_with(|| [(); 2].map(|()| Tensor::zeros(&device, 1, length)));
        let (weights, gradients) = params.weights_and_gradients();
        let [first, second] = self.betas.map(|beta| (1.0 - f64::from(beta).powi(self.steps)) as f32);
        let update = cpu::Step {
            betas: self.betas,
            factor: clipped,
            rate: rate / first,
            root: 1.0 / second.sqrt(),
            epsilon: self.epsilon,
        };
        let Device::Cpu(cpu) = &device;
        cpu::update(cpu, weights, gradients, m.data_mut(), v.data_mut(), update);
        params.zero_gradients();
        norm
    }
}
