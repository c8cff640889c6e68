//! What can go wrong with a comparison, or with one of its models.

use couplet_data::DataError;
use couplet_search::FolderError;
use couplet_train::{ConfigFileError, Task, TrainError};
use std::path::{Path, PathBuf};
use thiserror::Error;

/// A comparison, or one of its models, that cannot go on.
#[derive(Debug, Error)]
pub enum CompareError {
    /// Two models would share a folder and a row.
    #[error("{} and {} have the same name", first.display(), second.display())]
    SameName {
        /// A config.
        first: PathBuf,
        /// Another one.
        second: PathBuf,
    },
    /// A model that would learn from something else.
    #[error("{}: its {key} is not that of {}", path.display(), first.display())]
    OtherData {
        /// Its config.
        path: PathBuf,
        /// What differs.
        key: &'static str,
        /// The first config.
        first: PathBuf,
    },
    /// A model that would learn from something else than what is asked for.
    #[error("{}: data.prepared takes the place of --train and --valid", path.display())]
    Prepared {
        /// Its config.
        path: PathBuf,
    },
    /// A classifier whose texts, and with them its labels, would be joined.
    #[error("{}: --concatenate would join the labels of a classifier", path.display())]
    JoinedLabels {
        /// Its config.
        path: PathBuf,
    },
    /// A model whose rate falls until the last update, which a budget of minutes does not know.
    #[error("{}: a rate that falls to zero at the last update, with --minutes", path.display())]
    NoLastUpdate {
        /// Its config.
        path: PathBuf,
    },
    /// Runs that would all have the same seed.
    #[error("--set train.seed: runs have the seeds 1, 2 and so on")]
    Seed,
    /// A report of nothing.
    #[error("{}: none of these models has been measured there", out.display())]
    NothingDone {
        /// The comparison's folder.
        out: PathBuf,
    },
    /// A run that has more behind it than it may have.
    #[error("{}: it has been trained for longer than asked for", path.display())]
    Longer {
        /// Its folder.
        path: PathBuf,
    },
    /// A run whose best model was chosen with other data.
    #[error("{}: it was checked with another validation set", path.display())]
    CheckedOtherwise {
        /// Its folder.
        path: PathBuf,
    },
    /// A run whose rate has fallen towards another end.
    #[error("{}: its rate falls to zero at the last update, which was another one", path.display())]
    OtherEnd {
        /// Its folder.
        path: PathBuf,
    },
    /// A model that has learned nothing that can be measured.
    #[error("{}: the loss of its model is not a finite number", path.display())]
    NotFinite {
        /// Its folder.
        path: PathBuf,
    },
    /// A model that has no score.
    #[error("{}: task = \"{task}\" has no score to compare models by", path.display())]
    NotComparable {
        /// Its config.
        path: PathBuf,
        /// Its task.
        task: Task,
    },
    /// A config that cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigFileError),
    /// Data that cannot be used.
    #[error(transparent)]
    Data(#[from] DataError),
    /// A run that failed.
    #[error(transparent)]
    Train(#[from] TrainError),
    /// A model that cannot be read again.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A file that cannot be read or written.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
}

impl CompareError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            CompareError::SameName { .. } => "a config's file name is its model's name; rename one of them",
            CompareError::OtherData { key: "task", .. } => "compare models of one task",
            CompareError::OtherData { .. } => "--train and --valid give all models the same data",
            CompareError::Prepared { .. } => "leave data.prepared out of the config, or --train and --valid",
            CompareError::JoinedLabels { .. } => "leave --concatenate out",
            CompareError::NothingDone { .. } => {
                "check the names of the configs and --out; without --report, models are trained and measured"
            }
            CompareError::NoLastUpdate { .. } => "give --max-updates, or --set train.schedule=inverse-sqrt",
            CompareError::Seed => "--seeds says how many",
            CompareError::Longer { .. } | CompareError::OtherEnd { .. } => {
                "give another --out, or the --max-updates, --minutes or train.patience that it had"
            }
            CompareError::CheckedOtherwise { .. } => {
                "give it the data that it had, or train into another --out"
            }
            CompareError::NotFinite { .. } => {
                "lower train.learning_rate, or raise train.warmup, with another --out"
            }
            CompareError::NotComparable { .. } => {
                "models that translate, classify or auto-encode can be compared"
            }
            CompareError::Config(error) => return error.hint(),
            CompareError::Data(error) => return error.hint(),
            CompareError::Train(error) => return error.hint(),
            CompareError::Folder(error) => return error.hint(),
            CompareError::Io { .. } => {
                "check that the path is right, that you may use it, and that the disk has room"
            }
        };
        Some(text.to_owned())
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> CompareError {
        let path = path.to_owned();
        move |source| CompareError::Io { path, source }
    }
}
