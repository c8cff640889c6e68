//! A table with commas between its columns, and quotation marks around a column that has a comma or a line break in it.

use std::path::Path;

use csv::{ByteRecord, ReaderBuilder};

use super::columns::{are_named, places};
use super::{Row, Wanted, on_one_line};
use crate::DataError;
use crate::unpack::Bytes;

/// A longer field is a quotation mark that was never closed, and the rest of the file behind it.
const LONGEST_FIELD: usize = 1 << 20;

/// Some columns of each row.
pub(super) struct Csv {
    /// The file without its bytes, to say what went wrong.
    bytes: Bytes,
    reader: csv::Reader<Box<dyn std::io::BufRead + Send>>,
    record: ByteRecord,
    places: Vec<usize>,
    /// How many columns each row has.
    width: Option<usize>,
    wanted: Wanted,
    done: bool,
}

impl Csv {
    pub(super) fn open(path: &Path, wanted: Wanted) -> Result<Csv, DataError> {
        let mut bytes = Bytes::open(path)?;
        // Rows of different lengths are for us to name. The reader has its own idea of a header, which is not needed.
        let reader = ReaderBuilder::new().has_headers(false).flexible(true).from_reader(bytes.take_reader());
        let record = ByteRecord::new();
        let mut table = Csv { bytes, reader, record, places: Vec::new(), width: None, wanted, done: false };
        let names = if are_named(&table.wanted.columns) { table.header()? } else { Vec::new() };
        table.places = places(path, &table.wanted.columns, &names)?;
        Ok(table)
    }

    fn header(&mut self) -> Result<Vec<String>, DataError> {
        let line = self.read()?.ok_or_else(|| DataError::Empty { path: self.bytes.path.clone() })?;
        let names =
            (0..self.record.len()).map(|place| self.text(place, line)).collect::<Result<Vec<_>, _>>()?;
        self.width = Some(names.len());
        Ok(names)
    }

    /// Reads a row, and gives the line that it begins on.
    fn read(&mut self) -> Result<Option<usize>, DataError> {
        let read = self.reader.read_byte_record(&mut self.record);
        let line = self.record.position().map_or(1, |place| place.line() as usize);
        match read {
            Ok(true) => Ok(Some(line)),
            Ok(false) => Ok(None),
            Err(error) => {
                self.done = true;
                let line = self.reader.position().line() as usize;
                Err(match error.into_kind() {
                    csv::ErrorKind::Io(source) => self.bytes.error(line, source),
                    // Others are of texts that are not UTF-8 and of unequal rows, which are not asked for here.
                    other => self.bytes.error(line, std::io::Error::other(format!("{other:?}"))),
                })
            }
        }
    }

    fn text(&self, place: usize, line: usize) -> Result<String, DataError> {
        let path = self.bytes.path.clone();
        let field = self.record.get(place).unwrap_or_default();
        if field.len() > LONGEST_FIELD {
            return Err(DataError::LongField { path, line, bytes: field.len() });
        }
        let text = String::from_utf8(field.to_vec()).map_err(|_| DataError::InvalidColumn {
            path,
            line,
            column: place + 1,
        })?;
        Ok(on_one_line(text))
    }

    fn row(&mut self, line: usize) -> Result<Row, DataError> {
        let path = || self.bytes.path.clone();
        let (columns, needed) = (self.record.len(), *self.width.get_or_insert(self.record.len()));
        let last = self.places.iter().max().map_or(0, |place| place + 1);
        if columns != needed || columns < last {
            return Err(DataError::FewColumns { path: path(), line, columns, needed: needed.max(last) });
        }
        let texts = self.places.iter().map(|&place| self.text(place, line));
        let fields = texts.collect::<Result<Vec<_>, _>>()?;
        let empty = fields.iter().enumerate().position(|(index, field)| self.wanted.refuses(index, field));
        match empty {
            Some(index) => Err(DataError::EmptyColumn { path: path(), line, column: self.places[index] + 1 }),
            None => Ok(Row { fields, line }),
        }
    }
}

impl Iterator for Csv {
    type Item = Result<Row, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done {
            return None;
        }
        match self.read() {
            Ok(None) => None,
            Ok(Some(line)) => Some(self.row(line)),
            Err(error) => Some(Err(error)),
        }
    }
}
