//! Searches of models that are small enough to look at everything they could write.

use crate::config::{BeamStopping, LengthNorm, Method, SamplingConfig, SearchConfig};
use crate::constraint::{Allowed, Constraint, Phrases, Prefix, Rules};
use crate::ensemble::Ensemble;
use crate::history::Hypothesis;
use crate::model::{SearchInput, TokenAttention};
use crate::search::{search, search_inputs};
use crate::testing::{ByRows, END, RowModel, START, outputs};
use proptest::prelude::*;
use std::sync::Arc;

/// The probability of the next token depends on the source's first token and on the last two tokens, through a table of numbers; and so
/// does what a token looks at.
#[derive(Clone, Debug)]
struct Table {
    vocabulary: usize,
    numbers: Vec<f32>,
}

impl Table {
    fn number(&self, i: usize) -> f32 {
        self.numbers[i % self.numbers.len()]
    }

    fn log_probabilities(&self, source: u32, before: u32, last: u32) -> Vec<f32> {
        let first = (source as usize * 31 + before as usize * 7 + last as usize) * self.vocabulary;
        let weight = |token: usize| if token as u32 == START { 0.0 } else { self.number(first + token) };
        let weights: Vec<f32> = (0..self.vocabulary).map(weight).collect();
        let sum: f32 = weights.iter().sum();
        weights.iter().map(|weight| (weight / sum).ln()).collect()
    }

    /// The attention of the step after a token, on a source of two tokens.
    fn attention(&self, last: u32) -> TokenAttention {
        let first = self.number(last as usize * 3);
        TokenAttention { weights: vec![first, 1.0 - first], copying: None }
    }

    /// Every output that satisfies the rules, with its score.
    fn all_outputs(&self, source: &[u32], rules: &Rules, config: &SearchConfig) -> Vec<Hypothesis> {
        let limit = config.limit(source.len());
        let (mut open, mut done) = (vec![Hypothesis::default()], Vec::new());
        let mut finish = |mut output: Hypothesis, length: usize| {
            output.score = config.score(output.log_probability, length, &output.attention);
            done.push(output);
        };
        for length in 1..=limit {
            for output in std::mem::take(&mut open) {
                let back = |n: usize| output.tokens.iter().rev().nth(n).copied().unwrap_or(START);
                let allowed = rules.allowed(&output.tokens, self.vocabulary);
                let row = self.log_probabilities(source[0], back(1), back(0));
                for (token, log_p) in (0..).zip(row).filter(|&(token, p)| p.is_finite() && allowed.has(token))
                {
                    let mut longer = output.clone();
                    longer.log_probability += log_p;
                    if token == END {
                        finish(longer, length);
                        continue;
                    }
                    longer.tokens.push(token);
                    longer.attention.push(self.attention(back(0)));
                    if length < limit {
                        open.push(longer);
                    } else if rules.allowed(&longer.tokens, self.vocabulary).has(END) {
                        longer.truncated = true;
                        finish(longer, length);
                    }
                }
            }
        }
        done
    }
}

impl RowModel for Table {
    /// The source's first token, and the token before the last.
    type Row = (u32, u32);

    fn start(&self, source: &[u32]) -> (u32, u32) {
        (source[0], START)
    }

    fn next(&self, &(source, before): &(u32, u32), last: u32) -> ((u32, u32), Vec<f32>, Vec<f32>) {
        ((source, last), self.log_probabilities(source, before, last), self.attention(last).weights)
    }
}

fn config(beam: usize, limit: usize) -> SearchConfig {
    SearchConfig { beam_size: beam, max_length: Some(limit), ..SearchConfig::default() }
}

/// From the start, `a` is likelier than `b` (0.6 and 0.4), but after `a` all is open (0.5 and 0.5 for `a` and the end), while `b` surely
/// ends: greedy finds "a" (0.3), a beam of two finds "b" (0.4).
struct Fork;

impl RowModel for Fork {
    type Row = ();

    fn start(&self, _: &[u32]) {}

    fn next(&self, (): &(), token: u32) -> ((), Vec<f32>, Vec<f32>) {
        let next = match token {
            0 => [0.0, 0.0, 0.6, 0.4],
            2 => [0.0, 0.5, 0.5, 0.0],
            _ => [0.0, 1.0, 0.0, 0.0],
        };
        ((), next.map(f32::ln).to_vec(), vec![1.0])
    }
}

