//! Text in, text out.

use crate::beam::{Hypothesis, search};
use crate::config::SearchConfig;
use crate::folder::Loaded;
use crate::network::{Network, Shown};
use couplet_data::{END, START, Tokenizer, in_order};
use couplet_nn::{Batch, Pass, Seq2Seq};
use couplet_tensor::Params;

/// A source of more tokens is cut: attention costs the product of both lengths, and no model has seen such a line.
pub const LONGEST_SOURCE: usize = 1024;

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
}

/// A translated line.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The text.
    pub text: String,
    /// What the model is sure of: the length-normalised log-probability.
    pub score: f32,
    /// Whether the source was cut to [`LONGEST_SOURCE`] tokens.
    pub cut: bool,
    /// The source's tokens, to be read.
    pub source_tokens: Vec<String>,
    /// The target's tokens, to be read.
    pub target_tokens: Vec<String>,
    /// For each target token, how much each source token was looked at; nothing where the model does not look.
    pub attention: Vec<Vec<f32>>,
}

impl<'a> From<&'a Loaded> for Translator<'a> {
    fn from(loaded: &'a Loaded) -> Self {
        let Loaded { source, target, model, params, .. } = loaded;
        Translator { model, params, source, target, shown: Shown::default() }
    }
}

impl Translator<'_> {
    /// Translates lines, in their order. An empty line stays empty.
    pub fn translate<S: AsRef<str>>(&self, lines: &[S], config: &SearchConfig) -> Vec<Translation> {
        let sources: Vec<Vec<u32>> = lines.iter().map(|line| self.encode(line.as_ref())).collect();
        let lengths: Vec<(usize, usize)> = sources.iter().map(|source| (cut(source).len(), 0)).collect();
        let mut translations: Vec<Translation> = sources.iter().map(|_| Translation::empty()).collect();
        let network = self.network();
        for batch in in_order(&lengths, config.batch_tokens) {
            let batch: Vec<usize> =
                batch.into_iter().map(|i| i as usize).filter(|&i| lengths[i].0 > 0).collect();
            let tokens: Vec<&[u32]> = batch.iter().map(|&i| cut(&sources[i])).collect();
            if tokens.is_empty() {
                continue;
            }
            for (i, hypotheses) in batch.into_iter().zip(search(&network, &tokens, config)) {
                if let Some(best) = hypotheses.into_iter().next() {
                    translations[i] = self.translation(&sources[i], best);
                }
            }
        }
        translations
    }

    /// How the model attends when it is made to write a given target; the score is that of the target.
    pub fn force(&self, line: &str, target: &str) -> Translation {
        let source = self.encode(line);
        if source.is_empty() {
            return Translation::empty();
        }
        let tokens = self.target.encode(target);
        let batch = Batch::new(&[(cut(&source), &tokens)], &[0], START, END);
        let pass = Pass::inference(self.params);
        let attention = self.network().shown(self.model.sequence(&pass, &batch).weights.as_ref());
        let log_probability = -self.model.loss(&pass, &batch, 0.0).of_rows.to_vec().iter().sum::<f32>();
        let places = attention.len() / batch.targets();
        let attention =
            (0..tokens.len()).map(|step| attention[step * places..(step + 1) * places].to_vec()).collect();
        let score = log_probability / batch.targets() as f32;
        self.translation(&source, Hypothesis { tokens, log_probability, score, attention })
    }

    fn network(&self) -> Network<'_> {
        Network { model: self.model, params: self.params, shown: self.shown }
    }

    fn encode(&self, line: &str) -> Vec<u32> {
        self.source.encode(line)
    }

    fn translation(&self, source: &[u32], best: Hypothesis) -> Translation {
        let names = |tokenizer: &Tokenizer, ids: &[u32]| {
            ids.iter().map(|&id| tokenizer.token(id).to_owned()).collect()
        };
        Translation {
            text: self.target.decode(&best.tokens),
            score: best.score,
            cut: source.len() > LONGEST_SOURCE,
            source_tokens: names(self.source, cut(source)),
            target_tokens: names(self.target, &best.tokens),
            attention: best.attention,
        }
    }
}

fn cut(source: &[u32]) -> &[u32] {
    &source[..source.len().min(LONGEST_SOURCE)]
}

impl Translation {
    fn empty() -> Translation {
        Translation {
            text: String::new(),
            score: 0.0,
            cut: false,
            source_tokens: Vec::new(),
            target_tokens: Vec::new(),
            attention: Vec::new(),
        }
    }
}
