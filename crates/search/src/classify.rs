//! Text in, label out; with columns beside the text where the model has learned from such.

use crate::folder::{Folder, FolderError};
use crate::task::Task;
use couplet_data::{
    Columns, FeatureColumns, FeatureVectors, FeaturedText, Features, Files, Format, Labels, PaddingSide,
    Tokenizer, Truncation, TruncationSide, Value, in_order,
};
use couplet_nn::{Classifier, ClassifierConfig, ForwardPass, PackedTokens};
use couplet_tensor::{Device, Params};
use serde::Deserialize;
use std::borrow::Cow;
use std::path::Path;

/// Tokens of the texts that are read together.
const BATCH_TOKENS: usize = 4096;

/// What of a classifier's config is needed to use it. The rest is the training's.
#[derive(Clone, Debug, Deserialize)]
struct FolderConfig {
    data: FolderData,
    #[serde(default)]
    model: ClassifierConfig,
}

#[derive(Clone, Debug, Deserialize)]
struct FolderData {
    train: Files,
    #[serde(default)]
    features: FeatureColumns,
    max_tokens: usize,
    truncation_side: TruncationSide,
    #[serde(default = "masked")]
    mask: bool,
    #[serde(default)]
    padding_side: Option<PaddingSide>,
}

fn masked() -> bool {
    true
}

/// A classifier from a folder, ready to use.
#[derive(Debug)]
pub struct LoadedClassifier {
    /// How a text becomes tokens.
    pub tokenizer: Tokenizer,
    /// How many of them it reads.
    pub cut: Truncation,
    /// Where texts and labels were in the training data, if that is a table.
    pub table: Columns,
    /// The columns that it reads beside a text.
    pub columns: FeatureColumns,
    /// How they become numbers.
    pub features: Features,
    /// What a text can be.
    pub labels: Labels,
    /// The model.
    pub model: Classifier,
    /// Its weights.
    pub params: Params,
}

/// What a text seems to be.
#[derive(Clone, Debug, PartialEq)]
pub struct Prediction {
    /// The number of the most probable label.
    pub label: usize,
    /// Its probability.
    pub probability: f32,
}

impl LoadedClassifier {
    /// Reads a model folder.
    pub fn open(folder: &Folder, device: &Device) -> Result<LoadedClassifier, FolderError> {
        let FolderConfig { data, model: config } = folder.read_config(&[Task::Classify])?;
        let tokenizer = Tokenizer::load(folder.source_tokenizer())?;
        let labels = Labels::load(folder.labels())?;
        let features = if data.features.is_empty() {
            Features::default()
        } else {
            Features::load(folder.features(), &data.features)?
        };
        let mut params = Params::new(device, 0);
        let (vocabulary, count) = (tokenizer.vocabulary_size(), labels.names().len());
        let model = Classifier::new(&mut params, &config, vocabulary, features.width(), count)
            .map_err(|source| FolderError::Model { path: folder.config(), source })?;
        folder.read_weights(&mut params)?;
        let cut = text_cut(
            data.max_tokens,
            data.truncation_side,
            read_padding(data.mask, data.padding_side),
            &config,
        );
        let table = data.train.corpora().first().map(|corpus| corpus.columns.clone()).unwrap_or_default();
        Ok(LoadedClassifier {
            tokenizer,
            cut,
            table,
            columns: data.features,
            features,
            labels,
            model,
            params,
        })
    }

    /// Says what each line is, in their order; nothing of an empty line. Whatever the model reads beside a text is missing.
    pub fn classify<S: AsRef<str>>(&self, lines: &[S]) -> Vec<Option<Prediction>> {
        let text = |line: &S| FeaturedText {
            text: line.as_ref().to_owned(),
            values: vec![Value::Missing; self.columns.len()],
        };
        self.classify_rows(&lines.iter().map(text).collect::<Vec<_>>())
    }

