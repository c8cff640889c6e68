//! Beam search.
//!
//! A source has at most `beam_size` live hypotheses. A step extends all of them by every token that is allowed; of the results,
//! those that end are finished, and the best of the others are the next live ones. The search is over when there are enough finished
//! hypotheses and no output would be beaten by a live one, or when outputs reach their limit.
//!
//! A beam can be divided into groups, each a beam of its own, that avoid each other's tokens (Vijayakumar et al., 2018).

use crate::config::{BeamStopping, SearchConfig};
use crate::history::{BeamHistory, Hypothesis};
use crate::model::ScoreRequest;
use crate::model::{TokenAttention, TokenScores, top_k};
use crate::search::{Decoding, Search, StepRows};

#[cfg(test)]
mod tests;

/// A live hypothesis.
#[derive(Clone, Copy)]
struct Live {
    log_probability: f32,
    /// Its last token in the history; none before the first one.
    last: Option<usize>,
    /// Set for the hypothesis that greedy search would follow, as long as the beam has it.
    greedy: bool,
}

/// A live hypothesis with another token.
#[derive(Clone, Copy)]
struct Extension {
    log_probability: f32,
    /// The log-probability, less the penalty for tokens of other groups.
    rank: f32,
    /// Index of the live hypothesis that it extends.
    parent: usize,
    token: u32,
    /// Progress of the rules.
    progress: usize,
    /// Set for the best extension of the hypothesis that greedy search would follow.
    greedy: bool,
}

/// A part of the beam with hypotheses of its own.
struct Group {
    live: Vec<Live>,
    finished: Vec<Hypothesis>,
    /// Set once it takes no more steps. Its live hypotheses stay as they were then.
    ended: bool,
}

/// Beam search of one source.
pub(crate) struct Beam {
    decoding: Decoding,
    /// Tokens of the live hypotheses.
    length: usize,
    history: BeamHistory,
    groups: Vec<Group>,
}

/// The number of extensions of a hypothesis that a step needs: even if each hypothesis of the beam ends, as many others are left. A
/// group can pass over all that the groups before it have taken.
fn extensions_of(beam: usize) -> usize {
    2 * beam
}

/// The scores that a beam needs without rules.
pub(crate) fn request(config: &SearchConfig) -> ScoreRequest {
    ScoreRequest::TopK(extensions_of(config.beam_size))
}

impl Beam {
    pub(crate) fn new(decoding: Decoding) -> Beam {
        let (config, prompt) = (&decoding.input.config, &decoding.input.prompt);
        assert!(config.beam_size > 0 && config.beam_groups > 0, "a beam of at least 1, in at least 1 group");
        let mut history = BeamHistory::default();
        let push = |last, &token: &u32| Some(history.push(token, last, TokenAttention::default()));
        let last = prompt.iter().fold(None, push);
        let live = Live { log_probability: decoding.log_probability, last, greedy: true };
        let live = if decoding.input.rules.accept(prompt) { vec![live] } else { Vec::new() };
        let group = |_| Group { live: live.clone(), finished: Vec::new(), ended: false };
        let groups = (0..config.beam_groups).map(group).collect();
        let mut beam = Beam { length: prompt.len(), decoding, history, groups };
        if beam.length >= beam.decoding.limit {
            (0..beam.groups.len()).for_each(|group| beam.truncate(group, live.clone()));
        }
        beam
    }

    fn config(&self) -> &SearchConfig {
        &self.decoding.input.config
    }

    /// The number of outputs to return, at most the width of the beam.
    fn n_best(&self) -> usize {
        self.config().n_best.clamp(1, self.config().beam_size)
    }

    /// The width of a group.
    fn width(&self) -> usize {
        self.config().beam_size / self.config().beam_groups
    }

    /// Takes a group's step. `taken` are the tokens that the groups before it have chosen. Returns the parents of the new live
    /// hypotheses; none if the group ends.
    fn advance_group(&mut self, group: usize, rows: StepRows, taken: &mut Vec<u32>) -> Vec<usize> {
        let (parents, live): (Vec<usize>, Vec<Live>) = self.extend(group, rows, taken).into_iter().unzip();
        if self.length >= self.decoding.limit {
            self.truncate(group, live);
            return Vec::new();
        }
        self.groups[group].live = live;
        if self.is_done(group) {
            self.groups[group].ended = true;
            return Vec::new();
        }
        let live = self.groups[group].live.iter();
        taken.extend(live.filter_map(|live| live.last).map(|last| self.history.token(last)));
        parents
    }

