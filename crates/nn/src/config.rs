//! What a model is made of, as a user writes it.

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// The table `[model]` of a config.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelConfig {
    /// `[model.encoder]`
    pub encoder: EncoderConfig,
    /// `[model.attention]`
    pub attention: AttentionConfig,
    /// `[model.decoder]`
    pub decoder: DecoderConfig,
    /// How the encoder's last states become the decoder's first.
    pub bridge: BridgeKind,
}

/// The reader.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EncoderConfig {
    /// Which cell it is made of.
    pub kind: CellKind,
    /// Whether a second reader goes through the source from its end.
    pub bidirectional: bool,
    /// Layers on top of each other.
    pub layers: usize,
    /// Units of a layer, in each direction.
    pub hidden: usize,
    /// Width of the source tokens' vectors.
    pub embedding: usize,
    /// The share of numbers that are dropped while training: of the embedding and of each layer's output.
    pub dropout: f32,
}

/// How the decoder looks at the source.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct AttentionConfig {
    /// How well a query fits a key.
    pub score: ScoreKind,
    /// Length of queries and keys.
    pub size: usize,
}

/// The writer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DecoderConfig {
    /// Which cell it is made of.
    pub kind: CellKind,
    /// Layers on top of each other.
    pub layers: usize,
    /// Units of a layer, and of the attention vector from which a token is predicted.
    pub hidden: usize,
    /// Width of the target tokens' vectors.
    pub embedding: usize,
    /// The share of numbers that are dropped while training: of the embedding and of the attention vector.
    pub dropout: f32,
}

/// A recurrent cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CellKind {
    /// Long short-term memory.
    #[default]
    Lstm,
}

/// An attention score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ScoreKind {
    /// `vᵀ tanh(U s + V h)`
    #[default]
    Additive,
}

/// The way from the encoder's last states to the decoder's first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BridgeKind {
    /// `tanh(W·[forward; backward] + b)`, for each layer and each part of the state.
    #[default]
    Dense,
    /// As they are: both sides must have the same layers and sizes.
    Copy,
}

impl Default for EncoderConfig {
    fn default() -> Self {
        let (kind, bidirectional) = (CellKind::default(), true);
        EncoderConfig { kind, bidirectional, layers: 2, hidden: 256, embedding: 256, dropout: 0.2 }
    }
}

impl Default for AttentionConfig {
    fn default() -> Self {
        AttentionConfig { score: ScoreKind::default(), size: 256 }
    }
}

impl Default for DecoderConfig {
    fn default() -> Self {
        DecoderConfig { kind: CellKind::default(), layers: 2, hidden: 512, embedding: 256, dropout: 0.2 }
    }
}

impl EncoderConfig {
    /// Numbers in an encoder's state: both directions side by side.
    pub fn width(&self) -> usize {
        if self.bidirectional { 2 * self.hidden } else { self.hidden }
    }
}

/// A config that makes no model.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum ConfigError {
    /// A size of nothing.
    #[error("{key} = 0")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// A rate outside of its range.
    #[error("{key} = {value}")]
    Dropout {
        /// The key.
        key: &'static str,
        /// What was given.
        value: f32,
    },
    /// States that do not fit without a projection.
    #[error(
        "model.bridge = \"copy\" cannot take {encoder_layers} × {encoder_width} encoder states \
         to {decoder_layers} × {decoder_width} decoder states"
    )]
    Copy {
        /// Layers of the encoder.
        encoder_layers: usize,
        /// Width of its states.
        encoder_width: usize,
        /// Layers of the decoder.
        decoder_layers: usize,
        /// Width of its states.
        decoder_width: usize,
    },
}

impl ConfigError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            ConfigError::Zero { .. } => "a size of at least 1".to_owned(),
            ConfigError::Dropout { .. } => "a share from 0 to below 1".to_owned(),
            ConfigError::Copy { .. } => {
                "use bridge = \"dense\", or give both sides the same layers and sizes \
                                         (both directions of the encoder count)"
                    .to_owned()
            }
        }
    }
}

impl ModelConfig {
    /// Refuses what makes no model, before any data is read.
    pub fn check(&self) -> Result<(), ConfigError> {
        let ModelConfig { encoder, attention, decoder, bridge } = self;
        let sizes = [
            ("model.encoder.layers", encoder.layers),
            ("model.encoder.hidden", encoder.hidden),
            ("model.encoder.embedding", encoder.embedding),
            ("model.attention.size", attention.size),
            ("model.decoder.layers", decoder.layers),
            ("model.decoder.hidden", decoder.hidden),
            ("model.decoder.embedding", decoder.embedding),
        ];
        if let Some(&(key, _)) = sizes.iter().find(|(_, size)| *size == 0) {
            return Err(ConfigError::Zero { key });
        }
        let rates = [("model.encoder.dropout", encoder.dropout), ("model.decoder.dropout", decoder.dropout)];
        if let Some(&(key, value)) = rates.iter().find(|(_, rate)| !(0.0..1.0).contains(rate)) {
            return Err(ConfigError::Dropout { key, value });
        }
        let (from, to) = ((encoder.layers, encoder.width()), (decoder.layers, decoder.hidden));
        if *bridge == BridgeKind::Copy && from != to {
            return Err(ConfigError::Copy {
                encoder_layers: from.0,
                encoder_width: from.1,
                decoder_layers: to.0,
                decoder_width: to.1,
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_defaults_make_a_model() {
        assert_eq!(ModelConfig::default().check(), Ok(()));
    }

    #[test]
    fn what_makes_no_model_is_refused_by_name() {
        let mut config = ModelConfig::default();
        config.decoder.layers = 0;
        assert_eq!(config.check(), Err(ConfigError::Zero { key: "model.decoder.layers" }));

        let mut config = ModelConfig::default();
        config.encoder.dropout = 1.0;
        assert_eq!(config.check(), Err(ConfigError::Dropout { key: "model.encoder.dropout", value: 1.0 }));

        let mut config = ModelConfig { bridge: BridgeKind::Copy, ..ModelConfig::default() };
        assert_eq!(config.check(), Ok(()));
        config.encoder.bidirectional = false;
        let error = config.check().unwrap_err();
        assert_eq!(
            error.to_string(),
            "model.bridge = \"copy\" cannot take 2 × 256 encoder states to 2 × 512 decoder states"
        );
    }
}
