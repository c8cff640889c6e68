//! The config of a classifier.

use crate::config::{ConfigFileError, expect_task, parse, to_toml};
use crate::lessons::RunConfig;
use crate::train_config::TrainConfig;
use couplet_data::{Cut, Files, Keep, TokenizerConfig};
use couplet_nn::{ClassifierConfig, OutputKind};
use couplet_search::{Task, text_cut};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// A config file with `task = "classify"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassifyConfig {
    /// What the model is for.
    pub task: Task,
    /// `[data]`
    pub data: ClassifyDataConfig,
    /// `[model]`
    #[serde(default)]
    pub model: ClassifierConfig,
    /// `[train]`
    #[serde(default)]
    pub train: TrainConfig,
}

/// The table `[data]` of a classifier.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClassifyDataConfig {
    /// What the model learns from: a file of labels and texts, or a file of texts and one of labels.
    pub train: Files,
    /// What it is checked with.
    pub valid: Files,
    /// Longer texts are cut.
    #[serde(default = "longest_text")]
    pub max_tokens: usize,
    /// Which end of them is kept.
    #[serde(default)]
    pub keep: Keep,
    /// `[data.source]`: how texts become tokens
    #[serde(default)]
    pub source: TokenizerConfig,
}

fn longest_text() -> usize {
    500
}

impl RunConfig for ClassifyConfig {
    fn train(&self) -> &TrainConfig {
        &self.train
    }

    fn to_toml(&self) -> String {
        to_toml(self)
    }
}

impl ClassifyConfig {
    /// Reads a config from a text; `name` is what errors call it.
    pub fn parse(text: &str, name: &str, overrides: &[String]) -> Result<ClassifyConfig, ConfigFileError> {
        let config: ClassifyConfig = parse(text, name, overrides)?;
        expect_task(config.task, Task::Classify, name)?;
        config.model.check().map_err(|source| ConfigFileError::Model { place: name.to_owned(), source })?;
        config.train.check(name)?;
        config.check(name)?;
        Ok(config)
    }

    /// With the files of the data as they are seen from a folder.
    pub(crate) fn relative_to(mut self, folder: &Path) -> ClassifyConfig {
        self.data.train = self.data.train.relative_to(folder);
        self.data.valid = self.data.valid.relative_to(folder);
        self
    }

    /// How long texts are cut.
    pub fn cut(&self) -> Cut {
        text_cut(self.data.max_tokens, self.data.keep, &self.model)
    }

    /// The share of a label that is spread over all labels.
    pub fn label_smoothing(&self) -> f32 {
        self.train.label_smoothing.unwrap_or(0.0)
    }

    fn check(&self, name: &str) -> Result<(), ConfigFileError> {
        if self.data.max_tokens == 0 {
            return Err(ConfigFileError::refused(name, "data.max_tokens = 0", "at least 1"));
        }
        if self.label_smoothing() > 0.0 && self.model.classifier.output == OutputKind::Sigmoid {
            return Err(ConfigFileError::refused(
                name,
                "train.label_smoothing with model.classifier.output = \"sigmoid\"",
                "labels are smoothed with output = \"softmax\"; or leave it out",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMALL: &str = "task = \"classify\"\n[data]\ntrain = \"a.tsv\"\nvalid = [\"texts\", \"labels\"]\n";

    fn error(overrides: &[&str]) -> String {
        let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
        ClassifyConfig::parse(SMALL, "c.toml", &overrides).unwrap_err().to_string()
    }

    #[test]
    fn little_is_enough() {
        let config = ClassifyConfig::parse(SMALL, "c.toml", &[]).unwrap();
        assert_eq!((config.data.max_tokens, config.data.keep), (500, Keep::First));
        assert_eq!(config.label_smoothing(), 0.0);
        assert_eq!(ClassifyConfig::parse(&config.to_toml(), "again", &[]).unwrap(), config);
    }

    #[test]
    fn what_makes_no_run_is_refused_by_name() {
        assert_eq!(error(&["task=translate"]), "c.toml: task = \"translate\"");
        assert_eq!(error(&["data.max_tokens=0"]), "c.toml: data.max_tokens = 0");
        assert_eq!(
            error(&["train.label_smoothing=0.1", "model.classifier.output=sigmoid"]),
            "c.toml: train.label_smoothing with model.classifier.output = \"sigmoid\""
        );
        assert_eq!(
            error(&["model.decoder.layers=1"]),
            "--set model.decoder.layers=1: unknown field \"decoder\""
        );
        assert_eq!(error(&["model.context.kind=flatten"]), {
            "c.toml: model.context.kind = \"flatten\" without model.context.steps"
        });
    }
}
