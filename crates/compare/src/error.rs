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
            CompareError::OtherData { .. } => "--train and --valid give all models the same data",
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
