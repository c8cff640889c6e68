//! Refuses what makes no model, by name, before any data is read.

use super::{
    AttentionConfig, BridgeKind, ContextConfig, ContextKind, DecoderConfig, EncoderConfig, InputKind,
    ModelConfig, PositionKind, QueryKind, Reach, ReadoutKind, Sizes, Tied,
};
use crate::attention::{AttentionKind, Made};
use crate::cell::{CellKind, ReaderKind, WriterKind};
use thiserror::Error;

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
    /// Values that do not go together.
    #[error("{what}")]
    Together {
        /// Which ones.
        what: String,
        /// What to do about it.
        hint: String,
    },
}

impl ConfigError {
    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            ConfigError::Zero { .. } => "a size of at least 1".to_owned(),
            ConfigError::Dropout { .. } => "a share from 0 to below 1".to_owned(),
            ConfigError::Together { hint, .. } => hint.clone(),
        }
    }
}

/// Refuses values that do not go together.
pub(super) fn refuse_if(
    wrong: bool,
    what: impl Into<String>,
    hint: impl Into<String>,
) -> Result<(), ConfigError> {
    if wrong { Err(ConfigError::Together { what: what.into(), hint: hint.into() }) } else { Ok(()) }
}

impl EncoderConfig {
    /// Refuses what makes no reader.
    pub fn check(&self) -> Result<(), ConfigError> {
        let units = self.units();
        let sizes =
            [("model.encoder.embedding", self.embedding), ("model.encoder.layers", self.layers.unwrap_or(1))];
        let sizes = sizes.into_iter().chain(units.iter().map(|&units| ("model.encoder.hidden", units)));
        check_sizes(sizes)?;
        check_share("model.encoder.dropout", self.dropout)?;
        if let (Sizes::Each(each), Some(layers)) = (&self.hidden, self.layers) {
            refuse_if(
                each.len() != layers,
                format!("model.encoder.hidden has {} sizes, model.encoder.layers = {layers}", each.len()),
                "a size for each layer, or leave model.encoder.layers out",
            )?;
        }
        refuse_if(
            self.kind != ReaderKind::Bag && units.is_empty(),
            "model.encoder.hidden = []",
            "a size, or a list with a size for each layer",
        )?;
        self.check_order()?;
        self.check_alone()?;
        check_cell("model.encoder", self.kind.cell(), self.activation.is_some(), self.forget_bias.is_some())?;
        self.check_residual()
    }

    /// Refuses what a reader without recurrence does not have.
    fn check_alone(&self) -> Result<(), ConfigError> {
        use ReaderKind::{Conv, SelfAttention, Transformer};
        let (transformer, bare, conv) =
            ((Transformer, "transformer"), (SelfAttention, "self-attention"), (Conv, "conv"));
        let check = |key: &str, chosen: bool, of: &[(ReaderKind, &str)]| {
            check_key("model.encoder", key, chosen, &self.kind, of)
        };
        check("heads", self.heads.is_some(), &[transformer, bare])?;
        check("positions", self.positions.is_some(), &[transformer, bare, conv])?;
        check("norm", self.norm.is_some(), &[transformer])?;
        check("feed_forward", self.feed_forward.is_some(), &[transformer])?;
        check("kernel", self.kernel.is_some(), &[conv])?;
        if !matches!(self.kind, Transformer | SelfAttention | Conv) {
            return Ok(());
        }
        let recurrent = [
            ("reverse", self.reverse),
            ("residual_from", self.residual_from.is_some()),
            ("layer_norm", self.layer_norm),
        ];
        recurrent.into_iter().try_for_each(|(key, chosen)| {
            refuse_if(
                chosen,
                format!("model.encoder.{key} with a reader without recurrence"),
                "it is a choice of recurrent readers; leave it out",
            )
        })?;
        let [of_transformer, of_conv] = [Transformer, Conv].map(|kind| self.kind == kind);
        refuse_if(
            (of_transformer || of_conv) && self.input == InputKind::OneHot,
            format!(
                "model.encoder.input = \"one-hot\" with model.encoder.kind = \"{}\"",
                if of_conv { conv.1 } else { transformer.1 }
            ),
            "its states are as wide as its embedding; leave input out",
        )?;
        if of_conv { self.check_convolution() } else { self.check_heads() }
    }