#[test]
fn a_beam_finds_what_greed_misses() {
    let best = |beam| {
        let config = Arc::new(SearchConfig { length_penalty: 0.0, ..config(beam, 3) });
        let input = SearchInput { attention: true, ..SearchInput::new([9], Rules::default(), config) };
        outputs(&ByRows::new(Fork), input).remove(0)
    };
    assert_eq!(best(2).tokens, [3]);
    assert!((best(2).log_probability - 0.4f32.ln()).abs() < 1e-6);
    assert_eq!(best(2).attention, [TokenAttention { weights: vec![1.0], copying: None }]);
    assert_eq!(best(1).tokens[0], 2);
}

/// Two groups of one: the first goes the greedy way, "a"; what the second pays for "a" is more than the difference to "b".
#[test]
fn groups_keep_away_from_each_other() {
    let first_tokens = |diversity| {
        let config = SearchConfig { beam_groups: 2, diversity_penalty: diversity, n_best: 2, ..config(2, 3) };
        let mut first: Vec<u32> =
            search(&ByRows::new(Fork), &[&[9]], &config)[0].iter().map(|found| found.tokens[0]).collect();
        first.sort_unstable();
        first
    };
    assert_eq!(first_tokens(0.0), [2, 2]);
    assert_eq!(first_tokens(0.5), [2, 3]);
}

/// A model that generates as many tokens as its source has.
struct Counting;

impl RowModel for Counting {
    /// Tokens that are left to generate.
    type Row = usize;

    fn start(&self, source: &[u32]) -> usize {
        source.len()
    }

    fn next(&self, &left: &usize, _: u32) -> (usize, Vec<f32>, Vec<f32>) {
        let next = if left == 0 { [0.0f32, 1.0, 0.0] } else { [0.0, 0.0, 1.0] };
        (left.saturating_sub(1), next.map(f32::ln).to_vec(), Vec::new())
    }
}

/// Outputs of 1, 2 and 4 tokens, each with its end: 3 rows for two steps, then 2, then 1.
#[test]
fn what_is_finished_leaves_the_batch() {
    let model = ByRows::new(Counting);
    let sources: [&[u32]; 3] = [&[5], &[5; 4], &[5; 2]];
    for method in [Method::Beam, Method::Sample] {
        let config = SearchConfig { method, ..config(1, 9) };
        let lengths: Vec<usize> =
            search(&model, &sources, &config).iter().map(|found| found[0].tokens.len()).collect();
        assert_eq!(lengths, [1, 4, 2]);
        let rows: Vec<usize> = model.requests.take().iter().map(|request| request.scores.len()).collect();
        assert_eq!(rows, [3, 3, 2, 1, 1]);
    }
}

/// Of 20,000 draws of one token, each has about its share: the chi-square statistic of three classes beyond the first is below 16.27, its
/// 99.9th percentile.
#[test]
fn draws_have_the_frequencies_of_the_distribution() {
    struct Four;
    impl RowModel for Four {
        type Row = ();
        fn start(&self, _: &[u32]) {}
        fn next(&self, (): &(), _: u32) -> ((), Vec<f32>, Vec<f32>) {
            ((), [0.0, 0.1, 0.2, 0.3, 0.4].map(f32::ln).to_vec(), Vec::new())
        }
    }
    let draws = 20_000;
    for (temperature, weights) in [(1.0, [0.1, 0.2, 0.3, 0.4]), (0.5, [0.01, 0.04, 0.09, 0.16])] {
        let sampling = SamplingConfig { temperature, seed: 7, ..SamplingConfig::default() };
        let config = SearchConfig { method: Method::Sample, n_best: draws, sampling, ..config(1, 1) };
        let mut counts = [0.0; 4];
        for found in &search(&ByRows::new(Four), &[&[5]], &config)[0] {
            counts[found.tokens.first().map_or(0, |&token| token as usize - 1)] += 1.0;
        }
        let sum: f64 = weights.iter().sum();
        let expected = weights.map(|weight| weight / sum * draws as f64);
        let chi_square: f64 =
            counts.iter().zip(expected).map(|(count, expected)| (count - expected).powi(2) / expected).sum();
        assert!(chi_square < 16.27, "{chi_square}: {counts:?} of {expected:?}");
    }
}

