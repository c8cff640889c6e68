//! What a training run says while it goes on.

use serde::Serialize;
use std::path::PathBuf;

/// Something that happened, as a line of `train.jsonl` has it and as an observer sees it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub enum Event {
    /// The data is read and the model is made.
    Start {
        /// What there is to learn from.
        #[serde(flatten)]
        about: DatasetSummary,
        /// Numbers in the model.
        parameters: usize,
        /// Updates that are planned; none where a stream must be read to its end to know.
        #[serde(skip_serializing_if = "Option::is_none")]
        updates: Option<u64>,
        /// The most minutes, where there is a limit.
        #[serde(skip_serializing_if = "Option::is_none")]
        minutes: Option<f64>,
        /// The version of the program.
        version: &'static str,
        /// What computes, in words.
        device: String,
        /// What all random numbers follow from.
        seed: u64,
    },
    /// Weights were taken over from another model.
    Initialized {
        /// Its folder.
        from: PathBuf,
        /// The parts that they belong to.
        modules: Vec<String>,
        /// How many numbers.
        parameters: usize,
        /// Whether a tokenizer came along.
        tokenizer: bool,
    },
    /// Tokens have word vectors of a file.
    Vectors {
        /// The part of the model: `encoder`, `decoder`.
        module: &'static str,
        /// The file.
        path: PathBuf,
        /// Tokens in the dictionary, without the special ones.
        tokens: usize,
        /// How many of them have a vector in the file.
        found: usize,
        /// How many of these only when they are written in small letters.
        lowercased: usize,
    },
    /// A part of the model does not learn.
    Frozen {
        /// What stays as it is.
        modules: Vec<String>,
        /// For how many updates; none for all of them.
        #[serde(skip_serializing_if = "Option::is_none")]
        updates: Option<u64>,
        /// Numbers that learn from the first update on.
        trainable_parameters: usize,
    },
    /// A run goes on that was stopped. What came after this update is lost, and made again.
    Resume {
        /// How many updates were made before.
        update: u64,
        /// Seconds of training before.
        seconds: f64,
        /// Later checkpoints that cannot be used, and why.
        skipped_checkpoints: Vec<String>,
        /// Whether the validation set is another one: the best model is then chosen anew.
        validation_changed: bool,
    },
    /// Some updates were made.
    Update {
        /// How many so far.
        update: u64,
        /// How far through the data, in epochs.
        epoch: f64,
        /// The mean loss of a target since the last of these events.
        loss: f64,
        /// The learning rate.
        learning_rate: f32,
        /// The norm of the last gradients.
        grad_norm: f32,
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
        figure: MetricValue,
        /// BLEU of the lines that were translated, where that is wanted.
        #[serde(skip_serializing_if = "Option::is_none")]
        bleu: Option<f64>,
        /// Whether it is the best so far, and was saved.
        best: bool,
        /// How long it took, in seconds.
        duration: f64,
        /// Seconds since the start.
        seconds: f64,
    },
    /// All that is needed to go on was saved.
    Checkpoint {
        /// After how many updates.
        update: u64,
        /// How long it took, in seconds.
        duration: f64,
    },
    /// Something could not be saved. The run goes on, and tries again the next time.
    SaveFailed {
        /// After how many updates.
        update: u64,
        /// What and why.
        message: String,
    },
    /// An update was left out because its loss or its gradients were not finite.
    Skipped {
        /// Which one.
        update: u64,
        /// The loss; none in a log stands for a number that is not finite.
        loss: f32,
        /// The norm of the gradients.
        grad_norm: f32,
        /// The numbers of the examples in its batch, the first ones.
        examples: Vec<u32>,
    },
    /// A batch had no room in memory: from now on, larger ones are computed in parts.
    BatchSplit {
        /// In which update.
        update: u64,
        /// The most tokens that are computed at once.
        max_tokens: usize,
    },
    /// The end.
    End {
        /// Why.
        reason: Reason,
        /// How many updates were made.
        update: u64,
        /// The loss of the best validation.
        best_loss: f64,
        /// How many of them were left out because something was not finite.
        skipped: u64,
        /// Seconds since the start.
        seconds: f64,
        /// Those of them that went into updates; the rest is validation, checkpoints and logs.
        update_seconds: f64,
    },
}

/// What there is to learn from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum DatasetSummary {
    /// Sources and targets.
    Pairs {
        /// How many.
        pairs: usize,
        /// Pairs that were left out because they are too long.
        skipped: usize,
        /// Tokens in both dictionaries.
        vocabularies: [usize; 2],
    },
    /// Texts, one a line.
    Lines {
        /// How many.
        lines: usize,
        /// In how many pieces they are read.
        chunks: usize,
        /// Tokens in the dictionary.
        vocabulary: usize,
    },
    /// Texts with labels.
    Texts {
        /// How many.
        texts: usize,
        /// How many of them were cut because they are too long.
        truncated: usize,
        /// Tokens in the dictionary.
        vocabulary: usize,
        /// What a text can be.
        labels: usize,
        /// Numbers that stand beside each text.
        tabular_features: usize,
    },
}

/// How well a model does, in the words of its task.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MetricValue {
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
