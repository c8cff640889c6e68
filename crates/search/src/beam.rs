//! Beam search over many sources at once.
//!
//! Each source keeps its `beam` best unfinished hypotheses. A step extends all of them by every token; of the results, those
//! that end are finished, and the best of the others go on. A source is done when it has `beam` finished hypotheses or its
//! outputs reach their limit; what is done leaves the batch.

use crate::config::SearchConfig;
use crate::model::Model;

/// An output.
#[derive(Clone, Debug, PartialEq)]
pub struct Hypothesis {
    /// The tokens, without the one that begins and the one that ends it.
    pub tokens: Vec<u32>,
    /// The logarithm of its probability, the end included where it was reached.
    pub log_probability: f32,
    /// What it is worth: the log-probability, made comparable between lengths.
    pub score: f32,
    /// For each token, how much each place of the source was looked at; nothing where the model does not look.
    pub attention: Vec<Vec<f32>>,
}

/// One token of a hypothesis, with the one before it.
struct Written {
    token: u32,
    before: Option<usize>,
    attention: Vec<f32>,
}

/// An unfinished hypothesis.
#[derive(Clone, Copy)]
struct Live {
    log_probability: f32,
    /// Its last token; none where nothing is written.
    last: Option<usize>,
}

/// One way to go on.
#[derive(Clone, Copy)]
struct Extension {
    log_probability: f32,
    /// Which of the source's live hypotheses it extends.
    parent: usize,
    token: u32,
}

/// What a step gives for one hypothesis: the likeliest tokens, and where it looked.
struct Row<'a> {
    likeliest: &'a [(u32, f32)],
    attention: &'a [f32],
}

/// The search of one source.
struct Beam {
    written: Vec<Written>,
    live: Vec<Live>,
    finished: Vec<Hypothesis>,
    limit: usize,
    source: usize,
}

impl Beam {
    fn new(source: &[u32], config: &SearchConfig) -> Beam {
        Beam {
            written: Vec::new(),
            live: vec![Live { log_probability: 0.0, last: None }],
            finished: Vec::new(),
            limit: config.limit(source.len()),
            source: source.len(),
        }
    }

    /// Takes a step: there is a row for each live hypothesis. Returns which of them go on.
    fn advance(&mut self, rows: &[Row], length: usize, end: u32, config: &SearchConfig) -> Vec<usize> {
        let extensions = self.best_extensions(rows, extensions_of(config));
        let mut next: Vec<(usize, Live)> = Vec::new();
        for (rank, extension) in extensions.into_iter().enumerate() {
            let Extension { log_probability, parent, token } = extension;
            let before = self.live[parent].last;
            if token == end {
                // An end that is not among the best would push out better hypotheses that have not ended yet.
                if rank < config.beam {
                    self.finish(before, log_probability, length, config);
                }
            } else if next.len() < config.beam {
                let attention = rows[parent].attention.iter().take(self.source).copied().collect();
                self.written.push(Written { token, before, attention });
                next.push((parent, Live { log_probability, last: Some(self.written.len() - 1) }));
            }
        }
        if length >= self.limit {
            for (_, live) in std::mem::take(&mut next) {
                self.finish(live.last, live.log_probability, length, config);
            }
        } else if self.finished.len() >= config.beam {
            next.clear();
        }
        let (parents, live) = next.into_iter().unzip();
        self.live = live;
        parents
    }

    /// The best ways to go on, the best one first; ties are broken by parent and token, so that results are reproducible.
    fn best_extensions(&self, rows: &[Row], wanted: usize) -> Vec<Extension> {
        let of_parent = |(parent, (row, live)): (usize, (&Row, &Live))| {
            let before = live.log_probability;
            let extension =
                move |&(token, log_p)| Extension { log_probability: before + log_p, parent, token };
            row.likeliest.iter().map(extension).collect::<Vec<_>>()
        };
        let mut best: Vec<Extension> = rows.iter().zip(&self.live).enumerate().flat_map(of_parent).collect();
        best.sort_by(|a, b| b.log_probability.total_cmp(&a.log_probability));
        best.truncate(wanted);
        best
    }

    fn finish(&mut self, last: Option<usize>, log_probability: f32, length: usize, config: &SearchConfig) {
        let (mut tokens, mut attention) = (Vec::new(), Vec::new());
        let mut at = last;
        while let Some(place) = at {
            let written = &self.written[place];
            tokens.push(written.token);
            attention.push(written.attention.clone());
            at = written.before;
        }
        tokens.reverse();
        attention.reverse();
        let score = config.worth(log_probability, length);
        self.finished.push(Hypothesis { tokens, log_probability, score, attention });
    }
}

