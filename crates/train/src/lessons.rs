//! What a task is to the training loop.

use crate::error::TrainError;
use crate::event::{DatasetSummary, MetricValue};
use crate::inherit::Inherited;
use crate::train_config::TrainConfig;
use couplet_data::{DataError, Example, Feed, Skipped, Tokenizer, TokenizerConfig};
use couplet_nn::{EmbeddingConfig, ForwardPass, LossStats};
use couplet_search::{Folder, Manifest};
use couplet_tensor::Params;
use std::path::PathBuf;

/// The config of a run, whichever its task.
pub trait RunConfig {
    /// Its table `[train]`.
    fn train(&self) -> &TrainConfig;

    /// How its sources become tokens, and its targets, where it says so.
    fn tokenizers(&mut self) -> [Option<&mut TokenizerConfig>; 2];

    /// The vectors of its tokens, each with the part of the model that they belong to: `encoder`, `decoder`.
    fn embeddings(&self) -> Vec<(&'static str, &EmbeddingConfig)>;

    /// As TOML.
    fn to_toml(&self) -> String;

    /// What [`RunConfig::to_toml`] wrote, in an earlier version perhaps: keys that were not there then have their defaults. None where
    /// it is of another task, or has keys that are not there any more.
    fn of_toml(text: &str) -> Option<Self>
    where
        Self: Sized;
}

/// All that a run learns from: examples, some of them to check it with, and the model that they are for.
pub trait Lessons: Sized {
    /// Its config.
    type Config: RunConfig;
    /// What learns.
    type Model;

    /// Reads the files that a config names. Tokenizers that are inherited take the place of those that it would train.
    fn read(config: &Self::Config, inherited: Inherited) -> Result<Self, DataError>;

    /// Lines of the files that could not be used and were left out.
    fn skipped(&self) -> &Skipped;

    /// Makes the model and adds its parameters; refuses examples that nothing can be learned from.
    fn model(&self, params: &mut Params, config: &Self::Config) -> Result<Self::Model, TrainError>;

    /// The tokenizer of a part of the model: `encoder` or `decoder`.
    fn tokenizer(&self, part: &str) -> &Tokenizer;

    /// What there is to learn from.
    fn about(&self) -> DatasetSummary;

    /// The files of a model folder besides `model.toml`, config and weights.
    fn files(&self, folder: &Folder) -> Vec<(PathBuf, String)>;

    /// What a model folder says of the model in `model.toml`.
    fn manifest(&self) -> Manifest {
        Manifest::new(None)
    }

    /// The training examples, batch after batch.
    fn feed(&self, config: &Self::Config) -> Result<Feed, DataError>;

    /// The tokens that the sides of an example take of a batch, given how many ids they have.
    fn cost(lengths: (u32, u32)) -> (u32, u32);

    /// The loss of some training examples.
    fn loss(
        &self,
        model: &Self::Model,
        pass: &ForwardPass,
        examples: &[Example],
        config: &Self::Config,
    ) -> LossStats;

    /// How many targets these training examples have: tokens or labels.
    fn targets(&self, examples: &[Example]) -> usize;

    /// Checksums of the training examples, and of what the model is checked with.
    fn checksums(&self) -> [u32; 2];

    /// How well the model predicts what it does not learn from.
    fn validate(&self, model: &Self::Model, params: &Params, config: &Self::Config) -> Validated;
}

/// How well a model predicts.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Validated {
    /// The mean loss of a target, without smoothing.
    pub loss: f64,
    /// The figure that says more to a reader.
    pub figure: MetricValue,
    /// The BLEU of what a search finds, where that is wanted.
    pub bleu: Option<f64>,
}

impl Validated {
    /// The task's metric: the larger, the better.
    pub(crate) fn metric(&self) -> Option<f64> {
        match self.figure {
            MetricValue::Accuracy(percent) => Some(percent),
            MetricValue::Perplexity(_) => self.bleu,
        }
    }
}
