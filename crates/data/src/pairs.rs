//! Pairs of a source and a target, from two files that agree line by line or from one table.

use std::path::{Path, PathBuf};

use crate::{DataError, Lines};

/// An input and the output that answers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// What the model reads.
    pub source: String,
    /// What the model should write.
    pub target: String,
}

/// What to do with a line that has nothing on it but spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Empty {
    /// It is a mistake, as in training data: nothing can be learnt from it, and most often a line has slipped.
    Refuse,
    /// It is a sequence of no tokens.
    Keep,
}

/// Reads two files of which line n of one belongs to line n of the other.
///
/// ```no_run
/// use couplet_data::{Empty, read_parallel};
///
/// let pairs = read_parallel("train.en.gz", "train.de.gz", Empty::Refuse)?;
/// println!("{} → {}", pairs[0].source, pairs[0].target);
/// # Ok::<(), couplet_data::DataError>(())
/// ```
pub fn read_parallel(
    source: impl AsRef<Path>,
    target: impl AsRef<Path>,
    empty: Empty,
) -> Result<Vec<Pair>, DataError> {
    let mut sources = Lines::open(source.as_ref())?;
    let mut targets = Lines::open(target.as_ref())?;
    let mut pairs = Vec::new();
    loop {
        match (sources.next().transpose()?, targets.next().transpose()?) {
            (Some(source), Some(target)) => {
                check_line(&source, &sources, empty)?;
                check_line(&target, &targets, empty)?;
                pairs.push(Pair { source, target });
            }
            (None, None) if pairs.is_empty() => {
                return Err(DataError::Empty { path: source.as_ref().into() });
            }
            (None, None) => return Ok(pairs),
            _ => return Err(different_lengths(sources, targets)),
        }
    }
}

/// Reads one file that has a source, a tab and a target on each line.
pub fn read_tsv(path: impl AsRef<Path>, empty: Empty) -> Result<Vec<Pair>, DataError> {
    let lines = read_columns(path.as_ref(), ["source", "target"], empty)?;
    Ok(lines.into_iter().map(|[source, target]| Pair { source, target }).collect())
}

