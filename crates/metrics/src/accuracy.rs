//! The share of predictions that are right.

use std::fmt;

use crate::metric::{Compare, Metric, Statistics};
use crate::words::is_space;

/// How many of how many are right.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Accuracy {
    /// The number of predictions that are right.
    pub correct: usize,
    /// The number of predictions.
    pub total: usize,
}

impl Accuracy {
    /// The share of right predictions, from 0 to 100; 0 if there are none at all.
    pub fn percent(&self) -> f64 {
        percent(self.correct as f64, self.total as f64)
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accuracy = {:.2} ({}/{})", self.percent(), self.correct, self.total)
    }
}

/// A share in per cent; 0 of nothing.
pub(crate) fn percent(part: f64, all: f64) -> f64 {
    if all == 0.0 { 0.0 } else { 100.0 * part / all }
}

/// How many hypotheses are their reference to the letter, spaces at the ends aside.
///
/// # Panics
///
/// If there are not as many hypotheses as references.
pub fn exact_match<H, R>(hypotheses: &[H], references: &[R]) -> Accuracy
where
    H: AsRef<str> + Sync,
    R: AsRef<str> + Sync,
{
    let sums = Statistics::of(&ExactMatch::default(), hypotheses, references).sums();
    Accuracy { correct: sums[0] as usize, total: sums[1] as usize }
}

/// Whether a line is one of its references to the letter, spaces at the ends aside: the accuracy, where lines are labels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ExactMatch {
    /// Whether upper and lower case are the same.
    pub lowercase: bool,
}

/// The counts of a line: 1 if it is right, and 1.
impl Compare for ExactMatch {
    type Line = str;

    fn count(&self, hypothesis: &str, references: &[&str], counts: &mut [f64]) {
        let same = |reference: &&str| {
            let [ours, theirs] = [hypothesis, reference].map(|text| text.trim_matches(is_space));
            ours == theirs || self.lowercase && ours.to_lowercase() == theirs.to_lowercase()
        };
        counts[0] = f64::from(u8::from(references.iter().any(same)));
        counts[1] = 1.0;
    }
}

impl Metric for ExactMatch {
    fn name(&self) -> String {
        "exact match".to_owned()
    }

    fn width(&self) -> usize {
        2
    }

    fn score(&self, sums: &[f64]) -> f64 {
        percent(sums[0], sums[1])
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        vec![("correct", sums[0]), ("total", sums[1])]
    }

    fn remark(&self, sums: &[f64]) -> String {
        format!("{} of {}", sums[0], sums[1])
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![("case", if self.lowercase { "lc" } else { "mixed" }.to_owned())]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_of_three() {
        let accuracy = exact_match(&["a b", "c", "d "], &["a b", "C", "d"]);
        assert_eq!(accuracy, Accuracy { correct: 2, total: 3 });
        assert_eq!(accuracy.to_string(), "accuracy = 66.67 (2/3)");
    }

    #[test]
    fn nothing_is_zero_percent() {
        assert_eq!(exact_match::<&str, &str>(&[], &[]).percent(), 0.0);
    }

    #[test]
    fn one_of_the_references_suffices() {
        let metric = ExactMatch { lowercase: true };
        let statistics = Statistics::of_many(&metric, &["B", "b"], &[vec!["a", "b"], vec!["c"]]);
        assert_eq!(metric.score(&statistics.sums()), 50.0);
    }
}
