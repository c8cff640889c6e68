//! How well each label is found, whatever its share.

use std::collections::BTreeSet;

use crate::metric::{Compare, Metric, Statistics};
use crate::words::is_space;

/// The mean over all labels of `F1 = 2·right / (2·right + wrongly given + missed)`, from 0 to 100. A label counts if it is
/// predicted or right at least once; rare labels weigh as much as frequent ones.
///
/// # Panics
///
/// If there are not as many hypotheses as references.
pub fn macro_f1<H, R>(hypotheses: &[H], references: &[R]) -> f64
where
    H: AsRef<str> + Sync,
    R: AsRef<str> + Sync,
{
    let hypothesized = hypotheses.iter().map(AsRef::as_ref);
    let metric = MacroF1::new(hypothesized.chain(references.iter().map(AsRef::as_ref)));
    metric.score(&Statistics::of(&metric, hypotheses, references).sums())
}

/// [`macro_f1`], where each line is a label, spaces at the ends aside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MacroF1 {
    labels: Vec<String>,
}

impl MacroF1 {
    /// The metric for these labels, each of which may be there several times.
    pub fn new<'a>(labels: impl Iterator<Item = &'a str>) -> MacroF1 {
        let labels: BTreeSet<&str> = labels.map(trimmed).collect();
        MacroF1 { labels: labels.into_iter().map(str::to_owned).collect() }
    }

    fn place(&self, label: &str) -> usize {
        let place = self.labels.binary_search_by(|known| known.as_str().cmp(trimmed(label)));
        2 * place.unwrap_or_else(|_| panic!("the metric does not know the label {label:?}"))
    }
}

fn trimmed(label: &str) -> &str {
    label.trim_matches(is_space)
}

/// The counts of a line: for each label, whether it is right, and how often it is named, in the hypothesis and in the first
/// reference.
impl Compare for MacroF1 {
    type Line = str;

    fn count(&self, hypothesis: &str, references: &[&str], counts: &mut [f64]) {
        let [given, wanted] = [hypothesis, references[0]].map(|label| self.place(label));
        counts[given] += f64::from(u8::from(given == wanted));
        counts[given + 1] += 1.0;
        counts[wanted + 1] += 1.0;
    }
}

impl Metric for MacroF1 {
    fn name(&self) -> String {
        "macro F1".to_owned()
    }

    fn width(&self) -> usize {
        2 * self.labels.len()
    }

    fn score(&self, sums: &[f64]) -> f64 {
        let named = sums.chunks(2).filter(|label| label[1] > 0.0);
        let f1: Vec<f64> = named.map(|label| 2.0 * label[0] / label[1]).collect();
        100.0 * f1.iter().sum::<f64>() / f1.len().max(1) as f64
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        vec![("labels", sums.chunks(2).filter(|label| label[1] > 0.0).count() as f64)]
    }

    fn remark(&self, sums: &[f64]) -> String {
        format!("{} labels", self.figures(sums)[0].1)
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a: 2 right, 1 missed: 4/5. b: 1 right, 2 wrongly given: 2/4. c: missed: 0. Their mean is 1.3/3.
    #[test]
    fn three_labels_by_hand() {
        let found = macro_f1(&["a", "a", "b", "b", "b"], &["a", "a ", "a", "b", "c"]);
        assert!((found - 100.0 * 1.3 / 3.0).abs() < 1e-9, "{found}");
    }

    #[test]
    fn all_and_nothing() {
        assert_eq!(macro_f1(&["a", "b"], &["a", "b"]), 100.0);
        assert_eq!(macro_f1(&["a"], &["b"]), 0.0);
        assert_eq!(macro_f1::<&str, &str>(&[], &[]), 0.0);
    }

    #[test]
    #[should_panic(expected = "the metric does not know the label \"b\"")]
    fn an_unknown_label_is_a_bug() {
        Statistics::of(&MacroF1::new(["a"].into_iter()), &["b"], &["a"]);
    }
}
