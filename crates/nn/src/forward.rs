//! A forward pass: the source of weights and of random numbers.

use crate::layers::DropoutSite;
use couplet_tensor::ops;
use couplet_tensor::random::{Stream, hash_path, unit};
use couplet_tensor::{Param, Params, SequenceLayout, Tape, Var};
use std::sync::Arc;

/// A forward pass through a model. In training, weights are on a tape and dropout is active; otherwise neither, and nothing is kept.
#[derive(Clone, Copy, Debug)]
pub struct ForwardPass<'a> {
    params: &'a Params,
    training: Option<Training<'a>>,
}

/// The tape, the seed and the update of a forward pass in training.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// Records operations for the backward pass.
    pub tape: &'a Tape,
    /// The seed of the run.
    pub seed: u64,
    /// The number of the update in the run.
    pub update: u32,
}

impl<'a> ForwardPass<'a> {
    /// A forward pass without a backward pass.
    pub fn inference(params: &'a Params) -> Self {
        ForwardPass { params, training: None }
    }

    /// A forward pass in training.
    pub fn training(params: &'a Params, training: Training<'a>) -> Self {
        ForwardPass { params, training: Some(training) }
    }

    /// The weights.
    pub fn params(&self) -> &'a Params {
        self.params
    }

    /// Returns a weight as a variable: the only way to a weight.
    pub fn var(&self, param: Param) -> Var {
        match self.training {
            Some(training) => training.tape.param(self.params, param),
            None => Var::constant(self.params.tensor(param)),
        }
    }

    /// Returns true in training.
    pub fn is_training(&self) -> bool {
        self.training.is_some()
    }

    /// The number of the update in the run, in training.
    pub fn update(&self) -> Option<u32> {
        self.training.map(|training| training.update)
    }

    /// Samples a number from 0 to below 1 for each packed row, in training. It follows from the path that it is sampled for, the
    /// sequence's example id and the step.
    pub(crate) fn draws(&self, layout: &SequenceLayout, path: &str) -> Option<Vec<f32>> {
        let Training { seed, update, .. } = self.training?;
        // Other numbers than those of dropout and of initial weights.
        let stream = Stream::new(seed ^ 0x776f_7264_7321_7721, hash_path(path));
        let draw = |(sequence, step): (usize, usize)| {
            unit(stream.at([update, layout.examples()[sequence], step as u32, 0])[0])
        };
        Some(layout.places().map(draw).collect())
    }

    /// Returns the mask of an operation that applies dropout inside, in training.
    pub fn dropout_mask(&self, layout: &Arc<SequenceLayout>, site: &DropoutSite) -> Option<ops::DropoutMask> {
        self.training.map(|Training { seed, update, .. }| ops::DropoutMask {
            how: site.in_update(seed, update),
            rows: Arc::clone(layout),
        })
    }

    /// Applies dropout to packed rows, in training.
    pub fn dropout(&self, x: Var, layout: &Arc<SequenceLayout>, site: &DropoutSite) -> Var {
        match self.training {
            Some(Training { seed, update, .. }) => ops::dropout(&x, layout, site.in_update(seed, update)),
            None => x,
        }
    }
}
