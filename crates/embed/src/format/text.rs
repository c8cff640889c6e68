//! Vectors as text: a word and its numbers on each line.

use std::io::{BufRead, Write};
use std::path::Path;

use super::{Header, failed};
use crate::{EmbedError, Mistake, Place, Vectors};

/// The lines behind a header.
pub(super) fn read(path: &Path, reader: impl BufRead, header: Header) -> Result<Vectors, EmbedError> {
    let mut vectors = Vectors::with_dimension(header.dimension).map_err(|mistake| EmbedError::Damaged {
        path: path.to_owned(),
        place: Place::Line(1),
        mistake,
    })?;
    for_each_line(path, reader, 2, |line| {
        let (word, row) = parse(line, header.dimension)?;
        vectors.push(word, &row)
    })?;
    header.check(path, vectors.len(), vectors.len() > header.words)?;
    Ok(vectors)
}

/// Lines without a header: the first one says how long vectors are.
pub(super) fn read_without_header(path: &Path, reader: impl BufRead) -> Result<Vectors, EmbedError> {
    let mut vectors: Option<Vectors> = None;
    for_each_line(path, reader, 1, |line| {
        let dimension = vectors.as_ref().map_or_else(|| columns(line).saturating_sub(1), Vectors::dimension);
        let (word, row) = parse(line, dimension)?;
        match &mut vectors {
            Some(vectors) => vectors.push(word, &row),
            None => vectors.insert(Vectors::with_dimension(dimension)?).push(word, &row),
        }
    })?;
    vectors.ok_or_else(|| EmbedError::Empty { path: path.to_owned() })
}

/// Calls `take` with every line that is not blank.
fn for_each_line(
    path: &Path,
    mut reader: impl BufRead,
    first: usize,
    mut take: impl FnMut(&str) -> Result<(), Mistake>,
) -> Result<(), EmbedError> {
    let mut bytes = Vec::new();
    for number in first.. {
        let place = Place::Line(number);
        bytes.clear();
        let read = reader.read_until(b'\n', &mut bytes).map_err(|error| failed(path, place, error))?;
        if read == 0 {
            break;
        }
        let line = std::str::from_utf8(&bytes).map_err(|_| Mistake::NotUtf8);
        let line = line.map(|line| line.trim_end_matches(['\n', '\r', ' ', '\t']));
        line.and_then(|line| if line.is_empty() { Ok(()) } else { take(line) })
            .map_err(|mistake| EmbedError::Damaged { path: path.to_owned(), place, mistake })?;
    }
    Ok(())
}

/// Only these part columns: fastText's words may hold spaces of other kinds.
const SPACES: [char; 2] = [' ', '\t'];

fn columns(line: &str) -> usize {
    line.split(SPACES).count()
}

/// The last columns are numbers, and what stands before them is the word, spaces and all.
fn parse(line: &str, dimension: usize) -> Result<(String, Vec<f32>), Mistake> {
    let wrong = || Mistake::Columns { dimension, columns: columns(line) };
    let mut row = vec![0.0; dimension];
    let mut rest = line;
    for number in row.iter_mut().rev() {
        let (before, text) = rest.rsplit_once(SPACES).ok_or_else(wrong)?;
        *number = text.parse().map_err(|_| match columns(line) {
            found if found == dimension + 1 => Mistake::NotANumber { text: text.to_owned() },
            _ => wrong(),
        })?;
        rest = before;
    }
    let is_number = |text: &str| text.parse::<f32>().is_ok();
    match rest.rsplit_once(SPACES) {
        Some((_, last)) if is_number(last) => Err(wrong()),
        _ => Ok((rest.to_owned(), row)),
    }
}

pub(super) fn write(vectors: &Vectors, file: &mut impl Write) -> std::io::Result<()> {
    for (word, row) in vectors.iter() {
        file.write_all(word.as_bytes())?;
        for number in row {
            // As few digits as give the same number when they are read.
            write!(file, " {number}")?;
        }
        file.write_all(b"\n")?;
    }
    Ok(())
}
