//! word2vec's binary format: each word, a space, and the bytes of its numbers, the lowest first.

use std::io::{BufRead, Read, Write};
use std::path::Path;

use super::{Header, failed};
use crate::{EmbedError, Mistake, Place, Vectors};

/// The words behind a header. A line break before a word is not part of it: some programs write one, others do not.
pub(super) fn read(path: &Path, mut reader: impl BufRead, header: Header) -> Result<Vectors, EmbedError> {
    let damaged = |place, mistake| EmbedError::Damaged { path: path.to_owned(), place, mistake };
    let mut vectors =
        Vectors::with_dimension(header.dimension).map_err(|mistake| damaged(Place::Line(1), mistake))?;
    let (mut bytes, mut row) = (Vec::new(), Vec::new());
    for number in 1..=header.words {
        let place = Place::Word(number);
        skip_line_breaks(&mut reader).map_err(|error| failed(path, place, error))?;
        bytes.clear();
        reader.read_until(b' ', &mut bytes).map_err(|error| failed(path, place, error))?;
        if bytes.pop() != Some(b' ') {
            return Err(damaged(place, Mistake::EndsEarly));
        }
        let word =
            String::from_utf8(std::mem::take(&mut bytes)).map_err(|_| damaged(place, Mistake::NotUtf8))?;
        read_row(&mut reader, header.dimension, &mut bytes, &mut row)
            .map_err(|error| failed(path, place, error))?;
        vectors.push(word, &row).map_err(|mistake| damaged(place, mistake))?;
    }
    skip_line_breaks(&mut reader)
        .and_then(|()| reader.fill_buf().map(|rest| !rest.is_empty()))
        .map_err(|error| failed(path, Place::Word(header.words), error))
        .and_then(|more| header.check(path, vectors.len(), more))?;
    Ok(vectors)
}

fn skip_line_breaks(reader: &mut impl BufRead) -> std::io::Result<()> {
    while reader.fill_buf()?.first() == Some(&b'\n') {
        reader.consume(1);
    }
    Ok(())
}

/// Memory is taken as bytes come: a damaged header may promise more of them than there is memory.
fn read_row(
    reader: &mut impl BufRead,
    dimension: usize,
    bytes: &mut Vec<u8>,
    row: &mut Vec<f32>,
) -> std::io::Result<()> {
    bytes.clear();
    row.clear();
    let wanted = (dimension as u64).saturating_mul(4);
    if (reader.take(wanted).read_to_end(bytes)? as u64) < wanted {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    row.extend(bytes.as_chunks().0.iter().copied().map(f32::from_le_bytes));
    Ok(())
}

pub(super) fn write(vectors: &Vectors, file: &mut impl Write) -> std::io::Result<()> {
    for (word, row) in vectors.iter() {
        write!(file, "{word} ")?;
        for number in row {
            file.write_all(&number.to_le_bytes())?;
        }
        file.write_all(b"\n")?;
    }
    Ok(())
}
