//! Scores of hypotheses: log-probabilities normalized by the length, less a penalty for source tokens without attention.

use crate::config::{LengthNorm, SearchConfig};
use crate::model::TokenAttention;

/// The least coverage of a source token, so that its penalty is finite.
const MIN_COVERAGE: f32 = 1e-4;

impl SearchConfig {
    /// The score of a hypothesis of `tokens` tokens, its end included: `log p / norm(tokens) + coverage_penalty · coverage`.
    pub(crate) fn score(&self, log_probability: f32, tokens: usize, attention: &[TokenAttention]) -> f32 {
        let coverage = if self.coverage_penalty > 0.0 { coverage(attention) } else { 0.0 };
        log_probability / self.norm(tokens) + self.coverage_penalty * coverage
    }

    /// Upper bound of the score of any continuation from `tokens` tokens on. Log-probability can only fall, the length norm is
    /// monotonic up to `limit`, and the coverage penalty is at most 0.
    pub(crate) fn best_attainable_score(&self, log_probability: f32, tokens: usize, limit: usize) -> f32 {
        (log_probability / self.norm(tokens)).max(log_probability / self.norm(limit))
    }

    fn norm(&self, tokens: usize) -> f32 {
        let length = match self.length_norm {
            LengthNorm::Power => tokens.max(1) as f32,
            LengthNorm::Wu => (5 + tokens) as f32 / 6.0,
        };
        length.powf(self.length_penalty)
    }
}

/// `Σ log min(1, attention)` over the source tokens, the attention summed over the hypothesis: 0 where all are covered (Wu et al.,
/// 2016).
fn coverage(attention: &[TokenAttention]) -> f32 {
    let source = attention.last().map_or(0, |last| last.weights.len());
    let covered = |j: usize| attention.iter().filter_map(|token| token.weights.get(j)).sum::<f32>();
    (0..source).map(|j| covered(j).clamp(MIN_COVERAGE, 1.0).ln()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(found: f32, expected: f32) {
        assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
    }

    /// Seven tokens: 7² = 49, and ((5 + 7) / 6)² = 4.
    #[test]
    fn two_kinds_of_length_normalization() {
        let config =
            |length_norm| SearchConfig { length_penalty: 2.0, length_norm, ..SearchConfig::default() };
        near(config(LengthNorm::Power).score(-49.0, 7, &[]), -1.0);
        near(config(LengthNorm::Wu).score(-4.0, 7, &[]), -1.0);
        let none = SearchConfig { length_penalty: 0.0, ..SearchConfig::default() };
        near(none.score(-4.0, 7, &[]), -4.0);
    }

    /// The coverage of the first source token is 0.75 + 0.75 > 1, that of the second 0.25 + 0.25: 2 · ln 0.5.
    #[test]
    fn missing_coverage_costs() {
        let config = SearchConfig { coverage_penalty: 2.0, length_penalty: 0.0, ..SearchConfig::default() };
        let attention = vec![TokenAttention { weights: vec![0.75, 0.25], copying: None }; 2];
        near(config.score(-1.0, 3, &attention), -1.0 + 2.0 * 0.5f32.ln());
        near(config.score(-1.0, 3, &[]), -1.0);
    }

    #[test]
    fn the_bound_is_never_below_the_score() {
        for length_penalty in [-0.5, 0.0, 0.7] {
            let config = SearchConfig { length_penalty, ..SearchConfig::default() };
            for tokens in 3..=10 {
                assert!(config.score(-4.0, tokens, &[]) <= config.best_attainable_score(-3.0, 3, 10));
            }
        }
    }
}