    /// Says what each text is, with what stands beside it, in their order; nothing of an empty text.
    pub fn classify_rows(&self, rows: &[FeaturedText]) -> Vec<Option<Prediction>> {
        let values: Vec<Vec<Value>> = rows.iter().map(|row| row.values.clone()).collect();
        let texts: Vec<Vec<u32>> = rows.iter().map(|row| self.tokenizer.encode(&row.text)).collect();
        let texts: Vec<Cow<'_, [u32]>> = texts.iter().map(|text| self.cut.apply(text)).collect();
        let texts: Vec<&[u32]> = texts.iter().map(AsRef::as_ref).collect();
        let beside = self.features.encode(&values);
        let found = log_probabilities(&self.model, &self.params, &texts, &beside, BATCH_TOKENS);
        found.iter().map(|of_text| most_probable(of_text)).collect()
    }

    /// A file of labeled texts. It is a table with the columns of the training data where the model reads some beside the text, or
    /// where the file's name ends with `.csv` or `.jsonl`; otherwise each line has a label, a tab and a text.
    pub fn labeled(&self, path: &Path) -> Files {
        let format = match Format::of_path(path) {
            _ if !self.columns.is_empty() => Some(Format::of_table(path)),
            Some(Format::Tsv(_)) => None,
            format => format,
        };
        match format {
            Some(format) if self.table != Columns::default() => Files::table(format, self.table.clone()),
            _ => Files::tsv(path),
        }
    }
}

/// Where texts are filled up with padding that is read like tokens: nowhere, where it is masked.
pub fn read_padding(mask: bool, pad: Option<PaddingSide>) -> Option<PaddingSide> {
    (!mask).then(|| pad.unwrap_or(PaddingSide::Right))
}

/// How the texts of a model are cut and filled up: as the config says, and to what the model has room for.
pub fn text_cut(
    max_tokens: usize,
    keep: TruncationSide,
    pad: Option<PaddingSide>,
    config: &ClassifierConfig,
) -> Truncation {
    Truncation {
        tokens: config.longest_text().map_or(max_tokens, |longest| longest.min(max_tokens)),
        side: keep,
        padding: pad,
    }
}

/// The logarithm of each label's probability, for each text in their order, with the numbers beside it; nothing for a text without tokens.
pub fn log_probabilities(
    model: &Classifier,
    params: &Params,
    texts: &[&[u32]],
    beside: &FeatureVectors,
    batch_tokens: usize,
) -> Vec<Vec<f32>> {
    let lengths: Vec<(usize, usize)> = texts.iter().map(|text| (text.len(), 0)).collect();
    let mut found = vec![Vec::new(); texts.len()];
    for mut batch in in_order(&lengths, batch_tokens) {
        batch.retain(|&text| lengths[text as usize].0 > 0);
        if batch.is_empty() {
            continue;
        }
        let tokens: Vec<&[u32]> = batch.iter().map(|&text| texts[text as usize]).collect();
        let packed = PackedTokens::new(&tokens, &batch);
        let of_batch = model.log_probabilities(&ForwardPass::inference(params), &packed, &beside.of(&batch));
        for (&text, of_text) in batch.iter().zip(of_batch) {
            found[text as usize] = of_text;
        }
    }
    found
}

/// The label with the largest of these numbers, the first of several that are alike.
pub fn most_probable(log_probabilities: &[f32]) -> Option<Prediction> {
    let all = log_probabilities.iter().copied().enumerate();
    let best = all.reduce(|best, next| if next.1 > best.1 { next } else { best });
    best.map(|(label, log_probability)| Prediction { label, probability: log_probability.exp() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_probable_label_by_hand() {
        let found = most_probable(&[0.25f32.ln(), 0.5f32.ln(), 0.25f32.ln()]);
        assert_eq!(found, Some(Prediction { label: 1, probability: 0.5 }));
        assert_eq!(most_probable(&[0.5f32.ln(), 0.5f32.ln()]).map(|found| found.label), Some(0));
        assert_eq!(most_probable(&[]), None);
    }

    /// A text is cut to what is asked for, or to what there is room for, whichever is less.
    #[test]
    fn a_model_may_have_less_room_than_the_data() {
        let flatten: ClassifierConfig =
            toml::from_str("pooling = { kind = 'flatten', steps = 20 }").expect("a sound config");
        let tokens =
            |most, config: &ClassifierConfig| text_cut(most, TruncationSide::Left, None, config).tokens;
        assert_eq!([tokens(500, &flatten), tokens(10, &flatten)], [20, 10]);
        assert_eq!(tokens(500, &ClassifierConfig::default()), 500);
    }
}
