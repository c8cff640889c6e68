//! The training loop.

use crate::event::{Event, Reason};
use crate::lessons::{BatchLoss, Lessons, RunConfig, Validated};
use couplet_data::{Batches, DataError, Position, write_whole};
use couplet_nn::weights::{self, WeightsError};
use couplet_nn::{ConfigError, Pass, Training};
use couplet_search::Folder;
use couplet_tensor::optimiser::Optimiser;
use couplet_tensor::{Device, Params, Tape, Tensor};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use thiserror::Error;

/// Updates between two [`Event::Step`]s.
const REPORT_EVERY: u64 = 10;

/// Why a run failed.
#[derive(Debug, Error)]
pub enum TrainError {
    /// The data cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// The model cannot be made.
    #[error(transparent)]
    Model(#[from] ConfigError),
    /// Nothing is left to learn from.
    #[error("no pair of the training data has at most {max_tokens} tokens on each side")]
    NothingToLearn {
        /// The limit.
        max_tokens: usize,
    },
    /// The folder holds a model already.
    #[error("{}: holds a model already", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// A file cannot be written.
    #[error("{}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The weights cannot be turned into a file.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// The loss is not a number any more.
    #[error("the loss of update {update} is {loss}")]
    Diverged {
        /// Which update.
        update: u64,
        /// What it was.
        loss: f32,
    },
}

impl TrainError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some(match self {
            TrainError::Data(error) => return error.hint(),
            TrainError::Model(error) => error.hint(),
            TrainError::NothingToLearn { .. } => "raise data.max_tokens".to_owned(),
            TrainError::Occupied { .. } => "choose another --out, or remove the folder".to_owned(),
            TrainError::Write { .. } => {
                "check that you may write there and that the disk has room; what was there before is unchanged".to_owned()
            }
            TrainError::Weights(_) => return None,
            TrainError::Diverged { .. } => "lower train.rate, or raise train.warmup".to_owned(),
        })
    }
}

/// A run: its settings, its data, its model, and where the model goes.
#[derive(Debug)]
pub struct Trainer<L: Lessons> {
    config: L::Config,
    lessons: L,
    model: L::Model,
    params: Params,
    adam: Optimiser,
    /// How many have been made.
    updates: u64,
    /// None for a run that writes nothing.
    folder: Option<Folder>,
}

/// What one update did.
#[derive(Debug)]
pub struct Updated {
    /// The mean loss of a target, before the update.
    pub loss: f32,
    /// The norm of the gradients before clipping. On a GPU, reading it waits.
    pub norm: Option<Tensor>,
    /// Targets in the batch: tokens or labels.
    pub targets: usize,
    /// Tokens of both sides.
    pub tokens: usize,
}

/// A trained model.
#[derive(Debug)]
pub struct Trained<L: Lessons> {
    /// What it was trained on, with its tokenizers.
    pub lessons: L,
    /// The model.
    pub model: L::Model,
    /// Its last weights.
    pub params: Params,
    /// The best loss on the validation set.
    pub best_loss: f64,
    /// How many updates were made.
    pub updates: u64,
}

/// What changes while the run goes on.
struct Progress<'a> {
    start: Instant,
    observer: &'a mut dyn FnMut(&Event),
    log: Option<(PathBuf, File)>,
    best_loss: f64,
    without_improvement: u32,
}

impl Progress<'_> {
    fn seconds(&self) -> f64 {
        self.start.elapsed().as_secs_f64()
    }

    fn say(&mut self, event: &Event) -> Result<(), TrainError> {
        if let Some((path, file)) = &mut self.log {
            let mut line = serde_json::to_string(event).expect("an event is plain values");
            line.push('\n');
            file.write_all(line.as_bytes()).map_err(write_error(path))?;
        }
        (self.observer)(event);
        Ok(())
    }
}

fn write_error(path: &Path) -> impl FnOnce(std::io::Error) -> TrainError {
    let path = path.to_owned();
    move |source| TrainError::Write { path, source }
}

/// Sums between two reports.
#[derive(Default)]
struct Recent {
    loss: f64,
    targets: usize,
    tokens: usize,
    seconds: f64,
}

impl Recent {
    fn add(&mut self, updated: &Updated, seconds: f64) {
        self.loss += f64::from(updated.loss) * updated.targets as f64;
        self.targets += updated.targets;
        self.tokens += updated.tokens;
        self.seconds += seconds;
    }
}

impl<L: Lessons> Trainer<L> {
    /// Makes the model for its lessons, and the folder it goes to.
    pub fn new(
        config: L::Config,
        lessons: L,
        device: &Device,
        folder: Option<Folder>,
    ) -> Result<Trainer<L>, TrainError> {
        let mut params = Params::new(device, config.train().seed);
        let model = lessons.model(&mut params, &config)?;
        let adam = Optimiser::adam().clipped(config.train().clip);
        let trainer = Trainer { config, lessons, model, params, adam, updates: 0, folder };
        trainer.prepare_folder()?;
        Ok(trainer)
    }

    fn prepare_folder(&self) -> Result<(), TrainError> {
        let Some(folder) = &self.folder else { return Ok(()) };
        if folder.weights().exists() {
            return Err(TrainError::Occupied { path: folder.path().to_owned() });
        }
        let checkpoint = folder.last_checkpoint();
        let checkpoints = checkpoint.parent().expect("a checkpoint lies in a folder");
        fs::create_dir_all(checkpoints).map_err(write_error(checkpoints))?;
        let config = (folder.config(), self.config.to_toml());
        std::iter::once(config)
            .chain(self.lessons.files(folder))
            .try_for_each(|(path, text)| write_whole(&path, text.as_bytes()).map_err(write_error(&path)))
    }

