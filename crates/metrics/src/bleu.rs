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
//! Where no sequence of length n is found, `p_n` would make everything zero; [`Smoothing`] says what it is instead.

use std::borrow::Cow;
use std::fmt;

use crate::metric::{Compare, Metric, Statistics};
use crate::ngrams;
use crate::tokenize::Tokenizer;
use crate::words::Numbering;

/// How many hypotheses have to end in a separated full stop before they [look tokenized](looks_tokenized).
const TOKENIZED_LINES: usize = 100;

/// BLEU and its settings. By default they are those of sacreBLEU.
///
/// ```
/// use couplet_metrics::{Bleu, Metric, Statistics, Tokenizer};
///
/// let bleu = Bleu { tokenizer: Tokenizer::Chinese, ..Bleu::default() };
/// let statistics = Statistics::of(&bleu, &["汤姆追杰瑞。"], &["汤姆追逐杰瑞。"]);
/// let score = bleu.detailed(&statistics.sums());
/// assert_eq!(score.to_string(), "BLEU = 43.01 100.0/80.0/50.0/16.7 (BP = 0.846 ratio = 0.857 hyp_len = 6 ref_len = 7)");
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bleu {
    /// What a token is.
    pub tokenizer: Tokenizer,
    /// What a precision of zero becomes.
    pub smoothing: Smoothing,
    /// Whether upper and lower case are the same.
    pub lowercase: bool,
    /// The longest sequence of tokens that is compared.
    pub max_order: usize,
    /// Leaves out orders of which there is not one sequence, as in sentences of three tokens: what makes scores of single
    /// lines meaningful.
    pub effective_order: bool,
}

impl Default for Bleu {
    fn default() -> Bleu {
        Bleu {
            tokenizer: Tokenizer::default(),
            smoothing: Smoothing::default(),
            lowercase: false,
            max_order: 4,
            effective_order: false,
        }
    }
}

/// What BLEU takes for the precision of an order of which no sequence is found.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Smoothing {
    /// 1/(2^k · total) at the k-th such order.
    #[default]
    Exp,
    /// This many of the total; sacreBLEU takes 0.1.
    Floor(f64),
    /// Adds this to all matches and totals but those of single tokens; sacreBLEU takes 1.
    AddK(f64),
    /// Zero, and so is the score.
    None,
}

impl fmt::Display for Smoothing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Smoothing::Exp => f.write_str("exp"),
            Smoothing::Floor(value) => write!(f, "floor[{value:.2}]"),
            Smoothing::AddK(value) => write!(f, "add-k[{value:.2}]"),
            Smoothing::None => f.write_str("none"),
        }
    }
}

/// A BLEU score and what it was made of. `Display` writes it as sacreBLEU does.
#[derive(Clone, Debug, PartialEq)]
pub struct BleuScore {
    /// The score, from 0 to 100.
    pub score: f64,
    /// How many of the sequences of 1, 2, … tokens are right, from 0 to 100, smoothed.
    pub precisions: Vec<f64>,
    /// What is taken off for hypotheses that are too short: 1 for nothing, towards 0 for nearly everything.
    pub brevity_penalty: f64,
    /// How many tokens the hypotheses have.
    pub hypothesis_length: usize,
    /// How many tokens the references have; of several references, that which comes closest.
    pub reference_length: usize,
    /// How many sequences of 1, 2, … tokens are right.
    pub matches: Vec<usize>,
    /// How many sequences of 1, 2, … tokens there are in the hypotheses.
    pub totals: Vec<usize>,
}

impl BleuScore {
    /// Tokens of the hypotheses for one of the references; 0 if these have none.
    pub fn ratio(&self) -> f64 {
        match self.reference_length {
            0 => 0.0,
            length => self.hypothesis_length as f64 / length as f64,
        }
    }

    /// All but the score, as sacreBLEU writes it.
    fn remark(&self) -> String {
        let precisions: Vec<String> = self.precisions.iter().map(|p| format!("{p:.1}")).collect();
        format!(
            "{} (BP = {:.3} ratio = {:.3} hyp_len = {} ref_len = {})",
            precisions.join("/"),
            self.brevity_penalty,
            self.ratio(),
            self.hypothesis_length,
            self.reference_length
        )
    }
}

impl fmt::Display for BleuScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "BLEU = {:.2} {}", self.score, self.remark())
    }
}

