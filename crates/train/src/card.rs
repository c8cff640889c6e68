//! The model card: what a folder holds, what it was made of, and how well it does.

use crate::checkpoint::Progress;
use crate::event::DatasetSummary;
use couplet_tensor::Device;
use std::fmt;

/// What the card says.
pub(crate) struct Card<'a> {
    pub(crate) about: DatasetSummary,
    /// The resolved config.
    pub(crate) config: &'a str,
    pub(crate) parameters: usize,
    pub(crate) state: &'a Progress,
    pub(crate) device: &'a Device,
    pub(crate) command: Option<&'a str>,
}

impl fmt::Display for Card<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Card { config, parameters, state, device, .. } = self;
        writeln!(f, "# Model card\n")?;
        writeln!(f, "A model of couplet {}, trained on {device}.\n", env!("CARGO_PKG_VERSION"))?;
        if let Some(command) = self.command {
            writeln!(f, "```sh\n{command}\n```\n")?;
        }
        writeln!(f, "| | |\n|---|---|")?;
        match self.about {
            DatasetSummary::Pairs { pairs, skipped: left_out, vocabularies: [source, target] } => {
                writeln!(f, "| training pairs | {pairs}, {left_out} too long ones left out |")?;
                writeln!(f, "| vocabularies | {source} and {target} tokens |")?;
            }
            DatasetSummary::Lines { lines, chunks: pieces, vocabulary } => {
                writeln!(f, "| training texts | {lines}, in {pieces} pieces |")?;
                writeln!(f, "| vocabulary | {vocabulary} tokens |")?;
            }
            DatasetSummary::Texts { texts, truncated: cut, vocabulary, labels, tabular_features: beside } => {
                writeln!(f, "| training texts | {texts}, {cut} of them cut |")?;
                writeln!(f, "| vocabulary | {vocabulary} tokens |\n| labels | {labels} |")?;
                if beside > 0 {
                    writeln!(f, "| numbers beside each text | {beside} |")?;
                }
            }
        }
        writeln!(f, "| checksum of the training data | {:08x} |", state.data)?;
        writeln!(f, "| parameters | {parameters} |")?;
        writeln!(f, "| updates | {}, in {:.0} s |", state.update, state.seconds)?;
        if state.skipped > 0 {
            writeln!(f, "| updates left out | {}: loss or gradients were not finite |", state.skipped)?;
        }
        match state.best {
            Some(best) => {
                writeln!(f, "| validation loss | {:.4}, after update {} |", best.loss, best.update)?;
            }
            None => writeln!(f, "| validation loss | not validated yet |")?,
        }
        writeln!(f, "\nThe whole config:\n\n```toml\n{}\n```", config.trim_end())
    }
}
