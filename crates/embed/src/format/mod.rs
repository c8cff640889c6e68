//! The formats of files of vectors.
//!
//! A file is recognized by what is in it. Where the first line is two numbers, it is a header of word2vec's: how many words
//! there are, and how many numbers a vector has. Then come lines of text, or words with the bytes of their numbers.
//! fastText's `.vec` files are such text, with a space at the end of a line. Without a header it is GloVe's text. Files may be
//! packed with gzip.

mod binary;
mod text;

use std::fmt;
use std::io::{BufRead, Cursor, ErrorKind, Read, Write};
use std::path::Path;

use couplet_data::{DataError, WholeFile, open_unpacked};
use flate2::Compression;
use flate2::write::GzEncoder;

use crate::{EmbedError, Mistake, Place, Vectors};

/// How vectors are written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// word2vec's text: a line with the numbers of words and columns, then a line for each word. fastText's `.vec` files are
    /// this too.
    #[default]
    Text,
    /// word2vec's binary format: the same first line, then each word, a space, and the bytes of its numbers.
    Binary,
    /// GloVe's text: a line for each word and nothing before.
    Glove,
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Format::Text => "text",
            Format::Binary => "binary",
            Format::Glove => "glove",
        })
    }
}

/// A first line that is longer than this belongs to something else.
const LONGEST_FIRST_LINE: u64 = 1 << 24;

/// So many bytes behind the header tell text and numbers apart.
const WINDOW: u64 = 4096;

impl Vectors {
    /// Reads a file in any of the formats, plain or gzip.
    pub fn read(path: impl AsRef<Path>) -> Result<Vectors, EmbedError> {
        Ok(Vectors::read_with_format(path)?.0)
    }

    /// Reads a file, and says which format it has.
    pub fn read_with_format(path: impl AsRef<Path>) -> Result<(Vectors, Format), EmbedError> {
        let path = path.as_ref();
        let mut reader = open_unpacked(path)?;
        let mut first = Vec::new();
        reader
            .by_ref()
            .take(LONGEST_FIRST_LINE)
            .read_until(b'\n', &mut first)
            .map_err(|error| failed(path, Place::Line(1), error))?;
        if first.is_empty() {
            return Err(EmbedError::Empty { path: path.to_owned() });
        }
        let Some(header) = Header::parse(&first) else {
            return Ok((text::read_without_header(path, Cursor::new(first).chain(reader))?, Format::Glove));
        };
        let mut start = Vec::new();
        reader
            .by_ref()
            .take(WINDOW)
            .read_to_end(&mut start)
            .map_err(|error| failed(path, Place::Line(2), error))?;
        let is_text = is_text(&start, header.dimension);
        let rest = Cursor::new(start).chain(reader);
        if is_text {
            Ok((text::read(path, rest, header)?, Format::Text))
        } else {
            Ok((binary::read(path, rest, header)?, Format::Binary))
        }
    }

    /// Writes a file, packed with gzip where its name ends in `.gz`. It is there as a whole or not at all.
    pub fn write(&self, path: impl AsRef<Path>, format: Format) -> Result<(), EmbedError> {
        let path = path.as_ref();
        if let Some(word) = self.words().find(|word| format == Format::Binary && word.contains(' ')) {
            return Err(EmbedError::Space { path: path.to_owned(), word: word.to_owned() });
        }
        let packed = path.extension().is_some_and(|ending| ending == "gz");
        let written = WholeFile::create(path).and_then(|mut file| {
            if packed {
                let mut encoder = GzEncoder::new(&mut file, Compression::default());
                self.write_to(&mut encoder, format)?;
                encoder.finish()?;
            } else {
                self.write_to(&mut file, format)?;
            }
            file.finish()
        });
        written.map_err(|source| DataError::Unwritable { path: path.to_owned(), source }.into())
    }

    fn write_to(&self, file: &mut impl Write, format: Format) -> std::io::Result<()> {
        if format != Format::Glove {
            writeln!(file, "{} {}", self.len(), self.dimension())?;
        }
        match format {
            Format::Text | Format::Glove => text::write(self, file),
            Format::Binary => binary::write(self, file),
        }
    }
}

/// What the first line of word2vec's formats says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Header {
    words: usize,
    dimension: usize,
}

impl Header {
    fn parse(line: &[u8]) -> Option<Header> {
        let mut numbers = std::str::from_utf8(line).ok()?.split_ascii_whitespace().map(str::parse);
        match (numbers.next(), numbers.next(), numbers.next()) {
            (Some(Ok(words)), Some(Ok(dimension)), None) => Some(Header { words, dimension }),
            _ => None,
        }
    }

    /// As many words as were promised?
    fn check(self, path: &Path, found: usize, more: bool) -> Result<(), EmbedError> {
        if found == self.words && !more {
            return Ok(());
        }
        let found = if more { "more".to_owned() } else { found.to_string() };
        Err(EmbedError::WrongCount { path: path.to_owned(), promised: self.words, found })
    }
}

/// Whether lines of text follow: the first has a number for each column, or else, as it may be damaged, all that is to be
/// seen is text.
fn is_text(start: &[u8], dimension: usize) -> bool {
    let line = start.split(|&byte| byte == b'\n').next().unwrap_or_default();
    let columns = line.split(|byte| b" \t\r".contains(byte)).filter(|column| !column.is_empty());
    let is_number = |column: &&[u8]| column.iter().all(|byte| b"0123456789+-.eEnaifNAIF".contains(byte));
    let numbers = columns.skip(1).filter(is_number).count();
    let readable = start.utf8_chunks().all(|chunk| {
        let is_cut_off = chunk.invalid().len() < 4 && start.ends_with(chunk.invalid());
        is_cut_off && !chunk.valid().contains(|c: char| c.is_control() && !c.is_ascii_whitespace())
    });
    numbers >= dimension || readable
}

/// A file that stops in the middle is damaged; the rest is the system's.
fn failed(path: &Path, place: Place, source: std::io::Error) -> EmbedError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::UnexpectedEof => EmbedError::Damaged { path, place, mistake: Mistake::EndsEarly },
        _ => DataError::Unreadable { path, source }.into(),
    }
}

#[cfg(test)]
mod tests;
