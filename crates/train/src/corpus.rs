//! From pairs of text to what a run learns from.

use crate::config::{Config, DataConfig};
use crate::error::TrainError;
use crate::event::{DatasetSummary, MetricValue};
use crate::inherit::Inherited;
use crate::lessons::{Lessons, Validated};
use crate::prepared;
use crate::training_set::TrainingSet;
use crate::validate::mean_loss;
use couplet_data::{
    BadLines, DataError, END, Empty, Encode, Example, Feed, Fetch, Files, Pair, PairIterator, PairTruncation,
    Pairs, Reading, START, Skipped, SourceWords, Stream, StreamOrder, StreamedText, Tokenizer,
    TokenizerConfig, UNK, Weight, add_to_checksum, on_all_cores, read_texts,
};
use couplet_metrics::bleu;
use couplet_nn::{Batch, ForwardPass, LossStats, ModelConfig, Seq2Seq};
use couplet_search::{Folder, Manifest, SearchConfig, TargetLengths, Task, Translator};
use couplet_tensor::Params;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Pairs as ids, without special tokens, each with its place as its number. All ids lie in one row: if every side of every pair had
/// memory of its own, that of short sentences would be doubled by what it takes to find it.
#[derive(Clone, Debug, Default)]
pub struct Examples {
    ids: Vec<u32>,
    /// Where the source of each ends among the ids, its target, and what it can copy, in this order.
    ends: Vec<[usize; 3]>,
}

/// All that a run needs of its data.
#[derive(Debug)]
pub struct Corpus {
    /// The sources' tokenizer.
    pub source: Tokenizer,
    /// The targets' tokenizer.
    pub target: Tokenizer,
    /// What the model learns from.
    pub train: TrainingSet,
    /// The lengths of its targets, which say how long an output may be.
    pub target_lengths: TargetLengths,
    /// What it is checked with.
    pub valid: Examples,
    /// The same as text.
    pub valid_pairs: Vec<Pair>,
    /// Training pairs that are too long to be used.
    pub left_out: usize,
    /// Lines of the files that could not be used.
    pub skipped: Skipped,
    /// How many texts the training pairs are pieces of, where what comes out is what goes in.
    pub texts: Option<usize>,
}

/// Reads texts that are to come out as they went in.
pub fn read_same(path: &Path, bad_lines: BadLines) -> Result<(Vec<Pair>, Skipped), DataError> {
    let pair = |text: String| Pair { source: text.clone(), target: text };
    let (texts, skipped) = read_texts(path, bad_lines)?;
    Ok((texts.into_iter().map(pair).collect(), skipped))
}

/// Reads pairs.
pub fn read(files: &Files, empty: Empty) -> Result<Vec<Pair>, DataError> {
    Pairs::open(files, Reading { empty })?.collect()
}

impl Corpus {
    /// Trains tokenizers on the training pairs, unless they are inherited, and turns all pairs into ids.
    pub fn new(
        config: &Config,
        inherited: Inherited,
        train: &[Pair],
        valid: &[Pair],
    ) -> Result<Corpus, DataError> {
        let corpora = [Weight { examples: train.len() as u32, weight: 1.0 }];
        Corpus::of_several(config, inherited, train, &corpora, valid)
    }

    /// As [`Corpus::new`], of pairs from several corpora that stand one after the other.
    fn of_several(
        config: &Config,
        inherited: Inherited,
        train: &[Pair],
        corpora: &[Weight],
        valid: &[Pair],
    ) -> Result<Corpus, DataError> {
        let (data, copies) = (&config.data, config.model.decoder.copy);
        let [source, target] = tokenizers_of(data, inherited, train)?;
        let ids = on_all_cores(train, encoder(&source, &target, data.truncation(), copies));
        let mut weights = corpora.to_vec();
        let mut rest = &ids[..];
        for corpus in &mut weights {
            let (own, others) = rest.split_at(corpus.examples as usize);
            (corpus.examples, rest) = (own.iter().flatten().count() as u32, others);
        }
        let examples: Examples = ids.into_iter().flatten().collect();
        let left_out = train.len() - examples.len();
        let train = examples.into_set(weights);
        let valid_pairs = valid.to_vec();
        let valid = Examples::new(valid, &source, &target, copies);
        let (target_lengths, skipped) = (train.target_lengths(data.max_tokens)?, Skipped::default());
        Ok(Corpus {
            source,
            target,
            train,
            target_lengths,
            valid,
            valid_pairs,
            left_out,
            skipped,
            texts: None,
        })
    }

