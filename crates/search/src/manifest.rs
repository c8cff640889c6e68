//! `model.toml` of a model folder: what is needed to run a model, besides its files. Its format number tells folders of other versions
//! of couplet apart.

use crate::folder::{Folder, FolderError};
use crate::limit::TargetLengths;
use serde::{Deserialize, Serialize};
use std::io::ErrorKind;

/// Goes up whenever this version could not run the models of another one.
const FORMAT: u32 = 1;

/// The content of `model.toml`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    format: u32,
    /// `[target_lengths]`: lengths in the training data, of models whose outputs answer a source
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target_lengths: Option<TargetLengths>,
}

/// The key that the file has in all versions.
#[derive(Deserialize)]
struct OfFormat {
    format: u32,
}

impl Manifest {
    /// Describes a model that was trained by this version.
    pub fn new(target_lengths: Option<TargetLengths>) -> Manifest {
        Manifest { format: FORMAT, target_lengths }
    }

    /// Returns the content of the file.
    pub fn to_toml(&self) -> String {
        toml::to_string(self).expect("a table of plain values")
    }

    /// Reads the file of a folder. A folder of another version is rejected.
    pub fn read(folder: &Folder) -> Result<Manifest, FolderError> {
        let path = folder.manifest();
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(FolderError::Io { path, source: error });
            }
            Err(_) if folder.config().exists() => return Err(other_format(folder, None)),
            Err(source) => return Err(FolderError::Io { path: folder.config(), source }),
        };
        let invalid = |error: toml::de::Error| FolderError::Manifest {
            path: path.clone(),
            message: error.message().to_owned(),
        };
        match toml::from_str(&text).map_err(invalid)? {
            OfFormat { format: FORMAT } => toml::from_str(&text).map_err(invalid),
            OfFormat { format } => Err(other_format(folder, Some(format))),
        }
    }
}

fn other_format(folder: &Folder, format: Option<u32>) -> FolderError {
    FolderError::Format {
        path: folder.path().to_owned(),
        newer: format.is_some_and(|format| format > FORMAT),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_manifest_by_hand() {
        let lengths = TargetLengths { longest: 52, largest_ratio: 9.8 };
        let text = "format = 1\n\n[target_lengths]\nlongest = 52\nlargest_ratio = 9.8\n";
        assert_eq!(Manifest::new(Some(lengths)).to_toml(), text);
        assert_eq!(toml::from_str(text), Ok(Manifest::new(Some(lengths))));
        assert_eq!(Manifest::new(None).to_toml(), "format = 1\n");
    }
}
