//! Misspelt words: the known word that is nearest.
//!
//! The distance of two words is how many letters have to be put in, taken out, replaced by another, or changed with their neighbor.
//! Words within a distance of `d` become the same when some `d` letters or fewer are taken out of each of them
//! ([SymSpell](https://github.com/wolfgarbe/SymSpell)'s idea): so the candidates for a word are found in a table.

use std::collections::{HashMap, HashSet};

/// Shorter words have too many neighbors to say which one is meant.
const SHORTEST: usize = 4;

/// Knows words, the more frequent ones first.
#[derive(Clone, Debug)]
pub(super) struct Speller {
    words: Vec<String>,
    /// What is left of the words when letters are taken out of them.
    shortened: HashMap<String, Vec<u32>>,
    distance: usize,
}

impl Speller {
    /// Knows these words, the most frequent one first.
    pub(super) fn new<'a>(words: impl IntoIterator<Item = &'a str>, distance: usize) -> Speller {
        let is_word = |word: &&str| word.chars().count() >= SHORTEST && word.chars().all(char::is_alphabetic);
        let words: Vec<String> = words.into_iter().filter(is_word).map(str::to_owned).collect();
        let mut shortened: HashMap<String, Vec<u32>> = HashMap::new();
        for (number, word) in (0..).zip(&words) {
            for shorter in shorter(word, distance) {
                shortened.entry(shorter).or_default().push(number);
            }
        }
        Speller { words, shortened, distance }
    }

    /// The nearest word; of those that are equally near, the most frequent one.
    pub(super) fn nearest(&self, word: &str) -> Option<&str> {
        if word.chars().count() < SHORTEST || !word.chars().all(char::is_alphabetic) {
            return None;
        }
        let candidates: HashSet<u32> = shorter(word, self.distance)
            .iter()
            .filter_map(|key| self.shortened.get(key))
            .flatten()
            .copied()
            .collect();
        let near = candidates.into_iter().filter_map(|number| {
            let distance = distance(word, &self.words[number as usize]);
            (distance <= self.distance).then_some((distance, number))
        });
        near.min().map(|(_, number)| self.words[number as usize].as_str())
    }
}

/// The word and what is left of it without up to so many of its letters.
fn shorter(word: &str, letters: usize) -> HashSet<String> {
    let mut all = HashSet::from([word.to_owned()]);
    let mut last: Vec<String> = vec![word.to_owned()];
    for _ in 0..letters {
        let without_one = |word: &String| -> Vec<String> {
            let letters: Vec<char> = word.chars().collect();
            let without = |out: usize| letters.iter().enumerate().filter(move |(at, _)| *at != out);
            (0..letters.len()).map(|out| without(out).map(|(_, letter)| letter).collect()).collect()
        };
        last = last.iter().flat_map(without_one).filter(|word| all.insert(word.clone())).collect();
    }
    all
}

/// The fewest changes that make one word of the other.
fn distance(first: &str, second: &str) -> usize {
    let (first, second): (Vec<char>, Vec<char>) = (first.chars().collect(), second.chars().collect());
    // Row i has the distances of the first i letters of one word to each beginning of the other.
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=second.len()).collect();
    for (i, &letter) in first.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, &other) in second.iter().enumerate() {
            let replaced = last[j] + usize::from(letter != other);
            let mut least = replaced.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && letter == second[j - 1] && first[i - 1] == other {
                least = least.min(before_last[j - 1] + 1);
            }
            row.push(least);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last[second.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_by_hand() {
        for (first, second, expected) in [
            ("kitten", "sitting", 3), // two letters replaced, one put in
            ("good", "godo", 1),      // neighbors changed
            ("good", "good", 0),
            ("good", "gooood", 2),
            ("", "abc", 3),
            ("Haus", "Häuser", 3),
        ] {
            assert_eq!((distance(first, second), distance(second, first)), (expected, expected));
        }
    }

    #[test]
    fn the_nearest_and_then_the_most_frequent_word() {
        let speller = Speller::new(["house", "horse", "mouse", "cat"], 2);
        assert_eq!(speller.nearest("houze"), Some("house"));
        // A letter away from "house" and from "mouse": the former is more frequent.
        assert_eq!(speller.nearest("ouse"), Some("house"));
        assert_eq!(speller.nearest("hrose"), Some("horse"));
        assert_eq!(speller.nearest("elephant"), None);
        assert_eq!(speller.nearest("cta"), None, "too short to tell");
        assert_eq!(speller.nearest("hou5e"), None, "no word");
    }
}