    /// Texts that are to come out as they went in, the long ones in pieces.
    fn of_texts(config: &Config, inherited: Inherited) -> Result<Corpus, DataError> {
        let DataConfig { source, max_tokens, .. } = &config.data;
        let [train, valid] = config.texts().map(|path| read_same(path, config.data.train.bad_lines()));
        let ((train, mut skipped), (valid_pairs, more)) = (train?, valid?);
        skipped.join(more);
        let tokenizer = match inherited.source {
            Some(tokenizer) => tokenizer,
            None => Tokenizer::train(source, train.iter().map(|pair| &pair.source))?,
        };
        let pieces =
            |pairs: &[Pair]| Examples::new(pairs, &tokenizer, &tokenizer, false).in_pieces(*max_tokens);
        let (pieces_of_train, valid) = (pieces(&train).into_set(Vec::new()), pieces(&valid_pairs));
        Ok(Corpus {
            source: tokenizer.clone(),
            target: tokenizer,
            target_lengths: pieces_of_train.target_lengths(*max_tokens)?,
            train: pieces_of_train,
            valid,
            valid_pairs,
            left_out: 0,
            skipped,
            texts: Some(train.len()),
        })
    }

    /// Pairs that are read as the run goes on. Before, they are read for their number and checksum and for the vocabularies.
    fn streamed(config: &Config, inherited: Inherited) -> Result<Corpus, DataError> {
        let data = &config.data;
        data.train.check_rereadable()?;
        let Survey { weights, checksum, mut skipped } = Survey::of(&data.train, |_| Ok(()))?;
        let pairs = weights.iter().map(|corpus| corpus.examples as usize).sum();
        let [source, target] = tokenizers(data, inherited, pairs, || pairs_of(&data.train))?;
        let texts = data.train.apart().zip(weights).map(|(files, weight)| {
            let open = move || Ok(Box::new(pairs_of(&files)?) as PairIterator);
            StreamedText { open: Box::new(open), weight }
        });
        let order = StreamOrder {
            buffer: data.shuffle_buffer,
            budget_tokens: config.train.batch_tokens,
            cost: Corpus::cost,
            seed: config.train.seed,
        };
        let copies = config.model.decoder.copy;
        let encode = encoder(&source, &target, data.truncation(), copies);
        let stream = Stream::new(texts.collect(), encode, order);
        let train = TrainingSet::Streamed { stream: Arc::new(stream), checksum };
        let (valid_pairs, more) = Pairs::all(&data.valid)?;
        skipped.join(more);
        let valid = Examples::new(&valid_pairs, &source, &target, copies);
        let target_lengths = train.target_lengths(data.max_tokens)?;
        Ok(Corpus {
            source,
            target,
            train,
            target_lengths,
            valid,
            valid_pairs,
            left_out: 0,
            skipped,
            texts: None,
        })
    }

