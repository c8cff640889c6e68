//! What a classifier of texts is made of.

use super::{ConfigError, EncoderConfig, PLANNED_VOCABULARY, check_fraction, check_sizes, reject_if};
use crate::models::Classifier;
use couplet_tensor::Params;
use serde::{Deserialize, Serialize};

/// The table `[model]` of a classifier's config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassifierConfig {
    /// `[model.encoder]`
    pub encoder: EncoderConfig,
    /// `[model.pooling]`
    pub pooling: PoolingConfig,
    /// `[model.classifier]`
    pub classifier: ClassifierHeadConfig,
}

/// How the states of a text become its feature: one vector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct PoolingConfig {
    /// Which one.
    pub kind: PoolingKind,
    /// The maximum number of tokens of a text whose states are flattened.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<usize>,
}

/// A vector for a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PoolingKind {
    /// The state in which the reader ended; of two readers, each one's own.
    #[default]
    Last,
    /// The mean of all states.
    Mean,
    /// The largest of all states, number by number.
    Max,
    /// All states side by side, zeros behind those of a shorter text.
    Flatten,
}

/// From a feature to a label.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ClassifierHeadConfig {
    /// How numbers become probabilities.
    pub output: OutputKind,
    /// The share of a feature's numbers that are dropped while training.
    pub dropout: f32,
}

/// How numbers become probabilities.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum OutputKind {
    /// One number for two labels: `P(second) = σ(z)`.
    Sigmoid,
    /// A number for each label.
    #[default]
    Softmax,
}

impl Default for ClassifierHeadConfig {
    fn default() -> Self {
        ClassifierHeadConfig { output: OutputKind::default(), dropout: 0.2 }
    }
}

impl ClassifierConfig {
    /// The maximum number of tokens of a text; none if texts of any length are possible.
    pub fn longest_text(&self) -> Option<usize> {
        self.pooling.steps
    }

    /// The logits of so many labels.
    pub(crate) fn outputs(&self, labels: usize) -> usize {
        match self.classifier.output {
            OutputKind::Sigmoid => 1,
            OutputKind::Softmax => labels,
        }
    }

    /// Rejects what makes no classifier, before any data is read: the model is built without values.
    pub fn check(&self) -> Result<(), ConfigError> {
        Classifier::new(&mut Params::planned(), self, PLANNED_VOCABULARY, 0, 2).map(|_| ())
    }

    /// Rejects values that make no head of a classifier.
    pub(crate) fn check_head(&self) -> Result<(), ConfigError> {
        check_fraction("model.classifier.dropout", self.classifier.dropout)?;
        check_sizes([("model.pooling.steps", self.pooling.steps.unwrap_or(1))])?;
        let PoolingConfig { kind, steps } = self.pooling;
        reject_if(
            kind == PoolingKind::Flatten && steps.is_none(),
            "model.pooling.kind = \"flatten\" needs model.pooling.steps",
            "the maximum number of tokens of a text, for example steps = 20",
        )?;
        reject_if(
            kind != PoolingKind::Flatten && steps.is_some(),
            "model.pooling.steps needs model.pooling.kind = \"flatten\"",
            "only flattened states have a fixed number of steps; remove it",
        )
    }

    /// Rejects an output that does not fit so many labels.
    pub(crate) fn check_labels(&self, labels: usize) -> Result<(), ConfigError> {
        reject_if(
            self.classifier.output == OutputKind::Sigmoid && labels != 2,
            format!("model.classifier.output = \"sigmoid\" cannot tell {labels} labels apart"),
            "one logit tells two labels apart; use \"softmax\" for any other number of labels",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(config: &str) -> String {
        let config: ClassifierConfig = toml::from_str(config).unwrap();
        config.check().map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
    }

    #[test]
    fn what_makes_no_classifier_is_refused_by_name() {
        assert_eq!(refusal(""), "nothing");
        assert_eq!(
            refusal("encoder.kind = 'bag'"),
            "model.pooling.kind = \"last\" needs an encoder with a last state"
        );
        assert_eq!(
            refusal("pooling.kind = 'flatten'"),
            "model.pooling.kind = \"flatten\" needs model.pooling.steps"
        );
        assert_eq!(
            refusal("pooling = { kind = 'mean', steps = 3 }"),
            "model.pooling.steps needs model.pooling.kind = \"flatten\""
        );
        assert_eq!(refusal("pooling = { kind = 'flatten', steps = 0 }"), "model.pooling.steps must not be 0");
        assert_eq!(refusal("classifier.dropout = 1.0"), "model.classifier.dropout must not be 1");
    }

    #[test]
    fn a_sigmoid_is_for_two_labels() {
        let config: ClassifierConfig = toml::from_str("classifier.output = 'sigmoid'").unwrap();
        assert_eq!(config.check_labels(2), Ok(()));
        let error = config.check_labels(3).unwrap_err();
        assert_eq!(error.to_string(), "model.classifier.output = \"sigmoid\" cannot tell 3 labels apart");
        assert_eq!(ClassifierConfig::default().check_labels(3), Ok(()));
    }
}
