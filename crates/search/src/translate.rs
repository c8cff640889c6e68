//! Text in, text out.

use crate::align::most_looked_at;
use crate::config::{SearchConfig, Unknown};
use crate::constraint::{Couplet, Forbidden, Glyphs, Phrases, Prefix, Rules};
use crate::ensemble::Ensemble;
use crate::folder::Loaded;
use crate::hypothesis::Hypothesis;
use crate::limit::TargetLengths;
use crate::network::{Network, Shown};
use crate::search::{Question, search_within};
use couplet_data::{END, START, SourceWords, Tokenizer, UNK, in_order};
use couplet_nn::{Batch, Pass, Seq2Seq};
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
    /// What of its attention is shown.
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
    pub refused: Option<String>,
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
    /// The source's tokens, to be read.
    pub source_tokens: Vec<String>,
    /// The target's tokens, to be read.
    pub target_tokens: Vec<String>,
    /// For each target token, how much each source token was looked at; nothing where the model does not look.
    pub attention: Vec<Vec<f32>>,
    /// For each target token, how probable it was that it is copied, where [`Shown::copying`] asks for it and the model copies.
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
        Translator { model, params, source, target, shown: Shown::default(), others: &[], dictionary: None }
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
        let config = &self.with_all_lengths(config);
        let sources: Vec<Vec<u32>> =
            requests.iter().map(|request| self.source.encode(request.line)).collect();
        let copies = self.copies();
        let words: Vec<SourceWords> =
            requests.iter().map(|request| self.words(request.line, copies)).collect();
        let lengths: Vec<(usize, usize)> = sources.iter().map(|source| (cut(source).len(), 0)).collect();
        let glyphs = config.couplet.is_on().then(|| Arc::new(self.glyphs()));
        let rules = |((request, source), words): ((&Request, &Vec<u32>), &SourceWords)| {
            self.rules(request, cut(source).len(), words, config, glyphs.as_ref())
        };
        let rules: Vec<Result<Rules, String>> =
            requests.iter().zip(&sources).zip(&words).map(rules).collect();
        let empty = || Answer { outputs: vec![Translation::default()], ..Answer::default() };
        let mut answers: Vec<Answer> = requests.iter().map(|_| empty()).collect();
        let mut possible: Vec<Option<&Rules>> = vec![None; requests.len()];
        for (i, rules) in rules.iter().enumerate().filter(|&(i, _)| lengths[i].0 > 0) {
            match rules
                .as_ref()
                .map_err(String::clone)
                .and_then(|rules| rules.impossible().map_or(Ok(rules), Err))
            {
                Ok(rules) => possible[i] = Some(rules),
                Err(reason) => answers[i] = Answer { refused: Some(reason), ..Answer::default() },
            }
        }
        for batch in in_order(&lengths, config.batch_tokens) {
            let batch = batch.into_iter().map(|i| i as usize);
            let batch: Vec<(usize, &Rules)> = batch.filter_map(|i| Some((i, possible[i]?))).collect();
            let questions: Vec<Question> = batch
                .iter()
                .map(|&(i, rules)| Question { tokens: cut(&sources[i]), rules, number: requests[i].number })
                .collect();
            if questions.is_empty() {
                continue;
            }
            let copied: Vec<&[u32]> = batch.iter().map(|&(i, _)| words[i].ids()).collect();
            for ((i, rules), found) in batch.into_iter().zip(self.search(&questions, &copied, config)) {
                answers[i] = self.answered(requests[i].line, &sources[i], &words[i], found, config);
                answers[i].kept = rules.explain();
            }
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
        questions: &[Question],
        copied: &[&[u32]],
        config: &SearchConfig,
    ) -> Vec<Vec<Hypothesis>> {
        let own = (self.model, self.params, self.shown);
        let others = self.others.iter().map(|other| (&other.model, &other.params, Shown::default()));
        let copied = Some(copied).filter(|_| self.copies());
        let network = |(model, params, shown)| Network { model, params, shown, copied };
        if self.others.is_empty() {
            return search_within(&network(own), questions, config);
        }
        let networks = std::iter::once(own).chain(others).map(network).collect();
        search_within(&Ensemble::new(networks), questions, config)
    }

    /// Whether any of the models copies.
    fn copies(&self) -> bool {
        self.model.copies() || self.others.iter().any(|other| other.model.copies())
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
        if self.model.copies() { batch.copying(copied, self.model.vocabulary(), UNK) } else { batch }
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
        let mut rules = Rules::of(config, source, END);
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
            return Answer { refused: Some(reason.to_owned()), ..Answer::default() };
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

    /// The text of an output, with a word for each unknown token: what the dictionary has for the source word that the model looked
    /// at most, or that word itself.
    fn with_copies(&self, line: &str, words: &SourceWords, hypothesis: &Hypothesis) -> String {
        let tokens = self.source.tokens(line);
        words.decode_with(&hypothesis.tokens, self.target, |place| {
            let looked_at = hypothesis.attention.get(place).and_then(|row| most_looked_at(row));
            let word = looked_at.and_then(|place| tokens.get(place)).map_or("", String::as_str);
            self.dictionary
                .and_then(|dictionary| dictionary.get(word))
                .map_or(word, String::as_str)
                .to_owned()
        })
    }

    /// How the model attends when it is made to write a given target; the score is that of the target.
    pub fn force(&self, line: &str, target: &str) -> Translation {
        let source = self.source.encode(line);
        if source.is_empty() {
            return Translation::default();
        }
        let words = self.words(line, self.model.copies());
        let tokens = words.encode(target, self.target);
        let batch = self.batch(&[(cut(&source), &tokens)], &[words.ids()], &[0]);
        let pass = Pass::inference(self.params);
        let network = Network { model: self.model, params: self.params, shown: self.shown, copied: None };
        let weights = self.model.sequence(&pass, &batch).weights;
        let attention = network.shown(weights.as_ref().map(Var::value));
        let log_probability = -self.model.loss(&pass, &batch, 0.0).of_rows.to_vec().iter().sum::<f32>();
        let places = attention.len() / batch.targets();
        let attention =
            (0..tokens.len()).map(|step| attention[step * places..(step + 1) * places].to_vec()).collect();
        let score = log_probability / batch.targets() as f32;
        let text = words.decode(&tokens, self.target);
        let forced = Hypothesis { tokens, log_probability, score, attention, truncated: false };
        self.translation(&source, &words, text, forced)
    }

    /// How probable it is in each step that a word of the source is copied; nothing where that is not asked for.
    fn copying(&self, source: &[u32], words: &SourceWords, tokens: &[u32]) -> Vec<f32> {
        if !self.shown.copying || !self.model.copies() {
            return Vec::new();
        }
        let batch = self.batch(&[(cut(source), tokens)], &[words.ids()], &[0]);
        let pointing = self.model.sequence(&Pass::inference(self.params), &batch).pointing;
        let gates = pointing.map_or_else(Vec::new, |pointing| pointing.gate.value().to_vec());
        gates.into_iter().take(tokens.len()).map(|gate| 1.0 / (1.0 + gate.exp())).collect()
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
            copying: self.copying(source, words, &best.tokens),
            score: best.score,
            log_probability: best.log_probability,
            cut: source.len() > LONGEST_SOURCE,
            truncated: best.truncated,
            source_tokens: cut(source).iter().enumerate().map(read).collect(),
            target_tokens: best.tokens.iter().map(written).collect(),
            attention: best.attention,
        }
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
