//! A beginning in, a text out: what a language model writes, and how probable it finds texts.

use crate::config::{SearchConfig, Unknown};
use crate::constraint::{Forbidden, Prefix, Rules};
use crate::folder::{Folder, FolderError};
use crate::hypothesis::Hypothesis;
use crate::model::{Model, Step};
use crate::score::Scored;
use crate::search::{Question, search_within};
use crate::task::Task;
use couplet_data::{END, START, Tokenizer, UNK, in_order, pieces};
use couplet_nn::{LanguageModel, LanguageModelConfig, NextTokens, Pass, ReadState};
use couplet_tensor::{Device, Params, Tensor};
use serde::Deserialize;

/// Tokens of the texts that are scored together.
const BATCH_TOKENS: usize = 4096;

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

    /// Goes on with lines, the first of which has this number: for each, the best outputs or those that were drawn, or why there are none.
    pub fn go_on<S: AsRef<str>>(
        &self,
        lines: &[S],
        first: u64,
        config: &SearchConfig,
    ) -> Vec<Result<Vec<Continuation>, String>> {
        let beginnings: Vec<Vec<u32>> =
            lines.iter().map(|line| self.tokenizer.encode(line.as_ref())).collect();
        let rules: Vec<Rules> = lines
            .iter()
            .zip(&beginnings)
            .map(|(line, tokens)| rules(line.as_ref(), tokens, config))
            .collect();
        let lengths: Vec<(usize, usize)> = beginnings.iter().map(|tokens| (tokens.len(), 0)).collect();
        let mut answers: Vec<Result<Vec<Continuation>, String>> =
            rules.iter().map(|rules| rules.impossible().map_or(Ok(Vec::new()), Err)).collect();
        let network = Network { model: &self.model, params: &self.params };
        for mut batch in in_order(&lengths, config.batch_tokens) {
            batch.retain(|&i| answers[i as usize].is_ok());
            let question = |&i: &u32| Question {
                tokens: &beginnings[i as usize],
                rules: &rules[i as usize],
                number: first + u64::from(i),
            };
            let questions: Vec<Question> = batch.iter().map(question).collect();
            for (i, found) in batch.into_iter().zip(search_within(&network, &questions, config)) {
                answers[i as usize] = self.written(lines[i as usize].as_ref(), found);
            }
        }
        answers
    }

    fn written(&self, line: &str, found: Vec<Hypothesis>) -> Result<Vec<Continuation>, String> {
        if found.is_empty() {
            return Err("no output was found that keeps to all that is asked".to_owned());
        }
        // Words of the beginning that the vocabulary does not have stay as they are.
        let words = self.tokenizer.tokens(line);
        let word = |place: usize| words.get(place).cloned().unwrap_or_default();
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

/// What an output must keep to: it begins with the line.
fn rules(line: &str, tokens: &[u32], config: &SearchConfig) -> Rules {
    let mut rules = Rules::of(config, tokens.len(), END);
    // Unknown words of the beginning are known to whoever asked; of what follows, nobody could say what they stand for.
    if config.unknown == Unknown::Avoid && !tokens.contains(&UNK) {
        rules.add(Forbidden { token: UNK, name: "unknown token" });
    }
    if !tokens.is_empty() {
        let limit = config.limit(tokens.len());
        rules.add(Prefix { tokens: tokens.to_vec(), text: line.to_owned(), limit });
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
        let of_rows = model.loss(&Pass::inference(params), &packed, 0.0).of_rows.to_vec();
        let rows = &packed.input.rows;
        for ((place, _), loss) in rows.places().zip(of_rows) {
            found[batch[rows.sorted_indices()[place] as usize] as usize].push(loss);
        }
    }
    found
}

/// A language model as the search sees it: what it goes on with is what the rules make it write first.
struct Network<'a> {
    model: &'a LanguageModel,
    params: &'a Params,
}

impl Model for Network<'_> {
    type State = ReadState;
    type Next = Tensor;

    fn start(&self, _sources: &[&[u32]]) -> ReadState {
        ReadState::default()
    }

    fn step(&self, tokens: &[u32], state: &ReadState) -> Step<ReadState, Tensor> {
        let (logits, state) = self.model.step(&Pass::inference(self.params), tokens, state);
        Step { next: logits.value().clone(), attention: Vec::new(), state }
    }

    fn select(&self, state: &ReadState, rows: &[u32]) -> ReadState {
        state.select(rows)
    }

    fn ends(&self) -> (u32, u32) {
        (START, END)
    }
}
