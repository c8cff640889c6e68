//! Records of two texts, whatever the format of the file they come from: a source and its target, a text and its label. Beside the latter
//! may stand more.

mod columns;
mod csv;
mod jsonl;
mod parallel;
mod tsv;

use std::collections::VecDeque;
use std::fmt;
use std::path::Path;
use std::sync::Arc;

use crate::corpora::{BadLines, Column, Columns, Corpus, Files, Format};
use crate::features::{FeatureColumns, Value};
use crate::unpack::shown;
use crate::{DataError, Weight};
use csv::Csv;
use jsonl::Objects;
use parallel::Parallel;
use tsv::Tsv;

/// What to do with a text that has nothing in it but spaces.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Empty {
    /// It is a mistake, as in training data: nothing can be learned from it, and most often a line has slipped.
    #[default]
    Refuse,
    /// It is a sequence of no tokens.
    Keep,
}

/// How files are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// What to do with an empty text.
    pub empty: Empty,
}

/// The lines that were left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skipped {
    /// How many.
    pub lines: usize,
    /// What was wrong with the first of them.
    pub first: Vec<String>,
}

impl Skipped {
    /// How many of them are described.
    const DESCRIBED: usize = 3;

    pub(crate) fn add(&mut self, error: &DataError) {
        self.lines += 1;
        if self.first.len() < Skipped::DESCRIBED {
            self.first.push(error.to_string());
        }
    }

    /// Adds those of another file.
    pub fn join(&mut self, other: Skipped) {
        self.lines += other.lines;
        self.first.extend(other.first);
        self.first.truncate(Skipped::DESCRIBED);
    }
}

/// How many texts a record has.
const TEXTS: usize = 2;

/// What the two texts of a record are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Roles {
    /// A source and a target.
    Pair,
    /// A text and a label.
    Labeled,
}

impl Roles {
    fn names(self) -> [&'static str; 2] {
        match self {
            Roles::Pair => ["source", "target"],
            Roles::Labeled => ["text", "label"],
        }
    }

    /// What the columns of a table of two are.
    fn in_a_table(self) -> [&'static str; 2] {
        match self {
            Roles::Pair => ["source", "target"],
            Roles::Labeled => ["label", "text"],
        }
    }

    /// The columns as a corpus names them. Of a table they have an order of their own: source and target, label and text.
    fn columns(self, corpus: &Corpus) -> Result<[Column; 2], DataError> {
        let columns = &corpus.columns;
        let ([first, second], others, usual) = match self {
            Roles::Pair => ([&columns.source, &columns.target], [&columns.text, &columns.label], [1, 2]),
            Roles::Labeled => ([&columns.text, &columns.label], [&columns.source, &columns.target], [2, 1]),
        };
        let chosen = match (first, second) {
            (Some(first), Some(second)) => Some([first.clone(), second.clone()]),
            (None, None) if matches!(corpus.format, Format::Tsv(_)) => Some(usual.map(Column::Number)),
            _ => None,
        };
        let names = self.names();
        let path = corpus.format.path();
        match chosen {
            Some(chosen) if others.iter().all(|other| other.is_none()) => Ok(chosen),
            _ => Err(DataError::ColumnsNotChosen { path: path.into(), names }),
        }
    }
}

/// What is read of each row of a table: texts, and behind them what stands beside them and may be empty.
#[derive(Debug)]
pub(crate) struct Wanted {
    pub(crate) columns: Vec<Column>,
    /// How many of the columns are texts.
    pub(crate) texts: usize,
    pub(crate) empty: Empty,
}

impl Wanted {
    /// Whether the column of this index may not be empty and is.
    fn refuses(&self, index: usize, field: &str) -> bool {
        index < self.texts && self.empty == Empty::Refuse && is_empty(field)
    }
}

/// A record of one file.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) fields: Vec<String>,
    pub(crate) line: usize,
}

/// The records of one file: after an error that [concerns one line](DataError::is_of_one_line) the next can be read.
pub(crate) type Rows = Box<dyn Iterator<Item = Result<Row, DataError>> + Send>;

/// Two texts, what stands beside them, and where.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    pub(crate) texts: [String; 2],
    pub(crate) values: Vec<Value>,
    pub(crate) place: Place,
}

/// A line of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The file.
    pub path: Arc<Path>,
    /// The line, counted from 1.
    pub line: usize,
}

/// The records of some corpora, one after the other.
pub(crate) struct Records {
    waiting: VecDeque<(usize, Corpus)>,
    current: Option<Current>,
    roles: Roles,
    features: FeatureColumns,
    reading: Reading,
    bad_lines: BadLines,
    skipped: Skipped,
    corpus: usize,
    /// How many records of each corpus have been read, and how often they come up.
    weights: Vec<Weight>,
}

struct Current {
    rows: Rows,
    path: Arc<Path>,
    /// Whether nothing has been read of it yet.
    is_empty: bool,
}

