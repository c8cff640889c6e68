//! chrF and chrF++, after Popović, [*chrF: character n-gram F-score for automatic MT
//! evaluation*](https://aclanthology.org/W15-3049/), and [*chrF++: words helping character
//! n-grams*](https://aclanthology.org/W17-4770/).
//!
//! For n from 1 to 6, precision is the share of the hypotheses' sequences of n characters that are found in the references,
//! recall the share of the references' sequences that are found in the hypotheses; chrF++ adds sequences of one and two words.
//! With P and R, the means of these over all n,
//!
//! ```text
//! chrF = 100 · (1 + β²) · P · R / (β² · P + R),   β = 2: recall counts twice
//! ```

use crate::metric::{Compare, Metric};
use crate::ngrams;
use crate::words::{Numbering, words};

/// What sacreBLEU takes for nothing with epsilon smoothing.
const EPSILON: f64 = 1e-16;

/// chrF and its settings. By default they are those of sacreBLEU.
///
/// ```
/// use couplet_metrics::{Chrf, Metric, Statistics};
///
/// let chrf = Chrf::plus_plus();
/// let statistics = Statistics::of(&chrf, &["The cats sat."], &["The cat sat."]);
/// assert_eq!(chrf.name(), "chrF2++");
/// assert_eq!(format!("{:.2}", chrf.score(&statistics.sums())), "68.27");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Chrf {
    /// The longest sequence of characters that is compared.
    pub char_order: usize,
    /// The longest sequence of words that is compared; 0 for chrF, 2 for chrF++.
    pub word_order: usize,
    /// How much more recall counts than precision.
    pub beta: u32,
    /// Whether upper and lower case are the same.
    pub lowercase: bool,
    /// Whether white space is a character as others are.
    pub whitespace: bool,
    /// Takes the mean of the F-scores of all orders, as other programs do, and not the F-score of the means over orders that
    /// occur on both sides.
    pub epsilon_smoothing: bool,
}

impl Default for Chrf {
    fn default() -> Chrf {
        Chrf {
            char_order: 6,
            word_order: 0,
            beta: 2,
            lowercase: false,
            whitespace: false,
            epsilon_smoothing: false,
        }
    }
}

impl Chrf {
    /// chrF++: words and pairs of words, too.
    pub fn plus_plus() -> Chrf {
        Chrf { word_order: 2, ..Chrf::default() }
    }

    /// The means of precision and recall over the orders that occur on both sides.
    fn means(&self, sums: &[f64]) -> [f64; 2] {
        let both: Vec<&[f64]> = sums.chunks(3).filter(|order| order[0] > 0.0 && order[1] > 0.0).collect();
        let mean = |side: usize| {
            let shares = both.iter().map(|order| order[2] / order[side]);
            shares.sum::<f64>() / both.len().max(1) as f64
        };
        [mean(0), mean(1)]
    }

    fn f_score(&self, precision: f64, recall: f64) -> f64 {
        let factor = f64::from(self.beta).powi(2);
        (1.0 + factor) * precision * recall / (factor * precision + recall)
    }

    fn smoothed_score(&self, sums: &[f64]) -> f64 {
        let score_of_order = |order: &[f64]| {
            let share = |side: usize| if order[side] > 0.0 { order[2] / order[side] } else { EPSILON };
            let [precision, recall] = [share(0), share(1)];
            if precision + recall > 0.0 { self.f_score(precision, recall) } else { EPSILON }
        };
        100.0 * sums.chunks(3).map(score_of_order).sum::<f64>() / (self.char_order + self.word_order) as f64
    }

    fn characters(&self, text: &str) -> Vec<u32> {
        if self.whitespace {
            text.chars().map(u32::from).collect()
        } else {
            words(text).flat_map(str::chars).map(u32::from).collect()
        }
    }

    fn count_pair(&self, hypothesis: &Side, reference: &Side, counts: &mut [f64]) {
        let (characters, words) = counts.split_at_mut(3 * self.char_order);
        count_orders(&hypothesis.characters, &reference.characters, characters);
        count_orders(&hypothesis.words, &reference.words, words);
    }
}

/// The symbols of a text that are compared.
struct Side {
    characters: Vec<u32>,
    words: Vec<u32>,
}

/// Of each order, how many sequences the hypothesis has, how many the reference, and how many are in both. Where the reference
/// has none, those of the hypothesis are not counted against it.
fn count_orders(hypothesis: &[u32], reference: &[u32], counts: &mut [f64]) {
    let orders = counts.len() / 3;
    let matches = ngrams::matches(hypothesis, &[reference], orders);
    let ours = ngrams::totals(hypothesis.len(), orders);
    let theirs = ngrams::totals(reference.len(), orders);
    for (((order, matches), ours), theirs) in counts.chunks_mut(3).zip(matches).zip(ours).zip(theirs) {
        order[0] = if theirs > 0 { ours as f64 } else { 0.0 };
        order[1] = theirs as f64;
        order[2] = matches as f64;
    }
}

/// Words, with a mark at the end or, if there is none, at the start apart.
fn words_and_marks(text: &str) -> impl Iterator<Item = &str> {
    words(text).flat_map(|word| {
        let is_mark = |c: Option<char>| c.is_some_and(|c| c.is_ascii_punctuation());
        let at = if word.chars().nth(1).is_none() {
            0
        } else if is_mark(word.chars().next_back()) {
            word.len() - 1
        } else if is_mark(word.chars().next()) {
            1
        } else {
            0
        };
        let (start, end) = word.split_at(at);
        [start, end].into_iter().filter(|part| !part.is_empty())
    })
}

