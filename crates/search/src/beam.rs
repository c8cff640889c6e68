//! Beam search.
//!
//! A source keeps its `beam` best unfinished hypotheses. A step extends all of them by every token that is allowed; of the results,
//! those that end are finished, and the best of the others go on. The search is over when there are enough finished hypotheses and
//! none of those that would be returned is beaten by an unfinished one, or when outputs reach their limit.
//!
//! A beam can be cut into groups, each a beam of its own, that keep away from each other (Vijayakumar et al., 2018).

use crate::config::{BeamStopping, SearchConfig};
use crate::constraint::Rules;
use crate::hypothesis::{Hypothesis, Trail};
use crate::model::likeliest_of;
use crate::search::Question;
use crate::steps::{Expected, Row, Search, Sight};

#[cfg(test)]
mod tests;

/// An unfinished hypothesis.
#[derive(Clone, Copy)]
struct Live {
    log_probability: f32,
    /// Its last token; none where nothing is written.
    last: Option<usize>,
    /// Set for the hypothesis that a greedy search would follow, as long as the beam has it.
    greedy: bool,
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
    /// Set for the best extension of the hypothesis that a greedy search would follow.
    greedy: bool,
}

/// A part of the beam that goes its own way.
struct Group {
    live: Vec<Live>,
    finished: Vec<Hypothesis>,
    /// Set once it takes no more steps. Its live hypotheses stay as they were then.
    ended: bool,
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
    Sight::Likeliest(extensions_of(config.beam_size))
}