/// Ways to go on that a step has to know of: even if each hypothesis of a beam ends, so many others are left.
fn extensions_of(config: &SearchConfig) -> usize {
    2 * config.beam
}

/// The outputs of each source, the best one first.
pub fn search<M: Model>(model: &M, sources: &[&[u32]], config: &SearchConfig) -> Vec<Vec<Hypothesis>> {
    assert!(config.beam > 0, "a beam of at least 1");
    let (start, end) = model.ends();
    let mut beams: Vec<Beam> = sources.iter().map(|source| Beam::new(source, config)).collect();
    let mut state = model.start(sources);
    let mut length = 0;
    while beams.iter().any(|beam| !beam.live.is_empty()) {
        length += 1;
        let last = |beam: &Beam, live: &Live| live.last.map_or(start, |last| beam.written[last].token);
        let tokens: Vec<u32> =
            beams.iter().flat_map(|beam| beam.live.iter().map(move |live| last(beam, live))).collect();
        let step = model.step(&tokens, &state, extensions_of(config));
        let places = step.attention.len() / tokens.len();
        let attention = |row: usize| &step.attention[row * places..(row + 1) * places];
        let row = |i: usize| Row { likeliest: &step.likeliest[i], attention: attention(i) };
        let rows: Vec<Row> = (0..tokens.len()).map(row).collect();

        let (mut first, mut kept) = (0, Vec::new());
        for beam in beams.iter_mut().filter(|beam| !beam.live.is_empty()) {
            let own = first..first + beam.live.len();
            first = own.end;
            let parents = beam.advance(&rows[own.clone()], length, end, config);
            kept.extend(parents.into_iter().map(|parent| (own.start + parent) as u32));
        }
        if !kept.is_empty() {
            state = model.select(&step.state, &kept);
        }
    }
    let best_first = |mut beam: Beam| {
        beam.finished.sort_by(|a, b| b.score.total_cmp(&a.score));
        beam.finished.truncate(config.beam);
        beam.finished
    };
    beams.into_iter().map(best_first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Step;
    use proptest::prelude::*;

    const START: u32 = 0;
    const END: u32 = 1;

    /// The probability of the next token depends on the source and on the last two tokens, through a table of numbers.
    struct Table {
        vocabulary: usize,
        numbers: Vec<f32>,
    }

    /// The likeliest tokens that are possible at all.
    fn likeliest(probabilities: &[f32], wanted: usize) -> Vec<(u32, f32)> {
        let mut all: Vec<(u32, f32)> = (0..).zip(probabilities.iter().map(|p| p.ln())).collect();
        all.retain(|(_, log_p)| log_p.is_finite());
        all.sort_by(|(_, a), (_, b)| b.total_cmp(a));
        all.truncate(wanted);
        all
    }

    impl Table {
        fn probabilities(&self, source: u32, before: u32, last: u32) -> Vec<f32> {
            let first = (source as usize * 31 + before as usize * 7 + last as usize) * self.vocabulary;
            let weight = |token: usize| {
                if token as u32 == START { 0.0 } else { self.numbers[(first + token) % self.numbers.len()] }
            };
            let weights: Vec<f32> = (0..self.vocabulary).map(weight).collect();
            let sum: f32 = weights.iter().sum();
            weights.iter().map(|weight| weight / sum).collect()
        }

        /// Every output up to a limit, with its log-probability.
        fn all_outputs(&self, source: u32, limit: usize) -> Vec<(Vec<u32>, f32, usize)> {
            let (mut open, mut done) = (vec![(Vec::new(), 0.0f32)], Vec::new());
            for length in 1..=limit {
                let mut next = Vec::new();
                for (tokens, log_probability) in open {
                    let back = |n: usize| tokens.iter().rev().nth(n).copied().unwrap_or(START);
                    for (token, p) in self.probabilities(source, back(1), back(0)).into_iter().enumerate() {
                        let log_probability = log_probability + p.ln();
                        let longer = [&tokens[..], &[token as u32]].concat();
                        match token as u32 {
                            START => {}
                            END => done.push((tokens.clone(), log_probability, length)),
                            _ if length == limit => done.push((longer, log_probability, length)),
                            _ => next.push((longer, log_probability)),
                        }
                    }
                }
                open = next;
            }
            done
        }
    }

    impl Model for Table {
        /// For each row: the source's only token, and the token before the last.
        type State = Vec<(u32, u32)>;

        fn start(&self, sources: &[&[u32]]) -> Self::State {
            sources.iter().map(|source| (source[0], START)).collect()
        }

        fn step(&self, tokens: &[u32], state: &Self::State, wanted: usize) -> Step<Self::State> {
            let rows = || state.iter().zip(tokens);
            Step {
                likeliest: rows()
                    .map(|(&(source, before), &last)| {
                        likeliest(&self.probabilities(source, before, last), wanted)
                    })
                    .collect(),
                state: rows().map(|(&(source, _), &last)| (source, last)).collect(),
                attention: vec![1.0; tokens.len()],
            }
        }

        fn select(&self, state: &Self::State, rows: &[u32]) -> Self::State {
            rows.iter().map(|&row| state[row as usize]).collect()
        }

        fn ends(&self) -> (u32, u32) {
            (START, END)
        }
    }

    fn config(beam: usize, limit: usize, length_penalty: f32) -> SearchConfig {
        SearchConfig {
            beam,
            length_penalty,
            max_length: limit,
            max_length_ratio: 0.0,
            ..SearchConfig::default()
        }
    }

    /// From the start, `a` is likelier than `b` (0.6 and 0.4), but after `a` all is open (0.5 and 0.5 for `a` and the end),
    /// while `b` surely ends: greedy finds "a" (0.3), a beam of two finds "b" (0.4).
    #[test]
    fn a_beam_finds_what_greed_misses() {
        struct Fork;
        impl Model for Fork {
            type State = usize;
            fn start(&self, sources: &[&[u32]]) -> usize {
                sources.len()
            }
            fn step(&self, tokens: &[u32], rows: &usize, wanted: usize) -> Step<usize> {
                let next = |token: &u32| match token {
                    0 => [0.0, 0.0, 0.6, 0.4],
                    2 => [0.0, 0.5, 0.5, 0.0],
                    _ => [0.0, 1.0, 0.0, 0.0],
                };
                let likeliest = tokens.iter().map(|token| likeliest(&next(token), wanted)).collect();
                Step { state: *rows, likeliest, attention: vec![1.0; tokens.len()] }
            }
            fn select(&self, _: &usize, rows: &[u32]) -> usize {
                rows.len()
            }
            fn ends(&self) -> (u32, u32) {
                (START, END)
            }
        }
        let best = |beam| search(&Fork, &[&[9]], &config(beam, 3, 0.0))[0][0].clone();
        assert_eq!(best(2).tokens, [3]);
        assert!((best(2).log_probability - 0.4f32.ln()).abs() < 1e-6);
        assert_eq!(best(2).attention, [[1.0]]);
        assert_eq!(best(1).tokens[0], 2);
    }

    proptest! {
        #[test]
        fn a_beam_as_wide_as_the_space_finds_the_best_output(
            numbers in prop::collection::vec(0.01f32..1.0, 97),
            vocabulary in 3usize..5,
            limit in 1usize..4,
            length_penalty in 0.0f32..1.5,
        ) {
            let table = Table { vocabulary, numbers };
            let config = config(200, limit, length_penalty);
            for source in 0..3 {
                let found = &search(&table, &[&[source]], &config)[0][0];
                let worth = |(_, log_probability, length): &(Vec<u32>, f32, usize)| config.worth(*log_probability, *length);
                let best = table.all_outputs(source, limit).iter().map(worth).fold(f32::NEG_INFINITY, f32::max);
                prop_assert!((found.score - best).abs() < 1e-5, "{} instead of {best}", found.score);
            }
        }

        #[test]
        fn a_source_is_searched_alike_alone_and_in_a_batch(
            numbers in prop::collection::vec(0.01f32..1.0, 97),
            beam in 1usize..5,
        ) {
            let table = Table { vocabulary: 6, numbers };
            let config = config(beam, 6, 1.0);
            let together = search(&table, &[&[0], &[1], &[2], &[3]], &config);
            for (source, together) in (0..4).zip(together) {
                prop_assert_eq!(&search(&table, &[&[source]], &config)[0], &together);
            }
        }

        #[test]
        fn greedy_takes_the_likeliest_token(numbers in prop::collection::vec(0.01f32..1.0, 97)) {
            let table = Table { vocabulary: 6, numbers };
            let found = &search(&table, &[&[0]], &config(1, 6, 1.0))[0][0];
            let (mut before, mut last) = (START, START);
            for &token in &found.tokens {
                let p = table.probabilities(0, before, last);
                prop_assert!(p.iter().all(|other| *other <= p[token as usize]));
                (before, last) = (last, token);
            }
        }
    }
}
