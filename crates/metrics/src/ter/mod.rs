//! Translation edit rate, after Snover et al., [*A Study of Translation Edit Rate with Targeted Human
//! Annotation*](https://aclanthology.org/2006.amta-papers.25/), as Tercom and sacreBLEU compute it.
//!
//! How many edits turn the hypotheses into the references, for each word of these, in per cent. An edit inserts, deletes or
//! replaces a word, or moves a sequence of words elsewhere. The fewest such edits are too hard to find, so moves are chosen
//! greedily: always the one after which the fewest other edits are left, until none helps.

mod band;
mod shifts;

use crate::metric::{Compare, Metric};
use crate::tokenize::tercom::Tercom;
use crate::words::Numbering;

/// TER and its settings. By default they are those of Tercom and sacreBLEU.
///
/// ```
/// use couplet_metrics::{Metric, Statistics, Ter};
///
/// let ter = Ter::default();
/// // One move and one word replaced, for five words.
/// let statistics = Statistics::of(&ter, &["today I saw two cats"], &["I saw three cats today"]);
/// assert_eq!(ter.score(&statistics.sums()), 40.0);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ter {
    /// Separates marks from words.
    pub normalized: bool,
    /// Leaves marks out.
    pub no_punctuation: bool,
    /// With `normalized`, takes each Chinese character for a word; with `no_punctuation`, leaves East Asian marks out, too.
    pub asian: bool,
    /// Whether upper and lower case differ.
    pub case_sensitive: bool,
}

impl Ter {
    fn tokenizer(&self) -> Tercom {
        let Ter { normalized, no_punctuation, asian, case_sensitive } = *self;
        Tercom { normalized, no_punctuation, asian, case_sensitive }
    }
}

/// The counts of a line: the fewest edits over all references, and the mean length of the references.
impl Compare for Ter {
    type Line = str;

    fn count(&self, hypothesis: &str, references: &[&str], counts: &mut [f64]) {
        let tokenizer = self.tokenizer();
        let hypothesis = tokenizer.spaced(hypothesis);
        let references: Vec<String> =
            references.iter().map(|reference| tokenizer.spaced_reference(reference)).collect();
        let mut numbering = Numbering::default();
        let hypothesis = numbering.words(&hypothesis);
        let references: Vec<Vec<u32>> =
            references.iter().map(|reference| numbering.words(reference)).collect();

        let edits = references.iter().map(|reference| shifts::edits(&hypothesis, reference));
        counts[0] = edits.min().expect("a hypothesis has a reference") as f64;
        counts[1] = references.iter().map(Vec::len).sum::<usize>() as f64 / references.len() as f64;
    }
}

impl Metric for Ter {
    fn name(&self) -> String {
        "TER".to_owned()
    }

    fn width(&self) -> usize {
        2
    }

    fn score(&self, sums: &[f64]) -> f64 {
        match *sums {
            [edits, length] if length > 0.0 => 100.0 * edits / length,
            [edits, _] if edits > 0.0 => 100.0,
            _ => 0.0,
        }
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        vec![("edits", sums[0]), ("reference_length", sums[1])]
    }

    fn remark(&self, sums: &[f64]) -> String {
        format!("{} edits for {:.0} words", sums[0], sums[1])
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
        vec![
            ("case", if self.case_sensitive { "mixed" } else { "lc" }.to_owned()),
            ("tok", "tercom".to_owned()),
            ("norm", yes(self.normalized)),
            ("punct", yes(!self.no_punctuation)),
            ("asian", yes(self.asian)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;

    fn score(ter: Ter, hypothesis: &str, references: &[&str]) -> f64 {
        ter.score(&Statistics::of_many(&ter, &[hypothesis], &[references.to_vec()]).sums())
    }

    #[test]
    fn edits_by_hand() {
        let ter = Ter::default();
        assert_eq!(score(ter, "a b c d", &["a b c d"]), 0.0);
        assert_eq!(score(ter, "a b x d", &["a b c d"]), 25.0);
        assert_eq!(score(ter, "a b d", &["a b c d"]), 25.0);
        assert_eq!(score(ter, "a b c x d", &["a b c d"]), 25.0);
        // "d e" moves to the end as one.
        assert_eq!(score(ter, "d e a b c", &["a b c d e"]), 20.0);
    }

    /// The fewest edits, 1, over the mean length of 4 and 2.
    #[test]
    fn several_references_by_hand() {
        assert_eq!(score(Ter::default(), "a b c x", &["a b c d", "y z"]), 100.0 / 3.0);
    }

    #[test]
    fn nothing_there() {
        assert_eq!(score(Ter::default(), "", &["a b"]), 100.0);
        assert_eq!(score(Ter::default(), "a b", &[""]), 100.0);
        assert_eq!(score(Ter::default(), "", &[""]), 0.0);
    }

    #[test]
    fn settings_matter() {
        assert_eq!(score(Ter::default(), "A b", &["a B"]), 0.0);
        assert_eq!(score(Ter { case_sensitive: true, ..Ter::default() }, "A b", &["a B"]), 100.0);
        assert_eq!(score(Ter::default(), "a b .", &["a b."]), 100.0);
        assert_eq!(score(Ter { normalized: true, ..Ter::default() }, "a b .", &["a b."]), 0.0);
        assert_eq!(score(Ter { no_punctuation: true, ..Ter::default() }, "a, b", &["a b."]), 0.0);
    }
}