#[test]
fn a_seed_draws_the_same_in_any_batch() {
    let numbers = (0..97).map(|i| 0.1 + (i * 37 % 89) as f32).collect();
    let model = ByRows::new(Table { vocabulary: 6, numbers });
    let drawn = |seed: u64, ids: &[u64]| -> Vec<Vec<Hypothesis>> {
        let sampling = SamplingConfig { seed, ..SamplingConfig::default() };
        let config = Arc::new(SearchConfig { method: Method::Sample, n_best: 3, sampling, ..config(1, 6) });
        let input =
            |&id: &u64| SearchInput { id, ..SearchInput::new([4, 5], Rules::default(), Arc::clone(&config)) };
        let found = search_inputs(&model, ids.iter().map(input).collect(), usize::MAX);
        found.into_iter().collect::<Result<_, _>>().expect("no rules")
    };
    let together = drawn(1, &[0, 1, 2]);
    assert_eq!(drawn(1, &[2])[0], together[2]);
    assert_ne!(together[0], together[1], "each line has draws of its own");
    assert_ne!(drawn(2, &[0])[0], together[0]);
}

/// The mean of two models that are sure of different things can be sure of a third: 0.4 for the end, 0.3 for each of the others.
#[test]
fn an_ensemble_writes_what_its_models_agree_on() {
    struct Sure(u32);
    impl RowModel for Sure {
        type Row = ();
        fn start(&self, _: &[u32]) {}
        fn next(&self, (): &(), _: u32) -> ((), Vec<f32>, Vec<f32>) {
            let p = |token: u32| match token {
                END => 0.4f32,
                token if token == self.0 => 0.6,
                _ => 0.0,
            };
            ((), (0..4).map(|token| p(token).ln()).collect(), Vec::new())
        }
    }
    assert_eq!(search(&ByRows::new(Sure(2)), &[&[9]], &config(1, 3))[0][0].tokens, [2, 2, 2]);
    let both = Ensemble::new([2, 3].map(|token| ByRows::new(Sure(token))).into());
    let found = &search(&both, &[&[9]], &config(1, 3))[0][0];
    assert!(found.tokens.is_empty() && (found.log_probability - 0.4f32.ln()).abs() < 1e-6);
}

/// No output may hold two of the same token.
#[derive(Debug)]
struct AllDifferent;

impl Constraint for AllDifferent {
    fn restrict(&self, written: &[u32], allowed: &mut Allowed) {
        written.iter().for_each(|&token| allowed.forbid(token));
    }

    fn explain(&self) -> String {
        "all tokens different".to_owned()
    }
}

/// What a search that must not end before three different tokens finds in a vocabulary of two is nothing, and not something else.
#[test]
fn nothing_is_found_where_nothing_can_be() {
    let model = ByRows::new(Table { vocabulary: 4, numbers: vec![0.3, 0.7, 0.2] });
    for method in [Method::Beam, Method::Sample] {
        let config = SearchConfig { method, min_length: 3, ..config(4, 5) };
        let mut rules = Rules::new(&config, 1, END);
        rules.add(AllDifferent);
        assert_eq!(outputs(&model, SearchInput::new([3], rules, config.into())), []);
    }
}

/// Penalties and rules in any combination.
fn settings() -> impl Strategy<Value = SearchConfig> {
    let penalties = (-0.5f32..1.5, any::<bool>(), prop_oneof![Just(0.0f32), 0.1f32..2.0]);
    let lengths = (0usize..3, 1usize..5, 0usize..4);
    (penalties, lengths, any::<bool>()).prop_map(|(penalties, (least, limit, ngram), exhaustive)| {
        SearchConfig {
            length_penalty: penalties.0,
            length_norm: if penalties.1 { LengthNorm::Wu } else { LengthNorm::Power },
            coverage_penalty: penalties.2,
            min_length: least,
            no_repeat_ngram: ngram,
            early_stopping: if exhaustive { BeamStopping::Never } else { BeamStopping::Heuristic },
            n_best: if exhaustive { 5 } else { 1 },
            ..config(2000, limit)
        }
    })
}