impl<'a> Beam<'a> {
    pub(crate) fn new(question: Question<'a>, end: u32, config: &'a SearchConfig) -> Beam<'a> {
        let Question { tokens: source, rules, .. } = question;
        let start = Live { log_probability: 0.0, last: None, greedy: true };
        let group = || Group { live: vec![start], finished: Vec::new(), ended: false };
        Beam {
            config,
            rules,
            end,
            source: source.len(),
            limit: config.limit(source.len()),
            length: 0,
            trail: Trail::default(),
            groups: (0..config.beam_groups).map(|_| group()).collect(),
        }
    }

    /// The best finished hypotheses, as many as are wanted, the best one first.
    pub(crate) fn outputs(self) -> Vec<Hypothesis> {
        let wanted = self.wanted();
        let mut all: Vec<Hypothesis> = self.groups.into_iter().flat_map(|group| group.finished).collect();
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        all.truncate(wanted);
        all
    }

    /// The number of outputs to return: more than the beam is wide need not be found.
    fn wanted(&self) -> usize {
        self.config.n_best.clamp(1, self.config.beam_size)
    }

    /// The width of a group.
    fn width(&self) -> usize {
        self.config.beam_size / self.config.beam_groups
    }

    /// Takes a group's step. `taken` are the tokens that the groups before it have gone on with. Returns which of the group's
    /// hypotheses go on; none of a group that ends.
    fn advance_group(&mut self, group: usize, rows: &[Row], taken: &mut Vec<u32>) -> Vec<usize> {
        let extensions = self.extensions(&self.groups[group].live, rows, taken);
        let live = std::mem::take(&mut self.groups[group].live);
        let mut next: Vec<(usize, Live)> = Vec::new();
        for (extensions, room) in shared_out(extensions, self.width()) {
            let mut going = 0;
            for (rank, extension) in extensions.into_iter().take(extensions_of(room)).enumerate() {
                let Extension { log_probability, parent, token, greedy, .. } = extension;
                let before = live[parent].last;
                if token == self.end {
                    // An end that is not among the best would push out better hypotheses that have not ended yet.
                    if rank < room {
                        self.finish(group, before, log_probability, false);
                        if self.width() == 1 {
                            break; // Greedy: the end takes the only place.
                        }
                    }
                } else if going < room {
                    going += 1;
                    let attention = rows[parent].attention.iter().take(self.source).copied().collect();
                    let last = Some(self.trail.write(token, before, attention));
                    next.push((parent, Live { log_probability, last, greedy }));
                }
            }
        }
        if self.length >= self.limit {
            for (parent, live) in std::mem::take(&mut next) {
                if self.may_end(live.last, rows[parent].expected) {
                    self.finish(group, live.last, live.log_probability, true);
                }
            }
        }
        let (parents, live) = next.into_iter().unzip();
        self.groups[group].live = live;
        if self.is_done(group) {
            self.groups[group].ended = true;
            return Vec::new();
        }
        let going = &self.groups[group].live;
        taken.extend(going.iter().filter_map(|live| live.last).map(|last| self.trail.token(last)));
        parents
    }

    /// The best ways to go on, the best one first; ties are broken by parent and token, so that results are reproducible.
    fn extensions(&self, live: &[Live], rows: &[Row], taken: &[u32]) -> Vec<Extension> {
        let price = |token: u32| {
            self.config.diversity_penalty * taken.iter().filter(|&&other| other == token).count() as f32
        };
        let mut all = Vec::new();
        for (parent, (row, live)) in rows.iter().zip(live).enumerate() {
            let extension = |token: u32, log_p: f32, progress: usize| {
                let log_probability = live.log_probability + log_p;
                let rank = log_probability - price(token);
                Extension { log_probability, rank, parent, token, progress, greedy: false }
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
        if let Some(best) = all.iter_mut().find(|extension| live[extension.parent].greedy) {
            best.greedy = true;
        }
        all
    }

    /// The likeliest of the tokens that are allowed, and those that the rules wish for.
    fn candidates(&self, written: &[u32], log_probabilities: &[f32]) -> Vec<(u32, f32)> {
        let allowed = self.rules.allowed(written, log_probabilities.len());
        let wanted = extensions_of(self.config.beam_size);
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

    fn finish(&mut self, group: usize, last: Option<usize>, log_probability: f32, truncated: bool) {
        let (tokens, attention) = (self.trail.tokens(last), self.trail.attention(last));
        let score = self.config.worth(log_probability, self.length, &attention);
        let hypothesis = Hypothesis { tokens, log_probability, score, attention, truncated };
        self.groups[group].finished.push(hypothesis);
    }

    /// Whether a group has found enough: as many hypotheses as it is wide, and no live one rivals an output that would be returned.
    /// Outputs of all groups count, since those of one may be better than all of another.
    fn is_done(&self, group: usize) -> bool {
        let Group { live, finished, .. } = &self.groups[group];
        if finished.len() < self.width() {
            return false;
        }
        let hope = |live: &Live| self.config.hope(live.log_probability, self.length + 1, self.limit);
        let rival = |live: &Live| match self.config.early_stopping {
            // A beam that has what greedy search would find is not to return anything worse.
            BeamStopping::Heuristic if live.greedy => self.score(*live).max(hope(live)),
            BeamStopping::Heuristic => self.score(*live),
            BeamStopping::Never => hope(live),
        };
        let worst = self.worst_output();
        worst.is_some_and(|worst| live.iter().all(|live| rival(live) <= worst))
    }

    /// The score of the worst output that would be returned now; none where too few are finished.
    fn worst_output(&self) -> Option<f32> {
        let mut scores: Vec<f32> =
            self.groups.iter().flat_map(|group| &group.finished).map(|output| output.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.get(self.wanted() - 1).copied()
    }

    /// The score of a live hypothesis at its present length.
    fn score(&self, live: Live) -> f32 {
        let has_coverage = self.config.coverage_penalty > 0.0;
        let attention = if has_coverage { self.trail.attention(live.last) } else { Vec::new() };
        self.config.worth(live.log_probability, self.length, &attention)
    }
}

impl Search for Beam<'_> {
    fn last_tokens(&self) -> Vec<Option<u32>> {
        let live = self.groups.iter().filter(|group| !group.ended).flat_map(|group| &group.live);
        live.map(|live| live.last.map(|last| self.trail.token(last))).collect()
    }

    fn advance(&mut self, rows: &[Row]) -> Vec<usize> {
        self.length += 1;
        let (mut first, mut taken, mut kept) = (0, Vec::new(), Vec::new());
        for group in (0..self.groups.len()).filter(|&group| !self.groups[group].ended).collect::<Vec<_>>() {
            let own = first..first + self.groups[group].live.len();
            first = own.end;
            let parents = self.advance_group(group, &rows[own.clone()], &mut taken);
            kept.extend(parents.into_iter().map(|parent| own.start + parent));
        }
        kept
    }
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