/// The counts of a line: sequences of the hypothesis, of the reference and of both, for each order. Of several references, those
/// of the one with the highest score.
impl Compare for Chrf {
    type Line = str;

    fn count(&self, hypothesis: &str, references: &[&str], counts: &mut [f64]) {
        let cased = |text: &str| if self.lowercase { text.to_lowercase() } else { text.to_owned() };
        let hypothesis = cased(hypothesis);
        let references: Vec<String> = references.iter().map(|reference| cased(reference)).collect();
        let mut numbering = Numbering::default();
        let mut side = |text| {
            let words = if self.word_order == 0 {
                Vec::new()
            } else {
                words_and_marks(text).map(|word| numbering.number(word)).collect()
            };
            Side { characters: self.characters(text), words }
        };
        let hypothesis = side(&hypothesis);
        let mut best = f64::NEG_INFINITY;
        for reference in &references {
            let mut with_this = vec![0.0; counts.len()];
            self.count_pair(&hypothesis, &side(reference), &mut with_this);
            let score = self.score(&with_this);
            if score > best {
                best = score;
                counts.copy_from_slice(&with_this);
            }
        }
    }
}

impl Metric for Chrf {
    fn name(&self) -> String {
        format!("chrF{}{}", self.beta, "+".repeat(self.word_order))
    }

    fn width(&self) -> usize {
        3 * (self.char_order + self.word_order)
    }

    fn score(&self, sums: &[f64]) -> f64 {
        if self.epsilon_smoothing {
            return self.smoothed_score(sums);
        }
        let [precision, recall] = self.means(sums);
        if precision + recall > 0.0 { 100.0 * self.f_score(precision, recall) } else { 0.0 }
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        let [precision, recall] = self.means(sums);
        vec![("precision", 100.0 * precision), ("recall", 100.0 * recall)]
    }

    fn remark(&self, sums: &[f64]) -> String {
        let [precision, recall] = self.means(sums).map(|share| 100.0 * share);
        format!("precision {precision:.2}, recall {recall:.2}")
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        let yes = |is: bool| if is { "yes" } else { "no" }.to_owned();
        vec![
            ("case", if self.lowercase { "lc" } else { "mixed" }.to_owned()),
            ("eff", yes(!self.epsilon_smoothing)),
            ("nc", self.char_order.to_string()),
            ("nw", self.word_order.to_string()),
            ("space", yes(self.whitespace)),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;

    fn score(chrf: Chrf, hypothesis: &str, references: &[&str]) -> f64 {
        chrf.score(&Statistics::of_many(&chrf, &[hypothesis], &[references.to_vec()]).sums())
    }

    fn assert_near(value: f64, wanted: f64) {
        assert!((value - wanted).abs() < 1e-9, "{value} is not {wanted}");
    }

    /// "ab c" has the characters a b c, "abx" has a b x. Of one character, 2 of 3 are right on both sides, of two (ab, bc; ab, bx)
    /// 1 of 2, of three 0 of 1. P = R = (2/3 + 1/2 + 0)/3 = 7/18, and so is F for every β.
    #[test]
    fn characters_by_hand() {
        let chrf = Chrf { char_order: 3, ..Chrf::default() };
        assert_near(score(chrf, "ab c", &["abx"]), 700.0 / 18.0);
        // There is no sequence of four characters: nothing changes.
        assert_near(score(Chrf::default(), "ab c", &["abx"]), 700.0 / 18.0);
    }

    /// "abc" for "abcde": P = 3/3, R = 3/5 of one character; with β = 2, F = 5 · 0.6 / (4 + 0.6). White space counts if asked for.
    #[test]
    fn recall_counts_twice() {
        let chrf = Chrf { char_order: 1, ..Chrf::default() };
        assert_near(score(chrf, "abc", &["abcde"]), 100.0 * 3.0 / 4.6);
        assert_near(score(Chrf { beta: 1, ..chrf }, "abc", &["abcde"]), 100.0 * 1.2 / 1.6);
        assert_near(score(chrf, "a b", &["ab"]), 100.0);
        assert_near(score(Chrf { whitespace: true, beta: 1, ..chrf }, "a b", &["ab"]), 100.0 * 4.0 / 5.0);
    }

    #[test]
    fn words_lose_one_mark() {
        let found: Vec<&str> = words_and_marks("(hi) «oui» 'tis , don't ... é! x").collect();
        assert_eq!(found, ["(hi", ")", "«oui»", "'", "tis", ",", "don't", "..", ".", "é", "!", "x"]);
    }

    #[test]
    fn the_best_reference_counts() {
        let alone = score(Chrf::plus_plus(), "the cat", &["the cats"]);
        assert_eq!(score(Chrf::plus_plus(), "the cat", &["a dog", "the cats", ""]), alone);
        assert_eq!(score(Chrf::plus_plus(), "the cat", &["THE CAT", "the cat"]), 100.0);
        assert_eq!(score(Chrf { lowercase: true, ..Chrf::default() }, "the cat", &["THE CAT"]), 100.0);
    }

    #[test]
    fn nothing_right_or_nothing_there_is_zero() {
        for (hypothesis, reference) in [("", ""), ("", "a"), ("a", ""), ("a", "b")] {
            assert_eq!(score(Chrf::plus_plus(), hypothesis, &[reference]), 0.0);
        }
    }
}
