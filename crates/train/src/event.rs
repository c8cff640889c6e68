//! What a training run says while it goes on.

use serde::Serialize;

/// Something that happened, as a line of `train.jsonl` has it and as an observer sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The data is read and the model is made.
    Start {
        /// What there is to learn from.
        #[serde(flatten)]
        about: About,
        /// Numbers in the model.
        parameters: usize,
        /// Updates that are planned.
        updates: u64,
    },
    /// Some updates were made.
    Step {
        /// How many so far.
        update: u64,
        /// How far through the data, in epochs.
        epoch: f64,
        /// The mean loss of a target since the last of these events.
        loss: f64,
        /// Adam's rate.
        rate: f32,
        /// The norm of the last gradients.
        norm: f32,
        /// Tokens of both sides, a second.
        tokens_per_second: f64,
        /// Seconds since the start.
        seconds: f64,
    },
    /// The model was checked.
    Validation {
        /// After how many updates.
        update: u64,
        /// The mean loss of a target, without smoothing.
        loss: f64,
        /// The figure that says more to a reader.
        #[serde(flatten)]
        figure: Figure,
        /// Whether it is the best so far, and was saved.
        best: bool,
        /// Seconds since the start.
        seconds: f64,
    },
    /// The end.
    End {
        /// Why.
        reason: Reason,
        /// How many updates were made.
        update: u64,
        /// The best loss on the validation set.
        best_loss: f64,
        /// Seconds since the start.
        seconds: f64,
    },
}

/// What there is to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum About {
    /// Sources and targets.
    Pairs {
        /// How many.
        pairs: usize,
        /// Pairs that were left out because they are too long.
        left_out: usize,
        /// Tokens in both dictionaries.
        vocabularies: [usize; 2],
    },
    /// Texts with labels.
    Texts {
        /// How many.
        texts: usize,
        /// How many of them were cut because they are too long.
        cut: usize,
        /// Tokens in the dictionary.
        vocabulary: usize,
        /// What a text can be.
        labels: usize,
    },
}

/// How well a model does, in the words of its task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// `e^loss`
    Perplexity(f64),
    /// The share of labels that are right, from 0 to 100.
    Accuracy(f64),
}

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reason {
    /// All that was planned is done.
    Done,
    /// The validation loss has not improved for as long as the config allows.
    Patience,
    /// The minutes are over.
    Time,
    /// Somebody asked for it.
    Stopped,
}