/// Reads the two columns of a file, which errors call by these names.
pub(crate) fn read_columns(
    path: &Path,
    names: [&'static str; 2],
    empty: Empty,
) -> Result<Vec<[String; 2]>, DataError> {
    let mut lines = Vec::new();
    for (index, text) in Lines::open(path)?.enumerate() {
        let line = columns(path, index + 1, &text?, names)?;
        for (column, text) in (1..).zip(&line) {
            if empty == Empty::Refuse && is_empty(text) {
                return Err(DataError::EmptyColumn { path: path.into(), line: index + 1, column });
            }
        }
        lines.push(line);
    }
    if lines.is_empty() {
        return Err(DataError::Empty { path: path.into() });
    }
    Ok(lines)
}

fn columns(path: &Path, line: usize, text: &str, names: [&'static str; 2]) -> Result<[String; 2], DataError> {
    match text.split('\t').collect::<Vec<_>>()[..] {
        [first, second] => Ok([first.to_owned(), second.to_owned()]),
        // A line without anything on it is called what it is, rather than a line with one column.
        [only] if is_empty(only) => Err(DataError::EmptyLine { path: path.into(), line }),
        ref columns => Err(DataError::Columns { path: path.into(), line, columns: columns.len(), names }),
    }
}

fn check_line(text: &str, lines: &Lines, empty: Empty) -> Result<(), DataError> {
    if empty == Empty::Refuse && is_empty(text) {
        return Err(DataError::EmptyLine { path: lines.path().into(), line: lines.line() });
    }
    Ok(())
}

fn is_empty(text: &str) -> bool {
    text.chars().all(char::is_whitespace)
}

/// Reads both to their ends, to say how many lines each has; or what else is wrong with them, which explains it better.
fn different_lengths(first: Lines, second: Lines) -> DataError {
    match (count(first), count(second)) {
        (Ok((first, 0)), Ok(_)) => DataError::Empty { path: first },
        (Ok(_), Ok((second, 0))) => DataError::Empty { path: second },
        (Ok((first, first_lines)), Ok((second, second_lines))) => {
            DataError::DifferentLengths { first, first_lines, second, second_lines }
        }
        (Err(error), _) | (_, Err(error)) => error,
    }
}

fn count(mut lines: Lines) -> Result<(PathBuf, usize), DataError> {
    lines.by_ref().try_for_each(|line| line.map(drop))?;
    Ok((lines.path().into(), lines.line()))
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;

    struct Folder(TempDir);

    impl Folder {
        fn new() -> Folder {
            Folder(tempfile::tempdir().unwrap())
        }

        fn file(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
            let path = self.0.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        }

        fn parallel(
            &self,
            source: impl AsRef<[u8]>,
            target: impl AsRef<[u8]>,
        ) -> Result<Vec<Pair>, DataError> {
            read_parallel(self.file("a.en", source), self.file("a.de", target), Empty::Refuse)
        }

        fn tsv(&self, text: &str) -> Result<Vec<Pair>, DataError> {
            read_tsv(self.file("a.tsv", text), Empty::Refuse)
        }
    }

    fn pair(source: &str, target: &str) -> Pair {
        Pair { source: source.to_owned(), target: target.to_owned() }
    }

    /// The message without the folder that the test made.
    fn message(result: Result<Vec<Pair>, DataError>) -> String {
        let text = result.unwrap_err().to_string();
        let folder = std::env::temp_dir();
        let words = text.split(' ').map(|word| {
            let is_path = word.starts_with(&*folder.to_string_lossy());
            if is_path { word.rsplit(std::path::MAIN_SEPARATOR).next().unwrap_or(word) } else { word }
        });
        words.collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn two_files_line_by_line() {
        let pairs = Folder::new().parallel("one\ntwo\n", "eins\r\nzwei").unwrap();
        assert_eq!(pairs, [pair("one", "eins"), pair("two", "zwei")]);
    }

    #[test]
    fn one_table() {
        let pairs = Folder::new().tsv("one\teins\ntwo words\tzwei\n").unwrap();
        assert_eq!(pairs, [pair("one", "eins"), pair("two words", "zwei")]);
    }

    #[test]
    fn different_lengths_name_both_files_and_counts() {
        let folder = Folder::new();
        assert_eq!(message(folder.parallel("1\n2\n3\n4", "1\n2")), "a.en has 4 lines but a.de has 2");
        assert_eq!(message(folder.parallel("1", "1\n2\n3\n")), "a.en has 1 lines but a.de has 3");
    }

    #[test]
    fn an_empty_file_is_named() {
        let folder = Folder::new();
        assert_eq!(message(folder.parallel("", "")), "a.en: the file is empty");
        assert_eq!(message(folder.parallel("1\n", "")), "a.de: the file is empty");
        assert_eq!(message(folder.tsv("")), "a.tsv: the file is empty");
    }

    #[test]
    fn an_empty_line_is_named_or_kept() {
        let folder = Folder::new();
        assert_eq!(message(folder.parallel("1\n\n3", "1\n2\n3")), "a.en:2: the line is empty");
        assert_eq!(message(folder.parallel("1\n2\n3", "1\n2\n \u{3000}")), "a.de:3: the line is empty");
        assert_eq!(message(folder.tsv("1\t1\n\n")), "a.tsv:2: the line is empty");
        assert_eq!(message(folder.tsv("1\t1\n2\t\n")), "a.tsv:2: column 2 is empty");
        let kept = read_parallel(folder.file("k.en", "1\n\n"), folder.file("k.de", "\n2\n"), Empty::Keep);
        assert_eq!(kept.unwrap(), [pair("1", ""), pair("", "2")]);
        assert_eq!(read_tsv(folder.file("k.tsv", "\t2"), Empty::Keep).unwrap(), [pair("", "2")]);
    }

    #[test]
    fn a_table_has_two_columns() {
        let folder = Folder::new();
        let found = |n| format!("a.tsv:2: expected 2 columns separated by a tab, found {n}");
        assert_eq!(message(folder.tsv("1\t1\nonly this\n")), found(1));
        assert_eq!(message(folder.tsv("1\t1\n2\t2\tCC-BY\n")), found(3));
    }

    #[test]
    fn what_is_wrong_inside_a_file_comes_through() {
        let folder = Folder::new();
        assert_eq!(
            message(folder.parallel("1\n2", b"1\n\xc3(\n")),
            "a.de:2: byte 1 of the line is not UTF-8"
        );
        // The shorter file explains itself better than the difference would.
        assert_eq!(message(folder.parallel("1", b"1\n2\n\xff\n")), "a.de:3: byte 1 of the line is not UTF-8");
        let missing = read_parallel(folder.file("x", "1"), folder.0.path().join("y"), Empty::Refuse);
        assert_eq!(message(missing), "y: no such file");
    }
}
