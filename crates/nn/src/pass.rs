//! One pass through a model: where its weights come from, and whether it learns.

use crate::layer::DropoutSite;
use couplet_tensor::ops;
use couplet_tensor::random::{Stream, hash_path, unit};
use couplet_tensor::{Param, Params, SequenceLayout, Tape, Var};
use std::sync::Arc;

/// One pass through a model. While training, weights are on a tape and numbers are dropped; else neither.
#[derive(Clone, Copy, Debug)]
pub struct Pass<'a> {
    params: &'a Params,
    training: Option<Training<'a>>,
}

/// What a training pass has besides the weights.
#[derive(Clone, Copy, Debug)]
pub struct Training<'a> {
    /// Where the way back is recorded.
    pub tape: &'a Tape,
    /// The seed of the run.
    pub seed: u64,
    /// Which update of the run it is.
    pub update: u32,
}

impl<'a> Pass<'a> {
    /// A pass that only computes.
    pub fn inference(params: &'a Params) -> Self {
        Pass { params, training: None }
    }

    /// A pass that can go back.
    pub fn training(params: &'a Params, training: Training<'a>) -> Self {
        Pass { params, training: Some(training) }
    }

    /// The weights.
    pub fn params(&self) -> &'a Params {
        self.params
    }

    /// A weight as a variable.
    pub fn var(&self, param: Param) -> Var {
        match self.training {
            Some(training) => training.tape.param(self.params, param),
            None => Var::constant(self.params.tensor(param)),
        }
    }

    /// Whether it learns.
    pub fn is_training(&self) -> bool {
        self.training.is_some()
    }

    /// Which update of the run it is, while training.
    pub fn update(&self) -> Option<u32> {
        self.training.map(|training| training.update)
    }

    /// A random number from 0 to below 1 for each packed row, while training: one that follows from the path of what it is drawn for,
    /// the sequence's own number and its step.
    pub(crate) fn draws(&self, rows: &SequenceLayout, path: &str) -> Option<Vec<f32>> {
        let Training { seed, update, .. } = self.training?;
        // Not the numbers that dropout or the first weights are drawn from.
        let stream = Stream::new(seed ^ 0x776f_7264_7321_7721, hash_path(path));
        let draw = |(place, step): (usize, usize)| {
            unit(stream.at([update, rows.examples()[place], step as u32, 0])[0])
        };
        Some(rows.places().map(draw).collect())
    }

    /// Dropout inside of an operation, while training; as [`Pass::dropout`] otherwise.
    pub fn dropped(&self, rows: &Arc<SequenceLayout>, site: &DropoutSite) -> Option<ops::DropoutMask> {
        self.training.map(|Training { seed, update, .. }| ops::DropoutMask {
            how: site.in_update(seed, update),
            rows: Arc::clone(rows),
        })
    }

    /// Drops numbers of packed rows while training.
    pub fn dropout(&self, x: Var, rows: &Arc<SequenceLayout>, site: &DropoutSite) -> Var {
        match self.training {
            Some(Training { seed, update, .. }) => ops::dropout(&x, rows, site.in_update(seed, update)),
            None => x,
        }
    }
}
