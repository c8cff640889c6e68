//! The vectors of tokens, as a user writes them: a size, or a table.

use super::{ConfigError, InputKind, reject_if};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// The vectors of tokens: `embedding = 256`, or `embedding = { size = 300, pretrained = "vectors.txt", freeze = true }`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "EmbeddingValue", into = "EmbeddingValue")]
pub struct EmbeddingConfig {
    /// The numbers in a vector.
    pub size: usize,
    /// A file of word vectors that training begins with, where a word has one: of word2vec, GloVe or fastText.
    pub pretrained: Option<PathBuf>,
    /// Whether they stay fixed in training.
    pub freeze: Freeze,
}

/// Freezing of pretrained vectors: `true`, `false`, or a number of updates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "FreezeValue", into = "FreezeValue")]
pub enum Freeze {
    /// They are trained.
    #[default]
    Never,
    /// They stay fixed.
    Always,
    /// They stay fixed for the first updates, and are trained afterwards.
    Updates(u64),
}

#[derive(Serialize, Deserialize)]
#[serde(
    untagged,
    expecting = "a size, or a table { size = 300, pretrained = \"vectors.txt\", freeze = true }"
)]
enum EmbeddingValue {
    Size(usize),
    Table(Table),
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    size: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pretrained: Option<PathBuf>,
    #[serde(default)]
    freeze: Freeze,
}

#[derive(Serialize, Deserialize)]
#[serde(untagged, expecting = "true, false, or a number of updates")]
enum FreezeValue {
    Switch(bool),
    Updates(u64),
}

impl From<EmbeddingValue> for EmbeddingConfig {
    fn from(written: EmbeddingValue) -> Self {
        match written {
            EmbeddingValue::Size(size) => size.into(),
            EmbeddingValue::Table(Table { size, pretrained, freeze }) => {
                EmbeddingConfig { size, pretrained, freeze }
            }
        }
    }
}

impl From<EmbeddingConfig> for EmbeddingValue {
    fn from(EmbeddingConfig { size, pretrained, freeze }: EmbeddingConfig) -> Self {
        match (&pretrained, freeze) {
            (None, Freeze::Never) => EmbeddingValue::Size(size),
            _ => EmbeddingValue::Table(Table { size, pretrained, freeze }),
        }
    }
}

impl From<FreezeValue> for Freeze {
    fn from(value: FreezeValue) -> Self {
        match value {
            FreezeValue::Switch(false) => Freeze::Never,
            FreezeValue::Switch(true) => Freeze::Always,
            FreezeValue::Updates(updates) => Freeze::Updates(updates),
        }
    }
}

impl From<Freeze> for FreezeValue {
    fn from(freeze: Freeze) -> Self {
        match freeze {
            Freeze::Never => FreezeValue::Switch(false),
            Freeze::Always => FreezeValue::Switch(true),
            Freeze::Updates(updates) => FreezeValue::Updates(updates),
        }
    }
}

/// Vectors of so many numbers, of which nothing is known before training.
impl From<usize> for EmbeddingConfig {
    fn from(size: usize) -> EmbeddingConfig {
        EmbeddingConfig { size, pretrained: None, freeze: Freeze::default() }
    }
}

impl EmbeddingConfig {
    /// With its file as it is seen from a folder.
    pub fn relative_to(&mut self, folder: &Path) {
        self.pretrained = self.pretrained.take().map(|path| folder.join(path));
    }

    /// Rejects what makes no vectors of a module, `model.encoder` for example.
    pub(super) fn check(&self, part: &str, input: InputKind) -> Result<(), ConfigError> {
        reject_if(
            self.pretrained.is_none() && self.freeze != Freeze::Never,
            format!("{part}.embedding.freeze needs {part}.embedding.pretrained"),
            "name the file of the vectors; train.freeze freezes any other part",
        )?;
        reject_if(
            self.pretrained.is_some() && input == InputKind::OneHot,
            format!("{part}.embedding.pretrained cannot be combined with {part}.input = \"one-hot\""),
            "one-hot tokens have no vectors; remove one of them",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::EncoderConfig;

    fn read(text: &str) -> EmbeddingConfig {
        toml::from_str::<EncoderConfig>(text).unwrap().embedding
    }

    #[test]
    fn a_size_or_a_table() {
        assert_eq!(read("embedding = 8"), 8.into());
        assert_eq!(read("embedding = { size = 8 }"), 8.into());
        let frozen = read("embedding = { size = 8, pretrained = 'v.txt', freeze = true }");
        assert_eq!((frozen.pretrained, frozen.freeze), (Some("v.txt".into()), Freeze::Always));
        let later = read("embedding = { size = 8, pretrained = 'v.txt', freeze = 100 }");
        assert_eq!(later.freeze, Freeze::Updates(100));
        let said = toml::from_str::<EncoderConfig>("embedding = { size = 8, frozen = true }").unwrap_err();
        assert!(said.message().starts_with("a size, or a table"), "{said}");
    }

    #[test]
    fn what_is_written_is_read_again() {
        for text in
            ["8", "{ size = 8, pretrained = 'v.txt' }", "{ size = 8, pretrained = 'v.txt', freeze = 3 }"]
        {
            let config: EncoderConfig = toml::from_str(&format!("embedding = {text}")).unwrap();
            let written = toml::to_string(&config).unwrap();
            assert_eq!(toml::from_str::<EncoderConfig>(&written).unwrap(), config, "{written}");
        }
    }

    #[test]
    fn what_makes_no_vectors_is_refused_by_name() {
        let said = |text: &str| {
            let config: EncoderConfig = toml::from_str(text).unwrap();
            config.check().unwrap_err().to_string()
        };
        assert_eq!(
            said("embedding = { size = 8, freeze = true }"),
            "model.encoder.embedding.freeze needs model.encoder.embedding.pretrained"
        );
        assert_eq!(
            said("input = 'one-hot'\nembedding = { size = 8, pretrained = 'v.txt' }"),
            "model.encoder.embedding.pretrained cannot be combined with model.encoder.input = \"one-hot\""
        );
    }
}