    /// Extends the live hypotheses of a group. Those that end are finished, the best others are returned with their parents.
    fn extend(&mut self, group: usize, rows: StepRows, taken: &[u32]) -> Vec<(usize, Live)> {
        let extensions = self.extensions(&self.groups[group].live, rows.scores, taken);
        let live = std::mem::take(&mut self.groups[group].live);
        let mut next = Vec::new();
        for (extensions, width) in divided(extensions, self.width()) {
            let mut extended = 0;
            for (rank, extension) in extensions.into_iter().take(extensions_of(width)).enumerate() {
                let Extension { log_probability, parent, token, greedy, .. } = extension;
                let previous = live[parent].last;
                if token == self.decoding.eos {
                    // An end that is not among the best would push out better hypotheses that have not ended yet.
                    if rank < width {
                        self.finish(group, previous, log_probability, false);
                        if self.width() == 1 {
                            break; // Greedy: the end takes the whole beam.
                        }
                    }
                } else if extended < width {
                    extended += 1;
                    let attention = self.decoding.attention(rows, parent);
                    let last = Some(self.history.push(token, previous, attention));
                    next.push((parent, Live { log_probability, last, greedy }));
                }
            }
        }
        next
    }

    /// All extensions, the best first; ties are broken by parent and token, so that results are reproducible.
    fn extensions(&self, live: &[Live], rows: &[TokenScores], taken: &[u32]) -> Vec<Extension> {
        let penalty = |token: u32| {
            self.config().diversity_penalty * taken.iter().filter(|&&other| other == token).count() as f32
        };
        let mut all = Vec::new();
        for (parent, (scores, live)) in rows.iter().zip(live).enumerate() {
            let extension = |token: u32, log_p: f32, progress: usize| {
                let log_probability = live.log_probability + log_p;
                let rank = log_probability - penalty(token);
                Extension { log_probability, rank, parent, token, progress, greedy: false }
            };
            match scores {
                TokenScores::TopK(tokens) => {
                    all.extend(tokens.iter().map(|&(token, log_p)| extension(token, log_p, 0)));
                }
                TokenScores::All(log_probabilities) => {
                    let tokens = self.history.tokens(live.last);
                    let candidates = self.candidates(&tokens, log_probabilities);
                    let progress = |token| self.progress(&tokens, token);
                    all.extend(
                        candidates.into_iter().map(|(token, log_p)| extension(token, log_p, progress(token))),
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

    /// The progress of the rules after another token.
    fn progress(&self, tokens: &[u32], token: u32) -> usize {
        let next = Some(token).filter(|&token| token != self.decoding.eos);
        self.decoding.input.rules.progress(&[tokens, next.as_slice()].concat())
    }

    /// The most probable of the tokens that are allowed, and those that the rules require.
    fn candidates(&self, tokens: &[u32], log_probabilities: &[f32]) -> Vec<(u32, f32)> {
        let rules = &self.decoding.input.rules;
        let allowed = rules.allowed(tokens, log_probabilities.len());
        let count = extensions_of(self.config().beam_size);
        let mut candidates = top_k(log_probabilities, count, |token| allowed.has(token));
        for wish in rules.wishes(tokens) {
            let log_p = log_probabilities.get(wish as usize).copied().unwrap_or(f32::NEG_INFINITY);
            let is_new = candidates.iter().all(|&(token, _)| token != wish);
            if is_new && allowed.has(wish) && log_p.is_finite() {
                candidates.push((wish, log_p));
            }
        }
        candidates
    }

    /// Finishes the hypotheses of a group that reach the limit, as far as the rules let them end.
    fn truncate(&mut self, group: usize, live: Vec<Live>) {
        self.groups[group].live.clear();
        for Live { last, log_probability, .. } in live {
            if self.decoding.may_end(&self.history.tokens(last)) {
                self.finish(group, last, log_probability, true);
            }
        }
    }

    fn finish(&mut self, group: usize, last: Option<usize>, log_probability: f32, truncated: bool) {
        let (tokens, attention) = (self.history.tokens(last), self.attention(last));
        let hypothesis = Hypothesis { tokens, log_probability, score: 0.0, attention, truncated };
        self.groups[group].finished.push(self.decoding.scored(hypothesis, self.length));
    }

    /// The attention of a hypothesis; empty if the search does not need it.
    fn attention(&self, last: Option<usize>) -> Vec<TokenAttention> {
        if self.decoding.attention { self.history.attention(last) } else { Vec::new() }
    }

    /// Returns true for a group that is done: it has finished as many hypotheses as it is wide, and no live one rivals an output.
    /// Outputs of all groups count, since those of one may be better than all of another.
    fn is_done(&self, group: usize) -> bool {
        let Group { live, finished, .. } = &self.groups[group];
        if finished.len() < self.width() {
            return false;
        }
        let (config, limit) = (self.config(), self.decoding.limit);
        let bound = |live: &Live| config.best_attainable_score(live.log_probability, self.length + 1, limit);
        let rival = |live: &Live| match config.early_stopping {
            // A beam that has the hypothesis of greedy search must not return anything worse.
            BeamStopping::Heuristic if live.greedy => self.score(*live).max(bound(live)),
            BeamStopping::Heuristic => self.score(*live),
            BeamStopping::Never => bound(live),
        };
        let worst = self.worst_output();
        worst.is_some_and(|worst| live.iter().all(|live| rival(live) <= worst))
    }

    /// The score of the worst output that would be returned now; none where too few are finished.
    fn worst_output(&self) -> Option<f32> {
        let mut scores: Vec<f32> =
            self.groups.iter().flat_map(|group| &group.finished).map(|output| output.score).collect();
        scores.sort_by(|a, b| b.total_cmp(a));
        scores.get(self.n_best() - 1).copied()
    }

    /// The score of a live hypothesis at its present length.
    fn score(&self, live: Live) -> f32 {
        let has_coverage = self.config().coverage_penalty > 0.0;
        let attention = if has_coverage { self.attention(live.last) } else { Vec::new() };
        self.config().score(live.log_probability, self.length, &attention)
    }

    /// The live hypotheses of the groups that have not ended.
    fn live(&self) -> impl Iterator<Item = &Live> {
        self.groups.iter().filter(|group| !group.ended).flat_map(|group| &group.live)
    }
}

impl Search for Beam {
    fn decoding(&self) -> &Decoding {
        &self.decoding
    }

    fn rows(&self) -> usize {
        self.live().count()
    }

    fn last_tokens(&self, tokens: &mut Vec<u32>) {
        let token = |live: &Live| live.last.map_or(self.decoding.bos, |last| self.history.token(last));
        tokens.extend(self.live().map(token));
    }

    fn advance(&mut self, rows: StepRows) -> Vec<usize> {
        self.length += 1;
        let (mut first, mut taken, mut kept) = (0, Vec::new(), Vec::new());
        for group in 0..self.groups.len() {
            if self.groups[group].ended {
                continue;
            }
            let own = first..first + self.groups[group].live.len();
            first = own.end;
            let parents = self.advance_group(group, rows.slice(own.clone()), &mut taken);
            kept.extend(parents.into_iter().map(|parent| own.start + parent));
        }
        kept
    }

    fn outputs(self: Box<Self>) -> Vec<Hypothesis> {
        let n_best = self.n_best();
        let mut all: Vec<Hypothesis> = self.groups.into_iter().flat_map(|group| group.finished).collect();
        all.sort_by(|a, b| b.score.total_cmp(&a.score));
        all.truncate(n_best);
        all
    }
}

/// Extensions of equal progress, the largest progress first, and the part of the beam for each: equal parts, as far as there are
/// enough extensions.
fn divided(extensions: Vec<Extension>, width: usize) -> Vec<(Vec<Extension>, usize)> {
    if extensions.iter().all(|extension| extension.progress == extensions[0].progress) {
        return vec![(extensions, width)];
    }
    let mut parts: Vec<(Vec<Extension>, usize)> = Vec::new();
    for extension in extensions {
        let progress = extension.progress;
        let index = parts.partition_point(|(others, _)| others[0].progress > progress);
        match parts.get_mut(index).filter(|(others, _)| others[0].progress == progress) {
            Some((others, _)) => others.push(extension),
            None => parts.insert(index, (vec![extension], 0)),
        }
    }
    let mut left = width;
    while left > 0 && parts.iter().any(|(extensions, part_width)| *part_width < extensions.len()) {
        for (extensions, part_width) in &mut parts {
            if left > 0 && *part_width < extensions.len() {
                *part_width += 1;
                left -= 1;
            }
        }
    }
    parts
}
