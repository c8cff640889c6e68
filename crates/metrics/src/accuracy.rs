//! The share of predictions that are right.

use std::fmt;

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
        if self.total == 0 { 0.0 } else { 100.0 * self.correct as f64 / self.total as f64 }
    }
}

impl fmt::Display for Accuracy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "accuracy = {:.2} ({}/{})", self.percent(), self.correct, self.total)
    }
}

/// How many hypotheses are their reference to the letter, spaces at the ends aside.
///
/// # Panics
///
/// If there are not as many hypotheses as references.
pub fn exact_match<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[R]) -> Accuracy {
    assert_eq!(hypotheses.len(), references.len(), "as many hypotheses as references");
    let pairs = hypotheses.iter().zip(references);
    let correct = pairs
        .filter(|(hypothesis, reference)| hypothesis.as_ref().trim() == reference.as_ref().trim())
        .count();
    Accuracy { correct, total: hypotheses.len() }
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
}
