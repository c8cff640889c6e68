//! From labeled texts to ids.

use super::config::ClassifyConfig;
use crate::error::TrainError;
use crate::event::{DatasetSummary, MetricValue};
use crate::inherit::Inherited;
use crate::lessons::{Lessons, Validated};
use crate::training_set::TrainingSet;
use couplet_data::{
    DataError, Example, FeatureColumns, FeatureVectors, Features, Feed, Fetch, Files, Labeled, LabeledTexts,
    Labels, Reading, Skipped, Tokenizer, Truncation, UNK, Weight, add_to_checksum, on_all_cores,
};
use couplet_nn::{Classifier, ForwardPass, LabeledBatch, LossStats};
use couplet_search::{Folder, log_probabilities, most_probable};
use couplet_tensor::Params;
use std::path::PathBuf;
use std::sync::Arc;

/// Texts as ids, none of them longer than the model reads, what stands beside them, and the numbers of their labels.
#[derive(Clone, Debug, Default)]
pub struct LabeledExamples {
    texts: Vec<Vec<u32>>,
    beside: FeatureVectors,
    labels: Vec<u32>,
    /// How many texts were cut.
    cut: usize,
}

/// All that a classifier's run needs of its data.
#[derive(Debug)]
pub struct LabeledCorpus {
    /// The texts' tokenizer.
    pub tokenizer: Tokenizer,
    /// How the columns beside a text become numbers.
    pub features: Features,
    /// What a text can be.
    pub labels: Labels,
    /// What the model learns from.
    pub train: TrainingSet,
    /// The numbers beside the training texts.
    pub beside: FeatureVectors,
    /// What it is checked with.
    pub valid: LabeledExamples,
    /// How many training texts were cut.
    pub cut: usize,
    /// Lines of the files that could not be used.
    pub skipped: Skipped,
}

/// Reads labeled texts in which neither text nor label may be empty, with the columns beside them.
pub fn read_labeled(files: &Files, columns: &FeatureColumns) -> Result<LabeledTexts, DataError> {
    Labeled::open(files, columns, Reading::default())?.collect()
}

impl LabeledExamples {
    /// Turns texts and labels into ids, and what stands beside them into numbers.
    pub fn new(
        texts: &LabeledTexts,
        tokenizer: &Tokenizer,
        features: &Features,
        labels: &Labels,
        cut: Truncation,
    ) -> Result<LabeledExamples, DataError> {
        let labels = labels.numbers(texts)?;
        let beside = features.encode(&texts.values);
        let whole = on_all_cores(&texts.texts, |text| tokenizer.encode(text));
        let too_long = whole.iter().filter(|text| text.len() > cut.tokens).count();
        let texts = whole.iter().map(|text| cut.apply(text).into_owned()).collect();
        Ok(LabeledExamples { texts, beside, labels, cut: too_long })
    }

    fn checksum(&self) -> u32 {
        let texts = self.texts.iter().zip(&self.labels).enumerate();
        texts.fold(0, |sum, (number, (text, label))| {
            self.beside.add_to_checksum(add_to_checksum(sum, text, &[*label]), number)
        })
    }
}

impl Fetch for LabeledExamples {
    fn count(&self) -> usize {
        self.texts.len()
    }

    fn lengths(&self) -> Result<Vec<(u32, u32)>, DataError> {
        Ok(self.texts.iter().map(|text| (text.len() as u32, 1)).collect())
    }

    fn fetch(&self, numbers: &[u32]) -> Result<Vec<Example>, DataError> {
        let example = |&number: &u32| Example {
            number,
            source: self.texts[number as usize].clone(),
            target: vec![self.labels[number as usize]],
            ..Example::default()
        };
        Ok(numbers.iter().map(example).collect())
    }
}

