//! A prepared corpus: a folder that a run starts from at once, whatever the size of the text it was made of.
//!
//! | file | what it holds |
//! |---|---|
//! | `train.corpus`, `valid.corpus` | pairs as ids ([`CorpusFile`]) |
//! | `valid.jsonl` | the validation pairs as text: references of a search |
//! | `tokenizer.source.json`, `tokenizer.target.json` | what made the ids |
//! | `prepared.toml` | the version of the folder, the table `[data]` that it was made with, weights, checksums of the other files |
//!
//! It is made in a folder beside its place, which gets its name when everything is in it. The small files are checked
//! when the folder is opened; the corpora check themselves, most of it when a pair is read.

use crate::config::{Config, DataConfig, NOTHING_TO_COPY};
use crate::corpus::{Corpus, Examples, Survey, encoder, pairs_of, tokenizers};
use crate::error::{TrainError, write_error};
use crate::inherit::Inherited;
use crate::lessons::Lessons;
use crate::same_run::difference_apart_from;
use crate::training_set::TrainingSet;
use couplet_data::{
    Batches, CHUNK, CorpusFile, CorpusWriter, DataError, Encode, Fetch, Pair, PairTruncation, Pairs, Skipped,
    Tokenizer, Weight, on_all_cores, write_whole,
};
use couplet_search::Task;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Goes up whenever an older reader would not understand the folder.
const FORMAT: u32 = 1;

const DESCRIPTION: &str = "prepared.toml";
const TRAIN: &str = "train.corpus";
const VALID: &str = "valid.corpus";
const VALID_TEXT: &str = "valid.jsonl";
const TOKENIZERS: [&str; 2] = ["tokenizer.source.json", "tokenizer.target.json"];

/// Keys that say where text lies and how it is read, but not what becomes of it.
const WITHOUT_EFFECT: [&str; 6] = [
    "data.train",
    "data.valid",
    "data.prepared",
    "data.stream",
    "data.shuffle_buffer",
    "data.skip_bad_lines",
];

/// What `prepared.toml` says.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Description {
    format: u32,
    /// The version of the program that wrote it.
    version: String,
    task: Task,
    /// The corpora in the order of their pairs.
    corpora: Vec<Weight>,
    /// A checksum of each of the other files.
    checksums: BTreeMap<String, String>,
    data: toml::Table,
}

/// How far a preparation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preparing {
    /// Pairs are counted; so many so far.
    Counting(usize),
    /// Vocabularies are learned; so many pairs were looked at.
    Learning(usize),
    /// Ids are written: pairs that are done, and all of them.
    Writing(usize, usize),
}

/// Who is told how a preparation goes, and may end it.
#[derive(Clone, Copy)]
pub struct Watch<'a> {
    /// Is told now and then.
    pub observer: &'a (dyn Fn(Preparing) + Sync),
    /// Ends it when it is set.
    pub stop: &'a AtomicBool,
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("stop", self.stop).finish_non_exhaustive()
    }
}

impl Watch<'_> {
    /// The same pairs, watched.
    fn over(
        self,
        pairs: impl Iterator<Item = Result<Pair, DataError>>,
        stage: impl Fn(usize) -> Preparing,
    ) -> impl Iterator<Item = Result<Pair, DataError>> {
        pairs.enumerate().map(move |(number, pair)| {
            self.look(number, &stage)?;
            pair
        })
    }

    /// Now and then: says how far it is, and looks whether to go on.
    fn look(self, number: usize, stage: impl Fn(usize) -> Preparing) -> Result<(), DataError> {
        if number.is_multiple_of(CHUNK) {
            (self.observer)(stage(number));
            if self.stop.load(Ordering::Relaxed) {
                return Err(DataError::Interrupted);
            }
        }
        Ok(())
    }
}

