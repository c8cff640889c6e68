//! A table with tabs between its columns: a line is a row, and nothing is quoted.

use std::path::{Path, PathBuf};

use super::columns::{are_named, places};
use super::{Row, Wanted, is_empty};
use crate::unpack::shown;
use crate::{DataError, Lines};

/// Some columns of each row.
pub(super) struct Tsv {
    lines: Lines,
    path: PathBuf,
    places: Vec<usize>,
    /// A table of two columns, whose names these are, has no others.
    only: Option<[&'static str; 2]>,
    wanted: Wanted,
}

impl Tsv {
    /// A table of two columns; `names` is what they are called in the order of the table.
    pub(super) fn of_two(path: &Path, wanted: Wanted, names: [&'static str; 2]) -> Result<Tsv, DataError> {
        Ok(Tsv { only: Some(names), ..Tsv::open(path, wanted)? })
    }

    /// A table of any columns.
    pub(super) fn open(path: &Path, wanted: Wanted) -> Result<Tsv, DataError> {
        let mut lines = Lines::open(path)?;
        let header = if are_named(&wanted.columns) { lines.next().transpose()? } else { None };
        let names: Vec<String> = header.iter().flat_map(|line| line.split('\t')).map(str::to_owned).collect();
        let places = places(path, &wanted.columns, &names)?;
        Ok(Tsv { lines, path: shown(path).into(), places, only: None, wanted })
    }

    fn row(&self, text: &str) -> Result<Row, DataError> {
        let (path, line) = (self.path.clone(), self.lines.line());
        let columns: Vec<&str> = text.split('\t').collect();
        let fits = match self.only {
            Some(_) => columns.len() == 2,
            None => self.places.iter().all(|&place| place < columns.len()),
        };
        if !fits && is_empty(text) {
            // A line without anything on it is called what it is, rather than a line with one column.
            return Err(DataError::EmptyLine { path, line });
        }
        match self.only {
            Some(names) if !fits => {
                return Err(DataError::Columns { path, line, columns: columns.len(), names });
            }
            None if !fits => {
                let needed = self.places.iter().max().map_or(0, |place| place + 1);
                return Err(DataError::FewColumns { path, line, columns: columns.len(), needed });
            }
            _ => {}
        }
        let fields: Vec<String> = self.places.iter().map(|&place| columns[place].to_owned()).collect();
        let empty = (0..).zip(&fields).filter(|(index, field)| self.wanted.refuses(*index, field));
        match empty.map(|(index, _)| self.places[index]).min() {
            Some(place) => Err(DataError::EmptyColumn { path, line, column: place + 1 }),
            None => Ok(Row { fields, line }),
        }
    }
}

impl Iterator for Tsv {
    type Item = Result<Row, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        Some(line.and_then(|text| self.row(&text)))
    }
}
