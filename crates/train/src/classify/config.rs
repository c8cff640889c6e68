//! The config of a classifier.

use crate::config::{ConfigFileError, check_tokenizer, expect_task, parse, to_toml};
use crate::lessons::RunConfig;
use crate::train_config::TrainConfig;
use couplet_data::{
    BadLines, FeatureColumns, Files, PaddingSide, TokenizerConfig, Truncation, TruncationSide,
};
use couplet_nn::{ClassifierConfig, EmbeddingConfig, OutputKind};
use couplet_search::{Task, read_padding, text_cut};
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
    pub truncation_side: TruncationSide,
    /// Whether each text is read in its own length. If not, shorter texts are filled up to `max_tokens`, with a token that the model
    /// reads like any other.
    #[serde(default = "masked")]
    pub mask: bool,
    /// Without a mask: the side on which they are filled up; behind their tokens, where nothing is said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub padding_side: Option<PaddingSide>,
    /// Whether lines that cannot be used are left out and counted.
    #[serde(default)]
    pub skip_bad_lines: bool,
    /// `[data.source]`: how texts become tokens
    #[serde(default)]
    pub source: TokenizerConfig,
    /// `[data.features]`: columns of the same table that are read beside the text
    #[serde(default, skip_serializing_if = "FeatureColumns::is_empty")]
    pub features: FeatureColumns,
}

fn masked() -> bool {
    true
}

fn longest_text() -> usize {
    500
}

impl RunConfig for ClassifyConfig {
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

    fn of_toml(text: &str) -> Option<ClassifyConfig> {
        toml::from_str(text).ok()
    }
}

impl ClassifyConfig {
    /// Reads a config from a text; `name` is what errors call it.
    pub fn parse(text: &str, name: &str, overrides: &[String]) -> Result<ClassifyConfig, ConfigFileError> {
        let mut config: ClassifyConfig = parse(text, name, overrides)?;
        expect_task(config.task, &[Task::Classify], name)?;
        config.model.check().map_err(|source| ConfigFileError::Model { place: name.to_owned(), source })?;
        config.train.check(name)?;
        config.check(name)?;
        if config.data.skip_bad_lines {
            config.skip_bad_lines();
        }
        Ok(config)
    }

    /// With the files that it names as they are seen from a folder.
    pub(crate) fn relative_to(mut self, folder: &Path) -> ClassifyConfig {
        let data = &mut self.data;
        data.train = data.train.relative_to(folder);
        data.valid = data.valid.relative_to(folder);
        data.source = data.source.relative_to(folder);
        self.model.encoder.embedding.relative_to(folder);
        self.train.relative_to(folder);
        self
    }

    /// Leaves lines out that cannot be used.
    pub fn skip_bad_lines(&mut self) {
        let data = &mut self.data;
        data.skip_bad_lines = true;
        data.train = data.train.clone().with_bad_lines(BadLines::Skip);
        data.valid = data.valid.clone().with_bad_lines(BadLines::Skip);
    }

    /// How long texts are cut.
    pub fn cut(&self) -> Truncation {
        let ClassifyDataConfig { max_tokens, truncation_side: keep, mask, padding_side: pad, .. } = self.data;
        text_cut(max_tokens, keep, read_padding(mask, pad), &self.model)
    }

    /// The share of a label that is spread over all labels.
    pub fn label_smoothing(&self) -> f32 {
        self.train.label_smoothing.unwrap_or(0.0)
    }

    fn check(&self, name: &str) -> Result<(), ConfigFileError> {
        if self.data.max_tokens == 0 {
            return Err(ConfigFileError::refused(name, "data.max_tokens = 0", "at least 1"));
        }
        check_tokenizer(&self.data.source, "data.source", name)?;
        if self.data.mask && self.data.padding_side.is_some() {
            return Err(ConfigFileError::refused(
                name,
                "data.padding_side with data.mask = true",
                "padding that is masked changes nothing; set data.mask = false, and it is read like tokens",
            ));
        }
        if self.train.scheduled_sampling > 0.0 {
            return Err(ConfigFileError::refused(
                name,
                "train.scheduled_sampling with task = \"classify\"",
                "a classifier reads nothing that it wrote; leave it out",
            ));
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
        assert_eq!((config.data.max_tokens, config.data.truncation_side), (500, TruncationSide::Right));
        assert_eq!(config.label_smoothing(), 0.0);
        assert_eq!(ClassifyConfig::parse(&config.to_toml(), "again", &[]).unwrap(), config);
    }

    #[test]
    fn columns_beside_the_text_are_named_with_their_kinds() {
        let overrides = ["data.features.age=number", "data.features.country={kind='category', min_count=3}"];
        let config = ClassifyConfig::parse(SMALL, "c.toml", &overrides.map(str::to_owned)).unwrap();
        assert_eq!(config.data.features.listed(), "age, country");
        assert_eq!(ClassifyConfig::parse(&config.to_toml(), "again", &[]).unwrap(), config);
        assert_eq!(
            error(&["data.features.age=float"]),
            "--set data.features.age=float: unknown variant \"float\""
        );
    }

    #[test]
    fn padding_is_read_where_it_is_not_masked() {
        let overrides = ["data.mask=false", "data.padding_side=left", "data.max_tokens=3"].map(str::to_owned);
        let config = ClassifyConfig::parse(SMALL, "c.toml", &overrides).unwrap();
        assert_eq!(config.cut().apply(&[4, 5])[..], [0, 4, 5]);
        assert_eq!(ClassifyConfig::parse(&config.to_toml(), "again", &[]).unwrap(), config);
        let behind = ClassifyConfig::parse(SMALL, "c.toml", &overrides[..1]).unwrap();
        assert_eq!(behind.cut().apply(&[4, 5])[..3], [4, 5, 0]);
    }

    #[test]
    fn what_makes_no_run_is_refused_by_name() {
        assert_eq!(error(&["task=translate"]), "c.toml: task = \"translate\"");
        assert_eq!(error(&["data.max_tokens=0"]), "c.toml: data.max_tokens = 0");
        assert_eq!(error(&["data.padding_side=left"]), "c.toml: data.padding_side with data.mask = true");
        assert_eq!(
            error(&["train.label_smoothing=0.1", "model.classifier.output=sigmoid"]),
            "c.toml: train.label_smoothing with model.classifier.output = \"sigmoid\""
        );
        assert_eq!(
            error(&["model.decoder.layers=1"]),
            "--set model.decoder.layers=1: unknown field \"decoder\""
        );
        assert_eq!(error(&["model.pooling.kind=flatten"]), {
            "c.toml: model.pooling.kind = \"flatten\" needs model.pooling.steps"
        });
    }
}