impl Records {
    /// Opens the first file, and checks that the description of all of them makes sense.
    pub(crate) fn open(
        files: &Files,
        roles: Roles,
        features: &FeatureColumns,
        reading: Reading,
    ) -> Result<Records, DataError> {
        let waiting: VecDeque<(usize, Corpus)> = files.corpora().iter().cloned().enumerate().collect();
        for (_, corpus) in &waiting {
            if !matches!(corpus.format, Format::Parallel(_)) {
                let texts = roles.columns(corpus)?;
                if let Some(column) =
                    features.beside(&texts).into_iter().find(|column| texts.contains(column))
                {
                    return Err(DataError::NoFeature { path: corpus.format.path().into(), column });
                }
            }
            if !features.is_empty() && corpus.columns == Columns::default() {
                return Err(DataError::NoColumns { path: corpus.format.path().into() });
            }
        }
        let (bad_lines, skipped) = (files.bad_lines(), Skipped::default());
        let weights =
            waiting.iter().map(|(_, corpus)| Weight { examples: 0, weight: corpus.weight }).collect();
        let mut records = Records {
            waiting,
            current: None,
            roles,
            features: features.clone(),
            reading,
            bad_lines,
            skipped,
            corpus: 0,
            weights,
        };
        records.open_next()?;
        Ok(records)
    }

    /// The number of the corpus that the last record came from.
    pub(crate) fn corpus(&self) -> usize {
        self.corpus
    }

    pub(crate) fn weights(&self) -> &[Weight] {
        &self.weights
    }

    pub(crate) fn skipped(&self) -> &Skipped {
        &self.skipped
    }

    fn open_next(&mut self) -> Result<(), DataError> {
        self.current = None;
        if let Some((number, corpus)) = self.waiting.pop_front() {
            self.corpus = number;
            let rows = rows(&corpus, self.roles, &self.features, self.reading.empty)?;
            self.current = Some(Current { rows, path: named(&corpus, self.roles), is_empty: true });
        }
        Ok(())
    }

    fn next_record(&mut self) -> Result<Option<Record>, DataError> {
        while let Some(current) = &mut self.current {
            let path = &current.path;
            let row = current.rows.next();
            let record = row.map(|row| row.and_then(|row| Record::of(row, path, &self.features)));
            let was_empty = std::mem::replace(&mut current.is_empty, false);
            match record {
                Some(Ok(record)) => {
                    self.weights[self.corpus].examples += 1;
                    return Ok(Some(record));
                }
                None if was_empty => {
                    let path = path.to_path_buf();
                    self.end();
                    return Err(DataError::Empty { path });
                }
                None => self.open_next()?,
                Some(Err(error)) if self.bad_lines.skips(&error) => {
                    self.skipped.add(&error);
                    if !error.is_of_one_line() {
                        self.open_next()?;
                    }
                }
                Some(Err(error)) => {
                    if !error.is_of_one_line() {
                        self.end();
                    }
                    return Err(error);
                }
            }
        }
        Ok(None)
    }

    fn end(&mut self) {
        self.current = None;
        self.waiting.clear();
    }
}

impl Iterator for Records {
    type Item = Result<Record, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_record().transpose()
    }
}

impl fmt::Debug for Records {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Records").field("corpus", &self.corpus).finish_non_exhaustive()
    }
}

impl Record {
    fn of(row: Row, path: &Arc<Path>, features: &FeatureColumns) -> Result<Record, DataError> {
        let Row { mut fields, line } = row;
        let place = Place { path: Arc::clone(path), line };
        let values = features.values(&fields.split_off(TEXTS), &place)?;
        let texts = fields.try_into().expect("two texts were asked for");
        Ok(Record { texts, values, place })
    }
}

/// The file that errors name: of parallel files, that of the labels.
fn named(corpus: &Corpus, roles: Roles) -> Arc<Path> {
    let path = match (&corpus.format, roles) {
        (Format::Parallel([_, labels]), Roles::Labeled) => labels,
        (format, _) => format.path(),
    };
    shown(path).into()
}

fn rows(corpus: &Corpus, roles: Roles, features: &FeatureColumns, empty: Empty) -> Result<Rows, DataError> {
    if let Format::Parallel(paths) = &corpus.format {
        return Ok(Box::new(Parallel::open(paths, empty)?));
    }
    let mut columns = roles.columns(corpus)?.to_vec();
    columns.extend(features.beside(&columns));
    let wanted = Wanted { columns, texts: TEXTS, empty };
    match &corpus.format {
        Format::Tsv(path) if corpus.columns == Columns::default() => {
            Ok(Box::new(Tsv::of_two(path, wanted, roles.in_a_table())?))
        }
        format => table_rows(format, wanted),
    }
}

/// The rows of a table whose columns are chosen.
pub(crate) fn table_rows(format: &Format, wanted: Wanted) -> Result<Rows, DataError> {
    Ok(match format {
        Format::Parallel(_) => unreachable!("parallel files are no table"),
        Format::Tsv(path) => Box::new(Tsv::open(path, wanted)?),
        Format::Csv(path) => Box::new(Csv::open(path, wanted)?),
        Format::Jsonl(path) => Box::new(Objects::open(path, wanted)?),
    })
}

/// Whether a text has nothing in it but spaces.
fn is_empty(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// A text on one line, as everything else is read and written: line breaks within it become spaces.
fn on_one_line(text: String) -> String {
    if !text.contains(['\n', '\r']) {
        return text;
    }
    text.split(['\n', '\r']).filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
