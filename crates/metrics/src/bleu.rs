//! BLEU, after Papineni et al., [*BLEU: a Method for Automatic Evaluation of Machine
//! Translation*](https://aclanthology.org/P02-1040/), and Post, [*A Call for Clarity in Reporting BLEU
//! Scores*](https://aclanthology.org/W18-6319/).
//!
//! For n from 1 to 4, `p_n` is the share of the hypotheses' sequences of n tokens that are found in the references, each at
//! most as often as the reference has it. With c tokens in all hypotheses and r in all references,
//!
//! ```text
//! BLEU = 100 · BP · (p_1 · p_2 · p_3 · p_4)^¼,   BP = 1 if c ≥ r, else exp(1 − r/c)
//! ```
//!
//! Where no sequence of length n is found, `p_n` would make everything zero. It is taken as 1/(2^k · total) instead, at
//! the k-th such n: sacreBLEU calls this smoothing "exp".

use std::collections::HashMap;
use std::fmt;

use crate::tokenize::tokenize_13a;

/// The longest sequence of tokens that is compared.
pub const MAX_ORDER: usize = 4;

/// A BLEU score and what it was made of. `Display` writes it as sacreBLEU does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bleu {
    /// The score, from 0 to 100.
    pub score: f64,
    /// How many of the sequences of 1, 2, 3 and 4 tokens are right, from 0 to 100, smoothed.
    pub precisions: [f64; MAX_ORDER],
    /// What is taken off for hypotheses that are too short: 1 for nothing, towards 0 for nearly everything.
    pub brevity_penalty: f64,
    /// How many tokens the hypotheses have.
    pub hypothesis_length: usize,
    /// How many tokens the references have; of several references, that which comes closest.
    pub reference_length: usize,
    /// How many sequences of 1, 2, 3 and 4 tokens are right.
    pub matches: [usize; MAX_ORDER],
    /// How many sequences of 1, 2, 3 and 4 tokens there are in the hypotheses.
    pub totals: [usize; MAX_ORDER],
}

impl Bleu {
    /// The settings, as sacreBLEU abbreviates them, for one reference: scores with the same signature can be compared.
    pub const SIGNATURE: &str = "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp";

    /// Tokens of the hypotheses for one of the references; 0 if these have none.
    pub fn ratio(&self) -> f64 {
        match self.reference_length {
            0 => 0.0,
            length => self.hypothesis_length as f64 / length as f64,
        }
    }
}

impl fmt::Display for Bleu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [p1, p2, p3, p4] = self.precisions;
        write!(f, "BLEU = {:.2} {p1:.1}/{p2:.1}/{p3:.1}/{p4:.1} ", self.score)?;
        write!(f, "(BP = {:.3} ratio = {:.3} ", self.brevity_penalty, self.ratio())?;
        write!(f, "hyp_len = {} ref_len = {})", self.hypothesis_length, self.reference_length)
    }
}

/// The BLEU score of a corpus, as sacreBLEU computes it by default: tokenizer 13a, smoothing "exp", upper and lower case
/// distinguished. The texts are raw, not tokenized.
///
/// # Panics
///
/// If there are not as many hypotheses as references.
pub fn bleu<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[R]) -> Bleu {
    assert_eq!(hypotheses.len(), references.len(), "as many hypotheses as references");
    let pairs = hypotheses.iter().zip(references);
    Statistics::sum(pairs.map(|(hypothesis, reference)| Statistics::of(hypothesis.as_ref(), &[reference])))
        .score()
}

/// [`bleu`] where each hypothesis has references of its own, of which there may be any number but zero.
///
/// # Panics
///
/// If there are not as many hypotheses as lists of references, or if one of these is empty.
pub fn bleu_of_many<H: AsRef<str>, R: AsRef<str>>(hypotheses: &[H], references: &[Vec<R>]) -> Bleu {
    assert_eq!(hypotheses.len(), references.len(), "as many hypotheses as lists of references");
    let pairs = hypotheses.iter().zip(references);
    Statistics::sum(pairs.map(|(hypothesis, references)| Statistics::of(hypothesis.as_ref(), references)))
        .score()
}

