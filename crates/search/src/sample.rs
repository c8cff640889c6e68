//! Outputs that are drawn, token by token, from what the model expects.

use crate::config::{SamplingConfig, SearchConfig};
use crate::constraint::{Allowed, Rules};
use crate::hypothesis::Hypothesis;
use crate::search::Question;
use crate::steps::{Expected, Row, Search};
use couplet_data::random::Random;

/// One output that is being drawn.
struct Draw {
    random: Random,
    written: Hypothesis,
}

/// The outputs that are drawn for one source.
pub(crate) struct Sampler<'a> {
    config: &'a SearchConfig,
    rules: &'a Rules,
    end: u32,
    source: usize,
    limit: usize,
    length: usize,
    live: Vec<(usize, Draw)>,
    /// The outputs by the numbers of their draws.
    finished: Vec<(usize, Hypothesis)>,
}

impl<'a> Sampler<'a> {
    pub(crate) fn new(question: Question<'a>, end: u32, config: &'a SearchConfig) -> Sampler<'a> {
        let Question { tokens: source, rules, number } = question;
        let mut seeds = Random::with(config.sampling.seed, number);
        let nothing = Hypothesis {
            tokens: Vec::new(),
            log_probability: 0.0,
            score: 0.0,
            attention: Vec::new(),
            truncated: false,
        };
        let draw = |_| Draw { random: Random::new(seeds.next_u64()), written: nothing.clone() };
        Sampler {
            config,
            rules,
            end,
            source: source.len(),
            limit: config.limit(source.len()),
            length: 0,
            live: (0..config.n_best).map(draw).enumerate().collect(),
            finished: Vec::new(),
        }
    }

    /// The outputs, in the order in which they were begun.
    pub(crate) fn outputs(mut self) -> Vec<Hypothesis> {
        self.finished.sort_by_key(|&(number, _)| number);
        self.finished.into_iter().map(|(_, hypothesis)| hypothesis).collect()
    }

    fn finish(&mut self, number: usize, mut written: Hypothesis) {
        written.score = self.config.worth(written.log_probability, self.length, &written.attention);
        self.finished.push((number, written));
    }
}

impl Search for Sampler<'_> {
    fn last_tokens(&self) -> Vec<Option<u32>> {
        self.live.iter().map(|(_, draw)| draw.written.tokens.last().copied()).collect()
    }

    fn advance(&mut self, rows: &[Row]) -> Vec<usize> {
        self.length += 1;
        let mut kept = Vec::new();
        for (place, (number, mut draw)) in std::mem::take(&mut self.live).into_iter().enumerate() {
            let Expected::All(row) = rows[place].expected else {
                unreachable!("a sampler asks to see everything")
            };
            let allowed = self.rules.allowed(&draw.written.tokens, row.len());
            let weights = weights(row, &allowed, &draw.written.tokens, &self.config.sampling);
            // Where the rules leave nothing, the draw is given up.
            let Some(token) = drawn(&weights, &mut draw.random) else { continue };
            draw.written.log_probability += row[token as usize];
            if token == self.end {
                self.finish(number, draw.written);
                continue;
            }
            draw.written.tokens.push(token);
            draw.written.attention.push(rows[place].attention.iter().take(self.source).copied().collect());
            if self.length < self.limit {
                kept.push(place);
                self.live.push((number, draw));
            } else if self.rules.allowed(&draw.written.tokens, row.len()).has(self.end) {
                draw.written.truncated = true;
                self.finish(number, draw.written);
            }
        }
        kept
    }
}

