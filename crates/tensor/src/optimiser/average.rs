//! The moving average of weights, `a ← d·a + (1 − d)·w`: the model that it makes is often a little better than the last one.

use super::cpu;
#[cfg(feature = "cuda")]
use super::cuda;
use crate::device::on_device;
use crate::params::Params;
use crate::profile::{self, Way};
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

    /// Goes on with another one's average. False where that is not as long as this one; nothing has changed then.
    pub fn restore(&mut self, numbers: &[f32]) -> bool {
        let fits = numbers.len() == self.weights.columns();
        if fits {
            self.weights = Tensor::new(self.weights.device(), 1, numbers.len(), numbers);
        }
        fits
    }

    /// Takes the weights in, after a step.
    pub fn update(&mut self, params: &Params) {
        let device = params.device().clone();
        let _span = profile::enter("average", Way::Update, &device);
        let (weights, decay) = (params.store(), self.decay);
        on_device!(&device,
            cpu => cpu::average(cpu, self.weights.data_mut(), weights.data(), decay),
            cuda => cuda::average(cuda, &mut self.weights, weights, decay));
    }

    /// Exchanges the average and the weights of the model: to use the one, and then to go on with the other.
    pub fn swap(&mut self, params: &mut Params) {
        let last = params.flat();
        params.set_flat(&self.weights);
        self.weights = last;
    }
}
