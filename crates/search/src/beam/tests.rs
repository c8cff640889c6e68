//! When a search ends: random models of 5 to 50 tokens, and one by hand.

use super::*;
use crate::config::LengthNorm;
use crate::constraint::Rules;
use crate::limit::TargetLengths;
use crate::model::StepRequest;
use crate::model::{AutoregressiveModel, SearchInput};
use crate::search::search;
use crate::testing::{ByRows, END, RowModel, START};
use couplet_data::random::Random;
use proptest::prelude::*;
use std::sync::Arc;

/// The logits of the next token are random numbers that depend on all tokens before, times a sharpness. The model looks at two places of a
/// source, at random too.
#[derive(Debug)]
struct RandomModel {
    vocabulary: usize,
    sharpness: f32,
    seed: u64,
}

impl RandomModel {
    /// A model of 5 to 50 tokens.
    fn new(seed: u64) -> RandomModel {
        let mut random = Random::new(seed);
        let (vocabulary, sharpness) = (5 + random.below(46), 1.0 + random.below(60) as f32 / 10.0);
        RandomModel { vocabulary, sharpness, seed }
    }

    fn log_probabilities(&self, state: u64) -> Vec<f32> {
        let mut random = Random::with(self.seed, state);
        let mut unit = || (random.next_u64() >> 40) as f32 / (1 << 24) as f32;
        // The sum of three is about a normal distribution.
        let mut weight = |token: usize| {
            let logit = self.sharpness * (2.0 * (unit() + unit() + unit()) - 3.0);
            if token as u32 == START { 0.0 } else { logit.exp() }
        };
        let weights: Vec<f32> = (0..self.vocabulary).map(&mut weight).collect();
        let sum: f32 = weights.iter().sum();
        weights.iter().map(|weight| (weight / sum).ln()).collect()
    }
}

impl RowModel for RandomModel {
    /// A number that stands for all tokens before.
    type Row = u64;

    fn start(&self, _: &[u32]) -> u64 {
        1
    }

    fn next(&self, row: &u64, token: u32) -> (u64, Vec<f32>, Vec<f32>) {
        let row = Random::with(*row, u64::from(token)).next_u64();
        let first = (row % 100) as f32 / 100.0;
        (row, self.log_probabilities(row), vec![first, 1.0 - first])
    }
}

/// Of the first step, the end has probability 0.4 and `a` 0.6; then `a` follows surely, five times, and the end.
struct Long;

impl RowModel for Long {
    /// The number of tokens.
    type Row = usize;

    fn start(&self, _: &[u32]) -> usize {
        0
    }

    fn next(&self, tokens: &usize, _: u32) -> (usize, Vec<f32>, Vec<f32>) {
        let row = match tokens {
            0 => [0.0, 0.4, 0.6],
            1..=5 => [0.0, 0.0, 1.0],
            _ => [0.0, 1.0, 0.0],
        };
        (tokens + 1, row.map(f32::ln).to_vec(), Vec::new())
    }
}

/// The empty output is worth ln 0.4 / 1 = −0.92, that of six tokens ln 0.6 / 7 = −0.07. A beam of one ends with the likelier token, a beam
/// of two has the empty output after its first step; six tokens follow, and the end.
#[test]
fn a_live_hypothesis_that_is_better_takes_its_steps() {
    for stop in [BeamStopping::Heuristic, BeamStopping::Never] {
        for beam in [1, 2] {
            let config = SearchConfig { beam_size: beam, early_stopping: stop, ..SearchConfig::default() };
            let best = &search(&ByRows::new(Long), &[&[7]], &config)[0][0];
            assert_eq!((best.tokens.len(), best.truncated), (6, false));
            assert!((best.score - 0.6f32.ln() / 7.0).abs() < 1e-6);
        }
    }
}

/// Six tokens and their end are seven steps: a limit of seven lets the output end, one of six truncates it.
#[test]
fn an_output_is_truncated_that_has_no_end() {
    for beam in [1, 2] {
        let found = |max_length| {
            let config =
                SearchConfig { beam_size: beam, max_length: Some(max_length), ..SearchConfig::default() };
            search(&ByRows::new(Long), &[&[7]], &config)[0][0].clone()
        };
        assert_eq!(
            [found(7), found(6)].map(|best| (best.tokens.len(), best.truncated)),
            [(6, false), (6, true)]
        );
    }
}

