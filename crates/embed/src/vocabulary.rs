//! The words that get vectors, and how often a frequent one is left out.

use crate::{Corpus, EmbedError};

/// Words by frequency, the most frequent first; of equally frequent ones, the one that came first.
#[derive(Clone, Debug)]
pub(crate) struct Vocabulary {
    pub(crate) words: Vec<String>,
    pub(crate) counts: Vec<u64>,
    /// For each number in the corpus the word's number here, unless it is too rare.
    pub(crate) of_corpus: Vec<Option<u32>>,
    /// The chance of each word to be kept, as a share of 2³².
    keep: Vec<u64>,
}

impl Vocabulary {
    pub(crate) fn new(corpus: &Corpus, min_count: u64, sample: f64) -> Result<Vocabulary, EmbedError> {
        let mut kept: Vec<(usize, &str, u64)> = corpus
            .counts()
            .enumerate()
            .map(|(number, (word, count))| (number, word, count))
            .filter(|&(_, _, count)| count >= min_count)
            .collect();
        if kept.len() < 2 {
            return Err(EmbedError::FewWords { words: kept.len(), min_count });
        }
        kept.sort_by_key(|&(_, _, count)| std::cmp::Reverse(count));
        let mut of_corpus = vec![None; corpus.counts().len()];
        for (new, &(number, _, _)) in kept.iter().enumerate() {
            of_corpus[number] = Some(new as u32);
        }
        let counts: Vec<u64> = kept.iter().map(|&(_, _, count)| count).collect();
        let total: u64 = counts.iter().sum();
        let keep =
            counts.iter().map(|&count| (chance(count, total, sample) * 2_f64.powi(32)) as u64).collect();
        let words = kept.into_iter().map(|(_, word, _)| word.to_owned()).collect();
        Ok(Vocabulary { words, counts, of_corpus, keep })
    }

    /// Whether a word stays, for a random number.
    #[inline(always)]
    pub(crate) fn keeps(&self, word: u32, random: u64) -> bool {
        random >> 32 < self.keep[word as usize]
    }
}

/// The chance of a word to be kept: √(s/f) + s/f for a word that makes up the share f of the text, and 1 for rare ones.
fn chance(count: u64, total: u64, sample: f64) -> f64 {
    if sample == 0.0 {
        return 1.0;
    }
    let ratio = sample * total as f64 / count as f64;
    (ratio.sqrt() + ratio).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_data::Lines;
    use std::io::Cursor;

    fn vocabulary(text: &str, min_count: u64) -> Result<Vocabulary, EmbedError> {
        let lines = Lines::read("text", Cursor::new(text.as_bytes().to_vec())).unwrap();
        Vocabulary::new(&Corpus::read([lines], &mut |_| ()).unwrap(), min_count, 0.0)
    }

    #[test]
    fn frequent_words_come_first_and_rare_ones_are_left_out() {
        let vocabulary = vocabulary("a b b c c d c", 1).unwrap();
        assert_eq!(vocabulary.words, ["c", "b", "a", "d"]);
        assert_eq!(vocabulary.counts, [3, 2, 1, 1]);
        let vocabulary = self::vocabulary("a b b c c d c", 2).unwrap();
        assert_eq!(vocabulary.of_corpus, [None, Some(1), Some(0), None]);
        assert!(vocabulary.keeps(0, u64::MAX));
    }

    /// A word that is 4 % of a text, with 1 %: the ratio is 1/4, its root 1/2, so it is kept three times of four. One that is 1 % or
    /// less is kept always: 1 + 1 is above 1.
    #[test]
    fn chances_by_hand() {
        assert_eq!(chance(40, 1000, 0.01), 0.75);
        assert_eq!(chance(10, 1000, 0.01), 1.0);
        assert_eq!(chance(999, 1000, 0.0), 1.0);
    }

    #[test]
    fn too_few_words_are_named() {
        let error = vocabulary("a b c a", 2).unwrap_err();
        assert_eq!(error.to_string(), "1 word occurs 2 times or more in the text; two are needed");
    }
}
