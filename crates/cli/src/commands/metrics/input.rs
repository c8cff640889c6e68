//! The files that are compared.

use crate::failure::Failure;
use couplet_data::{DataError, Lines};
use couplet_metrics::LineError;
use std::io;
use std::path::{Path, PathBuf};

/// A file and its lines, without white space at their ends.
pub(super) struct Text {
    pub(super) path: PathBuf,
    pub(super) lines: Vec<String>,
}

impl Text {
    fn read(path: &Path) -> Result<Text, DataError> {
        let lines = if path == Path::new("-") {
            Lines::read("standard input", io::stdin())?
        } else {
            Lines::open(path)?
        };
        let path = lines.path().to_owned();
        let lines: Vec<String> =
            lines.map(|line| Ok(line?.trim_end().to_owned())).collect::<Result<_, DataError>>()?;
        if lines.is_empty() {
            return Err(DataError::Empty { path });
        }
        Ok(Text { path, lines })
    }

    /// Reads every line as something else than text.
    pub(super) fn parsed<T>(&self, parse: impl Fn(&str) -> Result<T, LineError>) -> Result<Vec<T>, Failure> {
        let parsed = (1..).zip(&self.lines).map(|(number, line)| {
            parse(line).map_err(|error| {
                let place = format!("{}:{number}", self.path.display());
                Failure::new(format!("{place}: {error}"), Some(error.hint().to_owned()))
            })
        });
        parsed.collect()
    }
}

/// All files, line by line.
pub(super) struct Input {
    /// Each with as many lines as the others.
    pub(super) systems: Vec<Text>,
    /// The files of references; each has as many lines, too.
    references: Vec<Text>,
    tabs: bool,
}

impl Input {
    pub(super) fn read(systems: &[PathBuf], references: &[PathBuf], tabs: bool) -> Result<Input, DataError> {
        let read =
            |paths: &[PathBuf]| paths.iter().map(|path| Text::read(path)).collect::<Result<Vec<_>, _>>();
        let input = Input { systems: read(systems)?, references: read(references)?, tabs };
        let first = &input.systems[0];
        for other in input.systems.iter().chain(&input.references) {
            if other.lines.len() != first.lines.len() {
                return Err(DataError::DifferentLengths {
                    first: first.path.clone(),
                    first_lines: first.lines.len(),
                    second: other.path.clone(),
                    second_lines: other.lines.len(),
                });
            }
        }
        Ok(input)
    }

    pub(super) fn lines(&self) -> usize {
        self.systems[0].lines.len()
    }

    /// The references of each line.
    pub(super) fn references(&self) -> Vec<Vec<&str>> {
        let of = |line: usize| {
            let texts = self.references.iter().map(|text| text.lines[line].as_str());
            if self.tabs { texts.flat_map(|text| text.split('\t')).collect() } else { texts.collect() }
        };
        (0..self.lines()).map(of).collect()
    }

    /// The file of references, where there is one.
    pub(super) fn reference(&self) -> &Text {
        self.references.first().expect("metrics that need one were refused without")
    }
}
