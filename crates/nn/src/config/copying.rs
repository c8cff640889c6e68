//! What makes no writer that copies.

use super::ModelConfig;
use super::check::{ConfigError, refuse_if};
use crate::attention::AttentionKind;
use crate::cell::WriterKind;

impl ModelConfig {
    /// Refuses to copy where nothing points to the source.
    pub(super) fn check_copying(&self) -> Result<(), ConfigError> {
        let ModelConfig { attention, decoder, .. } = self;
        let is_recurrent = decoder.kind.cell().is_some();
        refuse_if(
            decoder.copy && !is_recurrent && decoder.kind != WriterKind::Transformer,
            "model.decoder.copy with a writer that is neither recurrent nor a Transformer",
            "\"rnn\", \"gru\", \"lstm\" and \"transformer\" copy; choose one of them, or leave it out",
        )?;
        refuse_if(
            decoder.copy && is_recurrent && attention.score == AttentionKind::None,
            "model.decoder.copy with model.attention.score = \"none\"",
            "a writer copies what it looks at; choose a score, or leave it out",
        )?;
        refuse_if(
            decoder.copy && attention.local.is_some(),
            "model.decoder.copy with model.attention.local",
            "what lies outside of the window could not be copied; leave one of them out",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::LocalKind;

    #[test]
    fn copying_needs_a_writer_that_looks() {
        let refusal = |change: fn(&mut ModelConfig)| {
            let mut config = ModelConfig::default();
            config.decoder.copy = true;
            change(&mut config);
            config.check().map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
        };
        assert_eq!(refusal(|_| ()), "nothing");
        assert_eq!(
            refusal(|config| config.decoder.kind = WriterKind::Conv),
            "model.decoder.copy with a writer that is neither recurrent nor a Transformer"
        );
        assert_eq!(
            refusal(|config| config.attention.score = AttentionKind::None),
            "model.decoder.copy with model.attention.score = \"none\""
        );
        assert_eq!(
            refusal(|config| config.attention.local = Some(LocalKind::Predictive)),
            "model.decoder.copy with model.attention.local"
        );
    }
}
