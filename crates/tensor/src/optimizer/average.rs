//! The moving average of weights: the model that it makes is often a little better than the last one.
//!
//! After step `t`, counted from one, with a decay `d` of 0.999 for example:
//!
//! ```text
//! a ← k·a + (1 − k)·w,   k = min(d, (1 + t) / (10 + t))
//! ```
//!
//! The first steps change a model most. An average over a thousand steps would follow them late; so it begins with the last ninth of
//! the steps so far, and reaches further back as there are more of them.

use super::cpu;
#[cfg(feature = "cuda")]
use super::cuda;
use crate::device::on_device;
use crate::params::Params;
use crate::profile::{self, Phase};
use crate::tensor::Tensor;

/// The moving average of a model's weights.
#[derive(Debug)]
pub struct Average {
    decay: f32,
    weights: Tensor,
}

impl Average {
    /// Begins with the weights as they are.
    pub fn new(params: &Params, decay: f32) -> Average {
        Average { decay, weights: params.flat() }
    }

    /// The average, as [`Params::flat`] lays it out.
    pub fn weights(&self) -> &Tensor {
        &self.weights
    }

    /// Resumes with another one's average.
    ///
    /// # Panics
    /// If it is of another length.
    pub fn set_weights(&mut self, weights: Tensor) {
        assert_eq!(weights.shape(), self.weights.shape(), "an average of another model's weights");
        self.weights = weights;
    }

    /// Takes the weights in after a step, the first of which is 1.
    pub fn update(&mut self, params: &Params, step: u64) {
        let device = params.device().clone();
        let _span = profile::enter("average", Phase::Update, &device);
        let (weights, kept) = (params.store(), self.kept(step));
        assert_eq!(weights.shape(), self.weights.shape(), "an average of another model's weights");
        on_device!(&device,
            cpu => cpu::average(cpu, self.weights.data_mut(), weights.data(), kept),
            cuda => cuda::average(cuda, &mut self.weights, weights, kept));
    }

    /// The share of itself that it keeps in a step.
    #[allow(
        clippy::cast_precision_loss,
        reason = "where a step is no f32, the share is one but for the decay"
    )]
    fn kept(&self, step: u64) -> f32 {
        self.decay.min((1 + step) as f32 / (10 + step) as f32)
    }

    /// Exchanges the average and the weights of the model: to use the one, and then to go on with the other.
    pub fn swap(&mut self, params: &mut Params) {
        let last = params.flat();
        params.set_flat(&self.weights);
        self.weights = last;
    }
}
