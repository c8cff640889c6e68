//! Opinions, good and bad: a little data for a classifier to start from.
//!
//! *the soup was never really good* is bad although *good* is in it: to count words is not enough.

use crate::random::Random;
use std::collections::HashSet;

pub(super) const GOOD: &str = "positive";
const BAD: &str = "negative";

const THINGS: [&str; 12] = [
    "the soup",
    "the room",
    "our waiter",
    "the film",
    "this book",
    "the music",
    "the bed",
    "the view",
    "their coffee",
    "the trip",
    "the museum",
    "my seat",
];
const VERBS: [&str; 4] = ["was", "is", "seemed", "looked"];
const NEGATIONS: [&str; 2] = ["not", "never"];
const DEGREES: [&str; 4] = ["", "very", "really", "so"];
const PRAISE: [&str; 6] = ["good", "lovely", "clean", "friendly", "wonderful", "pleasant"];
const BLAME: [&str; 6] = ["bad", "awful", "dirty", "rude", "boring", "noisy"];

/// An opinion and what it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Opinion {
    /// `positive` or `negative`.
    pub label: &'static str,
    /// The text.
    pub text: String,
}

/// So many different opinions of a seed, half of them with a negation.
pub fn opinions(seed: u64, count: usize) -> Vec<Opinion> {
    let mut random = Random::new(seed);
    let mut seen = HashSet::new();
    let drawn = std::iter::repeat_with(|| draw(&mut random));
    drawn.filter(|opinion| seen.insert(opinion.text.clone())).take(count).collect()
}

pub(super) fn draw(random: &mut Random) -> Opinion {
    let mut pick = |words: &[&'static str]| words[random.below(words.len())];
    let good = pick(&[GOOD, BAD]) == GOOD;
    let negated = pick(&["", "not"]) == "not";
    // A negation turns praise into blame and blame into praise.
    let judgment = if good == negated { pick(&BLAME) } else { pick(&PRAISE) };
    let negation = if negated { pick(&NEGATIONS) } else { "" };
    let words = [pick(&THINGS), pick(&VERBS), negation, pick(&DEGREES), judgment];
    let text = words.into_iter().filter(|word| !word.is_empty()).collect::<Vec<_>>().join(" ");
    Opinion { label: if good { GOOD } else { BAD }, text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_negation_turns_an_opinion_around() {
        for Opinion { label, text } in opinions(1, 300) {
            let praise = PRAISE.iter().any(|word| text.ends_with(word));
            let negated = NEGATIONS.iter().any(|word| text.contains(&format!(" {word} ")));
            assert_eq!(label == GOOD, praise != negated, "{text}");
        }
    }

    #[test]
    fn opinions_differ_and_follow_from_the_seed() {
        let some = opinions(1, 300);
        assert_eq!(some, opinions(1, 300));
        assert_eq!(some.iter().map(|opinion| &opinion.text).collect::<HashSet<_>>().len(), 300);
        let good = some.iter().filter(|opinion| opinion.label == GOOD).count();
        assert!((100..200).contains(&good), "{good}");
    }
}
