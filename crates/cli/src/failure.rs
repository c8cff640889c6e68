//! What went wrong, as a user reads it: one `error:` line, and a `hint:` line that says what to do.

use couplet_compare::CompareError;
use couplet_data::DataError;
use couplet_embed::EmbedError;
use couplet_nn::ConfigError;
use couplet_search::FolderError;
use couplet_tensor::DeviceError;
use couplet_train::{AverageError, ConfigFileError, TrainError};
use std::fmt::Display;
use std::path::Path;
use std::process::ExitCode;

/// A command that cannot go on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    message: String,
    hint: Option<String>,
    code: u8,
}

/// What a command returns.
pub(crate) type Outcome = Result<(), Failure>;

impl Failure {
    /// Something failed: exit code 1.
    pub(crate) fn new(message: impl Display, hint: Option<String>) -> Failure {
        Failure { message: message.to_string(), hint, code: 1 }
    }

    /// The command was used wrongly: exit code 2.
    pub(crate) fn usage(message: impl Display, hint: Option<String>) -> Failure {
        Failure { code: 2, ..Failure::new(message, hint) }
    }

    /// A file or a stream cannot be read or written.
    pub(crate) fn io(path: &Path, error: &std::io::Error) -> Failure {
        let hint = "check that the path is right, that you may use it, and that the disk has room";
        Failure::new(format!("{}: {error}", path.display()), Some(hint.to_owned()))
    }

    /// Prints it and gives the exit code.
    pub(crate) fn report(&self) -> ExitCode {
        eprintln!("error: {}", self.message);
        if let Some(hint) = &self.hint {
            eprintln!("hint: {hint}");
        }
        ExitCode::from(self.code)
    }
}

impl From<DataError> for Failure {
    fn from(error: DataError) -> Self {
        Failure::new(&error, error.hint())
    }
}

impl From<EmbedError> for Failure {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::Setting { .. } => Failure::usage(&error, error.hint()),
            _ => Failure::new(&error, error.hint()),
        }
    }
}

impl From<DeviceError> for Failure {
    fn from(error: DeviceError) -> Self {
        Failure::new(&error, Some(error.hint().to_owned()))
    }
}

impl From<ConfigError> for Failure {
    fn from(error: ConfigError) -> Self {
        Failure::usage(&error, Some(error.hint()))
    }
}

impl From<FolderError> for Failure {
    fn from(error: FolderError) -> Self {
        Failure::new(&error, error.hint())
    }
}

impl From<ConfigFileError> for Failure {
    fn from(error: ConfigFileError) -> Self {
        match error {
            ConfigFileError::Io { .. } => Failure::new(&error, error.hint()),
            _ => Failure::usage(&error, error.hint()),
        }
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        Failure::new(&error, error.hint())
    }
}

impl From<CompareError> for Failure {
    fn from(error: CompareError) -> Self {
        match error {
            CompareError::SameName { .. } => Failure::usage(&error, error.hint()),
            _ => Failure::new(&error, error.hint()),
        }
    }
}

impl From<AverageError> for Failure {
    fn from(error: AverageError) -> Self {
        Failure::new(&error, error.hint())
    }
}
