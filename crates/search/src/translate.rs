//! Text in, text out.

use crate::align::most_looked_at;
use crate::config::{SearchConfig, Unknown};
use crate::constraint::{Couplet, Forbidden, Glyphs, Phrases, Prefix, Rules};
use crate::ensemble::Ensemble;
use crate::folder::Loaded;
use crate::history::Hypothesis;
use crate::limit::TargetLengths;
use crate::model::{SearchInput, TokenAttention};
use crate::network::{Network, Shown};
use crate::search::search_inputs;
use couplet_data::{END, START, SourceWords, Tokenizer, UNK};
use couplet_nn::{Batch, ForwardPass, Seq2Seq};
use couplet_tensor::{Params, Var};
use std::collections::HashMap;
use std::sync::Arc;

/// A source of more tokens is cut: attention costs the product of both lengths, and no model has seen such a line.
pub const LONGEST_SOURCE: usize = 1024;

/// Words of the source, and what stands for them in an output.
pub type Dictionary = HashMap<String, String>;

/// A model with its tokenizers.
#[derive(Clone, Copy, Debug)]
pub struct Translator<'a> {
    /// The model.
    pub model: &'a Seq2Seq,
    /// Its weights.
    pub params: &'a Params,
    /// Its source's tokenizer.
    pub source: &'a Tokenizer,
    /// Its target's tokenizer.
    pub target: &'a Tokenizer,
    /// Set if translations have the attention, even if the search does not need it.
    pub attention: bool,
    /// The part of the attention that they have.
    pub shown: Shown,
    /// Further models with the same vocabularies, which search together with this one.
    pub others: &'a [Loaded],
    /// What stands for source words that become unknown ones. Words that it does not have are copied.
    pub dictionary: Option<&'a Dictionary>,
}

/// A line to translate, and what is asked of its output beside what the config asks.
#[derive(Clone, Debug, Default)]
pub struct Request<'a> {
    /// The line.
    pub line: &'a str,
    /// Which of all lines it is; each has random numbers of its own.
    pub number: u64,
    /// What an output begins with.
    pub prefix: &'a str,
    /// Phrases that an output has in it.
    pub phrases: Vec<&'a str>,
}

/// The outputs for a line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// The best ones, the best first; or those that were drawn.
    pub outputs: Vec<Translation>,
    /// What the search kept to.
    pub kept: Vec<String>,
    /// Why there is no output.
    pub rejected: Option<String>,
}

/// A translated line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Translation {
    /// The text.
    pub text: String,
    /// What the model is sure of: the log-probability, made comparable between lengths, less penalties.
    pub score: f32,
    /// The logarithm of its probability.
    pub log_probability: f32,
    /// Whether the source was cut to [`LONGEST_SOURCE`] tokens.
    pub cut: bool,
    /// Set where the output reached the length limit before its end.
    pub truncated: bool,
    /// The source's tokens as text.
    pub source_tokens: Vec<String>,
    /// The target's tokens as text.
    pub target_tokens: Vec<String>,
    /// The attention weights of each target token on the source tokens; empty without attention, or where it is not needed.
    pub attention: Vec<Vec<f32>>,
    /// The probability of each target token that it is copied, if the model copies and [`Shown::copying`] is set.
    pub copying: Vec<f32>,
}

impl<'a> From<&'a Loaded> for Translator<'a> {
    fn from(loaded: &'a Loaded) -> Self {
        let Loaded { source, target, model, params, .. } = loaded;
        Translator::new(model, params, source, target)
    }
}

