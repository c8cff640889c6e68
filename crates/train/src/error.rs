//! What can go wrong in a run, and what to do about it.

use couplet_data::DataError;
use couplet_embed::EmbedError;
use couplet_nn::ConfigError;
use couplet_nn::weights::WeightsError;
use couplet_search::FolderError;
use couplet_tensor::OutOfMemory;
use std::path::{Path, PathBuf};
use thiserror::Error;

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
    /// What the run is to begin with cannot be had.
    #[error("{message}")]
    Start {
        /// What is wrong.
        message: String,
        /// What to do about it.
        hint: String,
    },
    /// The other model cannot be read.
    #[error("train.init_from: {0}")]
    Other(#[from] FolderError),
    /// The folder of the run to resume cannot be used.
    #[error(transparent)]
    Resumed(FolderError),
    /// Word vectors cannot be read.
    #[error(transparent)]
    Vectors(#[from] EmbedError),
    /// The folder holds a model already.
    #[error("{}: holds a model already", path.display())]
    Occupied {
        /// The folder.
        path: PathBuf,
    },
    /// There is something in the place of a new folder.
    #[error("{}: exists already", path.display())]
    Exists {
        /// The place.
        path: PathBuf,
    },
    /// Another run is at work in the folder.
    #[error("{}: another run is training into this folder", path.display())]
    InUse {
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
    /// A file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// A checkpoint is not what was written.
    #[error("{}: damaged: {message}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How that was seen.
        message: String,
    },
    /// A checkpoint has not the tensors that the model needs.
    #[error("{}: this checkpoint does not match the model: {difference}", path.display())]
    Mismatch {
        /// The file.
        path: PathBuf,
        /// The first difference.
        difference: String,
    },
    /// A checkpoint of a format that is no longer read.
    #[error("{}: an earlier version of couplet wrote this checkpoint, which cannot be resumed", path.display())]
    Earlier {
        /// The file.
        path: PathBuf,
    },
    /// No checkpoint can be used.
    #[error("{}: all {damaged} checkpoints are damaged", path.display())]
    NoCheckpoint {
        /// Their folder.
        path: PathBuf,
        /// How many there are.
        damaged: usize,
    },
    /// The config is not that of the run to go on with.
    #[error("{}: {key} was {before} in this run, and is {now} now", path.display())]
    Differs {
        /// The folder.
        path: PathBuf,
        /// The key of the config.
        key: String,
        /// Its value in the folder.
        before: String,
        /// Its value now.
        now: String,
    },
    /// The data is not that of the run to go on with.
    #[error("{}: the training data is not what this run was trained on", path.display())]
    OtherData {
        /// The folder.
        path: PathBuf,
    },
    /// The weights cannot be turned into a file.
    #[error(transparent)]
    Weights(#[from] WeightsError),
    /// One example alone has no room.
    #[error("training example {example} alone, with {tokens} tokens: {source}")]
    NoRoom {
        /// Its number, the first being 0.
        example: u32,
        /// Its tokens on both sides.
        tokens: usize,
        /// What there was no room for.
        source: OutOfMemory,
    },
    /// A loss or a gradient is no finite number.
    #[error(
        "update {update}: the loss is {loss}, the norm of the gradients {norm}; the batch has the examples {examples}"
    )]
    NotFinite {
        /// Which update.
        update: u64,
        /// The loss.
        loss: f32,
        /// The norm of the gradients.
        norm: f32,
        /// The numbers of the batch's examples, the first ones.
        examples: String,
    },
}

impl TrainError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            TrainError::Data(error) => return error.hint(),
            TrainError::Model(error) => return Some(error.hint()),
            TrainError::Start { hint, .. } => hint,
            TrainError::Other(error) | TrainError::Resumed(error) => return error.hint(),
            TrainError::Vectors(error) => return error.hint(),
            TrainError::Weights(_) => return None,
            TrainError::NothingToLearn { .. } => "raise data.max_tokens",
            TrainError::Occupied { .. } => {
                "--resume goes on with it; or choose another --out, or remove the folder"
            }
            TrainError::Exists { .. } => "choose another --out, or remove it",
            TrainError::InUse { .. } => "wait for it, or choose another --out",
            TrainError::Write { .. } => {
                "check that you may write there and that the disk has room; what was there before is unchanged"
            }
            TrainError::Read { .. } => "check that you may read it",
            TrainError::Damaged { .. } => "use another checkpoint",
            TrainError::Mismatch { .. } => "resume with the config of the run, or train into another --out",
            TrainError::Earlier { .. } => "resume with that version, or train again into another --out",
            TrainError::NoCheckpoint { .. } => {
                "model.safetensors holds the best model so far; train again into another --out"
            }
            TrainError::Differs { .. } => "give it the value that it had, or train into another --out",
            TrainError::OtherData { .. } => "give it the data that it had, or train into another --out",
            TrainError::NoRoom { .. } => "lower data.max_tokens, or raise train.memory_limit_gib",
            TrainError::NotFinite { .. } => {
                "lower train.learning_rate, raise train.warmup, or go on with --set train.on_non_finite=skip; --resume starts from the last checkpoint"
            }
        };
        Some(text.to_owned())
    }
}

pub(crate) fn write_error(path: &Path) -> impl FnOnce(std::io::Error) -> TrainError {
    let path = path.to_owned();
    move |source| TrainError::Write { path, source }
}
