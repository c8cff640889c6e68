//! What a score depends on, in one line: scores with the same signature can be compared.

use std::fmt;

use crate::metric::Metric;

/// The settings of a metric in sacreBLEU's format: the number of references, how often was resampled, the metric's own settings,
/// and who computed it, which is the only part that differs from sacreBLEU's.
///
/// ```
/// use couplet_metrics::{Bleu, Signature};
///
/// let signature = Signature::new(&Bleu::default(), Some(1)).with_bootstrap(1000, 12345);
/// let wanted = "nrefs:1|bs:1000|seed:12345|case:mixed|eff:no|tok:13a|smooth:exp|version:couplet-";
/// assert!(signature.to_string().starts_with(wanted));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    references: Option<usize>,
    bootstrap: Option<usize>,
    randomization: Option<usize>,
    seed: Option<u64>,
    settings: Vec<(&'static str, String)>,
}

impl Signature {
    /// The signature of a metric where each line has so many references; `None` if lines have different numbers of them.
    pub fn new(metric: &(impl Metric + ?Sized), references: Option<usize>) -> Signature {
        let settings = metric.settings();
        Signature { references, bootstrap: None, randomization: None, seed: None, settings }
    }

    /// For a score with a confidence interval, or one that was compared by [paired bootstrap](crate::paired_bootstrap).
    #[must_use]
    pub fn with_bootstrap(self, resamples: usize, seed: u64) -> Signature {
        Signature { bootstrap: Some(resamples), seed: Some(seed), ..self }
    }

    /// For a score that was compared by [approximate randomization](crate::paired_randomization).
    #[must_use]
    pub fn with_randomization(self, trials: usize, seed: u64) -> Signature {
        Signature { randomization: Some(trials), seed: Some(seed), ..self }
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let references = self.references.map_or("var".to_owned(), |number| number.to_string());
        write!(f, "nrefs:{references}")?;
        for (name, number) in [("bs", self.bootstrap), ("ar", self.randomization)] {
            if let Some(number) = number {
                write!(f, "|{name}:{number}")?;
            }
        }
        if let Some(seed) = self.seed {
            write!(f, "|seed:{seed}")?;
        }
        for (name, value) in &self.settings {
            write!(f, "|{name}:{value}")?;
        }
        write!(f, "|version:couplet-{}", env!("CARGO_PKG_VERSION"))
    }
}

/// The number of references that every line has; `None` if lines have different numbers of them.
pub fn references_of_each<R>(references: &[Vec<R>]) -> Option<usize> {
    let first = references.first().map(Vec::len)?;
    references.iter().all(|list| list.len() == first).then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chrf, Ter};

    #[test]
    fn parts_come_in_the_order_of_sacrebleu() {
        let version = env!("CARGO_PKG_VERSION");
        let chrf = Signature::new(&Chrf::plus_plus(), None).with_randomization(10_000, 7);
        assert_eq!(
            chrf.to_string(),
            format!(
                "nrefs:var|ar:10000|seed:7|case:mixed|eff:yes|nc:6|nw:2|space:no|version:couplet-{version}"
            )
        );
        let ter = Signature::new(&Ter::default(), Some(2));
        assert_eq!(
            ter.to_string(),
            format!("nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:couplet-{version}")
        );
    }

    #[test]
    fn lines_may_have_different_numbers_of_references() {
        assert_eq!(references_of_each(&[vec!["a", "b"], vec!["c", "d"]]), Some(2));
        assert_eq!(references_of_each(&[vec!["a", "b"], vec!["c"]]), None);
        assert_eq!(references_of_each::<&str>(&[]), None);
    }
}