impl<'a> Translator<'a> {
    /// A model with its weights and tokenizers.
    pub fn new(
        model: &'a Seq2Seq,
        params: &'a Params,
        source: &'a Tokenizer,
        target: &'a Tokenizer,
    ) -> Translator<'a> {
        let (attention, shown) = (false, Shown::default());
        Translator { model, params, source, target, attention, shown, others: &[], dictionary: None }
    }

    /// Translates lines, in their order. An empty line stays empty.
    pub fn translate<S: AsRef<str>>(&self, lines: &[S], config: &SearchConfig) -> Vec<Translation> {
        let numbered = (0..).zip(lines);
        let requests: Vec<Request> =
            numbered.map(|(number, line)| Request { number, ..Request::of(line.as_ref()) }).collect();
        let best = |answer: Answer| answer.outputs.into_iter().next().unwrap_or_default();
        self.answer(&requests, config).into_iter().map(best).collect()
    }

    /// Answers requests, in their order. An empty line has one empty output.
    pub fn answer(&self, requests: &[Request], config: &SearchConfig) -> Vec<Answer> {
        let config = Arc::new(self.with_all_lengths(config));
        let (copies, glyphs) = (self.copies(), config.couplet.is_on().then(|| Arc::new(self.glyphs())));
        let mut answers =
            vec![Answer { outputs: vec![Translation::default()], ..Answer::default() }; requests.len()];
        let (mut asked, mut inputs) = (Vec::new(), Vec::new());
        for (i, request) in requests.iter().enumerate() {
            let (source, words) = (self.source.encode(request.line), self.words(request.line, copies));
            if source.is_empty() {
                continue;
            }
            match self.rules(request, cut(&source).len(), &words, &config, glyphs.as_ref()) {
                Ok(rules) => {
                    let explained = rules.explain();
                    inputs.push(SearchInput {
                        copy: words.ids().into(),
                        id: request.number,
                        attention: self.attention || self.shown.copying,
                        ..SearchInput::new(cut(&source), rules, Arc::clone(&config))
                    });
                    asked.push((i, source, words, explained));
                }
                Err(reason) => answers[i] = Answer::rejected(reason),
            }
        }
        for ((i, source, words, explained), found) in asked.into_iter().zip(self.search(inputs, &config)) {
            answers[i] = match found {
                Ok(found) => {
                    let answer = self.answered(requests[i].line, &source, &words, found, &config);
                    Answer { kept: explained, ..answer }
                }
                Err(reason) => Answer::rejected(reason),
            };
        }
        answers
    }

    /// A config with the lengths of the training data of all models.
    fn with_all_lengths(&self, config: &SearchConfig) -> SearchConfig {
        let others = self.others.iter().map(|other| other.search.target_lengths);
        let target_lengths = others.fold(config.target_lengths, TargetLengths::max);
        SearchConfig { target_lengths, ..config.clone() }
    }

    fn search(
        &self,
        inputs: Vec<SearchInput>,
        config: &SearchConfig,
    ) -> Vec<Result<Vec<Hypothesis>, String>> {
        let other = |other: &'a Loaded| Network {
            model: &other.model,
            params: &other.params,
            shown: Shown::default(),
        };
        if self.others.is_empty() {
            return search_inputs(&self.network(), inputs, config.batch_tokens);
        }
        let networks = std::iter::once(self.network()).chain(self.others.iter().map(other)).collect();
        search_inputs(&Ensemble::new(networks), inputs, config.batch_tokens)
    }

    /// The first model in a search.
    fn network(&self) -> Network<'a> {
        Network { model: self.model, params: self.params, shown: self.shown }
    }

    /// Whether any of the models copies.
    fn copies(&self) -> bool {
        self.model.supports_copy() || self.others.iter().any(|other| other.model.supports_copy())
    }

    /// What can be copied from a line; nothing by models that do not.
    pub(crate) fn words(&self, line: &str, copies: bool) -> SourceWords {
        if !copies {
            return SourceWords::default();
        }
        let words = SourceWords::new(line, self.source, self.target);
        let left = cut(words.ids()).to_vec();
        words.with_ids(left)
    }

    /// Packs pairs for the first model, with what it can copy.
    pub(crate) fn batch(&self, pairs: &[(&[u32], &[u32])], copied: &[&[u32]], examples: &[u32]) -> Batch {
        let batch = Batch::new(pairs, examples, START, END);
        if self.model.supports_copy() { batch.copying(copied, self.model.vocabulary(), UNK) } else { batch }
    }

    /// What an output must keep to, or why none can.
    fn rules(
        &self,
        request: &Request,
        source: usize,
        words: &SourceWords,
        config: &SearchConfig,
        glyphs: Option<&Arc<Glyphs>>,
    ) -> Result<Rules, String> {
        let mut rules = Rules::new(config, source, END);
        let limit = config.limit(source);
        if config.unknown == Unknown::Avoid {
            rules.add(Forbidden { token: UNK, name: "unknown token" });
        }
        if let Some(glyphs) = glyphs {
            let mut line = self.source.tokens(request.line);
            line.truncate(source);
            rules.add(Couplet::new(&config.couplet, &line, glyphs, END, limit));
        }
        if !request.prefix.is_empty() {
            let tokens = self.known(request.prefix, words)?;
            rules.add(Prefix { tokens, text: request.prefix.to_owned(), limit });
        }
        if !request.phrases.is_empty() {
            let phrases =
                request.phrases.iter().map(|phrase| self.known(phrase, words)).collect::<Result<_, _>>()?;
            let texts = request.phrases.iter().map(ToString::to_string).collect();
            rules.add(Phrases { phrases, texts, end: END });
        }
        Ok(rules)
    }

    /// The tokens of a text that an output has to have.
    fn known(&self, text: &str, words: &SourceWords) -> Result<Vec<u32>, String> {
        let tokens = words.encode(text, self.target);
        match tokens.iter().position(|&token| token == UNK) {
            Some(place) => {
                Err(format!("the vocabulary does not have \"{}\"", self.target.tokens(text)[place]))
            }
            None => Ok(tokens),
        }
    }

    fn glyphs(&self) -> Glyphs {
        Glyphs::new((0..self.target.vocabulary_size() as u32).map(|token| self.target.token(token)))
    }

    fn answered(
        &self,
        line: &str,
        source: &[u32],
        words: &SourceWords,
        found: Vec<Hypothesis>,
        config: &SearchConfig,
    ) -> Answer {
        if found.is_empty() {
            let reason = "no output was found that keeps to all that is asked; a wider beam may find one";
            return Answer::rejected(reason.to_owned());
        }
        let output = |hypothesis: Hypothesis| {
            let text = match config.unknown {
                Unknown::Copy => self.with_copies(line, words, &hypothesis),
                Unknown::Omit | Unknown::Avoid => words.decode(&hypothesis.tokens, self.target),
            };
            self.translation(source, words, text, hypothesis)
        };
        let outputs = found.into_iter().map(output).collect();
        Answer { outputs, ..Answer::default() }
    }

    /// The text of an output, with a word for each unknown token: the dictionary's entry of the source word with the largest attention
    /// weight, or that word itself.
    fn with_copies(&self, line: &str, words: &SourceWords, hypothesis: &Hypothesis) -> String {
        let tokens = self.source.tokens(line);
        words.decode_with(&hypothesis.tokens, self.target, |place| {
            let attention = hypothesis.attention.get(place);
            let best = attention.and_then(|attention| most_looked_at(&attention.weights));
            let word = best.and_then(|place| tokens.get(place)).map_or("", String::as_str);
            self.dictionary
                .and_then(|dictionary| dictionary.get(word))
                .map_or(word, String::as_str)
                .to_owned()
        })
    }

    /// The attention of a given target under teacher forcing; the score is that of the target.
    pub fn forced_decode(&self, line: &str, target: &str) -> Translation {
        let source = self.source.encode(line);
        if source.is_empty() {
            return Translation::default();
        }
        let words = self.words(line, self.model.supports_copy());
        let tokens = words.encode(target, self.target);
        let batch = self.batch(&[(cut(&source), &tokens)], &[words.ids()], &[0]);
        let (log_probability, attention) = self.teacher_forced(&batch);
        let attention = attention.into_iter().take(tokens.len()).collect();
        let score = log_probability / batch.targets() as f32;
        let text = words.decode(&tokens, self.target);
        let target = Hypothesis { tokens, log_probability, score, attention, truncated: false };
        self.translation(&source, &words, text, target)
    }

    /// The log-probability of the target of a batch of one pair, and the attention of each of its tokens.
    fn teacher_forced(&self, batch: &Batch) -> (f32, Vec<TokenAttention>) {
        let fwd = ForwardPass::inference(self.params);
        let output = self.model.forward(&fwd, batch, true);
        let weights = output.attention.as_ref().map(Var::value);
        let attention =
            weights.and_then(|weights| self.network().attention(weights, output.pointer.as_ref()));
        let losses = self.model.loss_of(&fwd, output, batch, 0.0).per_target.to_vec();
        (-losses.iter().sum::<f32>(), attention.unwrap_or_default())
    }

    fn translation(
        &self,
        source: &[u32],
        words: &SourceWords,
        text: String,
        best: Hypothesis,
    ) -> Translation {
        let written = |&id: &u32| words.token(id, self.target).to_owned();
        // A source that can be copied is shown in its own words.
        let read = |(place, &id): (usize, &u32)| match words.ids().get(place) {
            Some(&copied) if id == UNK => words.token(copied, self.target).to_owned(),
            _ => self.source.token(id).to_owned(),
        };
        Translation {
            text,
            copying: best.attention.iter().filter_map(|attention| attention.copying).collect(),
            score: best.score,
            log_probability: best.log_probability,
            cut: source.len() > LONGEST_SOURCE,
            truncated: best.truncated,
            source_tokens: cut(source).iter().enumerate().map(read).collect(),
            target_tokens: best.tokens.iter().map(written).collect(),
            attention: best.attention.into_iter().map(|attention| attention.weights).collect(),
        }
    }
}

impl Answer {
    /// An answer without an output.
    fn rejected(reason: String) -> Answer {
        Answer { rejected: Some(reason), ..Answer::default() }
    }
}

impl<'a> Request<'a> {
    /// A line of which nothing more is asked.
    pub fn of(line: &'a str) -> Request<'a> {
        Request { line, ..Request::default() }
    }
}

pub(crate) fn cut(source: &[u32]) -> &[u32] {
    &source[..source.len().min(LONGEST_SOURCE)]
}
