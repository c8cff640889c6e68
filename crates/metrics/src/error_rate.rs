//! Word error rate and character error rate, as recognizers of speech and of print are measured.
//!
//! ```text
//! WER = 100 · (substitutions + insertions + deletions) / words of the references
//! ```
//!
//! It may be above 100, where more is inserted than the references have.

use crate::edit_distance::{Edits, edits};
use crate::metric::{Compare, Metric};
use crate::words::{Numbering, is_space};

/// What an error rate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// What stands between white space.
    Word,
    /// Spaces between words are characters, those at the ends of a line are not.
    Character,
}

/// Word error rate or character error rate.
///
/// ```
/// use couplet_metrics::{ErrorRate, Metric, Statistics};
///
/// let wer = ErrorRate::words();
/// let statistics = Statistics::of(&wer, &["the cats sat on mat"], &["the cat sat on the mat"]);
/// assert_eq!(wer.remark(&statistics.sums()), "1 substitutions, 0 insertions, 1 deletions, 6 words");
/// assert_eq!(format!("{:.2}", wer.score(&statistics.sums())), "33.33");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ErrorRate {
    /// What is compared.
    pub unit: Unit,
    /// Whether upper and lower case are the same.
    pub lowercase: bool,
}

impl ErrorRate {
    /// The word error rate.
    pub fn words() -> ErrorRate {
        ErrorRate { unit: Unit::Word, lowercase: false }
    }

    /// The character error rate.
    pub fn characters() -> ErrorRate {
        ErrorRate { unit: Unit::Character, lowercase: false }
    }

    fn units(&self) -> &'static str {
        match self.unit {
            Unit::Word => "words",
            Unit::Character => "characters",
        }
    }

    fn symbols<'a>(&self, text: &'a str, numbering: &mut Numbering<'a>) -> Vec<u32> {
        match self.unit {
            Unit::Word => numbering.words(text),
            Unit::Character => text.trim_matches(is_space).chars().map(u32::from).collect(),
        }
    }
}

/// Errors per symbol. Of a reference without symbols, each insertion is counted as if it had one.
fn rate(errors: f64, length: f64) -> f64 {
    errors / length.max(1.0)
}

/// The counts of a line: substitutions, insertions, deletions, and the length of the reference; of several references, that with
/// the lowest rate.
impl Compare for ErrorRate {
    type Line = str;

    fn count(&self, hypothesis: &str, references: &[&str], counts: &mut [f64]) {
        let cased = |text: &str| if self.lowercase { text.to_lowercase() } else { text.to_owned() };
        let hypothesis = cased(hypothesis);
        let references: Vec<String> = references.iter().map(|reference| cased(reference)).collect();
        let mut numbering = Numbering::default();
        let hypothesis = self.symbols(&hypothesis, &mut numbering);
        let mut lowest = f64::INFINITY;
        for reference in &references {
            let reference = self.symbols(reference, &mut numbering);
            let edits @ Edits { substitutions, insertions, deletions } = edits(&reference, &hypothesis);
            let rate = rate(edits.total() as f64, reference.len() as f64);
            if rate < lowest {
                lowest = rate;
                let found = [substitutions, insertions, deletions, reference.len()];
                counts.copy_from_slice(&found.map(|number| number as f64));
            }
        }
    }
}

impl Metric for ErrorRate {
    fn name(&self) -> String {
        match self.unit {
            Unit::Word => "WER".to_owned(),
            Unit::Character => "CER".to_owned(),
        }
    }

    fn width(&self) -> usize {
        4
    }

    fn score(&self, sums: &[f64]) -> f64 {
        100.0 * rate(sums[..3].iter().sum(), sums[3])
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        ["substitutions", "insertions", "deletions", "reference_length"]
            .into_iter()
            .zip(sums.iter().copied())
            .collect()
    }

    fn remark(&self, sums: &[f64]) -> String {
        let [substitutions, insertions, deletions, length] = [sums[0], sums[1], sums[2], sums[3]];
        format!(
            "{substitutions} substitutions, {insertions} insertions, {deletions} deletions, {length} {}",
            self.units()
        )
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let case = if self.lowercase { "lc" } else { "mixed" };
        vec![("case", case.to_owned()), ("unit", self.units().to_owned())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;

    fn counts(metric: ErrorRate, hypothesis: &str, references: &[&str]) -> Vec<f64> {
        Statistics::of_many(&metric, &[hypothesis], &[references.to_vec()]).sums()
    }

    #[test]
    fn words_and_characters_by_hand() {
        assert_eq!(counts(ErrorRate::words(), " a  x c d", &["a b c"]), [1.0, 1.0, 0.0, 3.0]);
        assert_eq!(counts(ErrorRate::characters(), " a c ", &["abc"]), [1.0, 0.0, 0.0, 3.0]);
        assert_eq!(
            counts(ErrorRate { lowercase: true, ..ErrorRate::words() }, "A b", &["a B"]),
            [0.0, 0.0, 0.0, 2.0]
        );
    }

    #[test]
    fn the_nearest_reference_counts() {
        // 2 of 3 wrong, 1 of 4, all wrong.
        assert_eq!(counts(ErrorRate::words(), "a b c", &["a x y", "a b c d", "z"]), [0.0, 0.0, 1.0, 4.0]);
    }

    #[test]
    fn references_without_words() {
        let wer = ErrorRate::words();
        assert_eq!(wer.score(&counts(wer, "", &[""])), 0.0);
        assert_eq!(wer.score(&counts(wer, "a b", &[""])), 200.0);
    }
}
