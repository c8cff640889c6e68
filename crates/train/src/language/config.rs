//! The config of a language model.

use crate::config::{ConfigFileError, check_search, check_tokenizer, expect_task, parse, to_toml};
use crate::lessons::RunConfig;
use crate::train_config::TrainConfig;
use couplet_data::{BadLines, TokenizerConfig};
use couplet_nn::{EmbeddingConfig, LanguageModelConfig};
use couplet_search::{SearchConfig, Task, Unknown};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};

/// A config file with `task = "language-model"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageConfig {
    /// What the model is for.
    pub task: Task,
    /// `[data]`
    pub data: LanguageDataConfig,
    /// `[model]`
    #[serde(default)]
    pub model: LanguageModelConfig,
    /// `[train]`
    #[serde(default)]
    pub train: TrainConfig,
    /// `[search]`
    #[serde(default)]
    pub search: SearchConfig,
}

/// The table `[data]` of a language model.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LanguageDataConfig {
    /// What the model learns from: a file with a text on each line.
    pub train: PathBuf,
    /// What it is checked with.
    pub valid: PathBuf,
    /// Whether lines that cannot be used are left out and counted.
    #[serde(default)]
    pub skip_bad_lines: bool,
    /// Longer texts are read in pieces.
    #[serde(default = "longest_piece")]
    pub max_tokens: usize,
    /// `[data.source]`: how texts become tokens
    #[serde(default)]
    pub source: TokenizerConfig,
}

fn longest_piece() -> usize {
    128
}

impl RunConfig for LanguageConfig {
    fn train(&self) -> &TrainConfig {
        &self.train
    }

    fn tokenizers(&mut self) -> [Option<&mut TokenizerConfig>; 2] {
        [Some(&mut self.data.source), None]
    }

    fn embeddings(&self) -> Vec<(&'static str, &EmbeddingConfig)> {
        vec![("encoder", &self.model.encoder.embedding)]
    }

    fn to_toml(&self) -> String {
        to_toml(self)
    }

    fn of_toml(text: &str) -> Option<LanguageConfig> {
        toml::from_str(text).ok()
    }
}

impl LanguageConfig {
    /// Reads a config from a text; `name` is what errors call it.
    pub fn parse(text: &str, name: &str, overrides: &[String]) -> Result<LanguageConfig, ConfigFileError> {
        let config: LanguageConfig = parse(text, name, overrides)?;
        expect_task(config.task, &[Task::LanguageModel], name)?;
        config.model.check().map_err(|source| ConfigFileError::Model { place: name.to_owned(), source })?;
        config.train.check(name)?;
        check_search(&config.search, name)?;
        config.check(name)?;
        Ok(config)
    }

    /// With the files that it names as they are seen from a folder.
    pub(crate) fn relative_to(mut self, folder: &Path) -> LanguageConfig {
        let LanguageDataConfig { train, valid, .. } = &mut self.data;
        [train, valid].into_iter().for_each(|path| *path = folder.join(&path));
        self.data.source = self.data.source.relative_to(folder);
        self.model.encoder.embedding.relative_to(folder);
        self.train.relative_to(folder);
        self
    }

    /// What becomes of lines that cannot be used.
    pub fn bad_lines(&self) -> BadLines {
        if self.data.skip_bad_lines { BadLines::Skip } else { BadLines::Refuse }
    }

    /// The share of a token that is spread over all tokens.
    pub fn label_smoothing(&self) -> f32 {
        self.train.label_smoothing.unwrap_or(0.0)
    }

    fn check(&self, name: &str) -> Result<(), ConfigFileError> {
        let wrong = |message: &str, hint: &str| Err(ConfigFileError::refused(name, message, hint));
        check_tokenizer(&self.data.source, "data.source", name)?;
        if self.data.max_tokens == 0 {
            return wrong("data.max_tokens = 0", "at least 1");
        }
        if self.train.validation_translations > 0 {
            let message = "train.validation_translations with task = \"language-model\"";
            return wrong(message, "a language model has no outputs to compare; leave it out");
        }
        if self.train.scheduled_sampling > 0.0 {
            let message = "train.scheduled_sampling with task = \"language-model\"";
            return wrong(message, "a language model learns from given texts only; leave it out");
        }
        if self.search.couplet.is_on() || self.search.unknown == Unknown::Copy {
            let message = "search.couplet or search.unknown = \"copy\" with task = \"language-model\"";
            return wrong(message, "a language model has no source to keep to or to copy from; leave it out");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "task = \"language-model\"\n[data]\ntrain = \"a.txt\"\nvalid = \"b.txt\"\n\
                         [model.encoder]\nbidirectional = false\n";

    fn error(overrides: &[&str]) -> String {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        LanguageConfig::parse(SMALL, "c.toml", &overrides).unwrap_err().to_string()
    }

    #[test]
    fn little_is_enough() {
        let config = LanguageConfig::parse(SMALL, "c.toml", &[]).unwrap();
        assert_eq!((config.data.max_tokens, config.label_smoothing()), (128, 0.0));
        assert_eq!(LanguageConfig::parse(&config.to_toml(), "again", &[]).unwrap(), config);
    }

    #[test]
    fn what_makes_no_run_is_refused_by_name() {
        assert_eq!(error(&["task=translate"]), "c.toml: task = \"translate\"");
        assert_eq!(error(&["data.max_tokens=0"]), "c.toml: data.max_tokens = 0");
        assert_eq!(
            error(&["model.encoder.bidirectional=true"]),
            "c.toml: model.encoder.bidirectional cannot be combined with task = \"language-model\""
        );
        assert_eq!(
            error(&["train.validation_translations=10"]),
            "c.toml: train.validation_translations with task = \"language-model\""
        );
        assert_eq!(
            error(&["train.scheduled_sampling=0.1"]),
            "c.toml: train.scheduled_sampling with task = \"language-model\""
        );
    }
}
