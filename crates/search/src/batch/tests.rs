//! Sources that join and leave a running batch.

use super::*;
use crate::config::{Method, SamplingConfig, SearchConfig, Unknown};
use crate::constraint::{Phrases, Prefix, Rules};
use crate::model::ScoreRequest;
use crate::search::search_inputs;
use crate::testing::{ByRows, END, RowModel};
use couplet_data::random::Random;
use proptest::prelude::*;
use std::sync::Arc;

const VOCABULARY: usize = 7;

/// A model whose log-probabilities and attention depend on all tokens so far. It can count the rows of all states.
#[derive(Default)]
struct Hashed {
    rows: Arc<()>,
}

impl RowModel for Hashed {
    /// Stands for all tokens so far.
    type Row = (u64, Arc<()>);

    fn start(&self, source: &[u32]) -> Self::Row {
        let hash = source.iter().fold(1, |hash, &token| Random::with(hash, token.into()).next_u64());
        (hash, Arc::clone(&self.rows))
    }

    fn next(&self, (hash, counted): &Self::Row, token: u32) -> (Self::Row, Vec<f32>, Vec<f32>) {
        let mut random = Random::with(*hash, token.into());
        let next = random.next_u64();
        let weights: Vec<f32> =
            (0..VOCABULARY).map(|i| if i == 0 { 0.0 } else { 1.0 + random.below(9) as f32 }).collect();
        let sum: f32 = weights.iter().sum();
        let first = random.below(100) as f32 / 100.0;
        let log_probabilities = weights.iter().map(|weight| (weight / sum).ln()).collect();
        ((next, Arc::clone(counted)), log_probabilities, vec![first, 1.0 - first])
    }
}

/// A source, its configuration and its rules.
#[derive(Clone, Debug)]
struct Case {
    source: u32,
    id: u64,
    config: SearchConfig,
    prompt: Vec<u32>,
    phrase: Option<u32>,
    attention: bool,
}

impl Case {
    fn input(&self) -> SearchInput {
        let tokens = [self.source, 3];
        let mut rules = Rules::new(&self.config, tokens.len(), END);
        if let Some(token) = self.phrase {
            rules.add(Phrases { phrases: vec![vec![token]], texts: Vec::new(), end: END });
        }
        SearchInput {
            id: self.id,
            prompt: self.prompt.clone().into(),
            attention: self.attention,
            ..SearchInput::new(tokens, rules, self.config.clone().into())
        }
    }

    fn alone(&self) -> Result<Vec<Hypothesis>, String> {
        search_inputs(&ByRows::new(Hashed::default()), vec![self.input()], usize::MAX).remove(0)
    }
}

fn configs() -> impl Strategy<Value = SearchConfig> {
    let widths = (1usize..3, 1usize..4, 1usize..4, any::<bool>(), 0u64..3);
    let rules = (1usize..7, 0usize..3, 0usize..3, prop_oneof![Just(0.0f32), 0.1f32..1.0]);
    (widths, rules).prop_map(
        |((groups, width, n_best, samples, seed), (limit, min_length, ngram, coverage))| SearchConfig {
            method: if samples { Method::Sample } else { Method::Beam },
            beam_size: groups * width,
            beam_groups: groups,
            n_best: if samples { n_best } else { n_best.min(groups * width) },
            max_length: Some(limit),
            min_length,
            no_repeat_ngram: ngram,
            coverage_penalty: coverage,
            sampling: SamplingConfig { seed, ..SamplingConfig::default() },
            ..SearchConfig::default()
        },
    )
}

fn cases() -> impl Strategy<Value = Case> {
    let prompt = prop_oneof![Just(Vec::new()), prop::collection::vec(2u32..VOCABULARY as u32, 0..5)];
    let phrase = prop::option::weighted(0.2, 2u32..VOCABULARY as u32);
    (0u32..50, any::<u64>(), configs(), prompt, phrase, any::<bool>()).prop_map(
        |(source, id, config, prompt, phrase, attention)| Case {
            source,
            id,
            config,
            prompt,
            phrase,
            attention,
        },
    )
}

