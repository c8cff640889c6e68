//! From texts to pieces of ids.

use super::config::LanguageConfig;
use crate::corpus::Examples;
use crate::error::TrainError;
use crate::event::{DatasetSummary, MetricValue};
use crate::inherit::Inherited;
use crate::lessons::{Lessons, Validated};
use crate::training_set::TrainingSet;
use couplet_data::{
    DataError, Example, Feed, Skipped, Tokenizer, UNK, add_to_checksum, on_all_cores, pieces, read_texts,
};
use couplet_nn::{ForwardPass, LanguageModel, LossStats, NextTokens};
use couplet_search::{Folder, losses};
use couplet_tensor::Params;
use std::path::PathBuf;

/// All that a language model's run needs of its data.
#[derive(Debug)]
pub struct TextCorpus {
    /// The texts' tokenizer.
    pub tokenizer: Tokenizer,
    /// The pieces of what the model learns from, as ids.
    pub train: TrainingSet,
    /// The pieces of what it is checked with.
    pub valid: Vec<Vec<u32>>,
    /// How many texts it learns from.
    pub texts: usize,
    /// Lines of the files that could not be used.
    pub skipped: Skipped,
}

impl TextCorpus {
    /// Trains a tokenizer on the training texts, unless one is inherited, and turns all texts into ids.
    pub fn new(
        config: &LanguageConfig,
        inherited: Inherited,
        train: &[String],
        valid: &[String],
    ) -> Result<TextCorpus, DataError> {
        let tokenizer = inherited.source.map_or_else(|| Tokenizer::train(&config.data.source, train), Ok)?;
        let of_texts = |texts: &[String]| -> Vec<Vec<u32>> {
            let of_text = |text: &String| pieces(&tokenizer.encode(text), config.data.max_tokens);
            on_all_cores(texts, of_text).into_iter().flatten().collect()
        };
        let texts = train.len();
        let (train, valid) = (of_texts(train), of_texts(valid));
        let train = Examples::of_texts(train).into_set(Vec::new());
        Ok(TextCorpus { tokenizer, train, valid, texts, skipped: Skipped::default() })
    }
}

impl Lessons for TextCorpus {
    type Config = LanguageConfig;
    type Model = LanguageModel;

    fn read(config: &LanguageConfig, inherited: Inherited) -> Result<TextCorpus, DataError> {
        let (train, mut skipped) = read_texts(&config.data.train, config.bad_lines())?;
        let (valid, more) = read_texts(&config.data.valid, config.bad_lines())?;
        skipped.join(more);
        Ok(TextCorpus { skipped, ..TextCorpus::new(config, inherited, &train, &valid)? })
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn model(&self, params: &mut Params, config: &LanguageConfig) -> Result<LanguageModel, TrainError> {
        Ok(LanguageModel::new(params, &config.model, self.tokenizer.vocabulary_size())?)
    }

    fn tokenizer(&self, _part: &str) -> &Tokenizer {
        &self.tokenizer
    }

    fn about(&self) -> DatasetSummary {
        DatasetSummary::Lines {
            lines: self.texts,
            chunks: self.train.count(),
            vocabulary: self.tokenizer.vocabulary_size(),
        }
    }

    fn files(&self, folder: &Folder) -> Vec<(PathBuf, String)> {
        vec![(folder.source_tokenizer(), self.tokenizer.to_json())]
    }

    fn feed(&self, config: &LanguageConfig) -> Result<Feed, DataError> {
        self.train.feed(&config.train, TextCorpus::cost)
    }

    /// Every token but the first is predicted from those before it.
    fn cost((tokens, _): (u32, u32)) -> (u32, u32) {
        (tokens - 1, 0)
    }

    fn loss(
        &self,
        model: &LanguageModel,
        pass: &ForwardPass,
        examples: &[Example],
        config: &LanguageConfig,
    ) -> LossStats {
        let texts: Vec<&[u32]> = examples.iter().map(|example| &example.source[..]).collect();
        let numbers: Vec<u32> = examples.iter().map(|example| example.number).collect();
        let mut batch = NextTokens::new(&texts, &numbers);
        batch.drop_words(pass, config.model.encoder.word_dropout, UNK);
        model.loss(pass, &batch, config.label_smoothing())
    }

    fn targets(&self, examples: &[Example]) -> usize {
        examples.iter().map(|example| example.source.len() - 1).sum()
    }

    fn checksums(&self) -> [u32; 2] {
        let valid = self.valid.iter().fold(0, |sum, piece| add_to_checksum(sum, piece, &[]));
        [self.train.checksum(), valid]
    }

    fn validate(&self, model: &LanguageModel, params: &Params, config: &LanguageConfig) -> Validated {
        let pieces: Vec<&[u32]> = self.valid.iter().map(Vec::as_slice).collect();
        let of_pieces = losses(model, params, &pieces, config.train.batch_tokens);
        let tokens: usize = of_pieces.iter().map(Vec::len).sum();
        let sum: f64 = of_pieces.iter().flatten().map(|&loss| f64::from(loss)).sum();
        let loss = sum / tokens.max(1) as f64;
        Validated { loss, figure: MetricValue::Perplexity(loss.exp()), bleu: None }
    }
}