/// What was prepared, in figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Report {
    /// Training pairs.
    pub pairs: usize,
    /// Those that were too long.
    pub skipped: usize,
    /// Validation pairs.
    pub valid_pairs: usize,
    /// The sizes of the vocabularies.
    pub vocabularies: [usize; 2],
    /// Tokens of the training pairs, by side, the ends of targets among them.
    pub tokens: [u64; 2],
    /// The bytes of the training corpus.
    pub bytes: u64,
    /// The budget that the batches below are made with.
    pub batch_tokens: usize,
    /// Batches of an epoch.
    pub batches: usize,
    /// What would be padding if batches were rectangles: from 0 to 1.
    pub padding: f64,
}

/// A folder that is being filled: it has its name when it is finished, and is gone when that is never called.
struct NewFolder {
    path: PathBuf,
    beside: PathBuf,
    finished: bool,
}

impl NewFolder {
    fn create(path: &Path) -> Result<NewFolder, TrainError> {
        if path.exists() {
            return Err(TrainError::Exists { path: path.to_owned() });
        }
        let mut beside = path.as_os_str().to_owned();
        beside.push(".partial");
        let beside = PathBuf::from(beside);
        // What a killed process has left is of no use.
        if beside.exists() {
            fs::remove_dir_all(&beside).map_err(write_error(&beside))?;
        }
        fs::create_dir_all(&beside).map_err(write_error(&beside))?;
        Ok(NewFolder { path: path.to_owned(), beside, finished: false })
    }

    fn finish(mut self) -> Result<(), TrainError> {
        fs::rename(&self.beside, &self.path).map_err(write_error(&self.path))?;
        self.finished = true;
        Ok(())
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        if !self.finished {
            // That it cannot be removed is not worth a second error.
            let _ = fs::remove_dir_all(&self.beside);
        }
    }
}

/// Makes a prepared corpus of the text that a config names, and says which lines were left out. Memory does not grow with the text,
/// but for eight bytes a pair.
pub fn prepare(config: &Config, out: &Path, watch: Watch<'_>) -> Result<Skipped, TrainError> {
    let data = &config.data;
    if config.model.decoder.copy {
        let message = "a corpus cannot be prepared for model.decoder.copy".to_owned();
        return Err(TrainError::Start { message, hint: NOTHING_TO_COPY.to_owned() });
    }
    data.train.check_rereadable()?;
    let folder = NewFolder::create(out)?;
    let Survey { mut weights, mut skipped, .. } =
        Survey::of(&data.train, |number| watch.look(number, Preparing::Counting))?;
    let count = weights.iter().map(|corpus| corpus.examples as usize).sum();
    let [source, target] = tokenizers(data, Inherited::default(), count, || {
        Ok(watch.over(pairs_of(&data.train)?, Preparing::Learning))
    })?;
    let (valid_pairs, more) = Pairs::all(&data.valid)?;
    skipped.join(more);
    let vocabularies = [source.vocabulary_size(), target.vocabulary_size()];

    let mut train = CorpusWriter::create(&folder.beside.join(TRAIN), vocabularies)?;
    let mut done = 0;
    for (files, corpus) in data.train.apart().zip(&mut weights) {
        let pairs = watch.over(pairs_of(&files)?, |pairs| Preparing::Writing(done + pairs, count));
        let read = corpus.examples as usize;
        corpus.examples =
            write(&mut train, pairs, &encoder(&source, &target, data.truncation(), false))? as u32;
        done += read;
    }
    train.finish()?;
    let mut valid = CorpusWriter::create(&folder.beside.join(VALID), vocabularies)?;
    write(
        &mut valid,
        valid_pairs.iter().cloned().map(Ok),
        &encoder(&source, &target, PairTruncation::NONE, false),
    )?;
    valid.finish()?;

    let texts =
        valid_pairs.iter().map(|pair| serde_json::json!([pair.source, pair.target]).to_string() + "\n");
    let files =
        [(TOKENIZERS[0], source.to_json()), (TOKENIZERS[1], target.to_json()), (VALID_TEXT, texts.collect())];
    let mut checksums = BTreeMap::new();
    for (name, text) in &files {
        let path = folder.beside.join(name);
        write_whole(&path, text.as_bytes()).map_err(write_error(&path))?;
        checksums.insert((*name).to_owned(), hex(crc32c::crc32c(text.as_bytes())));
    }
    for name in [TRAIN, VALID] {
        checksums.insert(name.to_owned(), hex(CorpusFile::open(folder.beside.join(name))?.checksum()));
    }
    let description = Description {
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        task: config.task,
        corpora: weights,
        checksums,
        data: table_of(data),
    };
    let path = folder.beside.join(DESCRIPTION);
    write_whole(&path, description.to_text().as_bytes()).map_err(write_error(&path))?;
    folder.finish()?;
    Ok(skipped)
}

