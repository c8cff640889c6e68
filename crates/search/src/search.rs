//! The search of one source, and searches of several sources from the first step to the last.

use crate::batch::{DecodeBatch, RequestId};
use crate::beam::{self, Beam};
use crate::config::{Method, SearchConfig};
use crate::constraint::Rules;
use crate::history::Hypothesis;
use crate::model::{AutoregressiveModel, ScoreRequest, SearchInput, TokenAttention, TokenScores};
use crate::sample::Sampler;
use couplet_data::in_order;
use std::ops::Range;
use std::sync::Arc;

/// Returns the outputs of each source: the best hypotheses of a beam, the best first, or samples.
pub fn search<M: AutoregressiveModel>(
    model: &M,
    sources: &[&[u32]],
    config: &SearchConfig,
) -> Vec<Vec<Hypothesis>> {
    let (_, eos) = model.bos_eos();
    let config = Arc::new(config.clone());
    let input = |(&tokens, id): (&&[u32], u64)| {
        let rules = Rules::new(&config, tokens.len(), eos);
        SearchInput { id, ..SearchInput::new(tokens, rules, Arc::clone(&config)) }
    };
    let found = search_inputs(model, sources.iter().zip(0..).map(input).collect(), usize::MAX);
    found.into_iter().map(Result::unwrap_or_default).collect()
}

/// Returns the outputs of each input, or why there can be none. Inputs of similar length are searched together, in blocks of
/// `batch_tokens`: to let inputs join as others leave is as fast, not faster.
pub fn search_inputs<M: AutoregressiveModel>(
    model: &M,
    inputs: Vec<SearchInput>,
    batch_tokens: usize,
) -> Vec<Result<Vec<Hypothesis>, String>> {
    let lengths: Vec<(usize, usize)> = inputs.iter().map(|input| (input.tokens.len(), 0)).collect();
    let mut found = vec![Ok(Vec::new()); inputs.len()];
    let mut inputs: Vec<Option<SearchInput>> = inputs.into_iter().map(Some).collect();
    let mut batch = DecodeBatch::new(model);
    for block in in_order(&lengths, batch_tokens) {
        let input = |i: u32| Some((RequestId(i.into()), inputs[i as usize].take()?));
        batch.add(block.into_iter().filter_map(input));
        while !batch.is_empty() {
            batch.step().into_iter().for_each(|(id, event)| found[id.0 as usize] = event.into_result());
        }
    }
    found
}

/// The search of one source.
pub(crate) trait Search {
    /// The source, and what all searches know of it.
    fn decoding(&self) -> &Decoding;

    /// The number of live hypotheses. The search is over if there are none.
    fn rows(&self) -> usize;

    /// Adds the last token of each live hypothesis to others.
    fn last_tokens(&self, tokens: &mut Vec<u32>);

    /// Extends the live hypotheses by the scores of their rows. Returns the parent of each new live hypothesis.
    fn advance(&mut self, rows: StepRows) -> Vec<usize>;

    /// The finished hypotheses.
    fn outputs(self: Box<Self>) -> Vec<Hypothesis>;
}

/// Some rows of a model step.
#[derive(Clone, Copy)]
pub(crate) struct StepRows<'a> {
    pub(crate) scores: &'a [TokenScores],
    pub(crate) attention: Option<&'a [TokenAttention]>,
}

impl StepRows<'_> {
    /// A range of the rows.
    pub(crate) fn slice(&self, rows: Range<usize>) -> Self {
        let attention = self.attention.map(|attention| &attention[rows.clone()]);
        StepRows { scores: &self.scores[rows], attention }
    }
}

/// The input of a search, and what follows from it.
pub(crate) struct Decoding {
    pub(crate) input: SearchInput,
    pub(crate) bos: u32,
    pub(crate) eos: u32,
    /// The maximum length of an output.
    pub(crate) limit: usize,
    /// The log-probability of the prompt.
    pub(crate) log_probability: f32,
    /// The scores that a step of a row needs.
    pub(crate) request: ScoreRequest,
    /// Set if a step needs the attention.
    pub(crate) attention: bool,
}

impl Decoding {
    pub(crate) fn new(input: SearchInput, (bos, eos): (u32, u32), prompt: &[f32]) -> Decoding {
        let config = &input.config;
        let top_k = config.method == Method::Beam && input.rules.is_empty();
        Decoding {
            bos,
            eos,
            limit: input.limit(),
            log_probability: prompt.iter().fold(0.0, |sum, log_p| sum + log_p),
            request: if top_k { beam::request(config) } else { ScoreRequest::All },
            attention: input.attention || config.needs_attention(),
            input,
        }
    }

    /// Starts the search.
    pub(crate) fn search(self) -> Box<dyn Search> {
        match self.input.config.method {
            Method::Beam => Box::new(Beam::new(self)),
            Method::Sample => Box::new(Sampler::new(self)),
        }
    }

    /// Returns true if the rules let a hypothesis end after these tokens.
    pub(crate) fn may_end(&self, tokens: &[u32]) -> bool {
        let rules = &self.input.rules;
        rules.is_empty() || rules.allowed(tokens, self.eos as usize + 1).has(self.eos)
    }

    /// The attention of a row on the tokens of its source, if the search needs it.
    pub(crate) fn attention(&self, rows: StepRows, row: usize) -> TokenAttention {
        let Some(attention) = rows.attention.filter(|_| self.attention) else {
            return TokenAttention::default();
        };
        let TokenAttention { weights, copying } = &attention[row];
        let source = self.input.tokens.len();
        TokenAttention { weights: weights.iter().take(source).copied().collect(), copying: *copying }
    }

    /// A finished hypothesis of `length` tokens, the end included.
    pub(crate) fn scored(&self, hypothesis: Hypothesis, length: usize) -> Hypothesis {
        let Hypothesis { log_probability, ref attention, .. } = hypothesis;
        Hypothesis { score: self.input.config.score(log_probability, length, attention), ..hypothesis }
    }
}
