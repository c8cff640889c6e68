//! What a finished hypothesis is worth: its log-probability, made fair to long outputs, less what it left out of the source.

use crate::config::{LengthNorm, SearchConfig};

/// A place that was never looked at counts as if it had been looked at so much, so that what it costs is finite.
const LEAST_COVERAGE: f32 = 1e-4;

impl SearchConfig {
    /// What a hypothesis of so many tokens, its end included, is worth: `log p / norm(tokens) + coverage_penalty · coverage`.
    pub(crate) fn worth(&self, log_probability: f32, tokens: usize, attention: &[Vec<f32>]) -> f32 {
        let missed = if self.coverage_penalty > 0.0 { coverage(attention) } else { 0.0 };
        log_probability / self.norm(tokens) + self.coverage_penalty * missed
    }

    /// The most that a hypothesis can come to be worth if it goes on from so many tokens: its probability only falls, the norm
    /// grows or falls up to the longest output, and coverage is at most 0.
    pub(crate) fn hope(&self, log_probability: f32, tokens: usize, limit: usize) -> f32 {
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

/// `Σ log min(1, how much a place was looked at)` over the places of the source: 0 where nothing was left out (Wu et al., 2016).
fn coverage(attention: &[Vec<f32>]) -> f32 {
    let places = attention.first().map_or(0, Vec::len);
    let looked_at = |place: usize| attention.iter().map(|row| row[place]).sum::<f32>();
    (0..places).map(|place| looked_at(place).clamp(LEAST_COVERAGE, 1.0).ln()).sum()
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
        near(config(LengthNorm::Power).worth(-49.0, 7, &[]), -1.0);
        near(config(LengthNorm::Wu).worth(-4.0, 7, &[]), -1.0);
        let none = SearchConfig { length_penalty: 0.0, ..SearchConfig::default() };
        near(none.worth(-4.0, 7, &[]), -4.0);
    }

    /// The first place was looked at 0.75 + 0.75 > 1, the second 0.25 + 0.25: 2 · ln 0.5.
    #[test]
    fn what_was_not_looked_at_costs() {
        let config = SearchConfig { coverage_penalty: 2.0, length_penalty: 0.0, ..SearchConfig::default() };
        let attention = vec![vec![0.75, 0.25], vec![0.75, 0.25]];
        near(config.worth(-1.0, 3, &attention), -1.0 + 2.0 * 0.5f32.ln());
        near(config.worth(-1.0, 3, &[]), -1.0);
    }

    #[test]
    fn hope_is_never_less_than_the_worth() {
        for length_penalty in [-0.5, 0.0, 0.7] {
            let config = SearchConfig { length_penalty, ..SearchConfig::default() };
            for tokens in 3..=10 {
                assert!(config.worth(-4.0, tokens, &[]) <= config.hope(-3.0, 3, 10));
            }
        }
    }
}
