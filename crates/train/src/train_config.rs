//! The table `[train]`: how long, how fast, and what is kept.

use crate::config::ConfigFileError;
use couplet_tensor::optimizer::Rule;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The table `[train]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TrainConfig {
    /// How often to go through the training data.
    pub epochs: u64,
    /// The most updates, whatever the epochs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_updates: Option<u64>,
    /// The most minutes, whatever the epochs; those before a stop count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub minutes: Option<f64>,
    /// Tokens of both sides in a batch.
    pub batch_tokens: usize,
    /// Batches whose gradients make one update.
    pub gradient_accumulation_steps: usize,
    /// The most memory in GiB; a batch that needs more is computed in parts. Without it, what the system has free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_limit_gib: Option<f64>,
    /// What makes new weights of gradients.
    pub optimizer: OptimizerKind,
    /// The learning rate.
    pub learning_rate: f32,
    /// How much Adam and Lion remember of earlier gradients, and of their squares.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub betas: Option<[f32; 2]>,
    /// How much SGD remembers of earlier gradients.
    pub momentum: f32,
    /// What `rate · weight_decay` of each weight is lost in an update. AdamW's own is 0.01, that of the others 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight_decay: Option<f32>,
    /// How the rate goes on.
    pub schedule: Schedule,
    /// Updates in which the rate rises from zero.
    pub warmup: u64,
    /// With the schedule `plateau`: validations without a better one before the rate goes down.
    pub plateau_patience: u32,
    /// With the schedule `plateau`: what the rate is multiplied with then.
    pub plateau_factor: f32,
    /// The largest norm of all gradients together.
    pub clip_grad_norm: f32,
    /// The share of a target that is spread over all that it could be: tokens or labels. Where nothing is said, each task has
    /// its own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label_smoothing: Option<f32>,
    /// The share of the tokens that a decoder reads which are its own guesses, and not those of the target.
    pub scheduled_sampling: f32,
    /// Updates in which that share rises from zero.
    pub scheduled_sampling_warmup: u64,
    /// What a moving average of the weights keeps of itself in an update at most, 0.999 for example; it is then what is validated and
    /// saved as the model. 0 for none.
    pub ema_decay: f32,
    /// What to do about a loss or a gradient that is no finite number.
    pub on_non_finite: OnNonFinite,
    /// Updates between validations.
    pub validate_every: u64,
    /// Lines of the validation set that are translated for the metric; 0 for none.
    pub validation_translations: usize,
    /// What makes a model the best.
    pub best_model_metric: BestModelMetric,
    /// Stop after so many validations without a better one; 0 for never.
    pub patience: u32,
    /// Updates between checkpoints; without it, those between validations.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub checkpoint_every: Option<u64>,
    /// How many checkpoints are kept, the last ones.
    pub keep_checkpoints: usize,
    /// Whether to write event files for TensorBoard.
    pub tensorboard: bool,
    /// What all random numbers follow from.
    pub seed: u64,
    /// A model folder whose weights the run begins with, as far as both models have them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub init_from: Option<PathBuf>,
    /// The parts of that model that are taken; without a list, all that this model has, too.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub init_modules: Vec<String>,
    /// The parts of this model that do not learn.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub freeze: Vec<String>,
    /// For how many updates they do not; 0 for all of them.
    #[serde(skip_serializing_if = "is_zero")]
    pub freeze_updates: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// What makes new weights of gradients.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OptimizerKind {
    /// Adam.
    #[default]
    Adam,
    /// Adam with a decay of the weights.
    Adamw,
    /// Stochastic gradient descent with momentum.
    Sgd,
    /// Adafactor.
    Adafactor,
    /// Lion.
    Lion,
}

/// How the learning rate goes on after the warm-up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// It stays.
    #[default]
    Constant,
    /// `rate · √(warm-up / update)`
    InverseSqrt,
    /// Down to zero at the last planned update, along half a cosine.
    Cosine,
    /// Down to zero at the last planned update, along a line.
    Linear,
    /// It goes down by a factor whenever validation does not get better.
    Plateau,
}

impl Schedule {
    /// Whether the rate depends on which update is the last.
    pub fn ends_at_zero(self) -> bool {
        matches!(self, Schedule::Cosine | Schedule::Linear)
    }
}

/// What makes a model the best.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BestModelMetric {
    /// The lowest loss on the validation set.
    #[default]
    Loss,
    /// The lowest perplexity, which is the lowest loss.
    Perplexity,
    /// The highest figure of the task: BLEU of a translation, accuracy of a classifier.
    Metric,
}

/// What to do about a loss or a gradient that is no finite number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OnNonFinite {
    /// Stop, and say where.
    #[default]
    Stop,
    /// Leave the update out, and count it.
    Skip,
}

impl Default for TrainConfig {
    fn default() -> Self {
        TrainConfig {
            epochs: 10,
            max_updates: None,
            minutes: None,
            batch_tokens: 4096,
            gradient_accumulation_steps: 1,
            memory_limit_gib: None,
            optimizer: OptimizerKind::default(),
            learning_rate: 1e-3,
            betas: None,
            momentum: 0.9,
            weight_decay: None,
            schedule: Schedule::default(),
            warmup: 0,
            plateau_patience: 1,
            plateau_factor: 0.5,
            clip_grad_norm: 1.0,
            label_smoothing: None,
            scheduled_sampling: 0.0,
            scheduled_sampling_warmup: 0,
            ema_decay: 0.0,
            on_non_finite: OnNonFinite::default(),
            validate_every: 200,
            validation_translations: 0,
            best_model_metric: BestModelMetric::default(),
            patience: 5,
            checkpoint_every: None,
            keep_checkpoints: 2,
            tensorboard: false,
            seed: 1,
            init_from: None,
            init_modules: Vec::new(),
            freeze: Vec::new(),
            freeze_updates: 0,
        }
    }
}

impl TrainConfig {
    /// The rate of an update, the first being 1, of so many that are planned.
    pub fn rate_at(&self, update: u64, planned: u64) -> f32 {
        if update < self.warmup {
            return self.learning_rate * update as f32 / self.warmup as f32;
        }
        // The share of the way down that lies behind the updates before this one.
        let behind = || {
            let length = planned.saturating_sub(self.warmup).max(1);
            ((update - 1).saturating_sub(self.warmup) as f32 / length as f32).min(1.0)
        };
        match self.schedule {
            Schedule::Constant | Schedule::Plateau => self.learning_rate,
            Schedule::InverseSqrt => self.learning_rate * (self.warmup.max(1) as f32 / update as f32).sqrt(),
            Schedule::Cosine => self.learning_rate * 0.5 * (1.0 + (std::f32::consts::PI * behind()).cos()),
            Schedule::Linear => self.learning_rate * (1.0 - behind()),
        }
    }

    /// With the folder that it names as it is seen from another one.
    pub(crate) fn relative_to(&mut self, folder: &Path) {
        self.init_from = self.init_from.take().map(|path| folder.join(path));
    }

    /// For how many updates the parts of `freeze` stay as they are; none for all of them.
    pub fn frozen_for(&self) -> Option<u64> {
        (self.freeze_updates > 0).then_some(self.freeze_updates)
    }

    /// Updates between checkpoints.
    pub fn checkpoint_every(&self) -> u64 {
        self.checkpoint_every.unwrap_or(self.validate_every)
    }

    /// The share of guesses in an update, the first being 0.
    pub(crate) fn scheduled_sampling_at(&self, update: Option<u32>) -> f32 {
        let warmup = self.scheduled_sampling_warmup.max(1) as f32;
        let risen = update.map_or(0.0, |update| ((update as f32 + 1.0) / warmup).min(1.0));
        self.scheduled_sampling * risen
    }

    /// The optimizer's rule.
    pub fn rule(&self) -> Rule {
        let decay = |usual: f32| self.weight_decay.unwrap_or(usual);
        let betas = |usual: [f32; 2]| self.betas.unwrap_or(usual);
        let adam = |decay| Rule::Adam { betas: betas([0.9, 0.999]), epsilon: 1e-8, decay };
        match self.optimizer {
            OptimizerKind::Adam => adam(decay(0.0)),
            OptimizerKind::Adamw => adam(decay(0.01)),
            OptimizerKind::Sgd => Rule::Sgd { momentum: self.momentum },
            OptimizerKind::Adafactor => Rule::Adafactor { decay: decay(0.0) },
            OptimizerKind::Lion => Rule::Lion { betas: betas([0.9, 0.99]), decay: decay(0.0) },
        }
    }

    pub(crate) fn check(&self, name: &str) -> Result<(), ConfigFileError> {
        let above_zero = |x: f32| x > 0.0 && x.is_finite();
        let share = |x: f32| (0.0..1.0).contains(&x);
        let betas = self.betas.unwrap_or_default();
        let smoothing = self.label_smoothing.unwrap_or_default();
        let decay = self.weight_decay.unwrap_or_default();
        let fraction = "a share from 0 to below 1";
        let sampling = self.scheduled_sampling;
        let minutes = self.minutes.unwrap_or(f64::INFINITY);
        let rules: [(bool, &str, String, &str); 14] = [
            (
                above_zero(self.learning_rate),
                "learning_rate",
                self.learning_rate.to_string(),
                "a number above 0",
            ),
            (minutes > 0.0, "minutes", minutes.to_string(), "a number above 0"),
            (
                self.clip_grad_norm > 0.0,
                "clip_grad_norm",
                self.clip_grad_norm.to_string(),
                "a number above 0",
            ),
            (share(smoothing), "label_smoothing", smoothing.to_string(), fraction),
            (betas.into_iter().all(share), "betas", format!("{betas:?}"), "two shares from 0 to below 1"),
            (share(self.momentum), "momentum", self.momentum.to_string(), fraction),
            (decay >= 0.0 && decay.is_finite(), "weight_decay", decay.to_string(), "0 or above"),
            (
                (0.0..=1.0).contains(&sampling),
                "scheduled_sampling",
                sampling.to_string(),
                "a share from 0 to 1",
            ),
            (share(self.ema_decay), "ema_decay", self.ema_decay.to_string(), fraction),
            (
                above_zero(self.plateau_factor) && self.plateau_factor < 1.0,
                "plateau_factor",
                self.plateau_factor.to_string(),
                "a number between 0 and 1",
            ),
            (
                self.gradient_accumulation_steps > 0,
                "gradient_accumulation_steps",
                self.gradient_accumulation_steps.to_string(),
                "at least 1",
            ),
            (self.validate_every > 0, "validate_every", self.validate_every.to_string(), "at least 1"),
            (
                self.checkpoint_every() > 0,
                "checkpoint_every",
                self.checkpoint_every().to_string(),
                "at least 1",
            ),
            (self.keep_checkpoints > 0, "keep_checkpoints", self.keep_checkpoints.to_string(), "at least 1"),
        ];
        let wrong = |message: &str, hint| Err(ConfigFileError::refused(name, message, hint));
        if self.init_from.is_none() && !self.init_modules.is_empty() {
            return wrong(
                "train.init_modules without train.init_from",
                "name the model folder that they are taken from",
            );
        }
        if sampling == 0.0 && self.scheduled_sampling_warmup > 0 {
            return wrong(
                "train.scheduled_sampling_warmup without train.scheduled_sampling",
                "say which share of the tokens it rises to",
            );
        }
        if self.freeze.is_empty() && self.freeze_updates > 0 {
            return wrong("train.freeze_updates without train.freeze", "name the parts that do not learn");
        }
        match rules.into_iter().find(|(kept, ..)| !kept) {
            Some((_, key, value, hint)) => {
                Err(ConfigFileError::refused(name, format!("train.{key} = {value}"), hint))
            }
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(schedule: Schedule, updates: [u64; 6]) -> [f32; 6] {
        let config = TrainConfig { learning_rate: 1.0, warmup: 4, schedule, ..TrainConfig::default() };
        updates.map(|update| config.rate_at(update, 12))
    }

    /// With a warm-up of 4 and a rate of 1: 1/4, 1/2, 3/4, 1, then √(4/5), and √(4/16) = 1/2.
    #[test]
    fn rates_by_hand() {
        let rates = rates(Schedule::InverseSqrt, [1, 2, 3, 4, 5, 16]);
        assert_eq!(rates, [0.25, 0.5, 0.75, 1.0, 0.8f32.sqrt(), 0.5]);
    }

    /// Up to half of the tokens, after four updates: an eighth, a quarter, three eighths, a half, and so on; none without training.
    #[test]
    fn shares_of_guesses_by_hand() {
        let with = |warmup| TrainConfig {
            scheduled_sampling: 0.5,
            scheduled_sampling_warmup: warmup,
            ..TrainConfig::default()
        };
        let shares = [0, 1, 2, 3, 9].map(|update| with(4).scheduled_sampling_at(Some(update)));
        assert_eq!(shares, [0.125, 0.25, 0.375, 0.5, 0.5]);
        assert_eq!([with(0).scheduled_sampling_at(Some(0)), with(0).scheduled_sampling_at(None)], [0.5, 0.0]);
    }

    /// Twelve updates are planned, eight of them after the warm-up: the 5th has the whole rate, the 7th has two eighths of the way
    /// behind it, the 9th half of it, and the 12th seven eighths. Half a cosine is ½(1 + cos 45°) = 0.853553 after a quarter.
    #[test]
    fn rates_that_go_down_by_hand() {
        assert_eq!(rates(Schedule::Linear, [2, 5, 7, 9, 12, 40]), [0.5, 1.0, 0.75, 0.5, 0.125, 0.0]);
        let [warm, first, quarter, half, _, after] = rates(Schedule::Cosine, [2, 5, 7, 9, 12, 40]);
        assert_eq!([warm, first], [0.5, 1.0]);
        assert!((quarter - 0.853_553).abs() < 1e-6 && (half - 0.5).abs() < 1e-6 && after.abs() < 1e-6);
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        let said = |config: TrainConfig| config.check("c.toml").unwrap_err().to_string();
        let usual = TrainConfig::default;
        assert_eq!(said(TrainConfig { learning_rate: -1.0, ..usual() }), "c.toml: train.learning_rate = -1");
        assert_eq!(
            said(TrainConfig { gradient_accumulation_steps: 0, ..usual() }),
            "c.toml: train.gradient_accumulation_steps = 0"
        );
        assert_eq!(
            said(TrainConfig { betas: Some([0.9, 1.0]), ..usual() }),
            "c.toml: train.betas = [0.9, 1.0]"
        );
        assert!(usual().check("c.toml").is_ok());
    }
}
