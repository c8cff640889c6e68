//! How well the words of two languages are aligned, after Och and Ney, [*A Systematic Comparison of Various Statistical
//! Alignment Models*](https://aclanthology.org/J03-1002/).
//!
//! People who align words by hand mark links that are sure (S) and links that are possible (P, of which the sure ones are part).
//! For the links A that were found,
//!
//! ```text
//! AER = 100 · (1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|))
//! ```

use std::collections::BTreeSet;

use crate::LineError;
use crate::accuracy::percent;
use crate::metric::{Compare, Metric};
use crate::words::words;

/// A word of the source and a word of the target.
type Link = (u32, u32);

/// The links of a sentence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Alignment {
    sure: BTreeSet<Link>,
    /// Sure ones included.
    possible: BTreeSet<Link>,
}

impl Alignment {
    /// Reads a line in the format of Pharaoh and Moses: links with spaces between them, each of a word of the source and one of
    /// the target, counted from the same number on all sides. `3-4` is sure, `3?4` and `3p4` are possible.
    ///
    /// ```
    /// use couplet_metrics::Alignment;
    ///
    /// assert!(Alignment::parse("0-0 1-2 2?1 3p3").is_ok());
    /// assert_eq!(Alignment::parse("0-0 1:2").unwrap_err().to_string(), "\"1:2\" is no link");
    /// ```
    pub fn parse(line: &str) -> Result<Alignment, LineError> {
        let mut alignment = Alignment::default();
        for text in words(line) {
            let (link, sure) = parse_link(text).ok_or_else(|| LineError::Link { link: text.to_owned() })?;
            alignment.possible.insert(link);
            if sure {
                alignment.sure.insert(link);
            }
        }
        Ok(alignment)
    }
}

/// A link, and whether it is sure.
fn parse_link(text: &str) -> Option<(Link, bool)> {
    let at = text.find(['-', '?', 'p'])?;
    let number = |digits: &str| digits.bytes().all(|c| c.is_ascii_digit()).then(|| digits.parse().ok())?;
    Some(((number(&text[..at])?, number(&text[at + 1..])?), text.as_bytes()[at] == b'-'))
}

impl AsRef<Alignment> for Alignment {
    fn as_ref(&self) -> &Alignment {
        self
    }
}

/// The alignment error rate, from 0 to 100. Of the hypothesis, all links count, sure or possible.
///
/// ```
/// use couplet_metrics::{Alignment, AlignmentErrorRate, Metric, Statistics};
///
/// let found = Alignment::parse("0-0 1-1 2-3")?;
/// let wanted = Alignment::parse("0-0 1-1 2-2 2?3")?;
/// let sums = Statistics::of(&AlignmentErrorRate, &[found], &[wanted]).sums();
/// // 2 of 3 are sure, all 3 are possible; 3 sure ones are wanted: 1 − (2 + 3)/(3 + 3).
/// assert_eq!(format!("{:.2}", AlignmentErrorRate.score(&sums)), "16.67");
/// # Ok::<(), couplet_metrics::LineError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AlignmentErrorRate;

/// The counts of a line: links found that are sure, that are possible, all links found, all sure links. Only the first
/// reference counts.
impl Compare for AlignmentErrorRate {
    type Line = Alignment;

    fn count(&self, hypothesis: &Alignment, references: &[&Alignment], counts: &mut [f64]) {
        let (found, wanted) = (&hypothesis.possible, references[0]);
        let numbers = [
            found.intersection(&wanted.sure).count(),
            found.intersection(&wanted.possible).count(),
            found.len(),
            wanted.sure.len(),
        ];
        counts.copy_from_slice(&numbers.map(|number| number as f64));
    }
}

impl Metric for AlignmentErrorRate {
    fn name(&self) -> String {
        "AER".to_owned()
    }

    fn width(&self) -> usize {
        4
    }

    /// Nothing is wrong with nothing.
    fn score(&self, sums: &[f64]) -> f64 {
        let all = sums[2] + sums[3];
        if all == 0.0 { 0.0 } else { 100.0 * (1.0 - (sums[0] + sums[1]) / all) }
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        vec![
            ("precision", percent(sums[1], sums[2])),
            ("recall", percent(sums[0], sums[3])),
            ("found", sums[2]),
            ("sure", sums[3]),
        ]
    }

    fn remark(&self, sums: &[f64]) -> String {
        let [sure, possible, found, wanted] = [sums[0], sums[1], sums[2], sums[3]];
        format!(
            "precision {:.2} ({possible}/{found}), recall {:.2} ({sure}/{wanted})",
            percent(possible, found),
            percent(sure, wanted)
        )
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;

    fn sums(found: &str, wanted: &str) -> Vec<f64> {
        let [found, wanted] = [found, wanted].map(|line| Alignment::parse(line).unwrap());
        Statistics::of(&AlignmentErrorRate, &[found], &[wanted]).sums()
    }

    #[test]
    fn rates_by_hand() {
        let rate = |found, wanted| AlignmentErrorRate.score(&sums(found, wanted));
        assert_eq!(rate("0-0 1-1", "0-0 1-1"), 0.0);
        assert_eq!(rate("0-1 1-0", "0-0 1-1"), 100.0);
        // A possible link neither has to be found nor does it harm.
        assert_eq!(rate("0-0", "0-0 1?1"), 0.0);
        assert_eq!(rate("0-0 1-1", "0-0 1p1"), 0.0);
        assert_eq!(rate("", ""), 0.0);
        assert_eq!(rate("", "0-0"), 100.0);
        // A link twice is one link.
        assert_eq!(sums("0-0 0-0 1?1", "0-0 0?0"), [1.0, 1.0, 2.0, 1.0]);
    }

    #[test]
    fn what_is_no_link_is_named() {
        for text in ["0", "-", "0-", "-1", "0--1", "1-2-3", "a-b", "+1-2", "0-1:0.5", "99999999999-1"] {
            assert_eq!(Alignment::parse(text), Err(LineError::Link { link: text.to_owned() }));
        }
    }
}
