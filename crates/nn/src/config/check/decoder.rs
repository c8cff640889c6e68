//! What makes no writer.

use super::{
    ConfigError, check_cell, check_heads, check_key, check_share, check_shortcut, check_sizes, check_turned,
    refuse_if,
};
use crate::cell::WriterKind;
use crate::config::{DecoderConfig, InputKind, Tied};

impl DecoderConfig {
    /// Refuses what makes no writer.
    pub(super) fn check(&self) -> Result<(), ConfigError> {
        check_sizes([
            ("model.decoder.layers", self.layers),
            ("model.decoder.hidden", self.hidden),
            ("model.decoder.embedding", self.embedding.size),
        ])?;
        check_share("model.decoder.dropout", self.dropout)?;
        check_share("model.decoder.word_dropout", self.word_dropout)?;
        check_share("model.decoder.stochastic_depth", self.stochastic_depth)?;
        self.embedding.check("model.decoder", InputKind::Embedding)?;
        refuse_if(
            self.tie_embeddings == Tied::All && self.embedding.pretrained.is_some(),
            "model.decoder.embedding.pretrained with model.decoder.tie_embeddings = \"all\"",
            "the target's vectors are the source's; name the file in model.encoder.embedding",
        )?;
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
            return self.check_residual();
        }
        let recurrent = [
            ("residual_from", self.residual_from.is_some()),
            ("stochastic_depth", self.stochastic_depth > 0.0),
            ("readout", self.readout.is_some()),
            ("layer_norm", self.layer_norm),
        ];
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

    fn check_residual(&self) -> Result<(), ConfigError> {
        let Some(from) = self.residual_from else {
            return check_shortcut("model.decoder", self.stochastic_depth);
        };
        refuse_if(
            !(2..=self.layers).contains(&from),
            format!("model.decoder.residual_from = {from} with {} layers", self.layers),
            "a layer from 2, the first that reads another, to the topmost one",
        )
    }
}