proptest! {
    #[test]
    fn a_beam_as_wide_as_the_space_finds_the_best_output(
        numbers in prop::collection::vec(0.01f32..1.0, 97),
        vocabulary in 3usize..6,
        config in settings(),
        prefix in prop::option::of(2u32..6),
        phrase in prop::option::of(prop::collection::vec(2u32..6, 1..3)),
    ) {
        let (model, config) = (ByRows::new(Table { vocabulary, numbers }), Arc::new(config));
        for source in [[0u32, 4], [2, 4]] {
            let rules = || {
                let mut rules = Rules::new(&config, source.len(), END);
                if let Some(token) = prefix {
                    rules.add(Prefix { tokens: vec![token], text: String::new(), limit: 9 });
                }
                if let Some(phrase) = &phrase {
                    rules.add(Phrases { phrases: vec![phrase.clone()], texts: vec![], end: END });
                }
                rules
            };
            let input = SearchInput::new(source, rules(), Arc::clone(&config));
            let found = search_inputs(&model, vec![input], 9).remove(0).unwrap_or_default();
            let mut all = model.model.all_outputs(&source, &rules(), &config);
            all.sort_by(|a, b| b.score.total_cmp(&a.score));
            prop_assert_eq!(found.is_empty(), all.is_empty());
            let wanted = if config.early_stopping == BeamStopping::Heuristic { 1 } else { 5 };
            for (found, best) in found.iter().zip(&all).take(wanted) {
                prop_assert!((found.score - best.score).abs() < 1e-4, "{:?} instead of {:?}", found, best);
            }
        }
    }

    /// An exhaustive search of a narrow beam is never worse than an early one.
    #[test]
    fn going_on_finds_nothing_worse(numbers in prop::collection::vec(0.01f32..1.0, 97), beam in 1usize..4) {
        let table = ByRows::new(Table { vocabulary: 5, numbers });
        let best = |early_stopping| {
            let found = search(&table, &[&[1, 4]], &SearchConfig { early_stopping, ..config(beam, 6) });
            found[0][0].score
        };
        prop_assert!(best(BeamStopping::Never) >= best(BeamStopping::Heuristic));
    }

    #[test]
    fn a_source_is_searched_alike_alone_and_in_a_batch(
        numbers in prop::collection::vec(0.01f32..1.0, 97),
        beam in 1usize..5,
        no_repeat_ngram in 0usize..3,
    ) {
        let table = ByRows::new(Table { vocabulary: 6, numbers });
        let config = SearchConfig { no_repeat_ngram, ..config(beam, 6) };
        let together = search(&table, &[&[0], &[1], &[2], &[3]], &config);
        for (source, together) in (0..4).zip(together) {
            prop_assert_eq!(&search(&table, &[&[source]], &config)[0], &together);
        }
    }

    /// A rule that forbids nothing changes nothing, though all scores are requested then.
    #[test]
    fn a_rule_that_forbids_nothing_changes_nothing(
        numbers in prop::collection::vec(0.01f32..1.0, 97),
        beam in 1usize..5,
    ) {
        #[derive(Debug)]
        struct Anything;
        impl Constraint for Anything {
            fn restrict(&self, _: &[u32], _: &mut Allowed) {}
            fn explain(&self) -> String {
                String::new()
            }
        }
        let table = ByRows::new(Table { vocabulary: 6, numbers });
        let mut rules = Rules::default();
        rules.add(Anything);
        let config = Arc::new(config(beam, 6));
        let input = SearchInput::new([1, 2], rules, Arc::clone(&config));
        prop_assert_eq!(&outputs(&table, input), &search(&table, &[&[1, 2]], &config)[0]);
    }

    #[test]
    fn greedy_takes_the_likeliest_token(numbers in prop::collection::vec(0.01f32..1.0, 97)) {
        let table = ByRows::new(Table { vocabulary: 6, numbers });
        let found = &search(&table, &[&[0]], &config(1, 6))[0][0];
        let (mut before, mut last) = (START, START);
        for &token in &found.tokens {
            let p = table.model.log_probabilities(0, before, last);
            prop_assert!(p.iter().all(|other| *other <= p[token as usize]));
            (before, last) = (last, token);
        }
    }
}