proptest! {
    /// Any number of sources joins before each step; one of four is canceled a step later.
    #[test]
    fn a_source_that_joins_and_leaves_has_the_outputs_that_it_has_alone(
        cases in prop::collection::vec((cases(), 0usize..4, 0u8..4), 1..9),
    ) {
        let mut batch = DecodeBatch::new(ByRows::new(Hashed::default()));
        let mut waiting: Vec<(u64, (Case, usize, u8))> = (0..).zip(cases.clone()).collect();
        let (mut found, mut canceled) = (vec![None; cases.len()], Vec::new());
        while !(waiting.is_empty() && batch.is_empty()) {
            canceled.into_iter().for_each(|id| batch.cancel(id));
            let (joining, later): (Vec<_>, Vec<_>) = waiting.into_iter().partition(|(_, (_, delay, _))| *delay == 0);
            waiting = later.into_iter().map(|(id, (case, delay, luck))| (id, (case, delay - 1, luck))).collect();
            canceled = joining.iter().filter(|(_, (.., luck))| *luck == 0).map(|(id, _)| RequestId(*id)).collect();
            batch.add(joining.into_iter().map(|(id, (case, ..))| (RequestId(id), case.input())));
            for (id, event) in batch.step() {
                found[id.0 as usize] = Some(event.into_result());
            }
            prop_assert_eq!(Arc::strong_count(&batch.model.model.rows) - 1, batch.rows());
        }
        for (found, (case, _, luck)) in found.into_iter().zip(&cases) {
            match found {
                Some(found) => prop_assert_eq!(found, case.alone()),
                None => prop_assert_eq!(*luck, 0),
            }
        }
    }

    /// A prompt is a prefix that is not searched, also where it meets the limit, or breaks a rule.
    #[test]
    fn a_prompt_is_a_prefix(case in cases()) {
        let config = SearchConfig { coverage_penalty: 0.0, ..case.config.clone() };
        let case = Case { config, attention: false, ..case };
        let (mut input, limit) = (case.input(), case.config.limit(2));
        input.rules.add(Prefix { tokens: case.prompt.clone(), text: String::new(), limit });
        let input = SearchInput { prompt: Arc::default(), ..input };
        let searched = search_inputs(&ByRows::new(Hashed::default()), vec![input], usize::MAX).remove(0);
        prop_assert_eq!(case.alone(), searched);
    }
}

/// A live batch of at most 32 sources, one of 16 canceled: live rows and rows of the state stay few.
#[test]
fn ten_thousand_sources_leave_nothing_behind() {
    const SOURCES: u64 = 10_000;
    let mut batch = DecodeBatch::new(ByRows::new(Hashed::default()));
    let config = Arc::new(SearchConfig { beam_size: 3, max_length: Some(4), ..SearchConfig::default() });
    let (mut joined, mut finished, mut max_rows) = (0, 0, 0);
    while joined < SOURCES || !batch.is_empty() {
        let count = (32 - batch.live.len() as u64).min(SOURCES - joined);
        let input = |id| SearchInput::new([id as u32], Rules::default(), Arc::clone(&config));
        batch.add((joined..joined + count).map(|id| (RequestId(id), input(id))));
        (joined..joined + count).filter(|id| id % 16 == 0).for_each(|id| batch.cancel(RequestId(id)));
        joined += count;
        finished += batch.step().len() as u64;
        max_rows = max_rows.max(batch.rows());
        assert_eq!(Arc::strong_count(&batch.model.model.rows) - 1, batch.rows());
        batch.model.requests.borrow_mut().clear();
    }
    assert_eq!(finished, SOURCES - SOURCES / 16);
    assert!(max_rows <= 3 * 32 && batch.state.is_none() && batch.live.is_empty(), "{max_rows} rows");
}

