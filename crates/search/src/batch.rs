//! Searches of many sources whose rows share the steps of a model.

use crate::history::Hypothesis;
use crate::model::{AutoregressiveModel, ModelStep, SearchInput, StepRequest};
use crate::search::{Decoding, Search, StepRows};
use std::fmt;

#[cfg(test)]
mod tests;

/// Identifies a source of a [`DecodeBatch`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// The end of a search.
#[derive(Clone, Debug, PartialEq)]
pub enum SearchEvent {
    /// The outputs: the best first, or samples. None if no output was found that satisfies the rules.
    Finished(Vec<Hypothesis>),
    /// Why no output is possible.
    Rejected(String),
}

impl SearchEvent {
    /// The outputs, or why there can be none.
    pub fn into_result(self) -> Result<Vec<Hypothesis>, String> {
        match self {
            SearchEvent::Finished(outputs) => Ok(outputs),
            SearchEvent::Rejected(reason) => Err(reason),
        }
    }
}

/// A running batch, which sources join and leave at any step. The outputs of a source do not depend on the others.
pub struct DecodeBatch<M: AutoregressiveModel> {
    model: M,
    /// Sources that join in the next step.
    added: Vec<(RequestId, SearchInput)>,
    /// The searches, whose rows are in the same order in the state.
    live: Vec<(RequestId, Box<dyn Search>)>,
    /// None without rows.
    state: Option<M::State>,
}

impl<M: AutoregressiveModel> fmt::Debug for DecodeBatch<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sources = self.added.len() + self.live.len();
        f.debug_struct("DecodeBatch")
            .field("sources", &sources)
            .field("rows", &self.rows())
            .finish_non_exhaustive()
    }
}

impl<M: AutoregressiveModel> DecodeBatch<M> {
    /// An empty batch.
    pub fn new(model: M) -> DecodeBatch<M> {
        DecodeBatch { model, added: Vec::new(), live: Vec::new(), state: None }
    }

    /// Adds sources. They are encoded together in the next step.
    pub fn add(&mut self, inputs: impl IntoIterator<Item = (RequestId, SearchInput)>) {
        self.added.extend(inputs);
    }

    /// Removes a source without an event.
    pub fn cancel(&mut self, id: RequestId) {
        self.added.retain(|(other, _)| *other != id);
        let (mut row, mut kept) = (0, Vec::new());
        for (other, search) in &self.live {
            let own = row..row + search.rows() as u32;
            row = own.end;
            kept.extend(own.filter(|_| *other != id));
        }
        self.live.retain(|(other, _)| *other != id);
        self.state = self.state.take().and_then(|state| select(&self.model, state, row, &kept));
    }

    /// Returns true if no source is added or running.
    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.live.is_empty()
    }

    /// The number of live hypotheses.
    pub fn rows(&self) -> usize {
        self.live.iter().map(|(_, search)| search.rows()).sum()
    }

    /// Generates a token of each live hypothesis. Returns the sources that are through.
    pub fn step(&mut self) -> Vec<(RequestId, SearchEvent)> {
        let mut events = self.join();
        events.extend(self.leave());
        if let Some(state) = self.state.take() {
            self.advance(&state);
            events.extend(self.leave());
        }
        events
    }

    /// Starts the searches of the added sources, which may have to wait for an empty batch. Returns those that are rejected.
    fn join(&mut self) -> Vec<(RequestId, SearchEvent)> {
        if self.state.is_some() && !self.model.can_append() {
            return Vec::new();
        }
        let (mut joining, mut rejected) = (Vec::new(), Vec::new());
        for (id, input) in self.added.drain(..) {
            let prompt = !input.prompt.is_empty() && !self.model.supports_prompt();
            let reason = prompt.then(|| "the model cannot continue a prompt".to_owned());
            match reason.or_else(|| input.rejection()) {
                Some(reason) => rejected.push((id, SearchEvent::Rejected(reason))),
                None => joining.push((id, input)),
            }
        }
        if joining.is_empty() {
            return rejected;
        }
        let (state, prompts) = self.model.init(&joining.iter().map(|(_, input)| input).collect::<Vec<_>>());
        let (count, mut rows) = (joining.len() as u32, Vec::new());
        for ((row, (id, input)), prompt) in (0..).zip(joining).zip(&prompts) {
            let search = Decoding::new(input, self.model.bos_eos(), prompt).search();
            rows.extend(std::iter::repeat_n(row, search.rows()));
            self.live.push((id, search));
        }
        if let Some(state) = select(&self.model, state, count, &rows) {
            match &mut self.state {
                Some(running) => self.model.append(running, state),
                None => self.state = Some(state),
            }
        }
        rejected
    }

    /// Takes a step of the model, and one of each search.
    fn advance(&mut self, state: &M::State) {
        let (mut tokens, mut request) = (Vec::new(), StepRequest::default());
        for (_, search) in &self.live {
            search.last_tokens(&mut tokens);
            request.scores.resize(tokens.len(), search.decoding().request);
            request.attention |= search.decoding().attention;
        }
        let ModelStep { state, scores, attention } = self.model.step(&tokens, state, &request);
        let rows = StepRows { scores: &scores, attention: attention.as_deref() };
        let (mut first, mut kept) = (0, Vec::new());
        for (_, search) in &mut self.live {
            let own = first..first + search.rows();
            first = own.end;
            let parents = search.advance(rows.slice(own.clone()));
            kept.extend(parents.into_iter().map(|parent| (own.start + parent) as u32));
        }
        self.state = select(&self.model, state, first as u32, &kept);
    }

    /// Removes the searches that are over.
    fn leave(&mut self) -> Vec<(RequestId, SearchEvent)> {
        let over = self.live.extract_if(.., |(_, search)| search.rows() == 0);
        over.map(|(id, search)| (id, SearchEvent::Finished(search.outputs()))).collect()
    }
}

/// Some of a state's `count` rows. A state that keeps all rows in their order stays.
fn select<M: AutoregressiveModel>(model: &M, state: M::State, count: u32, rows: &[u32]) -> Option<M::State> {
    if rows.is_empty() {
        return None;
    }
    let is_whole = rows.iter().copied().eq(0..count);
    Some(if is_whole { state } else { model.select(&state, rows) })
}