    /// The batches that it learns from.
    pub fn batches(&self) -> Batches {
        let train = self.config.train();
        Batches::new(&self.lessons.lengths(), train.batch_tokens, train.seed)
    }

    /// Trains until the limits of the config, or until `stop` is set. `observer` sees every event.
    pub fn run(
        mut self,
        observer: &mut dyn FnMut(&Event),
        stop: &AtomicBool,
    ) -> Result<Trained<L>, TrainError> {
        let train = self.config.train().clone();
        let batches = self.batches();
        let per_epoch = batches.epoch(0).len() as u64;
        let updates = train.steps.unwrap_or(u64::MAX).min(train.epochs.saturating_mul(per_epoch));
        let log = match &self.folder {
            Some(folder) => {
                let path = folder.log();
                let file = File::create(&path).map_err(write_error(&path))?;
                Some((path, file))
            }
            None => None,
        };
        let mut progress = Progress {
            start: Instant::now(),
            observer,
            log,
            best_loss: f64::INFINITY,
            without_improvement: 0,
        };
        progress.say(&Event::Start {
            about: self.lessons.about(),
            parameters: self.params.count(),
            updates,
        })?;

        let mut recent = Recent::default();
        let mut reason = Reason::Done;
        for stop_at in batches.starting_at(Position::default()) {
            if self.updates >= updates {
                break;
            }
            let began = Instant::now();
            let updated = self.update(&stop_at.examples)?;
            recent.add(&updated, began.elapsed().as_secs_f64());
            if self.updates.is_multiple_of(REPORT_EVERY) {
                self.report(&mut progress, &mut recent, updated.norm, per_epoch)?;
            }
            if self.updates.is_multiple_of(train.validate_every) {
                self.validate(&mut progress)?;
                recent = Recent::default();
                if train.patience > 0 && progress.without_improvement >= train.patience {
                    reason = Reason::Patience;
                    break;
                }
            }
            if stop.load(Ordering::Relaxed) {
                reason = Reason::Stopped;
                break;
            }
            if train.minutes.is_some_and(|minutes| progress.seconds() > minutes * 60.0) {
                reason = Reason::Time;
                break;
            }
        }
        if !self.updates.is_multiple_of(train.validate_every) || self.updates == 0 {
            self.validate(&mut progress)?;
        }
        let end = Event::End {
            reason,
            update: self.updates,
            best_loss: progress.best_loss,
            seconds: progress.seconds(),
        };
        progress.say(&end)?;
        let (best_loss, updates) = (progress.best_loss, self.updates);
        Ok(Trained { lessons: self.lessons, model: self.model, params: self.params, best_loss, updates })
    }

    /// One update: forward, backward, and new weights, for a batch of the training examples.
    pub fn update(&mut self, examples: &[u32]) -> Result<Updated, TrainError> {
        let train = self.config.train();
        let tape = Tape::new();
        let training = Training { tape: &tape, seed: train.seed, update: self.updates as u32 };
        let pass = Pass::training(&self.params, training);
        let BatchLoss { mean: loss, targets, tokens } =
            self.lessons.loss(&self.model, &pass, examples, &self.config);
        self.updates += 1;
        tape.backward(&loss, &mut self.params);
        let norm = self.adam.step(&mut self.params, train.rate_at(self.updates));
        // Read last: on a GPU it waits for all that has been asked for.
        let loss = loss.value().item();
        if !loss.is_finite() {
            return Err(TrainError::Diverged { update: self.updates, loss });
        }
        Ok(Updated { loss, norm, targets, tokens })
    }

    fn report(
        &self,
        progress: &mut Progress<'_>,
        recent: &mut Recent,
        norm: Option<Tensor>,
        per_epoch: u64,
    ) -> Result<(), TrainError> {
        let Recent { loss, targets, tokens, seconds } = std::mem::take(recent);
        let event = Event::Step {
            update: self.updates,
            epoch: self.updates as f64 / per_epoch as f64,
            loss: loss / targets.max(1) as f64,
            rate: self.config.train().rate_at(self.updates),
            norm: norm.map_or(0.0, |norm| norm.item()),
            tokens_per_second: tokens as f64 / seconds.max(1e-9),
            seconds: progress.seconds(),
        };
        progress.say(&event)
    }

    /// Checks the model, and saves it: as the best one if it is, and as the last one.
    fn validate(&self, progress: &mut Progress<'_>) -> Result<(), TrainError> {
        let batch_tokens = self.config.train().batch_tokens;
        let Validated { loss, figure } = self.lessons.validate(&self.model, &self.params, batch_tokens);
        let best = loss < progress.best_loss;
        if best {
            (progress.best_loss, progress.without_improvement) = (loss, 0);
        } else {
            progress.without_improvement += 1;
        }
        if let Some(folder) = &self.folder {
            let bytes = weights::to_bytes(&self.params)?;
            let paths = [Some(folder.last_checkpoint()), best.then(|| folder.weights())];
            paths
                .iter()
                .flatten()
                .try_for_each(|path| write_whole(path, &bytes).map_err(write_error(path)))?;
        }
        let (update, seconds) = (self.updates, progress.seconds());
        progress.say(&Event::Validation { update, loss, figure, best, seconds })
    }
}
