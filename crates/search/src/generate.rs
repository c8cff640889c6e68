//! A beginning in, a text out: what a language model writes, and how probable it finds texts.

use crate::config::{SearchConfig, Unknown};
use crate::constraint::{Forbidden, Rules};
use crate::folder::{Folder, FolderError};
use crate::history::Hypothesis;
use crate::model::{AutoregressiveModel, ModelStep, SearchInput, StepRequest};
use crate::network::token_scores;
use crate::score::Scored;
use crate::search::search_inputs;
use crate::task::Task;
use couplet_data::{END, START, Tokenizer, UNK, in_order, pieces};
use couplet_nn::{DecoderState, ForwardPass, LanguageModel, LanguageModelConfig, NextTokens, PackedTokens};
use couplet_tensor::ops::{log_softmax, row_block};
use couplet_tensor::{Device, Params};
use serde::Deserialize;
use std::sync::Arc;

/// Tokens of the texts that are scored together.
const BATCH_TOKENS: usize = 4096;

/// Tokens of prompts whose logits exist at once.
const SCORED_ROWS: usize = 256;

/// Tokens that a text may have by default, and those for each token that it begins with.
const MAX_LENGTH: usize = 10;
const MAX_LENGTH_RATIO: f32 = 2.0;

/// What of a language model's config is needed to use it. The rest is the training's.
#[derive(Clone, Debug, Deserialize)]
struct FolderConfig {
    data: FolderData,
    #[serde(default)]
    model: LanguageModelConfig,
    #[serde(default)]
    search: SearchConfig,
}

#[derive(Clone, Debug, Deserialize)]
struct FolderData {
    max_tokens: usize,
}

/// A language model from a folder, ready to use.
#[derive(Debug)]
pub struct LoadedLanguageModel {
    /// How a text becomes tokens.
    pub tokenizer: Tokenizer,
    /// Longer texts are read in pieces.
    pub max_tokens: usize,
    /// The model.
    pub model: LanguageModel,
    /// Its weights.
    pub params: Params,
    /// How its folder says to search.
    pub search: SearchConfig,
}

/// A text that a language model has written.
#[derive(Clone, Debug, PartialEq)]
pub struct Continuation {
    /// All of it, with its beginning.
    pub text: String,
    /// What the model is sure of: the log-probability, made comparable between lengths.
    pub score: f32,
    /// The logarithm of its probability, that of the beginning included.
    pub log_probability: f32,
}

impl LoadedLanguageModel {
    /// Reads a model folder.
    pub fn open(folder: &Folder, device: &Device) -> Result<LoadedLanguageModel, FolderError> {
        let FolderConfig { data, model: config, mut search } = folder.read_config(&[Task::LanguageModel])?;
        // A text has no source whose length would say how long it may become.
        search.max_length.get_or_insert(MAX_LENGTH);
        search.max_length_ratio.get_or_insert(MAX_LENGTH_RATIO);
        search.check().map_err(|source| FolderError::Search { path: folder.config(), source })?;
        let tokenizer = Tokenizer::load(folder.source_tokenizer())?;
        let mut params = Params::new(device, 0);
        let model = LanguageModel::new(&mut params, &config, tokenizer.vocabulary_size())
            .map_err(|source| FolderError::Model { path: folder.config(), source })?;
        folder.read_weights(&mut params)?;
        Ok(LoadedLanguageModel { tokenizer, max_tokens: data.max_tokens, model, params, search })
    }

    /// Continues lines, the first of which has this id. Returns for each the best outputs or the samples, or why there are none.
    pub fn go_on<S: AsRef<str>>(
        &self,
        lines: &[S],
        first: u64,
        config: &SearchConfig,
    ) -> Vec<Result<Vec<Continuation>, String>> {
        let config = Arc::new(config.clone());
        let input = |(line, id): (&S, u64)| {
            let prompt: Arc<[u32]> = self.tokenizer.encode(line.as_ref()).into();
            let input = SearchInput::new(Arc::clone(&prompt), rules(&prompt, &config), Arc::clone(&config));
            SearchInput { prompt, id, ..input }
        };
        let inputs = lines.iter().zip(first..).map(input).collect();
        let network = Network { model: &self.model, params: &self.params };
        let found = search_inputs(&network, inputs, config.batch_tokens);
        lines.iter().zip(found).map(|(line, found)| self.continuations(line.as_ref(), found?)).collect()
    }

    fn continuations(&self, line: &str, found: Vec<Hypothesis>) -> Result<Vec<Continuation>, String> {
        if found.is_empty() {
            return Err("no output was found that keeps to all that is asked".to_owned());
        }
        // Words of the prompt that the vocabulary does not have stay as they are.
        let words = self.tokenizer.tokens(line);
        let word = |i: usize| words.get(i).cloned().unwrap_or_default();
        let continuation = |Hypothesis { tokens, score, log_probability, .. }: Hypothesis| Continuation {
            text: self.tokenizer.decode_with(&tokens, word),
            score,
            log_probability,
        };
        Ok(found.into_iter().map(continuation).collect())
    }