/// What is drawn from: tokens with their weights, the likeliest first.
fn weights(row: &[f32], allowed: &Allowed, written: &[u32], config: &SamplingConfig) -> Vec<(u32, f64)> {
    let SamplingConfig { temperature, top_k, top_p, min_p, repetition_penalty, .. } = config;
    let tempered = |(token, &log_p): (u32, &f32)| {
        let penalty = if written.contains(&token) { *repetition_penalty } else { 1.0 };
        (token, f64::from(log_p * penalty / temperature))
    };
    let possible = (0..).zip(row).filter(|&(token, log_p)| log_p.is_finite() && allowed.has(token));
    let mut weights: Vec<(u32, f64)> = possible.map(tempered).collect();
    weights.sort_by(|a, b| b.1.total_cmp(&a.1)); // stable: of equal ones, the smaller token comes first
    if *top_k > 0 {
        weights.truncate(*top_k);
    }
    let Some(&(_, largest)) = weights.first() else { return weights };
    weights.iter_mut().for_each(|(_, weight)| *weight = (*weight - largest).exp());
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let (mut before, enough) = (0.0, f64::from(*top_p) * sum);
    weights.retain(|(_, weight)| {
        let is_needed = *top_p >= 1.0 || before < enough;
        before += weight;
        is_needed && *weight >= f64::from(*min_p)
    });
    weights
}

/// One of them, each as likely as its weight says; none where there are none.
fn drawn(weights: &[(u32, f64)], random: &mut Random) -> Option<u32> {
    let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
    let mut left = (random.next_u64() >> 11) as f64 / (1u64 << 53) as f64 * sum;
    let hit = weights.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    hit.or(weights.last()).map(|&(token, _)| token)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROBABILITIES: [f32; 5] = [0.1, 0.4, 0.05, 0.15, 0.3];

    /// Tokens and their probabilities after all settings.
    fn left(written: &[u32], config: &SamplingConfig) -> Vec<(u32, f64)> {
        let row = PROBABILITIES.map(f32::ln);
        let weights = weights(&row, &Allowed::all(5), written, config);
        let sum: f64 = weights.iter().map(|(_, weight)| weight).sum();
        weights.into_iter().map(|(token, weight)| (token, weight / sum)).collect()
    }

    fn near(found: &[(u32, f64)], expected: &[(u32, f64)]) {
        let same = |(a, b): (&(u32, f64), &(u32, f64))| a.0 == b.0 && (a.1 - b.1).abs() < 1e-6;
        assert!(found.len() == expected.len() && found.iter().zip(expected).all(same), "{found:?}");
    }

    #[test]
    fn settings_by_hand() {
        let plain = SamplingConfig::default;
        near(&left(&[], &plain()), &[(1, 0.4), (4, 0.3), (3, 0.15), (0, 0.1), (2, 0.05)]);
        near(&left(&[], &SamplingConfig { top_k: 2, ..plain() }), &[(1, 4.0 / 7.0), (4, 3.0 / 7.0)]);
        // 0.4 is not 0.6 yet, 0.4 + 0.3 is.
        near(&left(&[], &SamplingConfig { top_p: 0.6, ..plain() }), &[(1, 4.0 / 7.0), (4, 3.0 / 7.0)]);
        // A third of 0.4 is 0.1333.
        let min_p = SamplingConfig { min_p: 1.0 / 3.0, ..plain() };
        near(&left(&[], &min_p), &[(1, 0.4 / 0.85), (4, 0.3 / 0.85), (3, 0.15 / 0.85)]);
        // 1/T = 2: squares 0.16, 0.09 of a sum of 0.285.
        let half = SamplingConfig { temperature: 0.5, top_k: 2, ..plain() };
        near(&left(&[], &half), &[(1, 0.16 / 0.25), (4, 0.09 / 0.25)]);
        // Token 1 is there already: 0.4² = 0.16 beside 0.3.
        let penalty = SamplingConfig { repetition_penalty: 2.0, top_k: 2, ..plain() };
        near(&left(&[1], &penalty), &[(4, 0.3 / 0.46), (1, 0.16 / 0.46)]);
    }

    #[test]
    fn what_is_not_allowed_is_not_drawn() {
        let row = PROBABILITIES.map(f32::ln);
        let mut random = Random::new(1);
        let weights = weights(&row, &Allowed::some(5, [2]), &[], &SamplingConfig::default());
        assert_eq!(drawn(&weights, &mut random), Some(2));
        assert_eq!(drawn(&[], &mut random), None);
    }
}
