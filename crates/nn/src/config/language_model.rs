//! What a language model is made of.

use super::{ConfigError, EncoderConfig, PLANNED_VOCABULARY, reject_if};
use crate::encoders::Encoder;
use crate::models::LanguageModel;
use couplet_tensor::Params;
use serde::{Deserialize, Serialize};

/// The table `[model]` of a language model's config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct LanguageModelConfig {
    /// `[model.encoder]`
    pub encoder: EncoderConfig,
    /// `[model.output]`
    pub output: NextTokenConfig,
}

/// From a state to the next token.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NextTokenConfig {
    /// Whether its weights are the tokens' vectors.
    pub tied: bool,
}

impl LanguageModelConfig {
    /// Rejects what makes no language model, before any data is read: the model is built without values.
    pub fn check(&self) -> Result<(), ConfigError> {
        LanguageModel::new(&mut Params::planned(), self, PLANNED_VOCABULARY).map(|_| ())
    }

    /// Rejects an encoder whose states depend on later tokens, and names the key that makes them do so.
    pub(crate) fn check_causal(&self, encoder: &dyn Encoder) -> Result<(), ConfigError> {
        let config = &self.encoder;
        let kind = config.kind.entry().kind;
        let keys = [
            ("bidirectional", config.bidirectional.at(0), "set model.encoder.bidirectional = false"),
            ("reverse", config.reverse, "set model.encoder.reverse = false"),
            ("self_attention", config.self_attention.is_some(), "remove it"),
        ];
        let (what, hint) = match keys.into_iter().find(|&(key, is_set, _)| is_set && kind.has(key)) {
            Some((key, _, hint)) => (format!("model.encoder.{key}"), hint),
            None => (format!("model.encoder.kind = \"{}\"", kind.name), "choose a recurrent kind"),
        };
        reject_if(
            encoder.causal().is_none(),
            format!("{what} cannot be combined with task = \"language-model\""),
            format!("a language model predicts the next token from earlier ones only; {hint}"),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(config: &str) -> String {
        let config: LanguageModelConfig = toml::from_str(config).unwrap();
        config.check().map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
    }

    #[test]
    fn what_makes_no_language_model_is_refused_by_name() {
        assert_eq!(refusal("encoder.bidirectional = false"), "nothing");
        assert_eq!(
            refusal(""),
            "model.encoder.bidirectional cannot be combined with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder.bidirectional = 'first'"),
            "model.encoder.bidirectional cannot be combined with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, self_attention = 'dot' }"),
            "model.encoder.self_attention cannot be combined with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, reverse = true }"),
            "model.encoder.reverse cannot be combined with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, kind = 'bag' }"),
            "model.encoder.kind = \"bag\" cannot be combined with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder.kind = 'transformer'"),
            "model.encoder.kind = \"transformer\" cannot be combined with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, hidden = 300 }\noutput.tied = true"),
            "model.output.tied cannot tie states of width 300 to model.encoder.embedding = 256"
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, hidden = [300, 256] }\noutput.tied = true"),
            "nothing"
        );
    }
}
