//! The size of what a decoder reads.

use super::{Claim, key, table};
use crate::run::Entry;

const SAID: &str = "A step reads one context, which is as wide as one state of the reader, in the place of all its states side by side.\n\n";

pub(super) fn claim(entries: &[Entry]) -> Claim {
    let header = ["model", "numbers of a context", "longest source, tokens", "numbers of all its states"];
    let rows: Vec<Vec<String>> = entries.iter().filter_map(row).collect();
    Claim {
        title: "Attention makes the decoder's input smaller".to_owned(),
        text: SAID.to_owned() + &table(&header, &rows),
        picture: None,
    }
}

fn row(entry: &Entry) -> Option<Vec<String>> {
    let (width, longest) = (state_width(entry)?, entry.runs.first()?.quality.longest);
    let attends = key(entry, "attention", "score")? != "none";
    let numbers = [width, longest, width * longest].map(|number| number.to_string());
    attends.then(|| std::iter::once(entry.name.clone()).chain(numbers).collect())
}

/// The numbers of a state of a recurrent reader.
fn state_width(entry: &Entry) -> Option<usize> {
    let encoder = entry.config.get("model")?.get("encoder")?;
    let recurrent = ["rnn", "gru", "lstm"].contains(&key(entry, "encoder", "kind")?);
    let hidden = encoder.get("hidden")?;
    let units = hidden.as_integer().or_else(|| hidden.as_array()?.last()?.as_integer())?;
    // Where not all layers have two directions, the topmost one has not.
    let directions = if encoder.get("bidirectional")?.as_bool().unwrap_or(false) { 2 } else { 1 };
    usize::try_from(units * directions).ok().filter(|_| recurrent)
}

#[cfg(test)]
mod tests {
    use super::super::tests::two;
    use super::*;

    /// Two directions of 8 units, and 45 tokens.
    #[test]
    fn inputs_by_hand() {
        let text = claim(&two()).text;
        assert!(text.contains("| looks | 16 | 45 | 720 |") && !text.contains("| plain |"), "{text}");
    }
}