#[test]
fn a_canceled_source_frees_its_rows() {
    let mut batch = DecodeBatch::new(ByRows::new(Hashed::default()));
    let config = Arc::new(SearchConfig {
        beam_size: 3,
        min_length: 9,
        max_length: Some(9),
        ..SearchConfig::default()
    });
    let input =
        |id| (RequestId(id), SearchInput::new([id as u32], Rules::new(&config, 1, END), Arc::clone(&config)));
    batch.add(vec![input(1), input(2), input(3)]);
    batch.cancel(RequestId(3));
    batch.step();
    assert_eq!(batch.rows(), 6);
    batch.cancel(RequestId(1));
    assert_eq!((batch.rows(), batch.state.as_ref().map(Vec::len)), (3, Some(3)));
    batch.cancel(RequestId(2));
    assert!(batch.is_empty() && batch.state.is_none() && batch.step().is_empty());
}

/// A prompt of three tokens has no continuation of at most three tokens, and is too long for two.
#[test]
fn a_prompt_that_meets_the_limit_is_truncated() {
    for method in [Method::Beam, Method::Sample] {
        let found = |limit| {
            let config =
                SearchConfig { method, beam_size: 2, max_length: Some(limit), ..SearchConfig::default() };
            let case =
                Case { source: 5, id: 0, config, prompt: vec![2, 4, 3], phrase: None, attention: false };
            case.alone()
        };
        let whole = found(3).expect("a prompt within the limit");
        assert_eq!((whole.len(), &whole[0].tokens[..], whole[0].truncated), (1, &[2, 4, 3][..], true));
        assert_eq!(found(4).expect("a continuation")[0].tokens[..3], [2, 4, 3]);
        assert_eq!(found(2), Err("the beginning has 3 tokens, and an output at most 2".to_owned()));
    }
}

/// Plain searches request the top k; only rows that are sampled or have rules request all scores, and attention only while it is
/// needed.
#[test]
fn what_is_not_needed_is_not_requested() {
    let plain = |beam| SearchConfig {
        beam_size: beam,
        max_length: Some(6),
        min_length: 0,
        ..SearchConfig::default()
    };
    let requests = |cases: &[SearchConfig], attention| {
        let mut batch = DecodeBatch::new(ByRows::new(Hashed::default()));
        let input = |(id, config): (u64, &SearchConfig)| {
            let case =
                Case { source: 2, id, config: config.clone(), prompt: vec![3], phrase: None, attention };
            (RequestId(id), case.input())
        };
        batch.add((0..).zip(cases).map(input));
        while !batch.is_empty() {
            batch.step();
        }
        batch.model.requests.take()
    };
    let top_k = |requests: &[StepRequest], k| {
        let mut all = requests.iter().flat_map(|request| &request.scores);
        !requests.is_empty() && all.all(|request| *request == ScoreRequest::TopK(k))
    };
    let attention = |requests: &[StepRequest]| requests.iter().any(|request| request.attention);
    for beam in [1, 4] {
        let requests = requests(&[plain(beam), plain(beam)], false);
        assert!(top_k(&requests, 2 * beam) && !attention(&requests));
    }
    let sampled = SearchConfig { method: Method::Sample, ..plain(1) };
    let ruled = SearchConfig { min_length: 4, ..plain(1) };
    let mixed = &requests(&[plain(1), sampled, ruled.clone()], false)[0];
    assert_eq!(mixed.scores, [ScoreRequest::TopK(2), ScoreRequest::All, ScoreRequest::All]);
    assert!(!mixed.attention);
    // The first source leaves after a step, the second takes at least three more.
    let short = SearchConfig { coverage_penalty: 0.5, max_length: Some(2), ..plain(1) };
    let left = requests(&[short, ruled], false);
    assert!(left[0].attention && !left[1..].is_empty() && !attention(&left[1..]));

    let (covered, copied) = (
        SearchConfig { coverage_penalty: 0.5, ..plain(2) },
        SearchConfig { unknown: Unknown::Copy, ..plain(2) },
    );
    for requests in [requests(&[covered], false), requests(&[copied], false), requests(&[plain(2)], true)] {
        assert!(top_k(&requests, 4) && requests.iter().all(|request| request.attention));
    }
}