    /// A config's way to search, with the lengths of the training data.
    pub fn search(&self, config: &Config) -> SearchConfig {
        SearchConfig { target_lengths: self.target_lengths, ..config.search.clone() }
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

    fn read(config: &Config, inherited: Inherited) -> Result<Corpus, DataError> {
        let data = &config.data;
        if config.task == Task::Autoencode {
            return Corpus::of_texts(config, inherited);
        }
        if let Some(folder) = &data.prepared {
            return prepared::read(folder, config);
        }
        if data.stream {
            return Corpus::streamed(config, inherited);
        }
        let mut pairs = pairs_of(&data.train)?;
        let train: Vec<Pair> = pairs.by_ref().collect::<Result<_, _>>()?;
        let mut skipped = pairs.skipped().clone();
        let (valid, more) = Pairs::all(&data.valid)?;
        skipped.join(more);
        Ok(Corpus { skipped, ..Corpus::of_several(config, inherited, &train, pairs.weights(), &valid)? })
    }

    fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn model(&self, params: &mut Params, config: &Config) -> Result<Seq2Seq, TrainError> {
        if self.train.count() == 0 {
            return Err(TrainError::NothingToLearn { max_tokens: config.data.max_tokens });
        }
        let (sources, targets) = (self.source.vocabulary_size(), self.target.vocabulary_size());
        Ok(Seq2Seq::new(params, &config.model, sources, targets)?)
    }

    fn tokenizer(&self, part: &str) -> &Tokenizer {
        if part == "decoder" { &self.target } else { &self.source }
    }

    fn about(&self) -> DatasetSummary {
        let (pairs, vocabularies) =
            (self.train.count(), [&self.source, &self.target].map(Tokenizer::vocabulary_size));
        match self.texts {
            Some(lines) => DatasetSummary::Lines { lines, chunks: pairs, vocabulary: vocabularies[0] },
            None => DatasetSummary::Pairs { pairs, skipped: self.left_out, vocabularies },
        }
    }

    fn files(&self, folder: &Folder) -> Vec<(PathBuf, String)> {
        vec![
            (folder.source_tokenizer(), self.source.to_json()),
            (folder.target_tokenizer(), self.target.to_json()),
        ]
    }

    fn manifest(&self) -> Manifest {
        Manifest::new(Some(self.target_lengths))
    }

    fn feed(&self, config: &Config) -> Result<Feed, DataError> {
        self.train.feed(&config.train, Corpus::cost)
    }

    /// The source's tokens, and the target's with its end.
    fn cost((source, target): (u32, u32)) -> (u32, u32) {
        (source, target + 1)
    }

    fn loss(&self, model: &Seq2Seq, pass: &ForwardPass, examples: &[Example], config: &Config) -> LossStats {
        let mut batch = batch_of(examples, model);
        let guessed = config.train.scheduled_sampling_at(pass.update());
        if guessed > 0.0 {
            let guesses = model.predict_known(&ForwardPass::inference(pass.params()), &batch, UNK);
            batch.mix_predictions(pass, guessed, &guesses);
        }
        let ModelConfig { encoder, decoder, .. } = &config.model;
        batch.drop_words(pass, [encoder.word_dropout, decoder.word_dropout], UNK);
        model.loss(pass, &batch, config.label_smoothing())
    }

    fn targets(&self, examples: &[Example]) -> usize {
        examples.iter().map(|example| example.target.len() + 1).sum()
    }

    fn checksums(&self) -> [u32; 2] {
        [self.train.checksum(), self.valid.checksum()]
    }

    fn validate(&self, model: &Seq2Seq, params: &Params, config: &Config) -> Validated {
        let loss = mean_loss(model, params, &self.valid, config.train.batch_tokens);
        let lines = config.train.validation_translations;
        let bleu = (lines > 0).then(|| self.bleu(model, params, lines, &self.search(config)));
        Validated { loss, figure: MetricValue::Perplexity(loss.exp()), bleu }
    }
}

/// Packs examples for a model; those of one that copies with what it can copy.
pub fn batch_of<'a>(examples: impl IntoIterator<Item = &'a Example>, model: &Seq2Seq) -> Batch {
    let examples: Vec<&Example> = examples.into_iter().collect();
    let pairs: Vec<(&[u32], &[u32])> =
        examples.iter().map(|example| (&example.source[..], &example.target[..])).collect();
    let numbers: Vec<u32> = examples.iter().map(|example| example.number).collect();
    let batch = Batch::new(&pairs, &numbers, START, END);
    if !model.supports_copy() {
        return batch;
    }
    let copied: Vec<&[u32]> = examples.iter().map(|example| &example.copied[..]).collect();
    batch.copying(&copied, model.vocabulary(), UNK)
}

pub(crate) fn pairs_of(files: &Files) -> Result<Pairs, DataError> {
    Pairs::open(files, Reading::default())
}

/// What is known of text after it has been read once.
pub(crate) struct Survey {
    /// How many pairs each corpus has, and how often they come up.
    pub(crate) weights: Vec<Weight>,
    /// Of all text, and of the weights.
    pub(crate) checksum: u32,
    /// Lines that could not be used.
    pub(crate) skipped: Skipped,
}