/// Packs texts; the label of each is its target, and what stands beside it has its number.
fn batch_of(examples: &[Example], beside: &FeatureVectors) -> LabeledBatch {
    let texts: Vec<&[u32]> = examples.iter().map(|example| &example.source[..]).collect();
    let labels: Vec<u32> = examples.iter().flat_map(|example| &example.target).copied().collect();
    let numbers: Vec<u32> = examples.iter().map(|example| example.number).collect();
    LabeledBatch::new(&texts, &labels, &numbers).with_features(beside.of(&numbers))
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
    examples: &LabeledExamples,
    batch_tokens: usize,
) -> Assessed {
    let texts: Vec<&[u32]> = examples.texts.iter().map(Vec::as_slice).collect();
    let found = log_probabilities(model, params, &texts, &examples.beside, batch_tokens);
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

impl LabeledCorpus {
    /// Trains a tokenizer on the training texts, unless one is inherited, collects their labels, looks at the columns beside them, and
    /// turns all of it into numbers.
    pub fn new(
        config: &ClassifyConfig,
        inherited: Inherited,
        train: &LabeledTexts,
        valid: &LabeledTexts,
    ) -> Result<LabeledCorpus, DataError> {
        LabeledCorpus::of_several(config, inherited, train, Vec::new(), valid)
    }

    /// As [`LabeledCorpus::new`], of texts from several corpora that stand one after the other.
    fn of_several(
        config: &ClassifyConfig,
        inherited: Inherited,
        train: &LabeledTexts,
        corpora: Vec<Weight>,
        valid: &LabeledTexts,
    ) -> Result<LabeledCorpus, DataError> {
        let labels = Labels::of(train)?;
        let tokenizer =
            inherited.source.map_or_else(|| Tokenizer::train(&config.data.source, &train.texts), Ok)?;
        let features = Features::fit(&config.data.features, train)?;
        let examples = |texts| LabeledExamples::new(texts, &tokenizer, &features, &labels, config.cut());
        let (mut train, valid) = (examples(train)?, examples(valid)?);
        let (cut, checksum) = (train.cut, train.checksum());
        let beside = std::mem::take(&mut train.beside);
        let train = TrainingSet::numbered(Arc::new(train), corpora, checksum);
        let skipped = Skipped::default();
        Ok(LabeledCorpus { tokenizer, features, labels, train, beside, valid, cut, skipped })
    }
}

impl Lessons for LabeledCorpus {
    type Config = ClassifyConfig;
    type Model = Classifier;

    fn read(config: &ClassifyConfig, inherited: Inherited) -> Result<LabeledCorpus, DataError> {
        let columns = &config.data.features;
        let mut texts = Labeled::open(&config.data.train, columns, Reading::default())?;
        let train = texts.by_ref().collect::<Result<_, _>>()?;
        let corpora = texts.weights().to_vec();
        let (valid, mut skipped) = Labeled::all(&config.data.valid, columns)?;
        skipped.join(texts.skipped().clone());
        Ok(LabeledCorpus {
            skipped,
            ..LabeledCorpus::of_several(config, inherited, &train, corpora, &valid)?
        })
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn model(&self, params: &mut Params, config: &ClassifyConfig) -> Result<Classifier, TrainError> {
        let (vocabulary, labels) = (self.tokenizer.vocabulary_size(), self.labels.names().len());
        Ok(Classifier::new(params, &config.model, vocabulary, self.features.width(), labels)?)
    }

    fn tokenizer(&self, _part: &str) -> &Tokenizer {
        &self.tokenizer
    }

    fn about(&self) -> DatasetSummary {
        DatasetSummary::Texts {
            texts: self.train.count(),
            truncated: self.cut,
            vocabulary: self.tokenizer.vocabulary_size(),
            labels: self.labels.names().len(),
            tabular_features: self.features.width(),
        }
    }

    fn files(&self, folder: &Folder) -> Vec<(PathBuf, String)> {
        let mut files = vec![
            (folder.source_tokenizer(), self.tokenizer.to_json()),
            (folder.labels(), self.labels.to_text()),
        ];
        if self.features.width() > 0 {
            files.push((folder.features(), self.features.to_toml()));
        }
        files
    }

    fn feed(&self, config: &ClassifyConfig) -> Result<Feed, DataError> {
        self.train.feed(&config.train, LabeledCorpus::cost)
    }

    /// A label is no token.
    fn cost((text, _): (u32, u32)) -> (u32, u32) {
        (text, 0)
    }

    fn loss(
        &self,
        model: &Classifier,
        pass: &ForwardPass,
        examples: &[Example],
        config: &ClassifyConfig,
    ) -> LossStats {
        let mut batch = batch_of(examples, &self.beside);
        batch.texts.drop_words(pass, config.model.encoder.word_dropout, UNK);
        model.loss(pass, &batch, config.label_smoothing())
    }

    fn targets(&self, examples: &[Example]) -> usize {
        examples.len()
    }

    fn checksums(&self) -> [u32; 2] {
        [self.train.checksum(), self.valid.checksum()]
    }

    fn validate(&self, model: &Classifier, params: &Params, config: &ClassifyConfig) -> Validated {
        let Assessed { loss, accuracy, .. } = assess(model, params, &self.valid, config.train.batch_tokens);
        Validated { loss, figure: MetricValue::Accuracy(accuracy), bleu: None }
    }
}
