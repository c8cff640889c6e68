//! What can be wrong with vectors and their files.

use std::fmt;
use std::path::PathBuf;

use couplet_data::DataError;
use thiserror::Error;

/// A mistake in the input: one line that names the file, the place and the mistake. [`hint`](EmbedError::hint) says what to
/// do about it.
#[derive(Debug, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are what the message above them says")]
pub enum EmbedError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Data(#[from] DataError),

    /// There is nothing in the file.
    #[error("{path}: the file is empty")]
    Empty { path: PathBuf },

    /// An entry of a file of vectors is wrong.
    #[error("{path}{place}: {mistake}")]
    Damaged { path: PathBuf, place: Place, mistake: Mistake },

    /// A file has fewer or more words than its first line says.
    #[error("{path}: the first line promises {promised} words, {found} are there")]
    WrongCount { path: PathBuf, promised: usize, found: String },

    /// A list of words and a list of numbers do not fit each other.
    #[error("word {}: {mistake}", number + 1)]
    Word { number: usize, mistake: Mistake },

    /// The text that vectors should be learned from has no words.
    #[error("the text has no words")]
    NoWords,

    /// Words have numbers of 32 bits.
    #[error("the text has more than four thousand million different words")]
    TooManyWords,

    /// Too few words occur often enough.
    #[error("{words} word{} {min_count} times or more in the text; two are needed", if *words == 1 { " occurs" } else { "s occur" })]
    FewWords { words: usize, min_count: u64 },

    /// An option of the training that cannot be.
    #[error("--{name}: {problem}")]
    Setting { name: &'static str, problem: String },

    /// The file that holds the text as numbers.
    #[error("a temporary file in {folder}: {source}")]
    TemporaryFile { folder: PathBuf, source: std::io::Error },

    /// The vectors of parts of words.
    #[error("{path}: not the n-grams of word vectors: {reason}")]
    DamagedNgrams { path: PathBuf, reason: String },

    /// A line of a file of pairs.
    #[error("{path}:{line}: not two words and a score")]
    Pair { path: PathBuf, line: usize },

    /// A line of a file of analogies.
    #[error("{path}:{line}: not four words below the name of a section")]
    Question { path: PathBuf, line: usize },

    /// A file of pairs or analogies has none.
    #[error("{path}: there is nothing to compare with")]
    Nothing { path: PathBuf },

    /// A word that the format has no way to write.
    #[error("{path}: the word {word:?} has a space, which ends a word in the binary format")]
    Space { path: PathBuf, word: String },
}

/// Where in a file of vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line of a text, counted from 1.
    Line(usize),
    /// A word of a binary file, counted from 1.
    Word(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Place::Line(line) => write!(f, ":{line}"),
            Place::Word(number) => write!(f, ": word {number}"),
        }
    }
}

/// What is wrong with one word and its numbers.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
#[expect(missing_docs, reason = "the fields are what the message above them says")]
pub enum Mistake {
    /// The line is too short or too long.
    #[error("expected a word and {dimension} numbers, found {columns} columns")]
    Columns { dimension: usize, columns: usize },

    /// Something else stands where a number should.
    #[error("{text:?} is not a number")]
    NotANumber { text: String },

    /// Infinite, or not a number at all.
    #[error("a number of {word:?} is not finite")]
    NotFinite { word: String },

    /// The same word twice.
    #[error("the word {word:?} is there twice: it was word {} before", first + 1)]
    Duplicate { word: String, first: usize },

    /// Numbers without a word.
    #[error("there is no word before the numbers")]
    NoWord,

    /// A word that could not be told from what stands around it.
    #[error(
        "{word:?} cannot be a word: it begins or ends with white space, or breaks the line, or ends with a number"
    )]
    Unclear { word: String },

    /// Bytes that are no text.
    #[error("the word is not UTF-8")]
    NotUtf8,

    /// The file stops in the middle.
    #[error("the file ends too early")]
    EndsEarly,

    /// Vectors without numbers.
    #[error("a vector needs at least one number")]
    NoNumbers,
}

impl EmbedError {
    /// What to do about it, where there is more to say than the message does.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            EmbedError::Data(error) => return error.hint(),
            EmbedError::Damaged { mistake: Mistake::Duplicate { .. }, .. } => {
                "remove one of the two lines; which one is right, only you can know"
            }
            EmbedError::Empty { .. } | EmbedError::Damaged { place: Place::Line(1), .. } => FORMATS,
            EmbedError::Damaged { .. } | EmbedError::WrongCount { .. } => {
                "download or write the file again; it may have been cut off on its way"
            }
            EmbedError::NoWords => "put one sentence on each line, with spaces between the words",
            EmbedError::FewWords { .. } => "lower --min-count, or learn from more text",
            EmbedError::TemporaryFile { .. } => {
                "the text is kept there as numbers, 4 bytes for a word; TMPDIR names another folder"
            }
            EmbedError::DamagedNgrams { .. } => {
                "train the vectors again, or remove the file to go without vectors of unseen words"
            }
            EmbedError::Pair { .. } | EmbedError::Nothing { .. } => {
                "pairs are two words and a score, with tabs between (WordSim-353); analogies are lines `: NAME`, and \
                 below each four words on a line"
            }
            EmbedError::Question { .. } => {
                "write `: NAME` above the questions of one kind, and each as four words: Athens Greece Paris France"
            }
            EmbedError::Word { .. } | EmbedError::TooManyWords | EmbedError::Setting { .. } => return None,
            EmbedError::Space { .. } => {
                "write text instead: a name that does not end in .bin, or --format text"
            }
        };
        Some(hint.to_owned())
    }
}

const FORMATS: &str = "vectors are a word and its numbers on each line, with a line `WORDS DIMENSION` before them \
     (word2vec, fastText) or without (GloVe), or word2vec's binary format; each plain or gzip";
