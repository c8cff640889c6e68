//! Beam search.
//!
//! A source keeps its `beam` best unfinished hypotheses. A step extends all of them by every token that is allowed; of the results,
//! those that end are finished, and the best of the others go on. The search is over when there are enough finished hypotheses or
//! outputs reach their limit.
//!
//! A beam can be cut into groups, each a beam of its own, that keep away from each other (Vijayakumar et al., 2018).

use crate::config::{SearchConfig, Stop};
use crate::constraint::Rules;
use crate::hypothesis::{Hypothesis, Trail};
use crate::model::likeliest_of;
use crate::search::Question;
use crate::steps::{Expected, Row, Search, Sight};

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
    /// What it is ranked by: the log-probability, less what it costs to write what other groups write.
    rank: f32,
    /// Which of the group's live hypotheses it extends.
    parent: usize,
    token: u32,
    /// How near it is to what the rules wish for.
    progress: usize,
}

/// A part of the beam that goes its own way.
struct Group {
    live: Vec<Live>,
    finished: Vec<Hypothesis>,
}

/// The search of one source.
pub(crate) struct Beam<'a> {
    config: &'a SearchConfig,
    rules: &'a Rules,
    end: u32,
    source: usize,
    limit: usize,
    /// Steps that were taken: tokens of the live hypotheses.
    length: usize,
    trail: Trail,
    groups: Vec<Group>,
}

/// Ways to go on that a step has to know of: even if each hypothesis of a beam ends, so many others are left. Of a beam in groups,
/// each can pass over all that the others have taken.
fn extensions_of(beam: usize) -> usize {
    2 * beam
}

/// How much of a distribution a beam search has to see where nothing is forbidden.
pub(crate) fn sight(config: &SearchConfig) -> Sight {
    Sight::Likeliest(extensions_of(config.beam))
}

impl<'a> Beam<'a> {
    pub(crate) fn new(question: Question<'a>, end: u32, config: &'a SearchConfig) -> Beam<'a> {
        let Question { tokens: source, rules, .. } = question;
        let start = Live { log_probability: 0.0, last: None };
        let group = || Group { live: vec![start], finished: Vec::new() };
        Beam {
            config,
            rules,
            end,
            source: source.len(),
            limit: config.limit(source.len()),
            length: 0,
            trail: Trail::default(),
            groups: (0..config.groups).map(|_| group()).collect(),
        }
    }

    /// The finished hypotheses, the best one first.
    pub(crate) fn outputs(self) -> Vec<Hypothesis> {
        let mut all: Vec<Hypothesis> = self.groups.into_iter().flat_map(|group| group.finished).collect();
        best_first(&mut all, self.config.beam);
        all
    }

    /// The width of a group.
    fn width(&self) -> usize {
        self.config.beam / self.config.groups
    }

    /// Takes a group's step. `taken` are the tokens that the groups before it have gone on with. Returns which of the group's
    /// hypotheses go on.
    fn advance_group(&mut self, group: usize, rows: &[Row], taken: &mut Vec<u32>) -> Vec<usize> {
        let extensions = self.extensions(&self.groups[group].live, rows, taken);
        let live = std::mem::take(&mut self.groups[group].live);
        let mut next: Vec<(usize, Live)> = Vec::new();
        for (extensions, room) in shared_out(extensions, self.width()) {
            let mut going = 0;
            for (rank, extension) in extensions.into_iter().take(extensions_of(room)).enumerate() {
                let Extension { log_probability, parent, token, .. } = extension;
                let before = live[parent].last;
                if token == self.end {
                    // An end that is not among the best would push out better hypotheses that have not ended yet.
                    if rank < room {
                        self.finish(group, before, log_probability);
                    }
                } else if going < room {
                    going += 1;
                    let attention = rows[parent].attention.iter().take(self.source).copied().collect();
                    let last = self.trail.write(token, before, attention);
                    next.push((parent, Live { log_probability, last: Some(last) }));
                }
            }
        }
        if self.length >= self.limit {
            for (parent, live) in std::mem::take(&mut next) {
                if self.may_end(live.last, rows[parent].expected) {
                    self.finish(group, live.last, live.log_probability);
                }
            }
        } else if self.is_done(group, &next) {
            next.clear();
        }
        taken.extend(next.iter().filter_map(|(_, live)| live.last).map(|last| self.trail.token(last)));
        let (parents, live) = next.into_iter().unzip();
        self.groups[group].live = live;
        parents
    }

    /// The best ways to go on, the best one first; ties are broken by parent and token, so that results are reproducible.
    fn extensions(&self, live: &[Live], rows: &[Row], taken: &[u32]) -> Vec<Extension> {
        let price =
            |token: u32| self.config.diversity * taken.iter().filter(|&&other| other == token).count() as f32;
        let mut all = Vec::new();
        for (parent, (row, live)) in rows.iter().zip(live).enumerate() {
            let extension = |token: u32, log_p: f32, progress: usize| {
                let log_probability = live.log_probability + log_p;
                Extension { log_probability, rank: log_probability - price(token), parent, token, progress }
            };
            match row.expected {
                Expected::Likeliest(tokens) => {
                    all.extend(tokens.iter().map(|&(token, log_p)| extension(token, log_p, 0)));
                }
                Expected::All(log_probabilities) => {
                    let written = self.trail.tokens(live.last);
                    let progress = |token: u32| {
                        let longer = [&written[..], &[token]].concat();
                        self.rules.progress(if token == self.end { &written } else { &longer })
                    };
                    let tokens = self.candidates(&written, log_probabilities);
                    all.extend(
                        tokens.into_iter().map(|(token, log_p)| extension(token, log_p, progress(token))),
                    );
                }
            }
        }
        all.sort_by(|a, b| b.rank.total_cmp(&a.rank));
        all
    }

    /// The likeliest of the tokens that are allowed, and those that the rules wish for.
    fn candidates(&self, written: &[u32], log_probabilities: &[f32]) -> Vec<(u32, f32)> {
        let allowed = self.rules.allowed(written, log_probabilities.len());
        let wanted = extensions_of(self.config.beam);
        let mut candidates = likeliest_of(log_probabilities, wanted, |token| allowed.has(token));
        for wish in self.rules.wishes(written) {
            let log_p = log_probabilities.get(wish as usize).copied().unwrap_or(f32::NEG_INFINITY);
            let is_new = candidates.iter().all(|&(token, _)| token != wish);
            if is_new && allowed.has(wish) && log_p.is_finite() {
                candidates.push((wish, log_p));
            }
        }
        candidates
    }

    /// Whether the rules let a hypothesis end here.
    fn may_end(&self, last: Option<usize>, expected: Expected) -> bool {
        match expected {
            Expected::Likeliest(_) => true,
            Expected::All(row) => self.rules.allowed(&self.trail.tokens(last), row.len()).has(self.end),
        }
    }

    fn finish(&mut self, group: usize, last: Option<usize>, log_probability: f32) {
        let (tokens, attention) = (self.trail.tokens(last), self.trail.attention(last));
        let score = self.config.worth(log_probability, self.length, &attention);
        self.groups[group].finished.push(Hypothesis { tokens, log_probability, score, attention });
    }

    /// Whether a group has found enough.
    fn is_done(&mut self, group: usize, next: &[(usize, Live)]) -> bool {
        let (width, config, limit) = (self.width(), self.config, self.limit);
        let finished = &mut self.groups[group].finished;
        if finished.len() < width {
            return false;
        }
        match config.stop {
            Stop::Early => true,
            Stop::Exhaustive => {
                best_first(finished, width);
                let hope =
                    |(_, live): &(usize, Live)| config.hope(live.log_probability, self.length + 1, limit);
                let hope = next.iter().map(hope).fold(f32::NEG_INFINITY, f32::max);
                finished.last().is_none_or(|worst| worst.score >= hope)
            }
        }
    }
}

