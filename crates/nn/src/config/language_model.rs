//! What a language model is made of.

use super::check::refuse_if;
use super::{ConfigError, EncoderConfig, InputKind};
use crate::cell::ReaderKind;
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
    /// Refuses what makes no language model, before any data is read.
    pub fn check(&self) -> Result<(), ConfigError> {
        let LanguageModelConfig { encoder, output } = self;
        encoder.check()?;
        let without_recurrence = match encoder.kind {
            ReaderKind::Bag => Some("bag"),
            ReaderKind::SelfAttention => Some("self-attention"),
            ReaderKind::Transformer => Some("transformer"),
            ReaderKind::Conv => Some("conv"),
            _ => None,
        };
        if let Some(kind) = without_recurrence {
            refuse_if(
                true,
                format!("model.encoder.kind = \"{kind}\" with task = \"language-model\""),
                "it sees what it is to predict; a language model reads with \"rnn\", \"gru\" or \"lstm\"",
            )?;
        }
        let seen = [("bidirectional", encoder.bidirectional.at(0)), ("reverse", encoder.reverse)];
        seen.into_iter().try_for_each(|(key, chosen)| {
            refuse_if(
                chosen,
                format!("model.encoder.{key} with task = \"language-model\""),
                format!("a reader from the end sees what it is to predict; set model.encoder.{key} = false"),
            )
        })?;
        refuse_if(
            encoder.self_attention.is_some(),
            "model.encoder.self_attention with task = \"language-model\"",
            "a language model goes on from one state, not from all so far; leave self_attention out",
        )?;
        refuse_if(
            output.tied && encoder.input == InputKind::OneHot,
            "model.output.tied with model.encoder.input = \"one-hot\"",
            "one-hot tokens have no vectors; leave one of them out",
        )?;
        let width = encoder.width(0);
        refuse_if(
            output.tied && width != encoder.embedding.size,
            format!(
                "model.output.tied with states of {width} numbers and model.encoder.embedding = {}",
                encoder.embedding.size
            ),
            "weights that are the same have the same size; give the topmost layer as many units, or tied = false",
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
        assert_eq!(refusal(""), "model.encoder.bidirectional with task = \"language-model\"");
        assert_eq!(
            refusal("encoder.bidirectional = 'first'"),
            "model.encoder.bidirectional with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, self_attention = 'dot' }"),
            "model.encoder.self_attention with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, reverse = true }"),
            "model.encoder.reverse with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, kind = 'bag' }"),
            "model.encoder.kind = \"bag\" with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder.kind = 'transformer'"),
            "model.encoder.kind = \"transformer\" with task = \"language-model\""
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, hidden = 300 }\noutput.tied = true"),
            "model.output.tied with states of 300 numbers and model.encoder.embedding = 256"
        );
        assert_eq!(
            refusal("encoder = { bidirectional = false, hidden = [300, 256] }\noutput.tied = true"),
            "nothing"
        );
    }
}
