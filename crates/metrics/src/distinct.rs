//! How varied texts are, after Li et al., [*A Diversity-Promoting Objective Function for Neural Conversation
//! Models*](https://aclanthology.org/N16-1014/).

use std::collections::HashSet;

use crate::Tokenizer;
use crate::accuracy::percent;
use crate::words::Numbering;

/// How many sequences of n words there are, and how many different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Distinct {
    /// The number of different sequences.
    pub different: usize,
    /// The number of sequences.
    pub total: usize,
}

impl Distinct {
    /// The share of different ones, from 0 to 100; 0 if there are none at all.
    pub fn percent(&self) -> f64 {
        percent(self.different as f64, self.total as f64)
    }
}

/// Counts the sequences of `order` tokens in all texts together: distinct-1, distinct-2, …
///
/// ```
/// use couplet_metrics::{Tokenizer, distinct};
///
/// let found = distinct(&["I do not know", "I do not care"], 2, Tokenizer::Whitespace);
/// // I do, do not, not know, not care.
/// assert_eq!((found.different, found.total), (4, 6));
/// ```
///
/// # Panics
///
/// If the order is zero.
pub fn distinct<T: AsRef<str>>(texts: &[T], order: usize, tokenizer: Tokenizer) -> Distinct {
    assert!(order > 0, "sequences of no tokens");
    let spaced: Vec<_> = texts.iter().map(|text| tokenizer.spaced(text.as_ref())).collect();
    let mut numbering = Numbering::default();
    let lines: Vec<Vec<u32>> = spaced.iter().map(|text| numbering.words(text)).collect();
    let sequences = || lines.iter().flat_map(|line| line.windows(order));
    Distinct { different: sequences().collect::<HashSet<_>>().len(), total: sequences().count() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_by_hand() {
        let texts = ["a b a b", "a"];
        let of = |order| distinct(&texts, order, Tokenizer::Whitespace);
        assert_eq!(of(1), Distinct { different: 2, total: 5 });
        assert_eq!(of(2), Distinct { different: 2, total: 3 });
        assert_eq!(of(1).percent(), 40.0);
        assert_eq!(of(5).percent(), 0.0);
        let characters = distinct(&["春眠不觉晓，处处闻啼鸟。"], 1, Tokenizer::Character);
        assert_eq!(characters, Distinct { different: 11, total: 12 });
    }
}