/// The BLEU score of a corpus, as sacreBLEU computes it by default: tokenizer 13a, smoothing "exp", upper and lower case
/// distinguished. The texts are raw, not tokenized.
///
/// # Panics
///
/// If there are not as many hypotheses as references.
pub fn bleu<H: AsRef<str> + Sync, R: AsRef<str> + Sync>(hypotheses: &[H], references: &[R]) -> BleuScore {
    let bleu = Bleu::default();
    bleu.detailed(&Statistics::of(&bleu, hypotheses, references).sums())
}

/// [`bleu`] where each hypothesis has references of its own, of which there may be any number but zero.
///
/// # Panics
///
/// If there are not as many hypotheses as lists of references, or if one of these is empty.
pub fn bleu_of_many<H, R>(hypotheses: &[H], references: &[Vec<R>]) -> BleuScore
where
    H: AsRef<str> + Sync,
    R: AsRef<str> + Sync,
{
    let bleu = Bleu::default();
    bleu.detailed(&Statistics::of_many(&bleu, hypotheses, references).sums())
}

/// Whether a hundred hypotheses or more end in a full stop with a space before it: texts that somebody forgot to put together
/// again after tokenizing, whose BLEU cannot be compared with that of others.
pub fn looks_tokenized<H: AsRef<str>>(hypotheses: &[H]) -> bool {
    let separated = hypotheses.iter().filter(|hypothesis| hypothesis.as_ref().ends_with(" ."));
    separated.take(TOKENIZED_LINES).count() == TOKENIZED_LINES
}

/// The counts of a line: the two lengths, then matches and totals of each order.
impl Compare for Bleu {
    type Line = str;

    fn count(&self, hypothesis: &str, references: &[&str], counts: &mut [f64]) {
        let hypothesis = self.spaced(hypothesis);
        let references: Vec<Cow<'_, str>> =
            references.iter().map(|reference| self.spaced(reference)).collect();
        let mut numbering = Numbering::default();
        let hypothesis = numbering.words(&hypothesis);
        let references: Vec<Vec<u32>> =
            references.iter().map(|reference| numbering.words(reference)).collect();
        let references: Vec<&[u32]> = references.iter().map(Vec::as_slice).collect();

        counts[0] = hypothesis.len() as f64;
        counts[1] = closest_length(hypothesis.len(), &references) as f64;
        let (matches, totals) = counts[2..].split_at_mut(self.max_order);
        let found = ngrams::matches(&hypothesis, &references, self.max_order);
        matches.iter_mut().zip(found).for_each(|(count, found)| *count = found as f64);
        let there = ngrams::totals(hypothesis.len(), self.max_order);
        totals.iter_mut().zip(there).for_each(|(count, there)| *count = there as f64);
    }
}

impl Metric for Bleu {
    fn name(&self) -> String {
        "BLEU".to_owned()
    }

    fn width(&self) -> usize {
        2 + 2 * self.max_order
    }

    fn score(&self, sums: &[f64]) -> f64 {
        let (matches, totals) = sums[2..].split_at(self.max_order);
        let (precisions, order) = self.precisions(matches, totals);
        let precisions = &precisions[..order];
        // A precision of zero is left where nothing is right, where no sentence has that many tokens, or without smoothing.
        if precisions.contains(&0.0) {
            return 0.0;
        }
        let mean = precisions.iter().map(|p| p.ln()).sum::<f64>() / order as f64;
        brevity_penalty(sums[0], sums[1]) * mean.exp()
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        let score = self.detailed(sums);
        let names = ["precision_1", "precision_2", "precision_3", "precision_4"];
        let mut figures: Vec<(&str, f64)> = names.into_iter().zip(score.precisions.iter().copied()).collect();
        figures.extend([
            ("brevity_penalty", score.brevity_penalty),
            ("ratio", score.ratio()),
            ("hypothesis_length", score.hypothesis_length as f64),
            ("reference_length", score.reference_length as f64),
        ]);
        figures
    }

    fn remark(&self, sums: &[f64]) -> String {
        self.detailed(sums).remark()
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        vec![
            ("case", if self.lowercase { "lc" } else { "mixed" }.to_owned()),
            ("eff", if self.effective_order { "yes" } else { "no" }.to_owned()),
            ("tok", self.tokenizer.to_string()),
            ("smooth", self.smoothing.to_string()),
        ]
    }
}