/// What is counted in each sentence and added up over the corpus.
#[derive(Default)]
struct Statistics {
    matches: [usize; MAX_ORDER],
    totals: [usize; MAX_ORDER],
    hypothesis_length: usize,
    reference_length: usize,
}

impl Statistics {
    fn of<R: AsRef<str>>(hypothesis: &str, references: &[R]) -> Statistics {
        let hypothesis = tokenize_13a(hypothesis);
        let references: Vec<Vec<String>> =
            references.iter().map(|reference| tokenize_13a(reference.as_ref())).collect();
        let mut statistics = Statistics {
            hypothesis_length: hypothesis.len(),
            reference_length: closest_length(hypothesis.len(), &references),
            ..Statistics::default()
        };
        for order in 1..=MAX_ORDER {
            let found = count(&hypothesis, order);
            let allowed = most(references.iter().map(|reference| count(reference, order)));
            statistics.totals[order - 1] = found.values().sum();
            statistics.matches[order - 1] =
                found.iter().map(|(words, &times)| times.min(allowed.get(words).copied().unwrap_or(0))).sum();
        }
        statistics
    }

    fn sum(all: impl Iterator<Item = Statistics>) -> Statistics {
        all.fold(Statistics::default(), |mut sum, one| {
            for order in 0..MAX_ORDER {
                sum.matches[order] += one.matches[order];
                sum.totals[order] += one.totals[order];
            }
            sum.hypothesis_length += one.hypothesis_length;
            sum.reference_length += one.reference_length;
            sum
        })
    }

    fn score(self) -> Bleu {
        let Statistics { matches, totals, hypothesis_length, reference_length } = self;
        let precisions = precisions(matches, totals);
        let brevity_penalty = brevity_penalty(hypothesis_length, reference_length);
        // A precision of zero is left only where nothing is right, or where no sentence has that many tokens.
        let score = if precisions.contains(&0.0) {
            0.0
        } else {
            brevity_penalty * (precisions.iter().map(|p| p.ln()).sum::<f64>() / MAX_ORDER as f64).exp()
        };
        Bleu { score, precisions, brevity_penalty, hypothesis_length, reference_length, matches, totals }
    }
}

fn brevity_penalty(hypothesis_length: usize, reference_length: usize) -> f64 {
    match hypothesis_length {
        length if length >= reference_length => 1.0,
        0 => 0.0,
        length => (1.0 - reference_length as f64 / length as f64).exp(),
    }
}

fn precisions(matches: [usize; MAX_ORDER], totals: [usize; MAX_ORDER]) -> [f64; MAX_ORDER] {
    let mut precisions = [0.0; MAX_ORDER];
    if matches == [0; MAX_ORDER] {
        return precisions;
    }
    let mut smoothing = 1.0;
    for order in 0..MAX_ORDER {
        if totals[order] == 0 {
            break;
        }
        let right = if matches[order] == 0 {
            smoothing *= 2.0;
            1.0 / smoothing
        } else {
            matches[order] as f64
        };
        precisions[order] = 100.0 * right / totals[order] as f64;
    }
    precisions
}

/// The length nearest to the hypothesis's; of two that are as near, the shorter one.
fn closest_length(hypothesis_length: usize, references: &[Vec<String>]) -> usize {
    let lengths = references.iter().map(Vec::len);
    lengths
        .min_by_key(|&length| (length.abs_diff(hypothesis_length), length))
        .expect("a hypothesis has a reference")
}

type Counts<'a> = HashMap<&'a [String], usize>;

/// How often each sequence of `order` tokens occurs.
fn count(tokens: &[String], order: usize) -> Counts<'_> {
    let mut counts = Counts::new();
    for words in tokens.windows(order) {
        *counts.entry(words).or_default() += 1;
    }
    counts
}

