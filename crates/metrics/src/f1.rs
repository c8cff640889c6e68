//! How well each label is found, whatever its share.

use std::collections::BTreeSet;

/// The mean over all labels of `F1 = 2·right / (2·right + wrongly given + missed)`, from 0 to 100. A label counts if it is
/// predicted or right at least once; rare labels weigh as much as frequent ones.
///
/// # Panics
///
/// If there are not as many hypotheses as references.
pub fn macro_f1<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[R]) -> f64 {
    assert_eq!(hypotheses.len(), references.len(), "as many hypotheses as references");
    let pairs = || hypotheses.iter().map(AsRef::as_ref).zip(references.iter().map(AsRef::as_ref));
    let labels: BTreeSet<&str> =
        pairs().flat_map(|(hypothesis, reference)| [hypothesis, reference]).collect();
    let f1 = |label: &&str| {
        let right = pairs().filter(|pair| pair == &(*label, *label)).count();
        let named = pairs().flat_map(|pair| [pair.0, pair.1]).filter(|named| named == label).count();
        2.0 * right as f64 / named as f64 // what is right is named on both sides
    };
    100.0 * labels.iter().map(f1).sum::<f64>() / labels.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a: 2 right, 1 missed: 4/5. b: 1 right, 2 wrongly given: 2/4. c: missed: 0. Their mean is 1.3/3.
    #[test]
    fn three_labels_by_hand() {
        let found = macro_f1(&["a", "a", "b", "b", "b"], &["a", "a", "a", "b", "c"]);
        assert!((found - 100.0 * 1.3 / 3.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn all_and_nothing() {
        assert_eq!(macro_f1(&["a", "b"], &["a", "b"]), 100.0);
        assert_eq!(macro_f1(&["a"], &["b"]), 0.0);
        assert_eq!(macro_f1::<&str, &str>(&[], &[]), 0.0);
    }
}