    fn check_convolution(&self) -> Result<(), ConfigError> {
        refuse_if(
            matches!(self.hidden, Sizes::Each(_)),
            "model.encoder.hidden is a list with model.encoder.kind = \"conv\"",
            "a layer's input is added to its output; give all layers one size",
        )?;
        refuse_if(
            self.kernel().is_multiple_of(2),
            format!("model.encoder.kernel = {}", self.kernel()),
            "a step sees itself and as many before as behind it: an odd number",
        )?;
        check_turned("model.encoder", self.positions(), "conv")
    }

    fn check_heads(&self) -> Result<(), ConfigError> {
        let mut widths = self.widths();
        widths.dedup();
        widths
            .into_iter()
            .try_for_each(|width| check_heads("model.encoder", width, self.heads(), self.positions()))
    }

    fn check_order(&self) -> Result<(), ConfigError> {
        let bag = self.kind == ReaderKind::Bag;
        refuse_if(
            self.reverse && bag,
            "model.encoder.reverse with model.encoder.kind = \"bag\"",
            "a bag has no order; choose another kind, or reverse = false",
        )?;
        refuse_if(
            self.reverse && self.bidirectional,
            "model.encoder.reverse with model.encoder.bidirectional",
            "both directions are read already; set bidirectional = false to read backwards only",
        )
    }

    fn check_residual(&self) -> Result<(), ConfigError> {
        let Some(from) = self.residual_from else { return Ok(()) };
        let widths = self.widths();
        refuse_if(
            from == 0 || from > widths.len(),
            format!("model.encoder.residual_from = {from} with {} layers", widths.len()),
            "a layer from 1, the lowest, to the topmost one",
        )?;
        // A one-hot input is as wide as the vocabulary, which no layer is meant to be.
        let input = if self.input == InputKind::Embedding { self.embedding } else { 0 };
        let inputs: Vec<usize> = std::iter::once(input).chain(widths.iter().copied()).collect();
        (from..=widths.len()).try_for_each(|layer| {
            let (input, output) = (inputs[layer - 1], widths[layer - 1]);
            refuse_if(
                input != output,
                format!(
                    "model.encoder.residual_from = {from}: layer {layer} makes {output} numbers of {input}"
                ),
                "input and output can only be added where they are equally wide (both directions count)",
            )
        })
    }
}

/// Refuses a key that only some kinds have.
fn check_key<K: PartialEq>(
    part: &str,
    key: &str,
    chosen: bool,
    kind: &K,
    of: &[(K, &str)],
) -> Result<(), ConfigError> {
    let names: Vec<String> = of.iter().map(|(_, name)| format!("\"{name}\"")).collect();
    refuse_if(
        chosen && of.iter().all(|(of, _)| of != kind),
        format!("{part}.{key} without {part}.kind = {}", names.join(" or ")),
        "leave it out, or choose that kind",
    )
}

/// Refuses to turn queries and keys that are not steps of one sequence.
fn check_turned(part: &str, positions: PositionKind, kind: &str) -> Result<(), ConfigError> {
    refuse_if(
        positions == PositionKind::Rotary,
        format!("{part}.positions = \"rotary\" with {part}.kind = \"{kind}\""),
        "only steps that look at each other have a distance; use \"sinusoidal\" or \"learned\"",
    )
}

