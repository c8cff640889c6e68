//! From text files to ids.

use crate::config::{Config, DataConfig};
use crate::error::TrainError;
use crate::event::{About, Figure};
use crate::lessons::{BatchLoss, Lessons, Validated, checksum_of_ids};
use crate::validate::mean_loss;
use couplet_data::{DataError, END, Empty, Files, Pair, Pairs, Reading, START, Tokenizer};
use couplet_metrics::bleu;
use couplet_nn::{Batch, Pass, Seq2Seq};
use couplet_search::{Folder, SearchConfig, Translator};
use couplet_tensor::Params;
use std::path::PathBuf;

/// Pairs as ids, without special tokens.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    sources: Vec<Vec<u32>>,
    targets: Vec<Vec<u32>>,
}

/// All that a run needs of its data.
#[derive(Debug)]
pub struct Corpus {
    /// The sources' tokenizer.
    pub source: Tokenizer,
    /// The targets' tokenizer.
    pub target: Tokenizer,
    /// What the model learns from.
    pub train: Examples,
    /// What it is checked with.
    pub valid: Examples,
    /// The same as text.
    pub valid_pairs: Vec<Pair>,
    /// Training pairs that are too long to be used.
    pub left_out: usize,
}

/// Reads pairs.
pub fn read(files: &Files, empty: Empty) -> Result<Vec<Pair>, DataError> {
    Pairs::open(files, Reading { empty, ..Reading::default() })?.collect()
}

impl Corpus {
    /// Trains tokenizers on the training pairs and turns all pairs into ids.
    pub fn new(config: &DataConfig, train: &[Pair], valid: &[Pair]) -> Result<Corpus, DataError> {
        let (source, target) = tokenizers(config, train)?;
        let all = Examples::new(train, &source, &target);
        let (train, left_out) = all.up_to(config.max_tokens);
        let valid_pairs = valid.to_vec();
        let valid = Examples::new(valid, &source, &target);
        Ok(Corpus { source, target, train, valid, valid_pairs, left_out })
    }

    /// The BLEU of the translations of the first lines of the validation set.
    fn bleu(&self, model: &Seq2Seq, params: &Params, lines: usize, search: &SearchConfig) -> f64 {
        let Corpus { source, target, .. } = self;
        let pairs = &self.valid_pairs[..lines.min(self.valid_pairs.len())];
        let sources: Vec<&str> = pairs.iter().map(|pair| pair.source.as_str()).collect();
        let references: Vec<&str> = pairs.iter().map(|pair| pair.target.as_str()).collect();
        let translator = Translator::new(model, params, source, target);
        let written = translator.translate(&sources, search);
        let hypotheses: Vec<&str> = written.iter().map(|translation| translation.text.as_str()).collect();
        bleu(&hypotheses, &references).score
    }
}

impl Lessons for Corpus {
    type Config = Config;
    type Model = Seq2Seq;

    fn read(config: &Config) -> Result<Corpus, DataError> {
        let [train, valid] = [&config.data.train, &config.data.valid].map(|files| read(files, Empty::Refuse));
        Corpus::new(&config.data, &train?, &valid?)
    }

    fn model(&self, params: &mut Params, config: &Config) -> Result<Seq2Seq, TrainError> {
        if self.train.is_empty() {
            return Err(TrainError::NothingToLearn { max_tokens: config.data.max_tokens });
        }
        let (sources, targets) = (self.source.vocabulary_size(), self.target.vocabulary_size());
        Ok(Seq2Seq::new(params, &config.model, sources, targets)?)
    }

    fn about(&self) -> About {
        About::Pairs {
            pairs: self.train.len(),
            left_out: self.left_out,
            vocabularies: [self.source.vocabulary_size(), self.target.vocabulary_size()],
        }
    }

    fn files(&self, folder: &Folder) -> Vec<(PathBuf, String)> {
        vec![
            (folder.source_tokenizer(), self.source.to_json()),
            (folder.target_tokenizer(), self.target.to_json()),
        ]
    }

    fn lengths(&self) -> Vec<(usize, usize)> {
        self.train.lengths()
    }

    fn loss(&self, model: &Seq2Seq, pass: &Pass, examples: &[u32], config: &Config) -> BatchLoss {
        let batch = self.train.batch(examples);
        let mean = model.loss(pass, &batch, config.label_smoothing()).mean;
        BatchLoss { mean, targets: batch.targets(), tokens: batch.tokens() }
    }

    fn targets(&self, examples: &[u32]) -> usize {
        examples.iter().map(|&example| self.train.get(example).1.len() + 1).sum()
    }

    fn checksum(&self) -> u32 {
        let Examples { sources, targets } = &self.train;
        checksum_of_ids(sources.iter().chain(targets).map(Vec::as_slice))
    }

    fn validate(&self, model: &Seq2Seq, params: &Params, config: &Config) -> Validated {
        let loss = mean_loss(model, params, &self.valid, config.train.batch_tokens);
        let lines = config.train.validate_outputs;
        let bleu = (lines > 0).then(|| self.bleu(model, params, lines, &config.search));
        Validated { loss, figure: Figure::Perplexity(loss.exp()), bleu }
    }
}

/// Trains the tokenizers of both sides.
fn tokenizers(config: &DataConfig, train: &[Pair]) -> Result<(Tokenizer, Tokenizer), DataError> {
    let (sources, targets) = (train.iter().map(|pair| &pair.source), train.iter().map(|pair| &pair.target));
    if config.joint_vocabulary {
        let both = Tokenizer::train(&config.source, sources.chain(targets))?;
        return Ok((both.clone(), both));
    }
    Ok((Tokenizer::train(&config.source, sources)?, Tokenizer::train(&config.target, targets)?))
}

impl Examples {
    /// Turns pairs into ids.
    pub fn new(pairs: &[Pair], source: &Tokenizer, target: &Tokenizer) -> Examples {
        Examples {
            sources: pairs.iter().map(|pair| source.encode(&pair.source)).collect(),
            targets: pairs.iter().map(|pair| target.encode(&pair.target)).collect(),
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// The ids of one.
    pub fn get(&self, example: u32) -> (&[u32], &[u32]) {
        (&self.sources[example as usize], &self.targets[example as usize])
    }

    /// What each costs a batch: the source's tokens, and the target's with its end.
    pub fn lengths(&self) -> Vec<(usize, usize)> {
        self.sources
            .iter()
            .zip(&self.targets)
            .map(|(source, target)| (source.len(), target.len() + 1))
            .collect()
    }

    /// Packs some of them.
    pub fn batch(&self, numbers: &[u32]) -> Batch {
        let pairs: Vec<(&[u32], &[u32])> = numbers.iter().map(|&number| self.get(number)).collect();
        Batch::new(&pairs, numbers, START, END)
    }

    /// Those that have at most so many tokens on each side, and how many have not.
    fn up_to(self, most: usize) -> (Examples, usize) {
        let before = self.len();
        let fits = |(source, target): &(Vec<u32>, Vec<u32>)| source.len() <= most && target.len() <= most;
        let (sources, targets): (Vec<_>, Vec<_>) =
            self.sources.into_iter().zip(self.targets).filter(fits).unzip();
        let left_out = before - sources.len();
        (Examples { sources, targets }, left_out)
    }
}
