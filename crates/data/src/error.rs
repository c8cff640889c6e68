//! What can be wrong with text and the files it comes from.

use std::path::PathBuf;

use thiserror::Error;

use crate::Packing;
use crate::corpora::Column;

/// A mistake in the input: one line that names the file, the line and the mistake. [`hint`](DataError::hint) says what
/// to do about it.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are what the message above them says")]
pub enum DataError {
    /// There is no file of that name.
    #[error("{path}: no such file")]
    Missing { path: PathBuf },

    /// The system refuses to hand out the file.
    #[error("{path}: cannot be read: {source}")]
    Unreadable { path: PathBuf, source: std::io::Error },

    /// The system refuses to take the file.
    #[error("{path}: cannot be written: {source}")]
    Unwritable { path: PathBuf, source: std::io::Error },

    /// There is not one line in the file.
    #[error("{path}: the file is empty")]
    Empty { path: PathBuf },

    /// Two files that belong together line by line have different numbers of lines.
    #[error("{first} has {first_lines} lines but {second} has {second_lines}")]
    DifferentLengths { first: PathBuf, first_lines: usize, second: PathBuf, second_lines: usize },

    /// A line has nothing on it, or nothing but spaces.
    #[error("{path}:{line}: the line is empty")]
    EmptyLine { path: PathBuf, line: usize },

    /// One of the two columns has nothing in it, or nothing but spaces.
    #[error("{path}:{line}: column {column} is empty")]
    EmptyColumn { path: PathBuf, line: usize, column: usize },