/// The highest count that each sequence reaches in one of the references.
fn most<'a>(references: impl Iterator<Item = Counts<'a>>) -> Counts<'a> {
    references
        .reduce(|mut most, counts| {
            for (words, times) in counts {
                let highest = most.entry(words).or_default();
                *highest = times.max(*highest);
            }
            most
        })
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_near(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-9, "{value} is not {wanted}");
    }

    /// Hypothesis: the cat the cat on the mat (7 tokens). Reference: the cat is on the mat (6 tokens).
    ///
    /// | n | found (and how often the reference allows)                                          | right |
    /// |---|--------------------------------------------------------------------------------------|-------|
    /// | 1 | the 3 (2), cat 2 (1), on 1 (1), mat 1 (1)                                            | 5/7   |
    /// | 2 | the cat 2 (1), cat the 1 (0), cat on 1 (0), on the 1 (1), the mat 1 (1)              | 3/6   |
    /// | 3 | the cat the, cat the cat, the cat on, cat on the: none; on the mat 1 (1)             | 1/5   |
    /// | 4 | none of 4, so 1/2 of one                                                             | ½/4   |
    ///
    /// BP = 1, as 7 ≥ 6. BLEU = 100 · (5/7 · 1/2 · 1/5 · 1/8)^¼ = 100 · (1/112)^¼ = 30.739…
    #[test]
    fn a_sentence_by_hand() {
        let score = bleu(&["the cat the cat on the mat"], &["the cat is on the mat"]);
        assert_eq!(score.matches, [5, 3, 1, 0]);
        assert_eq!(score.totals, [7, 6, 5, 4]);
        assert_near(score.precisions[0], 500.0 / 7.0);
        assert_near(score.precisions[3], 12.5);
        assert_near(score.score, 100.0 * (1.0_f64 / 112.0).powf(0.25));
        assert_eq!(
            score.to_string(),
            "BLEU = 30.74 71.4/50.0/20.0/12.5 (BP = 1.000 ratio = 1.167 hyp_len = 7 ref_len = 6)"
        );
    }

    /// All right, but 5 tokens for 8: BP = exp(1 − 8/5) = exp(−0.6).
    #[test]
    fn brevity_by_hand() {
        let score = bleu(&["a b c d e"], &["a b c d e f g h"]);
        assert_eq!(score.precisions, [100.0; 4]);
        assert_near(score.score, 100.0 * (-0.6_f64).exp());
    }

    #[test]
    fn nothing_right_or_nothing_there_is_zero() {
        assert_eq!(bleu(&["x y z u"], &["a b c d"]).score, 0.0);
        assert_eq!(bleu(&[""], &["a b c d"]).score, 0.0);
        assert_eq!(bleu(&["a b c d"], &[""]).score, 0.0);
        assert_eq!(bleu(&[""], &[""]).score, 0.0);
        assert_eq!(bleu::<&str, &str>(&[], &[]).score, 0.0);
        // No sequence of four tokens anywhere: zero, however right the words are.
        assert_eq!(bleu(&["a b c"], &["a b c"]).score, 0.0);
    }

    #[test]
    fn of_several_references_each_may_help() {
        let references = [vec!["the cat sat here", "a cat was sitting over there"]];
        let score = bleu_of_many(&["a cat sat here"], &references);
        assert_eq!(score.matches, [4, 3, 1, 0]);
        assert_eq!(score.reference_length, 4);
        // 3 and 5 are as near to 4: the shorter one counts.
        assert_eq!(bleu_of_many(&["a b c d"], &[vec!["a b c d e", "a b c"]]).reference_length, 3);
    }

    #[test]
    #[should_panic(expected = "as many hypotheses as references")]
    fn lists_of_different_lengths_are_a_bug() {
        bleu(&["a"], &["a", "b"]);
    }
}