impl Survey {
    /// Reads text; `watch` is told the number of each pair, and may end it.
    pub(crate) fn of(
        files: &Files,
        watch: impl Fn(usize) -> Result<(), DataError>,
    ) -> Result<Survey, DataError> {
        let mut survey = Survey { weights: Vec::new(), checksum: 0, skipped: Skipped::default() };
        let mut number = 0;
        for files in files.apart() {
            let mut pairs = pairs_of(&files)?;
            for pair in pairs.by_ref() {
                watch(number)?;
                number += 1;
                let Pair { source, target } = pair?;
                for text in [source, target] {
                    survey.add(&(text.len() as u64).to_le_bytes());
                    survey.add(text.as_bytes());
                }
            }
            survey.skipped.join(pairs.skipped().clone());
            for corpus in pairs.weights() {
                survey.weights.push(*corpus);
                survey.add(&corpus.weight.to_le_bytes());
            }
        }
        Ok(survey)
    }

    fn add(&mut self, bytes: &[u8]) {
        self.checksum = crc32c::crc32c_append(self.checksum, bytes);
    }
}

/// Makes the tokenizers of both sides that are not inherited: reads the files that the config names, or learns from training pairs.
pub fn tokenizers_of(
    config: &DataConfig,
    inherited: Inherited,
    train: &[Pair],
) -> Result<[Tokenizer; 2], DataError> {
    tokenizers(config, inherited, train.len(), || Ok(train.iter().cloned().map(Ok)))
}

/// Trains the tokenizers of both sides that are not inherited, at the same time, on pairs that can be read as often as is needed.
pub(crate) fn tokenizers<I>(
    config: &DataConfig,
    inherited: Inherited,
    count: usize,
    pairs: impl Fn() -> Result<I, DataError> + Sync,
) -> Result<[Tokenizer; 2], DataError>
where
    I: Iterator<Item = Result<Pair, DataError>>,
{
    // Spread over all pairs, since the beginning of a corpus is often unlike the rest of it.
    let step = match config.vocabulary_sample {
        0 => 1,
        most => count.div_ceil(most).max(1),
    };
    let made =
        |given: Option<Tokenizer>, config: &TokenizerConfig, texts: fn(Pair) -> Vec<String>| match given {
            Some(given) => Ok(given),
            None => train_tokenizer(config, pairs()?.step_by(step), texts),
        };
    let Inherited { source, target } = inherited;
    if config.joint_vocabulary {
        let both = made(source, &config.source, |pair| vec![pair.source, pair.target])?;
        return Ok([both.clone(), both]);
    }
    std::thread::scope(|scope| {
        let source = scope.spawn(|| made(source, &config.source, |pair| vec![pair.source]));
        let target = made(target, &config.target, |pair| vec![pair.target]);
        let source = source.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        Ok([source?, target?])
    })
}

/// Trains a tokenizer on some texts of each pair.
fn train_tokenizer(
    config: &TokenizerConfig,
    pairs: impl Iterator<Item = Result<Pair, DataError>>,
    texts: fn(Pair) -> Vec<String>,
) -> Result<Tokenizer, DataError> {
    let mut failed = None;
    let sound = pairs.map_while(|pair| pair.map_err(|error| failed = Some(error)).ok());
    let trained = Tokenizer::train(config, sound.flat_map(texts));
    failed.map_or(trained, Err)
}

/// What makes ids of a pair, unless it is left out because it is too long; for a model that copies, with what it can copy.
pub(crate) fn encoder(source: &Tokenizer, target: &Tokenizer, cut: PairTruncation, copies: bool) -> Encode {
    let (source, target) = (source.clone(), target.clone());
    Box::new(move |pair| {
        let words =
            if copies { words_of(&pair.source, &source, &target, cut)? } else { SourceWords::default() };
        let ids = [source.encode(&pair.source), words.encode(&pair.target, &target)];
        let [source, target] = cut.apply(ids)?;
        Some(Example { source, target, copied: words.into_ids(), ..Example::default() })
    })
}

/// What can be copied from a source: as much of it as the model reads.
fn words_of(line: &str, source: &Tokenizer, target: &Tokenizer, cut: PairTruncation) -> Option<SourceWords> {
    let words = SourceWords::new(line, source, target);
    let [left, _] = cut.apply([words.ids().to_vec(), Vec::new()])?;
    Some(words.with_ids(left))
}

