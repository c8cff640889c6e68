//! Messages with names and numbers, and how they are passed on: a task that needs copying.
//!
//! *please call Tavoma at 48213* becomes *Tavoma is called at 48213*. Every name and every number occurs in one sentence of one set
//! only, so a model has seen none of those that it is asked for.

use super::DemoCorpus;
use crate::pairs::Pair;
use crate::random::Random;
use std::collections::HashSet;

const TRAIN: usize = 2400;
const VALID: usize = 200;
const TEST: usize = 500;

/// A message and how it is passed on, with `A` and `B` for names and `1` and `2` for numbers.
const FORMS: [[&str; 2]; 8] = [
    ["please call A at 1", "A is called at 1"],
    ["A waits for B in room 1", "B has to go to room 1 , where A is"],
    ["tell A that B owes him 1 coins", "A is told of the 1 coins that B owes him"],
    ["room 1 is free , A can have it", "A gets room 1"],
    ["bus 1 and bus 2 go to A today", "today A is reached by bus 2 and bus 1"],
    ["A wrote to B about bill 1", "bill 1 is what B heard of from A"],
    ["give A the key of room 1 , not B", "the key of room 1 is for A and not for B"],
    ["A lives at number 1", "number 1 is where A lives"],
];

const CONSONANTS: [&str; 14] = ["b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "s", "t", "v", "z"];
const VOWELS: [&str; 5] = ["a", "e", "i", "o", "u"];

/// Messages of a seed, in three sets that share no name and no number. The same seed gives the same messages.
///
/// ```
/// let corpus = couplet_data::demo::messages(1);
/// assert_eq!((corpus.train.len(), corpus.test.len()), (2400, 500));
/// ```
pub fn messages(seed: u64) -> DemoCorpus {
    let mut draw = Draw { random: Random::new(seed), used: HashSet::new() };
    let mut set = |count: usize| (0..count).map(|_| draw.message()).collect();
    DemoCorpus { train: set(TRAIN), valid: set(VALID), test: set(TEST) }
}

struct Draw {
    random: Random,
    /// Names and numbers that were drawn.
    used: HashSet<String>,
}

impl Draw {
    fn message(&mut self) -> Pair {
        let [source, target] = FORMS[self.random.below(FORMS.len())];
        let filled = [("A", self.unused(Draw::name)), ("B", self.unused(Draw::name))];
        let filled =
            filled.into_iter().chain([("1", self.unused(Draw::number)), ("2", self.unused(Draw::number))]);
        let filled: Vec<(&str, String)> = filled.collect();
        let fill = |form: &str| {
            let word = |word: &str| {
                let found = filled.iter().find(|(place, _)| *place == word);
                found.map_or_else(|| word.to_owned(), |(_, name)| name.clone())
            };
            form.split(' ').map(word).collect::<Vec<_>>().join(" ")
        };
        Pair { source: fill(source), target: fill(target) }
    }

    /// One that was not drawn before.
    fn unused(&mut self, draw: fn(&mut Random) -> String) -> String {
        loop {
            let drawn = draw(&mut self.random);
            if self.used.insert(drawn.clone()) {
                return drawn;
            }
        }
    }

    /// Three syllables, the first letter a capital one.
    fn name(random: &mut Random) -> String {
        let mut pick = |letters: &[&'static str]| letters[random.below(letters.len())];
        let first = pick(&CONSONANTS).to_uppercase();
        let rest = [pick(&VOWELS), pick(&CONSONANTS), pick(&VOWELS), pick(&CONSONANTS), pick(&VOWELS)];
        first + &rest.concat()
    }

    /// Five digits.
    fn number(random: &mut Random) -> String {
        (10_000 + random.below(90_000)).to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a set that begin with a capital letter or a digit.
    fn names(pairs: &[Pair]) -> HashSet<&str> {
        let words = pairs.iter().flat_map(|pair| pair.source.split(' '));
        words
            .filter(|word| word.starts_with(|c: char| c.is_ascii_uppercase() || c.is_ascii_digit()))
            .collect()
    }

    #[test]
    fn no_name_and_no_number_is_in_two_sets() {
        let DemoCorpus { train, valid, test } = messages(1);
        let [train, valid, test] = [&train, &valid, &test].map(|set| names(set));
        assert!(train.is_disjoint(&test) && train.is_disjoint(&valid) && valid.is_disjoint(&test));
        assert!(train.len() > 4000, "{}", train.len());
    }

    #[test]
    fn a_target_has_the_names_and_numbers_of_its_source() {
        for Pair { source, target } in messages(2).test {
            let words: HashSet<&str> = source.split(' ').collect();
            let there = |word: &str| words.contains(word) || word.starts_with(|c: char| !c.is_ascii_digit());
            assert!(target.split(' ').all(there), "{source} → {target}");
        }
    }

    #[test]
    fn messages_follow_from_the_seed() {
        assert_eq!(messages(3), messages(3));
        assert_ne!(messages(3).train[0], messages(4).train[0]);
    }
}
