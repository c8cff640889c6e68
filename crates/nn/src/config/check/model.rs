//! What does not go together.

use super::{ConfigError, check_sizes, refuse_if};
use crate::attention::{AttentionKind, Made};
use crate::cell::ReaderKind;
use crate::config::{
    AttentionConfig, BridgeKind, ContextConfig, ContextKind, ContextUse, InputFeeding, InputKind,
    ModelConfig, QueryKind, QueryLayer, ReadoutKind, Tied,
};

impl AttentionConfig {
    fn check(&self) -> Result<(), ConfigError> {
        check_sizes([("model.attention.size", self.size), ("model.attention.heads", self.heads)])?;
        let chosen = [
            ("heads", self.heads != 1),
            ("value_projection", self.value_projection),
            ("scaled", self.scaled),
            ("query_layer", self.query_layer != QueryLayer::Last),
            ("query", self.query != QueryKind::Current),
            ("input_feeding", self.input_feeding == InputFeeding::None),
            ("local", self.local.is_some()),
            ("window", self.window.is_some()),
            ("coverage", self.coverage),
            ("coverage_loss", self.coverage_loss.is_some()),
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
            self.query == QueryKind::Previous && self.input_feeding == InputFeeding::None,
            "model.attention.query = \"previous\" with model.attention.input_feeding = \"none\"",
            "what the previous state sees enters the next one; set input_feeding = \"context\", or query = \"current\"",
        )?;
        refuse_if(
            self.window.is_some() && self.local.is_none(),
            "model.attention.window without model.attention.local",
            "choose local = \"monotonic\" or \"predictive\", or leave it out",
        )?;
        check_sizes([("model.attention.window", self.window())])?;
        refuse_if(
            self.coverage && self.input_feeding == InputFeeding::None,
            "model.attention.coverage with model.attention.input_feeding = \"none\"",
            "what was looked at goes from step to step, as a context that is fed does; set input_feeding = \"context\"",
        )?;
        let weight = self.coverage_loss.unwrap_or(1.0);
        refuse_if(
            !(weight > 0.0 && weight.is_finite()),
            format!("model.attention.coverage_loss = {weight}"),
            "a weight above 0; for no such loss, leave it out",
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
        self.check_copying()?;
        if decoder.kind.cell().is_none() {
            return self.check_alone();
        }
        self.check_context()?;
        self.check_readout()?;
        self.check_residual()?;
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
        let chosen =
            [("projection", context.projection.is_some()), ("to", context.to != ContextUse::InitState)];
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
        let none = attention.score == AttentionKind::None && !context.to.is_every_step();
        refuse_if(
            none && self.readout() != ReadoutKind::State,
            "model.decoder.readout joins the state with a context, and no context reaches the steps",
            "use readout = \"state\", an attention score, or model.context.to = \"every_step\"",
        )
    }

    fn check_residual(&self) -> Result<(), ConfigError> {
        let AttentionConfig { score, query_layer: layer, input_feeding, .. } = self.attention;
        let all_in_the_loop = score != AttentionKind::None
            && input_feeding == InputFeeding::Context
            && layer == QueryLayer::Last;
        refuse_if(
            self.decoder.residual_from.is_some() && all_in_the_loop,
            "model.decoder.residual_from with a context that is fed back from the topmost layer",
            "let the lowest one look: model.attention.query_layer = \"first\"; or set model.attention.input_feeding = \"none\"",
        )
    }

    fn check_tied(&self) -> Result<(), ConfigError> {
        let ModelConfig { encoder, decoder, .. } = self;
        refuse_if(
            decoder.tie_embeddings != Tied::None && decoder.feature_width() != decoder.embedding.size,
            format!(
                "model.decoder.tie_embeddings with model.decoder.hidden = {} and model.decoder.embedding = {}",
                decoder.hidden, decoder.embedding.size
            ),
            "weights that are the same have the same size; make both equal, or tie_embeddings = \"none\"",
        )?;
        let same = encoder.input == InputKind::Embedding && encoder.embedding.size == decoder.embedding.size;
        refuse_if(
            decoder.tie_embeddings == Tied::All && !same,
            "model.decoder.tie_embeddings = \"all\" with source vectors unlike the target's",
            "give model.encoder and model.decoder the same embedding, or use tie_embeddings = \"output\"",
        )
    }

    /// Refuses what does not fit vocabularies of so many tokens.
    pub(crate) fn check_vocabularies(&self, source: usize, target: usize) -> Result<(), ConfigError> {
        refuse_if(
            self.decoder.tie_embeddings == Tied::All && source != target,
            format!(
                "model.decoder.tie_embeddings = \"all\" with vocabularies of {source} and {target} tokens"
            ),
            "both sides need one vocabulary, or use tie_embeddings = \"output\"",
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
