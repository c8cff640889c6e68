//! From labelled texts to ids.

use super::config::ClassifyConfig;
use crate::error::TrainError;
use crate::event::{About, Figure};
use crate::lessons::{BatchLoss, Lessons, Validated, checksum_of_ids};
use couplet_data::{Cut, DataError, Files, Labelled, LabelledTexts, Labels, Reading, Tokenizer};
use couplet_nn::{Classifier, LabelledBatch, Pass};
use couplet_search::{Folder, log_probabilities, most_probable};
use couplet_tensor::Params;
use std::path::PathBuf;

/// Texts as ids, none of them longer than the model reads, and the numbers of their labels.
#[derive(Clone, Debug, Default)]
pub struct LabelledExamples {
    texts: Vec<Vec<u32>>,
    labels: Vec<u32>,
    /// How many texts were cut.
    cut: usize,
}

/// All that a classifier's run needs of its data.
#[derive(Debug)]
pub struct LabelledCorpus {
    /// The texts' tokenizer.
    pub tokenizer: Tokenizer,
    /// What a text can be.
    pub labels: Labels,
    /// What the model learns from.
    pub train: LabelledExamples,
    /// What it is checked with.
    pub valid: LabelledExamples,
}

/// Reads labelled texts in which nothing may be empty: one file with the label first, or a file of texts and one of labels.
pub fn read_labelled(files: &Files) -> Result<LabelledTexts, DataError> {
    Labelled::open(files, Reading::default())?.collect()
}

impl LabelledExamples {
    /// Turns texts and labels into ids.
    pub fn new(
        texts: &LabelledTexts,
        tokenizer: &Tokenizer,
        labels: &Labels,
        cut: Cut,
    ) -> Result<LabelledExamples, DataError> {
        let labels = labels.numbers(texts)?;
        let whole: Vec<Vec<u32>> = texts.texts.iter().map(|text| tokenizer.encode(text)).collect();
        let too_long = whole.iter().filter(|text| text.len() > cut.tokens).count();
        let texts = whole.iter().map(|text| cut.apply(text).to_vec()).collect();
        Ok(LabelledExamples { texts, labels, cut: too_long })
    }

    /// Packs some of them.
    pub fn batch(&self, numbers: &[u32]) -> LabelledBatch {
        let texts: Vec<&[u32]> = numbers.iter().map(|&number| &self.texts[number as usize][..]).collect();
        let labels: Vec<u32> = numbers.iter().map(|&number| self.labels[number as usize]).collect();
        LabelledBatch::new(&texts, &labels, numbers)
    }
}

/// How well a classifier does.
#[derive(Clone, Debug, PartialEq)]
pub struct Assessed {
    /// The mean of `−log P(label)`.
    pub loss: f64,
    /// The number of the label that each text seems to have.
    pub predicted: Vec<usize>,
    /// The share of labels that are right, from 0 to 100.
    pub accuracy: f64,
}

/// Classifies examples and compares the result with their labels.
pub fn assess(
    model: &Classifier,
    params: &Params,
    examples: &LabelledExamples,
    batch_tokens: usize,
) -> Assessed {
    let texts: Vec<&[u32]> = examples.texts.iter().map(Vec::as_slice).collect();
    let found = log_probabilities(model, params, &texts, batch_tokens);
    let labels = || examples.labels.iter().map(|&label| label as usize);
    let loss_of = |(of_text, label): (&Vec<f32>, usize)| -f64::from(of_text[label]);
    let predicted: Vec<usize> =
        found.iter().filter_map(|of_text| most_probable(of_text)).map(|best| best.label).collect();
    let right = predicted.iter().zip(labels()).filter(|(predicted, label)| *predicted == label).count();
    let count = texts.len().max(1) as f64;
    Assessed {
        loss: found.iter().zip(labels()).map(loss_of).sum::<f64>() / count,
        accuracy: 100.0 * right as f64 / count,
        predicted,
    }
}

impl LabelledCorpus {
    /// Trains a tokenizer on the training texts, collects their labels, and turns all texts into ids.
    pub fn new(
        config: &ClassifyConfig,
        train: &LabelledTexts,
        valid: &LabelledTexts,
    ) -> Result<LabelledCorpus, DataError> {
        let labels = Labels::of(train)?;
        let tokenizer = Tokenizer::train(&config.data.source, &train.texts)?;
        let examples = |texts| LabelledExamples::new(texts, &tokenizer, &labels, config.cut());
        let (train, valid) = (examples(train)?, examples(valid)?);
        Ok(LabelledCorpus { tokenizer, labels, train, valid })
    }
}

impl Lessons for LabelledCorpus {
    type Config = ClassifyConfig;
    type Model = Classifier;

    fn read(config: &ClassifyConfig) -> Result<LabelledCorpus, DataError> {
        let (train, valid) = (read_labelled(&config.data.train)?, read_labelled(&config.data.valid)?);
        LabelledCorpus::new(config, &train, &valid)
    }

    fn model(&self, params: &mut Params, config: &ClassifyConfig) -> Result<Classifier, TrainError> {
        let (vocabulary, labels) = (self.tokenizer.vocabulary_size(), self.labels.names().len());
        Ok(Classifier::new(params, &config.model, vocabulary, labels)?)
    }

    fn about(&self) -> About {
        About::Texts {
            texts: self.train.texts.len(),
            cut: self.train.cut,
            vocabulary: self.tokenizer.vocabulary_size(),
            labels: self.labels.names().len(),
        }
    }

    fn files(&self, folder: &Folder) -> Vec<(PathBuf, String)> {
        vec![(folder.source_tokenizer(), self.tokenizer.to_json()), (folder.labels(), self.labels.to_text())]
    }

    fn lengths(&self) -> Vec<(usize, usize)> {
        self.train.texts.iter().map(|text| (text.len(), 0)).collect()
    }

    fn loss(&self, model: &Classifier, pass: &Pass, examples: &[u32], config: &ClassifyConfig) -> BatchLoss {
        let batch = self.train.batch(examples);
        let mean = model.loss(pass, &batch, config.label_smoothing()).mean;
        BatchLoss { mean, targets: batch.labels.len(), tokens: batch.texts.tokens.len() }
    }

    fn targets(&self, examples: &[u32]) -> usize {
        examples.len()
    }

    fn checksum(&self) -> u32 {
        let LabelledExamples { texts, labels, .. } = &self.train;
        checksum_of_ids(texts.iter().map(Vec::as_slice).chain([labels.as_slice()]))
    }

    fn validate(&self, model: &Classifier, params: &Params, config: &ClassifyConfig) -> Validated {
        let Assessed { loss, accuracy, .. } = assess(model, params, &self.valid, config.train.batch_tokens);
        Validated { loss, figure: Figure::Accuracy(accuracy), bleu: None }
    }
}
