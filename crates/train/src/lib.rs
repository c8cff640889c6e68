//! The training of couplet's models.
//!
//! 1. A config is a whole run as one TOML file: a [`Config`] to translate, a [`ClassifyConfig`] to classify, a
//!    [`LanguageConfig`] to go on with texts, an [`AnyConfig`]
//!    where the file decides. Reading refuses what makes no sense, with its line.
//! 2. [`Lessons`] are made from text: tokenizers are trained on it, pairs or labeled texts become ids. A [`Corpus`] is to
//!    translate, a [`LabeledCorpus`] to classify, a [`TextCorpus`] to go on with texts. What a run takes over from another model, it has
//!    [`Inherited`].
//! 3. A [`Trainer`] joins them with a model, whichever the task. [`Trainer::run`] goes through the batches, makes one update after the other,
//!    validates now and then, keeps the best weights in the model folder with checkpoints beside them, and tells an observer and
//!    `train.jsonl` what happens. [`Trainer::resume`] goes on with a run that was stopped, to the same bits.
//! 4. [`measure()`] makes the same updates to find how fast they are, and which operations take the time.

mod average;
mod beginning;
mod card;
mod checkpoint;
mod classify;
mod config;
mod corpus;
mod error;
mod event;
mod inherit;
mod language;
mod lessons;
mod log;
mod measure;
mod prepared;
mod renamed;
mod same_run;
mod store;
mod tensorboard;
mod train_config;
mod trainer;
mod training_set;
mod validate;
mod vectors;

pub use average::{AverageError, average};
pub use classify::{
    Assessed, ClassifyConfig, ClassifyDataConfig, LabeledCorpus, LabeledExamples, assess, read_labeled,
};
pub use config::{AnyConfig, Config, ConfigFileError, DataConfig};
pub use corpus::{Corpus, Examples, batch_of, read, read_same, tokenizers_of};
pub use couplet_search::Task;
pub use error::TrainError;
pub use event::{DatasetSummary, Event, MetricValue, Reason};
pub use inherit::Inherited;
pub use language::{LanguageConfig, LanguageDataConfig, TextCorpus};
pub use lessons::{Lessons, RunConfig, Validated};
pub use measure::{Measured, Stretch, measure, peak_of_process};
pub use prepared::{Preparing, Report, Watch, prepare, report};
pub use renamed::RENAMED_KEYS;
pub use train_config::{BestModelMetric, OnNonFinite, OptimizerKind, Schedule, TrainConfig};
pub use trainer::{Trained, Trainer, Updated};
pub use training_set::{Cost, TrainingSet};
pub use validate::mean_loss;
