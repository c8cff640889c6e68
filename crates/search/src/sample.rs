//! Sampling: each token is drawn from the distribution of the model.

use crate::config::SamplingConfig;
use crate::constraint::Allowed;
use crate::history::Hypothesis;
use crate::model::TokenAttention;
use crate::search::{Decoding, Search, StepRows};
use couplet_data::random::Random;

/// A sample, with random numbers of its own.
struct Sample {
    index: usize,
    random: Random,
    hypothesis: Hypothesis,
}

/// The samples of one source.
pub(crate) struct Sampler {
    decoding: Decoding,
    /// Tokens of the live samples.
    length: usize,
    live: Vec<Sample>,
    /// The outputs, by the indices of their samples.
    finished: Vec<(usize, Hypothesis)>,
}

impl Sampler {
    pub(crate) fn new(decoding: Decoding) -> Sampler {
        let (config, prompt) = (&decoding.input.config, &decoding.input.prompt);
        let mut seeds = Random::with(config.sampling.seed, decoding.input.id);
        let hypothesis = Hypothesis {
            tokens: prompt.to_vec(),
            log_probability: decoding.log_probability,
            attention: vec![TokenAttention::default(); if decoding.attention { prompt.len() } else { 0 }],
            ..Hypothesis::default()
        };
        let sample = |index| {
            let mut random = Random::new(seeds.next_u64());
            // Each position has a random number, those of the prompt too.
            prompt.iter().for_each(|_| _ = random.next_u64());
            Sample { index, random, hypothesis: hypothesis.clone() }
        };
        let live: Vec<Sample> = (0..config.n_best).map(sample).collect();
        let accepted = decoding.input.rules.accept(prompt);
        let mut sampler = Sampler { length: prompt.len(), decoding, live: Vec::new(), finished: Vec::new() };
        if accepted {
            live.into_iter().for_each(|sample| sampler.retain(sample));
        }
        sampler
    }

    /// Retains a sample below the limit, and finishes it at the limit, if the rules let it end.
    fn retain(&mut self, mut sample: Sample) {
        if self.length < self.decoding.limit {
            self.live.push(sample);
        } else if self.decoding.may_end(&sample.hypothesis.tokens) {
            sample.hypothesis.truncated = true;
            self.finish(sample);
        }
    }

    fn finish(&mut self, sample: Sample) {
        self.finished.push((sample.index, self.decoding.scored(sample.hypothesis, self.length)));
    }

    /// Extends a sample by a token that the rules allow; none where they allow nothing.
    fn sampled(&self, sample: &mut Sample, row: &[f32]) -> Option<u32> {
        let input = &self.decoding.input;
        let allowed = input.rules.allowed(&sample.hypothesis.tokens, row.len());
        let weights = weights(row, &allowed, &sample.hypothesis.tokens, &input.config.sampling);
        let token = drawn(&weights, &mut sample.random)?;
        sample.hypothesis.log_probability += row[token as usize];
        Some(token)
    }
}

impl Search for Sampler {
    fn decoding(&self) -> &Decoding {
        &self.decoding
    }

    fn rows(&self) -> usize {
        self.live.len()
    }

    fn last_tokens(&self, tokens: &mut Vec<u32>) {
        let last = |sample: &Sample| sample.hypothesis.tokens.last().copied().unwrap_or(self.decoding.bos);
        tokens.extend(self.live.iter().map(last));
    }

    fn advance(&mut self, rows: StepRows) -> Vec<usize> {
        self.length += 1;
        let mut parents = Vec::new();
        for (row, mut sample) in std::mem::take(&mut self.live).into_iter().enumerate() {
            match self.sampled(&mut sample, rows.scores[row].all()) {
                None => {}
                Some(token) if token == self.decoding.eos => self.finish(sample),
                Some(token) => {
                    sample.hypothesis.tokens.push(token);
                    if self.decoding.attention {
                        sample.hypothesis.attention.push(self.decoding.attention(rows, row));
                    }
                    self.retain(sample);
                    parents.resize(self.live.len(), row);
                }
            }
        }
        parents
    }

    /// Returns the outputs in the order in which their samples were started.
    fn outputs(mut self: Box<Self>) -> Vec<Hypothesis> {
        self.finished.sort_by_key(|&(index, _)| index);
        self.finished.into_iter().map(|(_, hypothesis)| hypothesis).collect()
    }
}

/// The distribution that is sampled from, not normalized: tokens with their weights, the most probable first.
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

/// A token, sampled with probabilities proportional to the weights; none of no tokens.
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