impl Search for Beam<'_> {
    fn last_tokens(&self) -> Vec<Option<u32>> {
        let live = self.groups.iter().flat_map(|group| &group.live);
        live.map(|live| live.last.map(|last| self.trail.token(last))).collect()
    }

    fn advance(&mut self, rows: &[Row]) -> Vec<usize> {
        self.length += 1;
        let (mut first, mut taken, mut kept) = (0, Vec::new(), Vec::new());
        for group in 0..self.groups.len() {
            let own = first..first + self.groups[group].live.len();
            first = own.end;
            let parents = self.advance_group(group, &rows[own.clone()], &mut taken);
            kept.extend(parents.into_iter().map(|parent| own.start + parent));
        }
        kept
    }
}

/// The best hypotheses, the best one first.
fn best_first(hypotheses: &mut Vec<Hypothesis>, most: usize) {
    hypotheses.sort_by(|a, b| b.score.total_cmp(&a.score));
    hypotheses.truncate(most);
}

/// Extensions of like progress, those with the most progress first, and how many of each may go on: equally many, as far as there
/// are so many.
fn shared_out(extensions: Vec<Extension>, width: usize) -> Vec<(Vec<Extension>, usize)> {
    if extensions.iter().all(|extension| extension.progress == extensions[0].progress) {
        return vec![(extensions, width)];
    }
    let mut shares: Vec<(Vec<Extension>, usize)> = Vec::new();
    for extension in extensions {
        let progress = extension.progress;
        let place = shares.partition_point(|(others, _)| others[0].progress > progress);
        match shares.get_mut(place).filter(|(others, _)| others[0].progress == progress) {
            Some((others, _)) => others.push(extension),
            None => shares.insert(place, (vec![extension], 0)),
        }
    }
    let mut left = width;
    while left > 0 && shares.iter().any(|(extensions, room)| *room < extensions.len()) {
        for (extensions, room) in &mut shares {
            if left > 0 && *room < extensions.len() {
                *room += 1;
                left -= 1;
            }
        }
    }
    shares
}
