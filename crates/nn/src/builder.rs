//! Building a model: names of parameters, their initial values, and the random streams of dropout.

use crate::layers::{Dropout, DropoutSite};
use couplet_tensor::{Init, Param, Params};
use std::fmt::Display;
use std::ops::Range;

/// Adds the parameters of a module, under its path.
///
/// Initial values and dropout masks follow from paths, so modules may be built in any order.
///
/// ```
/// use couplet_nn::ModelBuilder;
/// use couplet_tensor::{Init, Params};
///
/// let mut params = Params::planned();
/// let mut builder = ModelBuilder::new(&mut params);
/// let weight = builder.child("decoder").child("output").add("weight", 5, 4, Init::Uniform(0.1));
/// assert_eq!(params.name(weight), "decoder.output.weight");
/// ```
#[derive(Debug)]
pub struct ModelBuilder<'p> {
    params: &'p mut Params,
    /// The names of all modules around, each with a dot behind.
    path: String,
}

impl ModelBuilder<'_> {
    /// The builder of a whole model.
    pub fn new(params: &mut Params) -> ModelBuilder<'_> {
        ModelBuilder { params, path: String::new() }
    }

    /// The builder of a module inside.
    pub fn child(&mut self, name: impl Display) -> ModelBuilder<'_> {
        ModelBuilder { path: format!("{}{name}.", self.path), params: self.params }
    }

    /// Adds a parameter.
    pub fn add(&mut self, name: &str, rows: usize, columns: usize, init: Init) -> Param {
        self.params.add(&format!("{}{name}", self.path), rows, columns, init)
    }

    /// Replaces some initial values of a parameter, `range` of its elements, by one value.
    pub fn fill(&mut self, param: Param, range: Range<usize>, value: f32) {
        self.params.fill(param, range, value);
    }

    /// Adds a dropout site.
    pub fn dropout(&mut self, name: &str, dropout: Dropout) -> DropoutSite {
        DropoutSite::new(self.params.claim_stream(&format!("{}{name}", self.path)), dropout)
    }
}
