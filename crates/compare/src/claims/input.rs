//! The size of what a decoder reads.

use super::{Claim, table};
use crate::run::Entry;
use couplet_nn::{ModelBuilder, ModelConfig, SourceEncoder};
use couplet_tensor::Params;

const SAID: &str = "A step reads one context, which is as wide as one state of the reader or as a value made of it, in the place of all its states \
                    side by side.\n\n";

pub(super) fn claim(entries: &[Entry]) -> Claim {
    let header = ["model", "numbers of a context", "longest source, tokens", "numbers of all its states"];
    let rows: Vec<Vec<String>> = entries.iter().filter_map(row).collect();
    Claim {
        title: "Attention makes the decoder's input smaller".to_owned(),
        text: SAID.to_owned() + &table(&header, &rows),
        picture: None,
    }
}

/// Of a recurrent reader and a recurrent writer with attention.
fn row(entry: &Entry) -> Option<Vec<String>> {
    let model: ModelConfig = entry.config.get("model")?.clone().try_into().ok()?;
    let (cells, longest) =
        (model.encoder.cell().zip(model.decoder.cell()), entry.runs.first()?.quality.longest);
    cells?;
    // The width of a recurrent encoder's states does not depend on the vocabulary.
    let mut planned = Params::planned();
    let source = SourceEncoder::new(&mut ModelBuilder::new(&mut planned), &model.encoder, 1).ok()?;
    let width = source.encoder.width();
    let context = model.attention.context_width(width)?;
    let numbers = [context, longest, width * longest].map(|number| number.to_string());
    Some(std::iter::once(entry.name.clone()).chain(numbers).collect())
}

#[cfg(test)]
mod tests {
    use super::super::tests::two;
    use super::*;

    /// Two directions of 8 units, and 45 tokens; values of 4 numbers make a smaller context.
    #[test]
    fn inputs_by_hand() {
        let text = claim(&two()).text;
        assert!(text.contains("| looks | 16 | 45 | 720 |") && !text.contains("| plain |"), "{text}");
        let mut entries = two();
        let values = "[model.encoder]\nkind = 'lstm'\nhidden = 8\nlayers = 1\n[model.attention]\nscore = 'query-key'\nvalue_projection = true\nsize = 4\n";
        entries[1].config = values.parse().unwrap();
        let text = claim(&entries).text;
        assert!(text.contains("| looks | 4 | 45 | 720 |"), "{text}");
    }
}
