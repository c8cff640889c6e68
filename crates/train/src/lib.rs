//! The training of couplet's models.
//!
//! 1. A [`Config`] is a whole run as one TOML file; [`Config::read`] refuses what makes no sense, with its line.
//! 2. A [`Corpus`] is made from text: tokenizers are trained on it, pairs become ids.
//! 3. A [`Trainer`] joins them with a model. [`Trainer::run`] goes through the batches, makes one update after the other,
//!    validates now and then, keeps the best and the last weights in the model folder, and tells an observer and
//!    `train.jsonl` what happens.
//! 4. [`measure()`] makes the same updates to find how fast they are, and which operations take the time.

mod config;
mod corpus;
mod event;
mod measure;
mod trainer;
mod validate;

pub use config::{Config, ConfigFileError, DataConfig, Files, Schedule, Task, TrainConfig};
pub use corpus::{Corpus, Examples, read};
pub use event::{Event, Reason};
pub use measure::{Measured, Stretch, measure, peak_of_process};
pub use trainer::{TrainError, Trained, Trainer, Updated};
pub use validate::mean_loss;
