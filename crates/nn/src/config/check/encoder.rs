//! What makes no reader.

use super::{
    ConfigError, check_cell, check_heads, check_key, check_share, check_shortcut, check_sizes, check_turned,
    refuse_if,
};
use crate::cell::ReaderKind;
use crate::config::{Bidirectional, EncoderConfig, InputKind, Sizes};

impl EncoderConfig {
    /// Refuses what makes no reader.
    pub fn check(&self) -> Result<(), ConfigError> {
        let units = self.units();
        let sizes = [
            ("model.encoder.embedding", self.embedding.size),
            ("model.encoder.layers", self.layers.unwrap_or(1)),
        ];
        let sizes = sizes.into_iter().chain(units.iter().map(|&units| ("model.encoder.hidden", units)));
        check_sizes(sizes)?;
        check_share("model.encoder.dropout", self.dropout)?;
        check_share("model.encoder.word_dropout", self.word_dropout)?;
        check_share("model.encoder.stochastic_depth", self.stochastic_depth)?;
        self.embedding.check("model.encoder", self.input)?;
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
        refuse_if(
            self.self_attention.is_some() && self.kind == ReaderKind::Bag,
            "model.encoder.self_attention with model.encoder.kind = \"bag\"",
            "a bag has no states before; choose \"rnn\", \"gru\" or \"lstm\"",
        )?;
        if !matches!(self.kind, Transformer | SelfAttention | Conv) {
            return Ok(());
        }
        let recurrent = [
            ("reverse", self.reverse),
            ("bidirectional", matches!(self.bidirectional, Bidirectional::Only(_))),
            ("residual_from", self.residual_from.is_some()),
            ("stochastic_depth", self.stochastic_depth > 0.0),
            ("self_attention", self.self_attention.is_some()),
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
            self.reverse && self.bidirectional.at(0),
            "model.encoder.reverse with model.encoder.bidirectional",
            "both directions are read already; set bidirectional = false to read backwards only",
        )
    }

    fn check_residual(&self) -> Result<(), ConfigError> {
        let Some(from) = self.residual_from else {
            return check_shortcut("model.encoder", self.stochastic_depth);
        };
        let widths = self.widths();
        refuse_if(
            from == 0 || from > widths.len(),
            format!("model.encoder.residual_from = {from} with {} layers", widths.len()),
            "a layer from 1, the lowest, to the topmost one",
        )?;
        // A one-hot input is as wide as the vocabulary, which no layer is meant to be.
        let input = if self.input == InputKind::Embedding { self.embedding.size } else { 0 };
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