    /// Scores texts, in their order. An empty text has no score: the result has no tokens.
    pub fn score<S: AsRef<str>>(&self, lines: &[S]) -> Vec<Scored> {
        let texts: Vec<Vec<Vec<u32>>> = lines.iter().map(|line| self.pieces(line.as_ref())).collect();
        let all: Vec<&[u32]> = texts.iter().flatten().map(Vec::as_slice).collect();
        let mut losses = losses(&self.model, &self.params, &all, BATCH_TOKENS).into_iter();
        let scored = |pieces: &Vec<Vec<u32>>| {
            let next = pieces.iter().flat_map(|piece| &piece[1..]);
            let of_text = losses.by_ref().take(pieces.len()).flatten();
            Scored {
                tokens: next.map(|&token| self.tokenizer.token(token).to_owned()).collect(),
                log_probabilities: of_text.map(|loss| -loss).collect(),
            }
        };
        texts.iter().map(scored).collect()
    }

    fn pieces(&self, line: &str) -> Vec<Vec<u32>> {
        let tokens = self.tokenizer.encode(line);
        if tokens.is_empty() { Vec::new() } else { pieces(&tokens, self.max_tokens) }
    }
}

/// The rules for continuations of a prompt.
fn rules(prompt: &[u32], config: &SearchConfig) -> Rules {
    let mut rules = Rules::new(config, prompt.len(), END);
    // A user knows the unknown words of the prompt; of a continuation, nobody could say what they stand for.
    if config.unknown == Unknown::Avoid && !prompt.contains(&UNK) {
        rules.add(Forbidden { token: UNK, name: "unknown token" });
    }
    rules
}

/// The loss of each token of each piece but its first, for each piece in their order.
pub fn losses(
    model: &LanguageModel,
    params: &Params,
    pieces: &[&[u32]],
    batch_tokens: usize,
) -> Vec<Vec<f32>> {
    let lengths: Vec<(usize, usize)> = pieces.iter().map(|piece| (piece.len() - 1, 0)).collect();
    let mut found: Vec<Vec<f32>> = vec![Vec::new(); pieces.len()];
    for batch in in_order(&lengths, batch_tokens) {
        let of_batch: Vec<&[u32]> = batch.iter().map(|&piece| pieces[piece as usize]).collect();
        let packed = NextTokens::new(&of_batch, &batch);
        let of_rows = model.loss(&ForwardPass::inference(params), &packed, 0.0).per_target.to_vec();
        let rows = &packed.input.layout;
        for ((place, _), loss) in rows.places().zip(of_rows) {
            found[batch[rows.sorted_indices()[place] as usize] as usize].push(loss);
        }
    }
    found
}

/// A language model in a search.
struct Network<'a> {
    model: &'a LanguageModel,
    params: &'a Params,
}

impl AutoregressiveModel for Network<'_> {
    type State = DecoderState;

    /// Prefills prompts in one forward pass.
    fn init(&self, inputs: &[&SearchInput]) -> (DecoderState, Vec<Vec<f32>>) {
        let fwd = ForwardPass::inference(self.params);
        let fed = |input: &&SearchInput| {
            let before_last = input.prompt.split_last().map(|(_, before)| before);
            before_last.map_or_else(Vec::new, |before| [&[START], before].concat())
        };
        let fed: Vec<Vec<u32>> = inputs.iter().map(fed).collect();
        let examples: Vec<u32> = (0..inputs.len() as u32).collect();
        let packed = PackedTokens::new(&fed.iter().map(Vec::as_slice).collect::<Vec<_>>(), &examples);
        let (hidden, state) = self.model.continue_from(&fwd, &packed, &DecoderState::default());
        let (layout, mut prompts) = (&packed.layout, vec![Vec::new(); inputs.len()]);
        let mut steps = layout.places();
        for start in (0..hidden.rows()).step_by(SCORED_ROWS) {
            let rows = row_block(&hidden, start..(start + SCORED_ROWS).min(hidden.rows()));
            let logits = self.model.logits(&fwd, &rows); // [rows, vocabulary]
            for (logits, (sequence, step)) in
                logits.value().to_vec().chunks(logits.columns().max(1)).zip(&mut steps)
            {
                let input = layout.sorted_indices()[sequence] as usize;
                prompts[input].push(log_softmax(logits)[inputs[input].prompt[step] as usize]);
            }
        }
        (state, prompts)
    }

    fn step(&self, tokens: &[u32], state: &DecoderState, request: &StepRequest) -> ModelStep<DecoderState> {
        let fwd = ForwardPass::inference(self.params);
        let (hidden, state) = self.model.step(&fwd, tokens, state);
        let logits = self.model.logits(&fwd, &hidden); // [rows, vocabulary]
        ModelStep { scores: token_scores(logits.value(), &request.scores), attention: None, state }
    }

    fn select(&self, state: &DecoderState, rows: &[u32]) -> DecoderState {
        state.select(rows)
    }

    fn append(&self, state: &mut DecoderState, other: DecoderState) {
        state.append(other);
    }

    fn can_append(&self) -> bool {
        DecoderState::can_append(self.params.device())
    }

    fn bos_eos(&self) -> (u32, u32) {
        (START, END)
    }
}
