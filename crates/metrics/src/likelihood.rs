//! Perplexity and bits per character: how well a model expected a text.

use crate::LineError;
use crate::metric::Metric;
use crate::words::words;

/// What a model thinks of a line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Likelihood {
    /// The sum of the natural logarithms of its tokens' probabilities.
    pub log_probability: f64,
    /// The number of its tokens, the one that ends it included if its probability is.
    pub tokens: u64,
}

impl Likelihood {
    /// Reads a line: a log-probability, white space, a number of tokens. What follows is not looked at.
    ///
    /// ```
    /// use couplet_metrics::Likelihood;
    ///
    /// assert_eq!(Likelihood::parse("-12.5\t7"), Ok(Likelihood { log_probability: -12.5, tokens: 7 }));
    /// assert!(Likelihood::parse("seven").is_err());
    /// ```
    pub fn parse(line: &str) -> Result<Likelihood, LineError> {
        let mut columns = words(line);
        let mut two = || Some((columns.next()?.parse::<f64>().ok()?, columns.next()?.parse().ok()?));
        match two() {
            Some((log_probability, tokens)) if log_probability <= 0.0 => {
                Ok(Likelihood { log_probability, tokens })
            }
            Some((number, _)) if number > 0.0 => Err(LineError::AboveCertain { number: number.to_string() }),
            _ => Err(LineError::Likelihood { line: line.to_owned() }),
        }
    }
}

/// `exp(−Σ log p / tokens)`: among how many tokens, all equally likely, the model would be as unsure. Its counts are
/// log-probability and tokens.
///
/// ```
/// use couplet_metrics::{Metric, Perplexity};
///
/// // Four tokens, each with a probability of 1/8.
/// assert!((Perplexity.score(&[4.0 * 0.125_f64.ln(), 4.0]) - 8.0).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Perplexity;

impl Perplexity {
    /// The counts of a line.
    pub fn counts(&self, line: Likelihood) -> Vec<f64> {
        vec![line.log_probability, line.tokens as f64]
    }
}

impl Metric for Perplexity {
    fn name(&self) -> String {
        "perplexity".to_owned()
    }

    fn width(&self) -> usize {
        2
    }

    /// Nothing is expected with certainty.
    fn score(&self, sums: &[f64]) -> f64 {
        if sums[1] == 0.0 { 1.0 } else { (-sums[0] / sums[1]).exp() }
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        vec![("log_probability", sums[0]), ("tokens", sums[1])]
    }

    fn remark(&self, sums: &[f64]) -> String {
        format!("log-probability {:.2}, {} tokens", sums[0], sums[1])
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

/// `−Σ log₂ p / characters`: how many bits a character takes if the model compresses the text. Its counts are
/// log-probability and characters.
///
/// ```
/// use couplet_metrics::{BitsPerCharacter, Metric};
///
/// // Four characters of two tokens, each with a probability of 1/8: six bits.
/// assert!((BitsPerCharacter.score(&[2.0 * 0.125_f64.ln(), 4.0]) - 1.5).abs() < 1e-12);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BitsPerCharacter;

impl BitsPerCharacter {
    /// The counts of a line with its text, of which all characters count, the end of the line not.
    pub fn counts(&self, line: Likelihood, text: &str) -> Vec<f64> {
        vec![line.log_probability, text.chars().count() as f64]
    }
}

impl Metric for BitsPerCharacter {
    fn name(&self) -> String {
        "bits per character".to_owned()
    }

    fn width(&self) -> usize {
        2
    }

    fn score(&self, sums: &[f64]) -> f64 {
        if sums[1] == 0.0 { 0.0 } else { -sums[0] / std::f64::consts::LN_2 / sums[1] }
    }

    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)> {
        vec![("log_probability", sums[0]), ("characters", sums[1])]
    }

    fn remark(&self, sums: &[f64]) -> String {
        format!("log-probability {:.2}, {} characters", sums[0], sums[1])
    }

    fn settings(&self) -> Vec<(&'static str, String)> {
        Vec::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Statistics;

    /// Lines weigh by their tokens: (ln ½ · 1 + ln ⅛ · 3) / 4 = −2.5 · ln 2, so 2^2.5.
    #[test]
    fn a_corpus_by_hand() {
        let lines = [(0.5_f64.ln(), 1), (3.0 * 0.125_f64.ln(), 3)]
            .map(|(log_probability, tokens)| Likelihood { log_probability, tokens });
        let sums = Statistics::from_counts(&Perplexity, lines.map(|line| Perplexity.counts(line))).sums();
        assert!((Perplexity.score(&sums) - 2.0_f64.powf(2.5)).abs() < 1e-12);
        let counts = lines.map(|line| BitsPerCharacter.counts(line, "猫 ok "));
        let sums = Statistics::from_counts(&BitsPerCharacter, counts).sums();
        assert!((BitsPerCharacter.score(&sums) - 10.0 / 10.0).abs() < 1e-12);
    }

    #[test]
    fn lines_are_read_or_refused() {
        let read = |log_probability, tokens| Ok(Likelihood { log_probability, tokens });
        assert_eq!(Likelihood::parse("-3.5e0 2\tand more"), read(-3.5, 2));
        assert_eq!(Likelihood::parse("-inf\t1"), read(f64::NEG_INFINITY, 1));
        assert_eq!(Likelihood::parse("0\t0"), read(0.0, 0));
        for line in ["", "-1", "-1\t2.5", "-1\t-2", "x\t1", "NaN\t1"] {
            assert_eq!(Likelihood::parse(line), Err(LineError::Likelihood { line: line.to_owned() }));
        }
        assert_eq!(
            Likelihood::parse("0.5\t1").unwrap_err().to_string(),
            "the log-probability 0.5 is above 0"
        );
    }

    #[test]
    fn nothing_is_certain() {
        assert_eq!(Perplexity.score(&[0.0, 0.0]), 1.0);
        assert_eq!(BitsPerCharacter.score(&[0.0, 0.0]), 0.0);
    }
}