    /// A line of a table has more or fewer than two columns.
    #[error("{path}:{line}: expected 2 columns separated by a tab, found {columns}")]
    Columns { path: PathBuf, line: usize, columns: usize, names: [&'static str; 2] },

    /// A text has a label that the model has never seen.
    #[error("{path}:{line}: no training text has the label {label:?}")]
    UnknownLabel { path: PathBuf, line: usize, label: String, known: String },

    /// Nothing can be told apart.
    #[error("{path}: every text has the label {label:?}")]
    OneLabel { path: PathBuf, label: String },

    /// A model's file of labels has too few of them.
    #[error("{path}: {labels} labels")]
    DamagedLabels { path: PathBuf, labels: usize },

    /// A byte that no UTF-8 text has at that place. Lines and bytes are counted from 1.
    #[error("{path}:{line}: byte {byte} of the line is not UTF-8")]
    InvalidUtf8 { path: PathBuf, line: usize, byte: usize, utf16: bool },

    /// A column of a row is not UTF-8.
    #[error("{path}:{line}: column {column} is not UTF-8")]
    InvalidColumn { path: PathBuf, line: usize, column: usize },

    /// A config does not say which columns or values of a file are meant.
    #[error("{path}: which columns are {} and {}?", names[0], names[1])]
    ColumnsNotChosen { path: PathBuf, names: [&'static str; 2] },

    /// A table has no column of that name.
    #[error("{path}: no column {column:?}")]
    NoColumn { path: PathBuf, column: String, known: String },

    /// A row of a table is shorter or longer than it should be.
    #[error("{path}:{line}: {columns} columns where there should be {needed}")]
    FewColumns { path: PathBuf, line: usize, columns: usize, needed: usize },

    /// A config wants columns beside a text, of files that have none.
    #[error("{path}: no columns beside text and label")]
    NoColumns { path: PathBuf },

    /// What a column of numbers holds is none.
    #[error("{path}:{line}: column {column:?}: {value:?} is not a number")]
    NotANumber { path: PathBuf, line: usize, column: String, value: String },

    /// What a column of yes and no holds is neither.
    #[error("{path}:{line}: column {column:?}: {value:?} is neither yes nor no")]
    NeitherYesNorNo { path: PathBuf, line: usize, column: String, value: String, words: Option<String> },

    /// A column of which nothing can be learned.
    #[error("{path}: column {column:?} is empty in all training texts")]
    EmptyFeature { path: PathBuf, column: String },

    /// The column of the texts or of the labels is named as one beside them.
    #[error("{path}: data.features names the column {column}, which is the text or the label")]
    NoFeature { path: PathBuf, column: Column },

    /// A column of which nothing can be learned.
    #[error("column {column:?}: no category occurs {min_count} times or more")]
    RareCategories { column: String, min_count: usize },

    /// A model's file of features cannot be used.
    #[error("{path}: {reason}")]
    DamagedFeatures { path: PathBuf, reason: String },

    /// A quotation mark was not closed, most likely.
    #[error("{path}:{line}: a column of {bytes} bytes")]
    LongField { path: PathBuf, line: usize, bytes: usize },

    /// A line is not JSON.
    #[error("{path}:{line}: not JSON: {reason}")]
    NotJson { path: PathBuf, line: usize, reason: String },

    /// An object does not have the key that was asked for.
    #[error("{path}:{line}: no key {key:?}")]
    NoKey { path: PathBuf, line: usize, key: String, known: String },

    /// A value is neither a text nor a number.
    #[error("{path}:{line}: the value of {key:?} is not a text")]
    NotText { path: PathBuf, line: usize, key: String },

    /// A value has nothing in it, or nothing but spaces.
    #[error("{path}:{line}: the value of {key:?} is empty")]
    EmptyValue { path: PathBuf, line: usize, key: String },

    /// A packed file stops in the middle.
    #[error("{path}:{line}: the {packing} file ends too early")]
    Truncated { path: PathBuf, line: usize, packing: Packing },

    /// A packed file has wrong bytes in it.
    #[error("{path}:{line}: the {packing} file is damaged: {reason}")]
    Damaged { path: PathBuf, line: usize, packing: Packing, reason: String },

    /// A tokenizer's file cannot be understood.
    #[error("{path}: not a tokenizer: {reason}")]
    DamagedTokenizer { path: PathBuf, reason: String },

    /// A tokenizer's file is sound, but couplet cannot work with that tokenizer.
    #[error("{path}: not a tokenizer that couplet made: {reason}")]
    ForeignTokenizer { path: PathBuf, reason: String },

    /// A tokenizer of another program that ours cannot be made of.
    #[error("{path}: not a tokenizer that can be used: {reason}")]
    UnusableTokenizer { path: PathBuf, reason: String },

    /// A config of a tokenizer that contradicts itself.
    #[error("{message}")]
    NoSuchTokenizer { message: String, hint: &'static str },

    /// The system has no thread to train a tokenizer on.
    #[error("cannot start a thread: {reason}")]
    NoThread { reason: String },

    /// A vocabulary that has no room for a token beside the special ones.
    #[error("a vocabulary of {vocab_size} has no room for text")]
    SmallVocabulary { vocab_size: usize },

    /// Nothing in the text occurs often enough to enter the vocabulary.
    #[error("no token occurs {min_count} times or more in the text")]
    EmptyVocabulary { min_count: u64 },

    /// A file is none that `couplet prepare` wrote.
    #[error("{path}: not a corpus that couplet prepared")]
    ForeignCorpus { path: PathBuf },

    /// A corpus that an older or a newer couplet wrote.
    #[error("{path}: a corpus of version {version}; this couplet reads version {known}")]
    CorpusVersion { path: PathBuf, version: u32, known: u32 },

    /// A corpus with wrong bytes in it, or without its end.
    #[error("{path}: the corpus is damaged: {reason}")]
    DamagedCorpus { path: PathBuf, reason: String },

    /// A corpus that was prepared with another config.
    #[error("{path}: prepared with {key} = {before}, and the config has {now}")]
    PreparedOtherwise { path: PathBuf, key: String, before: String, now: String },

    /// Text that is needed more than once comes from where it can be read once.
    #[error("standard input cannot be read again")]
    ReadOnce,

    /// Somebody wanted it to end.
    #[error("stopped; nothing was written")]
    Interrupted,
}

impl DataError {
    /// Whether it concerns a line, or what belongs to it, and what comes after that can be read.
    pub fn is_of_one_line(&self) -> bool {
        matches!(
            self,
            DataError::EmptyLine { .. }
                | DataError::EmptyColumn { .. }
                | DataError::EmptyValue { .. }
                | DataError::Columns { .. }
                | DataError::FewColumns { .. }
                | DataError::LongField { .. }
                | DataError::InvalidUtf8 { .. }
                | DataError::InvalidColumn { .. }
                | DataError::NotJson { .. }
                | DataError::NoKey { .. }
                | DataError::NotText { .. }
                | DataError::NotANumber { .. }
                | DataError::NeitherYesNorNo { .. }
        )
    }

    /// Whether a packed file cannot be read any further.
    pub fn is_of_the_packing(&self) -> bool {
        matches!(self, DataError::Truncated { .. } | DataError::Damaged { .. })
    }

    /// What to do about it, where there is more to say than the message does.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            DataError::Missing { .. } => "check the path; it is relative to the folder the command runs in",
            DataError::Unreadable { .. } => "check that it is a file and that you may read it",
            DataError::Unwritable { .. } => {
                "check that the folder exists, that you may write to it, and that the disk has room"
            }
            DataError::Empty { .. } => "put one sentence on each line",
            DataError::DifferentLengths { .. } => {
                "line n of one file must be the answer to line n of the other; look for a missing or an extra line"
            }
            DataError::EmptyLine { .. } => {
                "remove the line here and the line of that number in the other file, or fill it in"
            }
            DataError::EmptyColumn { .. } => "remove the line, or fill in the column",
            DataError::Columns { columns: 1, names: [first, second], .. } => {
                return Some(format!("write {first}, one tab, {second}; spaces do not separate columns"));
            }
            DataError::Columns { names: [first, second], .. } => {
                return Some(format!(
                    "write {first}, one tab, {second}, and nothing after it; `cut -f 1,2` keeps two columns"
                ));
            }
            DataError::UnknownLabel { known, .. } => {
                return Some(format!("one of {known}; a line has the label first, then a tab and the text"));
            }
            DataError::OneLabel { .. } => {
                "two labels or more are needed; a line has the label first, then a tab and the text"
            }
            DataError::DamagedLabels { .. } => {
                "a model has two labels or more; copy the file again from the model it belongs to"
            }
            DataError::InvalidUtf8 { utf16: true, .. } => {
                "the file looks like UTF-16; convert it: iconv -f UTF-16 -t UTF-8 OLD > NEW"
            }
            DataError::InvalidUtf8 { .. } | DataError::InvalidColumn { .. } => {
                "convert the file if it has another encoding, for example: iconv -f LATIN1 -t UTF-8 OLD > NEW"
            }
            DataError::ColumnsNotChosen { names: [first, second], .. } => {
                return Some(format!("name both and no others: {first} = \"…\", {second} = \"…\""));
            }
            DataError::NoColumn { known, .. } => {
                return Some(format!(
                    "the first line has: {known}; a number, from 1, is a column of a file without names"
                ));
            }
            DataError::FewColumns { .. } | DataError::LongField { .. } => {
                "look for a quotation mark that is not closed, or a separator that is missing"
            }
            DataError::NoColumns { .. } => {
                "data.features names columns of a table: { csv = \"f.csv\", text = \"…\", label = \"…\" }, or tsv, or jsonl"
            }
            DataError::NotANumber { column, value, .. } => {
                return Some(format!(
                    "write 41 or 3.5, nothing where it is not known, or say what stands for that: \
                     {column} = {{ kind = \"number\", missing = {value:?} }}"
                ));
            }
            DataError::NeitherYesNorNo { words: Some(words), .. } => {
                return Some(format!("{words}, as the config says, or nothing where it is not known"));
            }
            DataError::NeitherYesNorNo { column, .. } => {
                return Some(format!(
                    "yes or no, true or false, 1 or 0, or nothing; other words are said in the config: \
                     {column} = {{ kind = \"yes-no\", yes = \"…\", no = \"…\" }}"
                ));
            }
            DataError::EmptyFeature { .. } => {
                "fill it in, or leave it out of data.features; in JSON, its key may be another one"
            }
            DataError::NoFeature { .. } => {
                "leave it out of data.features: what is to be found must not be known"
            }
            DataError::RareCategories { .. } => "lower min_count, or leave the column out of data.features",
            DataError::NotJson { .. } => "each line has a JSON object of its own",
            DataError::NoKey { known, .. } => {
                return Some(format!(
                    "the line has: {known}; a dot leads into an object: \"translation.en\""
                ));
            }
            DataError::NotText { .. } => "a text, a number, true or false",
            DataError::EmptyValue { .. } => "remove the line, or fill in the value",
            DataError::Truncated { packing, .. } | DataError::Damaged { packing, .. } => {
                return Some(format!("`{packing} -t` checks the file; download or compress it again"));
            }
            DataError::DamagedTokenizer { .. } | DataError::DamagedFeatures { .. } => {
                "copy the file again from the model it belongs to, or train the model again"
            }
            DataError::ForeignTokenizer { .. } => {
                "the first four tokens must be <pad>, <unk>, <s> and </s>; use the file that `couplet train` wrote"
            }
            DataError::UnusableTokenizer { .. } => {
                "a tokenizer.json with a model of type BPE, Unigram, WordPiece or WordLevel is needed"
            }
            DataError::NoSuchTokenizer { hint, .. } => hint,
            DataError::NoThread { .. } => "end other programs, or raise the limit of processes",
            DataError::SmallVocabulary { .. } => {
                "four entries are special tokens; choose a vocab_size of 5 or more"
            }
            DataError::EmptyVocabulary { .. } => "lower min_count, or train on more text",
            DataError::ForeignCorpus { .. }
            | DataError::CorpusVersion { .. }
            | DataError::DamagedCorpus { .. } => "run `couplet prepare` again",
            DataError::PreparedOtherwise { .. } => {
                "run `couplet prepare` again with this config, or give the key the value that it had"
            }
            DataError::ReadOnce => "write it to a file, and name that",
            DataError::Interrupted => return None,
        };
        Some(hint.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_file_and_line() {
        let error = DataError::EmptyLine { path: "train.en".into(), line: 17 };
        assert_eq!(error.to_string(), "train.en:17: the line is empty");
        assert!(error.hint().unwrap().contains("the other file"));
    }

    #[test]
    fn a_hint_fits_its_case() {
        let names = ["source", "target"];
        let columns =
            |columns| DataError::Columns { path: "t".into(), line: 1, columns, names }.hint().unwrap();
        assert!(columns(1).contains("spaces do not"));
        assert!(columns(3).contains("cut -f 1,2"));
    }
}