/// Refuses heads that do not share states of a width.
fn check_heads(part: &str, width: usize, heads: usize, positions: PositionKind) -> Result<(), ConfigError> {
    refuse_if(heads == 0, format!("{part}.heads = 0"), "a size of at least 1")?;
    refuse_if(
        !width.is_multiple_of(heads),
        format!("{part}.heads = {heads} does not divide states of {width} numbers"),
        "each head takes an equal part; change heads or the width",
    )?;
    refuse_if(
        positions == PositionKind::Rotary && !(width / heads).is_multiple_of(2),
        format!("{part}.positions = \"rotary\" with heads of {} numbers", width / heads),
        "pairs of numbers are turned; give each head an even number",
    )
}

impl DecoderConfig {
    /// Refuses what makes no writer.
    fn check(&self) -> Result<(), ConfigError> {
        check_sizes([
            ("model.decoder.layers", self.layers),
            ("model.decoder.hidden", self.hidden),
            ("model.decoder.embedding", self.embedding),
        ])?;
        check_share("model.decoder.dropout", self.dropout)?;
        check_cell("model.decoder", self.kind.cell(), self.activation.is_some(), self.forget_bias.is_some())?;
        use WriterKind::{Attention, Conv, Transformer};
        let (transformer, bare, conv) =
            ((Transformer, "transformer"), (Attention, "attention"), (Conv, "conv"));
        let check = |key: &str, chosen: bool, of: &[(WriterKind, &str)]| {
            check_key("model.decoder", key, chosen, &self.kind, of)
        };
        check("heads", self.heads.is_some(), &[transformer, bare, conv])?;
        check("positions", self.positions.is_some(), &[transformer, bare, conv])?;
        check("norm", self.norm.is_some(), &[transformer])?;
        check("feed_forward", self.feed_forward.is_some(), &[transformer])?;
        check("kernel", self.kernel.is_some(), &[conv])?;
        if self.kind.cell().is_some() {
            return Ok(());
        }
        let recurrent = [("readout", self.readout.is_some()), ("layer_norm", self.layer_norm)];
        recurrent.into_iter().try_for_each(|(key, chosen)| {
            refuse_if(
                chosen,
                format!("model.decoder.{key} with a writer without recurrence"),
                "it is a choice of recurrent writers; leave it out",
            )
        })?;
        check_sizes([("model.decoder.kernel", self.kernel())])?;
        if let Some((_, name)) = [bare, conv].into_iter().find(|(kind, _)| *kind == self.kind) {
            check_turned("model.decoder", self.positions(), name)?;
        }
        check_heads("model.decoder", self.feature_width(), self.heads(), self.positions())
    }
}