impl Examples {
    /// Turns pairs into ids, on all cores; for a model that copies, with what it can copy.
    pub fn new(pairs: &[Pair], source: &Tokenizer, target: &Tokenizer, copies: bool) -> Examples {
        let examples = on_all_cores(pairs, encoder(source, target, PairTruncation::NONE, copies));
        examples.into_iter().flatten().collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// One of them.
    pub fn get(&self, number: u32) -> Example {
        let [source, target, copied] = self.parts(number as usize).map(<[u32]>::to_vec);
        Example { number, source, target, copied }
    }

    /// The source of one, its target, and what it can copy.
    fn parts(&self, place: usize) -> [&[u32]; 3] {
        let start = place.checked_sub(1).map_or(0, |before| self.ends[before][2]);
        let [source, target, copied] = self.ends[place];
        [&self.ids[start..source], &self.ids[source..target], &self.ids[target..copied]]
    }

    fn iter(&self) -> impl Iterator<Item = [&[u32]; 3]> {
        (0..self.len()).map(|place| self.parts(place))
    }

    /// What each costs a batch: the source's tokens, and the target's with its end.
    pub fn costs(&self) -> Vec<(usize, usize)> {
        self.iter().map(|[source, target, _]| (source.len(), target.len() + 1)).collect()
    }

    /// Packs some of them for a model.
    pub fn batch(&self, numbers: &[u32], model: &Seq2Seq) -> Batch {
        let examples: Vec<Example> = numbers.iter().map(|&number| self.get(number)).collect();
        batch_of(&examples, model)
    }

    /// Pieces of at most so many tokens, of texts that are the same on both sides.
    fn in_pieces(self, most: usize) -> Examples {
        let pieces = self.iter().flat_map(|[text, ..]| text.chunks(most));
        pieces
            .map(|piece| Example { source: piece.to_vec(), target: piece.to_vec(), ..Example::default() })
            .collect()
    }

    /// Texts that have no target of their own.
    pub(crate) fn of_texts(texts: Vec<Vec<u32>>) -> Examples {
        texts.into_iter().map(|source| Example { source, ..Example::default() }).collect()
    }

    /// As something to learn from, of one corpus or of several.
    pub(crate) fn into_set(self, weights: Vec<Weight>) -> TrainingSet {
        let checksum = self.checksum();
        TrainingSet::numbered(Arc::new(self), weights, checksum)
    }

    fn checksum(&self) -> u32 {
        self.iter().fold(0, |sum, [source, target, copied]| {
            let sum = add_to_checksum(sum, source, target);
            if copied.is_empty() { sum } else { add_to_checksum(sum, copied, &[]) }
        })
    }
}

/// They are numbered anew, by their places.
impl FromIterator<Example> for Examples {
    fn from_iter<I: IntoIterator<Item = Example>>(examples: I) -> Examples {
        let mut all = Examples::default();
        for Example { source, target, copied, .. } in examples {
            let ends = [source, target, copied].map(|part| {
                all.ids.extend(part);
                all.ids.len()
            });
            all.ends.push(ends);
        }
        all.ids.shrink_to_fit();
        all.ends.shrink_to_fit();
        all
    }
}

impl Fetch for Examples {
    fn count(&self) -> usize {
        self.len()
    }

    fn lengths(&self) -> Result<Vec<(u32, u32)>, DataError> {
        Ok(self.iter().map(|[source, target, _]| (source.len() as u32, target.len() as u32)).collect())
    }

    fn fetch(&self, numbers: &[u32]) -> Result<Vec<Example>, DataError> {
        Ok(numbers.iter().map(|&number| self.get(number)).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sides of 2 and 1, 0 and 3, and 1 and 0 ids, the last with one that can be copied.
    #[test]
    fn examples_come_back_as_they_went_in() {
        let example = |number, source: &[u32], target: &[u32], copied: &[u32]| Example {
            number,
            source: source.to_vec(),
            target: target.to_vec(),
            copied: copied.to_vec(),
        };
        let given =
            [example(0, &[7, 8], &[9], &[]), example(1, &[], &[1, 2, 3], &[]), example(2, &[4], &[], &[5])];
        let examples: Examples = given.iter().cloned().collect();
        assert_eq!(examples.fetch(&[2, 0, 1]).unwrap(), [2, 0, 1].map(|number| given[number].clone()));
        assert_eq!(examples.costs(), [(2, 2), (0, 4), (1, 1)]);
    }
}