/// By default the lengths of the training data say how long an output may be, for two source tokens 10 + 2 · min(3, 2 · 1) = 14; a key
/// that is given says it instead.
#[test]
fn limits_of_the_config_by_hand() {
    let target_lengths = TargetLengths { longest: 3, largest_ratio: 1.0 };
    let limit = |max_length, max_length_ratio| {
        SearchConfig { max_length, max_length_ratio, target_lengths, ..SearchConfig::default() }.limit(2)
    };
    assert_eq!(limit(None, None), 14);
    assert_eq!(limit(Some(5), None), 5);
    assert_eq!(limit(None, Some(1.5)), 3);
    assert_eq!(limit(Some(5), Some(1.5)), 8);
    assert_eq!(limit(Some(0), None), 1);
}

/// Beams of any width, in groups or not, with any number of outputs and any penalty.
fn settings() -> impl Strategy<Value = SearchConfig> {
    let widths = (1usize..4, 1usize..4, 1usize..10, 0.0f32..2.0);
    let penalties = (-0.5f32..1.5, any::<bool>(), prop_oneof![Just(0.0f32), 0.1f32..2.0]);
    (widths, penalties, 1usize..40).prop_map(|((groups, width, n_best, diversity), penalties, limit)| {
        let beam = groups * width;
        SearchConfig {
            beam_size: beam,
            beam_groups: groups,
            diversity_penalty: diversity,
            n_best: n_best.min(beam),
            length_penalty: penalties.0,
            length_norm: if penalties.1 { LengthNorm::Wu } else { LengthNorm::Power },
            coverage_penalty: penalties.2,
            max_length: Some(limit),
            ..SearchConfig::default()
        }
    })
}

proptest! {
    #[test]
    fn no_live_hypothesis_is_better_than_an_output(
        seed: u64,
        config in settings(),
        no_repeat_ngram in 0usize..3,
        least in 0usize..4,
    ) {
        let model = ByRows::new(RandomModel::new(seed));
        let config = Arc::new(SearchConfig { no_repeat_ngram, min_length: least, ..config });
        let input = SearchInput::new([2, 3], Rules::new(&config, 2, END), Arc::clone(&config));
        let (mut state, _) = model.init(&[&input]);
        let mut beam = Beam::new(Decoding::new(input, (START, END), &[]));
        state = vec![state[0]; beam.rows()];
        while beam.rows() > 0 {
            let mut tokens = Vec::new();
            beam.last_tokens(&mut tokens);
            let attention = beam.decoding.attention;
            let request = StepRequest { scores: vec![beam.decoding.request; beam.rows()], attention };
            let step = model.step(&tokens, &state, &request);
            let rows = StepRows { scores: &step.scores, attention: step.attention.as_deref() };
            state = beam.advance(rows).into_iter().map(|parent| step.state[parent]).collect();
        }
        // Those of a group that ended earlier are shorter than the others'.
        let live: Vec<f32> = beam.groups.iter().flat_map(|group| {
            group.live.iter().map(|live| {
                config.score(live.log_probability, beam.history.tokens(live.last).len(), &beam.attention(live.last))
            })
        }).collect();
        let outputs = Box::new(beam).outputs();
        prop_assert!(outputs.len() <= config.n_best);
        for output in &outputs {
            prop_assert!(live.iter().all(|&live| live <= output.score), "{live:?}, {output:?}");
        }
    }
}

/// A beam can lose the path of the greedy search, but of a hundred models for at most one to its disadvantage.
#[test]
fn a_beam_is_hardly_ever_worse_than_greed() {
    const CASES: u64 = 1000;
    let lost = |seed: &u64| {
        let model = ByRows::new(RandomModel::new(*seed));
        let score = |beam| {
            let config = SearchConfig { beam_size: beam, max_length: Some(50), ..SearchConfig::default() };
            search(&model, &[&[2, 3]], &config)[0][0].score
        };
        score(5) < score(1)
    };
    let worse = (0..CASES).filter(lost).count();
    assert!(worse <= CASES as usize / 100, "{worse} of {CASES} models");
}