/// Adds pairs to a corpus; returns how many there were room for.
fn write(
    corpus: &mut CorpusWriter,
    mut pairs: impl Iterator<Item = Result<Pair, DataError>>,
    encode: &Encode,
) -> Result<usize, DataError> {
    let before = corpus.pairs();
    loop {
        let chunk: Vec<Pair> = pairs.by_ref().take(CHUNK).collect::<Result<_, _>>()?;
        if chunk.is_empty() {
            return Ok(corpus.pairs() - before);
        }
        for example in on_all_cores(&chunk, encode) {
            match example {
                Some(example) => corpus.push(&example.source, &example.target)?,
                None => corpus.leave_out(1),
            }
        }
    }
}

/// What a prepared corpus holds, and how well it goes into the batches of a config.
pub fn report(folder: &Path, config: &Config) -> Result<Report, DataError> {
    let corpus = CorpusFile::open(folder.join(TRAIN))?;
    let mut lengths = corpus.lengths()?;
    lengths.iter_mut().for_each(|lengths| *lengths = Corpus::cost(*lengths));
    let sum = |side: fn(&(u32, u32)) -> u32| lengths.iter().map(|lengths| u64::from(side(lengths))).sum();
    let tokens = [sum(|lengths| lengths.0), sum(|lengths| lengths.1)];
    let batch_tokens = config.train.batch_tokens;
    let weights = Description::read(folder)?.corpora;
    let batches = Batches::new(lengths, batch_tokens, config.train.seed).weighted(&weights);
    Ok(Report {
        pairs: corpus.count(),
        skipped: corpus.left_out(),
        valid_pairs: CorpusFile::open(folder.join(VALID))?.count(),
        vocabularies: corpus.vocabularies(),
        tokens,
        bytes: fs::metadata(corpus.path())
            .map_err(|source| DataError::Unreadable { path: corpus.path().to_owned(), source })?
            .len(),
        batch_tokens,
        batches: batches.epoch(0).len(),
        padding: batches.padding(0),
    })
}

/// Reads a folder for a run with a config. One that was made with other settings is refused, with the key that differs.
pub(crate) fn read(folder: &Path, config: &Config) -> Result<Corpus, DataError> {
    let description = Description::read(folder)?;
    let section = |data: toml::Table| toml::Table::from_iter([("data".to_owned(), toml::Value::Table(data))]);
    let (before, now) = (section(description.data.clone()), section(table_of(&config.data)));
    if let Some([key, before, now]) = difference_apart_from(&WITHOUT_EFFECT, &before, &now) {
        return Err(DataError::PreparedOtherwise { path: folder.into(), key, before, now });
    }
    let [source, target] = TOKENIZERS.map(|name| {
        description.text(folder, name)?;
        Tokenizer::load(folder.join(name))
    });
    let (source, target) = (source?, target?);
    let vocabularies = [source.vocabulary_size(), target.vocabulary_size()];
    let train = description.corpus(folder, TRAIN, vocabularies)?;
    let valid = description.corpus(folder, VALID, vocabularies)?;
    let numbers: Vec<u32> = (0..valid.count() as u32).collect();
    let valid: Examples = valid.fetch(&numbers)?.into_iter().collect();
    let valid_pairs =
        description.text(folder, VALID_TEXT)?.lines().map(pair_of).collect::<Option<Vec<Pair>>>();
    let valid_pairs = valid_pairs.filter(|pairs| pairs.len() == valid.len());
    let valid_pairs =
        valid_pairs.ok_or_else(|| damaged(&folder.join(VALID_TEXT), "its lines are no pairs"))?;
    let (left_out, checksum) = (train.left_out(), train.checksum());
    let train = TrainingSet::numbered(Arc::new(train), description.corpora, checksum);
    let (target_lengths, skipped) = (train.target_lengths(config.data.max_tokens)?, Skipped::default());
    Ok(Corpus { source, target, train, target_lengths, valid, valid_pairs, left_out, skipped, texts: None })
}

