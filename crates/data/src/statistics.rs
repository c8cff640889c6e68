//! What a vocabulary makes of texts: how often each token stands in them, how much of them is unknown, how long they are.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use crate::tokenizer::{SPECIAL, UNK};

/// Counts over texts that have become ids.
///
/// ```
/// use couplet_data::{Tokenizer, TokenizerConfig, VocabularyStatistics};
///
/// let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["a b a", "a"])?;
/// let mut statistics = VocabularyStatistics::new(tokenizer.vocabulary_size());
/// ["a b a", "a c"].iter().for_each(|text| statistics.add(&tokenizer.encode(text)));
/// assert_eq!((statistics.texts(), statistics.tokens(), statistics.unknown()), (2, 5, 1));
/// assert_eq!(statistics.tokens_that_cover(0.5), Some(1)); // "a" alone is three of five
/// # Ok::<(), couplet_data::DataError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VocabularyStatistics {
    counts: Vec<u64>,
    lengths: BTreeMap<usize, u64>,
}

impl VocabularyStatistics {
    /// Of a vocabulary with so many tokens.
    pub fn new(vocabulary_size: usize) -> VocabularyStatistics {
        VocabularyStatistics { counts: vec![0; vocabulary_size], lengths: BTreeMap::new() }
    }

    /// Counts a text.
    pub fn add(&mut self, ids: &[u32]) {
        *self.lengths.entry(ids.len()).or_default() += 1;
        ids.iter().for_each(|&id| self.counts[id as usize] += 1);
    }

    /// How often each token was counted, at the place of its id.
    pub fn counts(&self) -> &[u64] {
        &self.counts
    }

    /// How many texts have a number of tokens.
    pub fn lengths(&self) -> &BTreeMap<usize, u64> {
        &self.lengths
    }

    /// How many texts there are.
    pub fn texts(&self) -> u64 {
        self.lengths.values().sum()
    }

    /// How many tokens they have.
    pub fn tokens(&self) -> u64 {
        self.counts.iter().sum()
    }

    /// How many of these are unknown.
    pub fn unknown(&self) -> u64 {
        self.counts[UNK as usize]
    }

    /// The share of known tokens, from 0 to 1.
    pub fn coverage(&self) -> f64 {
        share(self.tokens() - self.unknown(), self.tokens())
    }

    /// The length that so large a share of the texts does not exceed.
    pub fn length_of(&self, wanted: f64) -> usize {
        let (all, mut so_far) = (self.texts(), 0);
        let found = self.lengths.iter().find(|(_, texts)| {
            so_far += *texts;
            share(so_far, all) >= wanted
        });
        found.map_or(0, |(&length, _)| length)
    }

    /// The mean length.
    pub fn mean_length(&self) -> f64 {
        share(self.tokens(), self.texts())
    }

    /// How many texts have from 1 to `step` tokens, from `step` + 1 to twice as many, and so on, with the longest of each.
    pub fn histogram(&self, step: usize) -> Vec<(usize, u64)> {
        let last = self.lengths.keys().next_back().map_or(0, |&longest| longest.saturating_sub(1) / step);
        let mut bins: Vec<(usize, u64)> = (0..=last).map(|bin| ((bin + 1) * step, 0)).collect();
        for (&length, &texts) in &self.lengths {
            bins[length.saturating_sub(1) / step].1 += texts;
        }
        bins
    }

    /// The tokens but the special ones, the most frequent first.
    pub fn most_frequent(&self) -> Vec<(u32, u64)> {
        let mut tokens: Vec<(u32, u64)> =
            (0..).zip(self.counts.iter().copied()).skip(SPECIAL.len()).collect();
        tokens.sort_by_key(|&(_, count)| Reverse(count)); // stable
        tokens
    }

    /// The share of all tokens that the most frequent one makes, the two most frequent ones, and so on.
    pub fn cumulative(&self) -> Vec<f64> {
        let (all, mut so_far) = (self.tokens(), 0);
        let tokens = self.most_frequent().into_iter().filter(|&(_, count)| count > 0);
        tokens
            .map(|(_, count)| {
                so_far += count;
                share(so_far, all)
            })
            .collect()
    }

    /// How many of the most frequent tokens make so large a share of all; nothing where all known ones do not.
    pub fn tokens_that_cover(&self, wanted: f64) -> Option<usize> {
        self.cumulative().iter().position(|&share| share >= wanted).map(|place| place + 1)
    }
}

fn share(part: u64, all: u64) -> f64 {
    if all == 0 { 0.0 } else { part as f64 / all as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lengths 1, 4, 5 and 0; of ten tokens, token 4 is five, token 5 is three, one is unknown and one is token 6.
    #[test]
    fn by_hand() {
        let mut statistics = VocabularyStatistics::new(8);
        for ids in [&[4][..], &[4, 5, 4, 1], &[4, 4, 5, 6, 5], &[]] {
            statistics.add(ids);
        }
        assert_eq!((statistics.texts(), statistics.tokens(), statistics.coverage()), (4, 10, 0.9));
        assert_eq!(statistics.histogram(4), [(4, 3), (8, 1)]);
        assert_eq!([0.25, 0.5, 0.75, 1.0].map(|wanted| statistics.length_of(wanted)), [0, 1, 4, 5]);
        assert_eq!(statistics.most_frequent(), [(4, 5), (5, 3), (6, 1), (7, 0)]);
        assert_eq!(statistics.cumulative(), [0.5, 0.8, 0.9]);
        assert_eq!(
            [0.5, 0.6, 0.95].map(|wanted| statistics.tokens_that_cover(wanted)),
            [Some(1), Some(2), None]
        );
        let none = VocabularyStatistics::new(5);
        assert_eq!((none.coverage(), none.length_of(0.5), none.histogram(3)), (0.0, 0, vec![(3, 0)]));
    }
}