impl Bleu {
    /// The score with all that it was made of.
    pub fn detailed(&self, sums: &[f64]) -> BleuScore {
        let (matches, totals) = sums[2..].split_at(self.max_order);
        let whole = |numbers: &[f64]| numbers.iter().map(|&number| number as usize).collect();
        BleuScore {
            score: self.score(sums),
            precisions: self.precisions(matches, totals).0,
            brevity_penalty: brevity_penalty(sums[0], sums[1]),
            hypothesis_length: sums[0] as usize,
            reference_length: sums[1] as usize,
            matches: whole(matches),
            totals: whole(totals),
        }
    }

    fn spaced<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.lowercase {
            self.tokenizer.spaced(&text.to_lowercase()).into_owned().into()
        } else {
            self.tokenizer.spaced(text)
        }
    }

    /// The smoothed precisions in per cent, and how many of them count.
    fn precisions(&self, matches: &[f64], totals: &[f64]) -> (Vec<f64>, usize) {
        let mut precisions = vec![0.0; self.max_order];
        let mut counting = self.max_order;
        if matches.iter().all(|&count| count == 0.0) {
            return (precisions, counting);
        }
        let mut halved = 1.0;
        for order in 0..self.max_order {
            let added = match self.smoothing {
                Smoothing::AddK(k) if order > 0 => k,
                _ => 0.0,
            };
            let (right, total) = (matches[order] + added, totals[order] + added);
            if total == 0.0 {
                break;
            }
            if self.effective_order {
                counting = order + 1;
            }
            let right = match self.smoothing {
                Smoothing::Exp if right == 0.0 => {
                    halved /= 2.0;
                    halved
                }
                Smoothing::Floor(floor) if right == 0.0 => floor,
                _ => right,
            };
            precisions[order] = 100.0 * right / total;
        }
        (precisions, counting)
    }
}

fn brevity_penalty(hypothesis_length: f64, reference_length: f64) -> f64 {
    if hypothesis_length >= reference_length {
        1.0
    } else if hypothesis_length == 0.0 {
        0.0
    } else {
        (1.0 - reference_length / hypothesis_length).exp()
    }
}

/// The length nearest to the hypothesis's; of two that are as near, the shorter one.
fn closest_length(hypothesis_length: usize, references: &[&[u32]]) -> usize {
    let lengths = references.iter().map(|reference| reference.len());
    lengths
        .min_by_key(|&length| (length.abs_diff(hypothesis_length), length))
        .expect("a hypothesis has a reference")
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

    /// The sentence above, where only the fourth precision needs smoothing: ½ of 4 with exp, 0.1 of 4 with floor, none without;
    /// add-k makes the others 5/7, 4/7, 2/6 and 1/5.
    #[test]
    fn smoothing_by_hand() {
        let score = |smoothing| {
            let bleu = Bleu { smoothing, ..Bleu::default() };
            let statistics =
                Statistics::of(&bleu, &["the cat the cat on the mat"], &["the cat is on the mat"]);
            bleu.score(&statistics.sums())
        };
        let mean = |product: f64| 100.0 * product.powf(0.25);
        assert_near(score(Smoothing::Exp), mean(5.0 / 7.0 / 2.0 / 5.0 * 0.5 / 4.0));
        assert_near(score(Smoothing::Floor(0.1)), mean(5.0 / 7.0 / 2.0 / 5.0 * 0.1 / 4.0));
        assert_near(score(Smoothing::AddK(1.0)), mean(5.0 / 7.0 * 4.0 / 7.0 * 2.0 / 6.0 / 5.0));
        assert_eq!(score(Smoothing::None), 0.0);
    }

    /// Three tokens have no sequence of four: only three orders count.
    #[test]
    fn effective_order_by_hand() {
        let bleu = Bleu { effective_order: true, ..Bleu::default() };
        let statistics = Statistics::of(&bleu, &["a b c"], &["a b d"]);
        // 2/3, 1/2 and ½ of 1.
        assert_near(bleu.score(&statistics.sums()), 100.0 * (2.0_f64 / 3.0 / 2.0 / 2.0).powf(1.0 / 3.0));
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
    fn a_hundred_separated_full_stops_are_too_many() {
        assert!(!looks_tokenized(&["It is ."; 99]));
        assert!(looks_tokenized(&["It is ."; 100]));
        assert!(!looks_tokenized(&["It is."; 1000]));
    }

    #[test]
    #[should_panic(expected = "as many hypotheses as references")]
    fn lists_of_different_lengths_are_a_bug() {
        bleu(&["a"], &["a", "b"]);
    }
}