fn pair_of(line: &str) -> Option<Pair> {
    let [source, target] = serde_json::from_str(line).ok()?;
    Some(Pair { source, target })
}

fn hex(checksum: u32) -> String {
    format!("{checksum:08x}")
}

fn damaged(path: &Path, reason: &str) -> DataError {
    DataError::DamagedCorpus { path: path.into(), reason: reason.to_owned() }
}

fn table_of(data: &DataConfig) -> toml::Table {
    toml::Table::try_from(data).expect("a config is a table of plain values")
}

impl Description {
    /// As TOML, after a line with the checksum of all that follows.
    fn to_text(&self) -> String {
        let text = toml::to_string(self).expect("a table of plain values");
        format!("# {} of what follows\n{text}", hex(crc32c::crc32c(text.as_bytes())))
    }

    fn read(folder: &Path) -> Result<Description, DataError> {
        let path = folder.join(DESCRIPTION);
        let text = text_of(&path)?;
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        let expected = format!("# {} of what follows", hex(crc32c::crc32c(rest.as_bytes())));
        if first != expected {
            return Err(damaged(&path, "its checksum is wrong"));
        }
        /// Other versions may have other keys.
        #[derive(Deserialize)]
        struct OfFormat {
            format: u32,
        }
        let unclear = |error: toml::de::Error| damaged(&path, error.message());
        let OfFormat { format } = toml::from_str(rest).map_err(unclear)?;
        if format != FORMAT {
            return Err(DataError::CorpusVersion { path, version: format, known: FORMAT });
        }
        toml::from_str(rest).map_err(unclear)
    }

    fn is_checksum(&self, name: &str, checksum: u32) -> bool {
        self.checksums.get(name).is_some_and(|expected| *expected == hex(checksum))
    }

    /// A small file that is what was written.
    fn text(&self, folder: &Path, name: &str) -> Result<String, DataError> {
        let path = folder.join(name);
        let text = text_of(&path)?;
        if self.is_checksum(name, crc32c::crc32c(text.as_bytes())) {
            Ok(text)
        } else {
            Err(damaged(&path, "its checksum is wrong"))
        }
    }

    /// A corpus that belongs to this folder.
    fn corpus(&self, folder: &Path, name: &str, vocabularies: [usize; 2]) -> Result<CorpusFile, DataError> {
        let corpus = CorpusFile::open(folder.join(name))?;
        if corpus.vocabularies() == vocabularies && self.is_checksum(name, corpus.checksum()) {
            Ok(corpus)
        } else {
            Err(damaged(corpus.path(), "it belongs to another folder"))
        }
    }
}

fn text_of(path: &Path) -> Result<String, DataError> {
    let bytes = fs::read(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => DataError::Missing { path: path.into() },
        _ => DataError::Unreadable { path: path.into(), source },
    })?;
    String::from_utf8(bytes).map_err(|_| damaged(path, "it is no text"))
}
