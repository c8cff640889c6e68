//! Two files of which line n of one belongs to line n of the other.

use std::path::PathBuf;

use super::{Empty, Row, is_empty};
use crate::{DataError, Lines};

/// Both lines of each number.
pub(super) struct Parallel {
    files: Option<[Lines; 2]>,
    empty: Empty,
}

impl Parallel {
    pub(super) fn open(paths: &[PathBuf; 2], empty: Empty) -> Result<Parallel, DataError> {
        let [first, second] = paths;
        Ok(Parallel { files: Some([Lines::open(first)?, Lines::open(second)?]), empty })
    }

    fn next_row(&mut self) -> Result<Option<Row>, DataError> {
        let Some([first, second]) = &mut self.files else { return Ok(None) };
        // Both go on by a line, whatever is wrong with one of them.
        let lines = [first.next(), second.next()];
        match lines {
            [Some(one), Some(other)] => {
                let line = first.line();
                let fields = vec![checked(one?, first, self.empty)?, checked(other?, second, self.empty)?];
                Ok(Some(Row { fields, line }))
            }
            [None, None] => Ok(None),
            // A file that was cut off says so, rather than that the other one is longer.
            [Some(Err(error)), None] | [None, Some(Err(error))] if !error.is_of_one_line() => Err(error),
            _ => Err(self.different_lengths()),
        }
    }

    /// Reads both to their ends, to say how many lines each has; or that one cannot be read, which explains it better.
    fn different_lengths(&mut self) -> DataError {
        let Some(mut files) = self.files.take() else { unreachable!("the files were read just now") };
        for lines in &mut files {
            let broken = lines.by_ref().filter_map(Result::err).find(|error| !error.is_of_one_line());
            if let Some(error) = broken {
                return error;
            }
        }
        let [(first, first_lines), (second, second_lines)] =
            files.map(|lines| (lines.path().to_path_buf(), lines.line()));
        match (first_lines, second_lines) {
            (0, _) => DataError::Empty { path: first },
            (_, 0) => DataError::Empty { path: second },
            _ => DataError::DifferentLengths { first, first_lines, second, second_lines },
        }
    }
}

fn checked(text: String, lines: &Lines, empty: Empty) -> Result<String, DataError> {
    if empty == Empty::Refuse && is_empty(&text) {
        return Err(DataError::EmptyLine { path: lines.path().into(), line: lines.line() });
    }
    Ok(text)
}

impl Iterator for Parallel {
    type Item = Result<Row, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_row().transpose()
    }
}