pub(super) fn check_sizes(sizes: impl IntoIterator<Item = (&'static str, usize)>) -> Result<(), ConfigError> {
    match sizes.into_iter().find(|(_, size)| *size == 0) {
        Some((key, _)) => Err(ConfigError::Zero { key }),
        None => Ok(()),
    }
}

pub(super) fn check_share(key: &'static str, value: f32) -> Result<(), ConfigError> {
    if (0.0..1.0).contains(&value) { Ok(()) } else { Err(ConfigError::Dropout { key, value }) }
}

/// Refuses choices that a cell does not have.
fn check_cell(
    part: &str,
    kind: Option<CellKind>,
    activation: bool,
    forget_bias: bool,
) -> Result<(), ConfigError> {
    refuse_if(
        activation && kind != Some(CellKind::Rnn),
        format!("{part}.activation without {part}.kind = \"rnn\""),
        "only the simple cell has a choice of activation; leave it out",
    )?;
    refuse_if(
        forget_bias && kind != Some(CellKind::Lstm),
        format!("{part}.forget_bias without {part}.kind = \"lstm\""),
        "only the LSTM has a forget gate; leave it out",
    )
}

impl AttentionConfig {
    fn check(&self) -> Result<(), ConfigError> {
        check_sizes([("model.attention.size", self.size), ("model.attention.heads", self.heads)])?;
        let chosen = [
            ("heads", self.heads != 1),
            ("values", self.values),
            ("scaled", self.scaled),
            ("query", self.query != QueryKind::New),
            ("feed", !self.feed),
            ("activation", self.activation.is_some()),
        ];
        if self.score == AttentionKind::None {
            return chosen.into_iter().try_for_each(|(key, chosen)| {
                refuse_if(
                    chosen,
                    format!("model.attention.{key} with model.attention.score = \"none\""),
                    "choose a score, or leave it out",
                )
            });
        }
        refuse_if(
            self.activation.is_some() && self.score != AttentionKind::Linear,
            "model.attention.activation without model.attention.score = \"linear\"",
            "only the linear score has a choice of activation; leave it out",
        )?;
        use AttentionKind::{Dot, General, QueryKey, ScaledDot};
        refuse_if(
            self.scaled && !matches!(self.score, Dot | ScaledDot | General | QueryKey),
            "model.attention.scaled with a score that is no inner product",
            "scale \"dot\", \"general\" or \"query-key\", or leave it out",
        )?;
        refuse_if(
            self.query == QueryKind::Previous && !self.feed,
            "model.attention.query = \"previous\" with model.attention.feed = false",
            "what the previous state sees enters the next one; set feed = true, or query = \"new\"",
        )
    }

    /// Refuses sizes that do not fit, for encoder states of `width` and decoder states of `hidden` numbers.
    fn check_sizes(&self, width: usize, hidden: usize) -> Result<(), ConfigError> {
        let Some((score, values)) = self.score.score().zip(self.context_width(width)) else { return Ok(()) };
        let (keys, heads) = (self.key_width(score, width), self.heads);
        refuse_if(
            score.made() == Made::Neither && width != hidden,
            format!(
                "model.attention.score compares {width} numbers of the encoder with {hidden} of the decoder"
            ),
            "\"general\" and \"query-key\" project them; or give both sides the same width \
             (both directions of the encoder count)",
        )?;
        let divided = [("keys", keys), ("values", values)];
        divided.into_iter().try_for_each(|(what, numbers)| {
            refuse_if(
                !numbers.is_multiple_of(heads),
                format!("model.attention.heads = {heads} does not divide {what} of {numbers} numbers"),
                "each head takes an equal part; change heads, model.attention.size or the encoder's width",
            )
        })
    }
}

impl ModelConfig {
    /// Refuses what makes no model, before any data is read.
    pub fn check(&self) -> Result<(), ConfigError> {
        let ModelConfig { encoder, attention, decoder, .. } = self;
        encoder.check()?;
        attention.check()?;
        decoder.check()?;
        self.check_tied()?;
        if decoder.kind.cell().is_none() {
            return self.check_alone();
        }
        self.check_context()?;
        self.check_readout()?;
        // A bag of one-hot vectors is as wide as the vocabulary, which is not known before the data.
        let known = encoder.kind != ReaderKind::Bag || encoder.input == InputKind::Embedding;
        if known { self.check_widths(0) } else { Ok(()) }
    }

    /// Refuses what tells a recurrent writer of the source, where the writer looks at it by itself.
    fn check_alone(&self) -> Result<(), ConfigError> {
        let usual = ModelConfig::default();
        let chosen = [
            ("[model.attention]", self.attention != usual.attention),
            ("[model.context]", self.context != ContextConfig::default()),
            ("model.bridge", self.bridge != usual.bridge),
        ];
        chosen.into_iter().try_for_each(|(key, chosen)| {
            refuse_if(
                chosen,
                format!("{key} with a writer without recurrence"),
                "it looks at the source by itself; leave it out",
            )
        })
    }

    fn check_context(&self) -> Result<(), ConfigError> {
        let ModelConfig { encoder, context, attention, .. } = self;
        check_sizes([("model.context.projection", context.projection.unwrap_or(1))])?;
        refuse_if(
            context.kind == ContextKind::Last && encoder.kind == ReaderKind::Bag,
            "model.context.kind = \"last\" with model.encoder.kind = \"bag\"",
            "a bag has no last state; use \"mean\", \"max\" or \"none\"",
        )?;
        if context.kind != ContextKind::None {
            return Ok(());
        }
        let chosen = [("projection", context.projection.is_some()), ("to", context.to != Reach::Start)];
        chosen.into_iter().try_for_each(|(key, chosen)| {
            refuse_if(
                chosen,
                format!("model.context.{key} with model.context.kind = \"none\""),
                "use \"last\", \"mean\" or \"max\", or leave it out",
            )
        })?;
        refuse_if(
            attention.score == AttentionKind::None,
            "model.attention.score = \"none\" with model.context.kind = \"none\"",
            "the decoder would know nothing of the source; choose a score or a context",
        )
    }

    fn check_readout(&self) -> Result<(), ConfigError> {
        let ModelConfig { context, attention, .. } = self;
        let none = attention.score == AttentionKind::None && !context.to.steps();
        refuse_if(
            none && self.readout() != ReadoutKind::State,
            "model.decoder.readout joins the state with a context, and no context reaches the steps",
            "use readout = \"state\", an attention score, or model.context.to = \"steps\"",
        )
    }

    fn check_tied(&self) -> Result<(), ConfigError> {
        let ModelConfig { encoder, decoder, .. } = self;
        refuse_if(
            decoder.tied != Tied::None && decoder.feature_width() != decoder.embedding,
            format!(
                "model.decoder.tied with model.decoder.hidden = {} and model.decoder.embedding = {}",
                decoder.hidden, decoder.embedding
            ),
            "weights that are the same have the same size; make both equal, or tied = \"none\"",
        )?;
        let same = encoder.input == InputKind::Embedding && encoder.embedding == decoder.embedding;
        refuse_if(
            decoder.tied == Tied::All && !same,
            "model.decoder.tied = \"all\" with source vectors unlike the target's",
            "give model.encoder and model.decoder the same embedding, or use tied = \"output\"",
        )
    }

    /// Refuses what does not fit vocabularies of so many tokens.
    pub(crate) fn check_vocabularies(&self, source: usize, target: usize) -> Result<(), ConfigError> {
        refuse_if(
            self.decoder.tied == Tied::All && source != target,
            format!("model.decoder.tied = \"all\" with vocabularies of {source} and {target} tokens"),
            "both sides need one vocabulary, or use tied = \"output\"",
        )?;
        self.check_widths(source)
    }

    /// Refuses widths that do not fit, for sources of so many different tokens.
    fn check_widths(&self, source_vocabulary: usize) -> Result<(), ConfigError> {
        if self.decoder.kind.cell().is_none() {
            return Ok(());
        }
        self.check_bridge(source_vocabulary)?;
        self.attention.check_sizes(self.encoder.width(source_vocabulary), self.decoder.hidden)
    }

    fn check_bridge(&self, source_vocabulary: usize) -> Result<(), ConfigError> {
        let (from, to) = (self.first_states(source_vocabulary), self.decoder.states());
        let Some((from, to)) = from.zip(to).filter(|_| self.bridge == BridgeKind::Copy) else {
            return Ok(());
        };
        refuse_if(
            from.widths != to.widths,
            format!("model.bridge = \"copy\" cannot take {from} encoder states to {to} decoder states"),
            "use bridge = \"dense\", or give both sides the same layers and sizes \
             (both directions of the encoder count)",
        )?;
        refuse_if(
            from.parts != to.parts,
            format!(
                "model.bridge = \"copy\" cannot take a state of {} part to one of {}",
                from.parts, to.parts
            ),
            "use bridge = \"dense\", or give both sides cells with as many parts: an LSTM's state has 2, others 1",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::activation::ActivationKind;

    /// What is said about the default config with some changes.
    fn refusal(change: impl FnOnce(&mut ModelConfig)) -> String {
        let mut config = ModelConfig::default();
        change(&mut config);
        config.check().map_or_else(|error| error.to_string(), |()| "nothing".to_owned())
    }

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
    }

    #[test]
    fn a_reader_is_refused_by_name() {
        let said = refusal(|config| config.encoder.reverse = true);
        assert_eq!(said, "model.encoder.reverse with model.encoder.bidirectional");
        let said = refusal(|config| (config.encoder.kind, config.encoder.reverse) = (ReaderKind::Bag, true));
        assert_eq!(said, "model.encoder.reverse with model.encoder.kind = \"bag\"");
        let said = refusal(|config| config.encoder.activation = Some(ActivationKind::Relu));
        assert_eq!(said, "model.encoder.activation without model.encoder.kind = \"rnn\"");
        let said = refusal(|config| {
            (config.encoder.kind, config.encoder.forget_bias) = (ReaderKind::Gru, Some(1.0));
        });
        assert_eq!(said, "model.encoder.forget_bias without model.encoder.kind = \"lstm\"");
        let each = |sizes: &[usize]| Sizes::Each(sizes.to_vec());
        let said =
            refusal(|config| (config.encoder.hidden, config.encoder.layers) = (each(&[4, 8]), Some(3)));
        assert_eq!(said, "model.encoder.hidden has 2 sizes, model.encoder.layers = 3");
        assert_eq!(refusal(|config| config.encoder.hidden = each(&[])), "model.encoder.hidden = []");
        assert_eq!(refusal(|config| config.encoder.hidden = each(&[3, 0])), "model.encoder.hidden = 0");
    }

    /// The embedding has 256 numbers, a layer of two directions 512: from the second layer on, they can be added.
    #[test]
    fn a_residual_connection_needs_equal_widths() {
        assert_eq!(refusal(|config| config.encoder.residual_from = Some(2)), "nothing");
        let said = refusal(|config| config.encoder.residual_from = Some(1));
        assert_eq!(said, "model.encoder.residual_from = 1: layer 1 makes 512 numbers of 256");
        let said = refusal(|config| config.encoder.residual_from = Some(3));
        assert_eq!(said, "model.encoder.residual_from = 3 with 2 layers");
    }

    #[test]
    fn a_context_needs_something_to_be_made_of() {
        let said = refusal(|config| config.encoder.kind = ReaderKind::Bag);
        assert_eq!(said, "model.context.kind = \"last\" with model.encoder.kind = \"bag\"");
        let none = |config: &mut ModelConfig| {
            (config.context.kind, config.context.projection) = (ContextKind::None, Some(3));
        };
        assert_eq!(refusal(none), "model.context.projection with model.context.kind = \"none\"");
    }

    #[test]
    fn a_decoder_must_know_something_of_the_source() {
        let blind = |config: &mut ModelConfig| {
            (config.context.kind, config.attention.score) = (ContextKind::None, AttentionKind::None);
        };
        assert_eq!(refusal(blind), "model.attention.score = \"none\" with model.context.kind = \"none\"");
        let steps = |config: &mut ModelConfig| {
            (config.context.kind, config.context.to) = (ContextKind::None, Reach::Steps);
        };
        assert_eq!(refusal(steps), "model.context.to with model.context.kind = \"none\"");
    }

    #[test]
    fn attention_is_refused_by_name() {
        let said = |change: fn(&mut AttentionConfig)| refusal(|config| change(&mut config.attention));
        use AttentionKind::{Additive, Dot, Linear, QueryKey};
        assert_eq!(
            said(|attention| (attention.query, attention.feed) = (QueryKind::Previous, false)),
            "model.attention.query = \"previous\" with model.attention.feed = false"
        );
        assert_eq!(
            said(|attention| attention.scaled = true),
            "model.attention.scaled with a score that is no inner product"
        );
        assert_eq!(
            said(|attention| attention.activation = Some(ActivationKind::Relu)),
            "model.attention.activation without model.attention.score = \"linear\""
        );
        assert_eq!(
            said(|attention| (attention.score, attention.heads) = (AttentionKind::None, 2)),
            "model.attention.heads with model.attention.score = \"none\""
        );
        assert_eq!(said(|attention| attention.heads = 0), "model.attention.heads = 0");
        assert_eq!(
            said(|attention| (attention.score, attention.heads) = (Additive, 3)),
            "model.attention.heads = 3 does not divide keys of 256 numbers"
        );
        assert_eq!(
            said(|attention| (attention.score, attention.heads) = (Linear, 3)),
            "model.attention.heads = 3 does not divide values of 512 numbers"
        );
        assert_eq!(said(|attention| (attention.score, attention.heads) = (QueryKey, 8)), "nothing");
        assert_eq!(said(|attention| attention.score = Dot), "nothing");
        let narrow = |config: &mut ModelConfig| {
            (config.attention.score, config.decoder.hidden) = (Dot, 300);
        };
        assert_eq!(
            refusal(narrow),
            "model.attention.score compares 512 numbers of the encoder with 300 of the decoder"
        );
    }

    #[test]
    fn a_readout_needs_a_context_and_a_tie_equal_sizes() {
        let joined = |config: &mut ModelConfig| {
            (config.attention.score, config.decoder.readout) =
                (AttentionKind::None, Some(ReadoutKind::Joined));
        };
        let said = "model.decoder.readout joins the state with a context, and no context reaches the steps";
        assert_eq!(refusal(joined), said);
        assert_eq!(
            refusal(|config| config.decoder.tied = Tied::Output),
            "model.decoder.tied with model.decoder.hidden = 512 and model.decoder.embedding = 256"
        );
        let tied = |config: &mut ModelConfig| {
            (config.decoder.tied, config.decoder.embedding) = (Tied::All, 512);
        };
        assert_eq!(refusal(tied), "model.decoder.tied = \"all\" with source vectors unlike the target's");
        let mut config = ModelConfig::default();
        tied(&mut config);
        config.encoder.embedding = 512;
        assert_eq!(config.check_vocabularies(10, 10), Ok(()));
        let error = config.check_vocabularies(10, 11).unwrap_err();
        assert_eq!(error.to_string(), "model.decoder.tied = \"all\" with vocabularies of 10 and 11 tokens");
    }

    /// A bag of one-hot vectors is as wide as the vocabulary, so what does not fit is found when that is known.
    #[test]
    fn a_bag_of_one_hot_vectors_is_checked_when_its_width_is_known() {
        let mut config = ModelConfig::default();
        (config.encoder.kind, config.encoder.input) = (ReaderKind::Bag, InputKind::OneHot);
        (config.context.kind, config.attention.score) = (ContextKind::None, AttentionKind::Dot);
        assert_eq!(config.check(), Ok(()));
        assert_eq!(config.check_vocabularies(512, 9), Ok(()));
        let error = config.check_vocabularies(9, 9).unwrap_err();
        assert_eq!(
            error.to_string(),
            "model.attention.score compares 9 numbers of the encoder with 512 of the decoder"
        );
    }

    #[test]
    fn a_copy_needs_equal_states() {
        let copy = |change: &dyn Fn(&mut ModelConfig)| {
            refusal(|config| {
                config.bridge = BridgeKind::Copy;
                change(config);
            })
        };
        assert_eq!(copy(&|_| {}), "nothing");
        assert_eq!(
            copy(&|config| config.encoder.bidirectional = false),
            "model.bridge = \"copy\" cannot take 2 × 256 encoder states to 2 × 512 decoder states"
        );
        assert_eq!(
            copy(&|config| config.encoder.hidden = Sizes::Each(vec![128, 256])),
            "model.bridge = \"copy\" cannot take 256 and 512 encoder states to 2 × 512 decoder states"
        );
        assert_eq!(
            copy(&|config| config.encoder.kind = ReaderKind::Gru),
            "model.bridge = \"copy\" cannot take a state of 1 part to one of 2"
        );
        assert_eq!(copy(&|config| config.context.kind = ContextKind::None), "nothing");
    }

    #[test]
    fn what_has_no_recurrence_is_refused_by_name() {
        use crate::config::{FeedForwardKind, NormPlace};
        let reader = |change: fn(&mut EncoderConfig)| {
            refusal(|config| {
                config.encoder.kind = ReaderKind::Transformer;
                change(&mut config.encoder);
            })
        };
        assert_eq!(reader(|_| ()), "nothing");
        assert_eq!(reader(|encoder| encoder.heads = Some(0)), "model.encoder.heads = 0");
        assert_eq!(
            reader(|encoder| encoder.heads = Some(3)),
            "model.encoder.heads = 3 does not divide states of 256 numbers"
        );
        assert_eq!(
            reader(|encoder| {
                (encoder.embedding, encoder.positions) = (12, Some(PositionKind::Rotary));
            }),
            "model.encoder.positions = \"rotary\" with heads of 3 numbers"
        );
        assert_eq!(
            reader(|encoder| encoder.layer_norm = true),
            "model.encoder.layer_norm with a reader without recurrence"
        );
        assert_eq!(
            reader(|encoder| encoder.input = InputKind::OneHot),
            "model.encoder.input = \"one-hot\" with model.encoder.kind = \"transformer\""
        );
        assert_eq!(
            refusal(|config| config.encoder.heads = Some(2)),
            "model.encoder.heads without model.encoder.kind = \"transformer\" or \"self-attention\""
        );
        assert_eq!(
            refusal(|config| {
                (config.encoder.kind, config.encoder.kernel) = (ReaderKind::Conv, Some(4));
            }),
            "model.encoder.kernel = 4"
        );
        assert_eq!(
            refusal(|config| {
                (config.encoder.kind, config.encoder.positions) =
                    (ReaderKind::Conv, Some(PositionKind::Rotary));
            }),
            "model.encoder.positions = \"rotary\" with model.encoder.kind = \"conv\""
        );
        assert_eq!(
            refusal(|config| {
                (config.encoder.kind, config.encoder.hidden) = (ReaderKind::Conv, Sizes::Each(vec![3, 4]));
            }),
            "model.encoder.hidden is a list with model.encoder.kind = \"conv\""
        );
        assert_eq!(
            refusal(|config| {
                (config.decoder.kind, config.decoder.kernel) = (WriterKind::Conv, Some(0));
            }),
            "model.decoder.kernel = 0"
        );
        assert_eq!(
            refusal(|config| config.decoder.kernel = Some(3)),
            "model.decoder.kernel without model.decoder.kind = \"conv\""
        );
        assert_eq!(
            refusal(|config| {
                config.encoder.kind = ReaderKind::SelfAttention;
                config.encoder.norm = Some(NormPlace::Post);
            }),
            "model.encoder.norm without model.encoder.kind = \"transformer\""
        );

        let writer = |change: fn(&mut ModelConfig)| {
            refusal(|config| {
                config.decoder.kind = WriterKind::Transformer;
                change(config);
            })
        };
        assert_eq!(writer(|_| ()), "nothing");
        assert_eq!(writer(|config| config.decoder.tied = Tied::All), "nothing");
        assert_eq!(
            writer(|config| config.attention.score = AttentionKind::Dot),
            "[model.attention] with a writer without recurrence"
        );
        assert_eq!(
            writer(|config| config.context.kind = ContextKind::Mean),
            "[model.context] with a writer without recurrence"
        );
        assert_eq!(
            writer(|config| config.bridge = BridgeKind::Copy),
            "model.bridge with a writer without recurrence"
        );
        assert_eq!(
            writer(|config| config.decoder.readout = Some(ReadoutKind::State)),
            "model.decoder.readout with a writer without recurrence"
        );
        assert_eq!(
            refusal(|config| config.decoder.feed_forward = Some(FeedForwardKind::Gelu)),
            "model.decoder.feed_forward without model.decoder.kind = \"transformer\""
        );
        assert_eq!(
            writer(|config| {
                config.decoder.kind = WriterKind::Attention;
                config.decoder.positions = Some(PositionKind::Rotary);
            }),
            "model.decoder.positions = \"rotary\" with model.decoder.kind = \"attention\""
        );
    }
}
