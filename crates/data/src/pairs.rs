//! Pairs of a source and a target, one at a time.

use std::path::Path;

use crate::corpora::{BadLines, Files};
use crate::features::FeatureColumns;
use crate::records::{Empty, Reading, Records, Roles, Skipped};
use crate::{DataError, Lines, Weight};

/// An input and the output that answers it.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Pair {
    /// What the model reads.
    pub source: String,
    /// What the model should write.
    pub target: String,
}

/// The pairs of one corpus or of several, one after the other, read as they are asked for.
///
/// ```
/// use couplet_data::{Files, Pairs, Reading};
///
/// # let folder = tempfile::tempdir()?;
/// # let [a, b] = ["a.tsv", "b.jsonl"].map(|name| folder.path().join(name));
/// std::fs::write(&a, "one\teins\n")?;
/// std::fs::write(&b, "{\"en\": \"two\", \"de\": \"zwei\"}\n")?;
/// let files: Files = serde_json::from_value(serde_json::json!([
///     { "tsv": a },
///     { "jsonl": b, "source": "en", "target": "de", "weight": 2.0 },
/// ]))?;
///
/// let mut pairs = Pairs::open(&files, Reading::default())?;
/// assert_eq!(pairs.next().unwrap()?.target, "eins");
/// assert_eq!(pairs.next().unwrap()?.target, "zwei");
/// assert_eq!((pairs.corpus(), files.corpora()[1].weight), (1, 2.0));
/// assert!(pairs.next().is_none());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// After an error that [concerns one line](DataError::is_of_one_line) the next pair can be read; after any other there are no
/// further pairs. With [`BadLines::Skip`](crate::BadLines::Skip), the former are [counted](Pairs::skipped) and not returned.
#[derive(Debug)]
pub struct Pairs {
    records: Records,
}

impl Pairs {
    /// Opens the files. Of several corpora, each is opened when the one before it is at its end.
    pub fn open(files: &Files, reading: Reading) -> Result<Pairs, DataError> {
        Ok(Pairs { records: Records::open(files, Roles::Pair, &FeatureColumns::default(), reading)? })
    }

    /// Reads all pairs, and says what was left out.
    pub fn all(files: &Files) -> Result<(Vec<Pair>, Skipped), DataError> {
        let mut pairs = Pairs::open(files, Reading::default())?;
        let all = pairs.by_ref().collect::<Result<_, _>>()?;
        Ok((all, pairs.skipped().clone()))
    }

    /// Which of [`Files::corpora`] the last pair came from.
    pub fn corpus(&self) -> usize {
        self.records.corpus()
    }

    /// How many pairs of each corpus have been read so far, and how often they come up in an epoch.
    pub fn weights(&self) -> &[Weight] {
        self.records.weights()
    }

    /// What has been left out so far.
    pub fn skipped(&self) -> &Skipped {
        self.records.skipped()
    }
}

impl Iterator for Pairs {
    type Item = Result<Pair, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.map(|record| {
            let [source, target] = record.texts;
            Pair { source, target }
        }))
    }
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
    Pairs::open(&Files::parallel(source.as_ref(), target.as_ref()), Reading { empty })?.collect()
}

/// Reads a file of texts, one a line, and counts the lines that cannot be used where they are left out. Empty lines are passed by.
pub fn read_texts(path: impl AsRef<Path>, bad_lines: BadLines) -> Result<(Vec<String>, Skipped), DataError> {
    let (mut texts, mut skipped) = (Vec::new(), Skipped::default());
    for line in Lines::open(path.as_ref())? {
        match line {
            Ok(text) if text.trim().is_empty() => {}
            Ok(text) => texts.push(text),
            Err(error) if bad_lines.skips(&error) => skipped.add(&error),
            Err(error) => return Err(error),
        }
    }
    if texts.is_empty() { Err(DataError::Empty { path: path.as_ref().into() }) } else { Ok((texts, skipped)) }
}

/// Reads one file that has a source, a tab and a target on each line.
pub fn read_tsv(path: impl AsRef<Path>, empty: Empty) -> Result<Vec<Pair>, DataError> {
    Pairs::open(&Files::tsv(path.as_ref()), Reading { empty })?.collect()
}

#[cfg(test)]
mod tests {
    use tempfile::TempDir;

    use super::*;
    use std::path::PathBuf;

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
        assert_eq!(message(folder.parallel("1", b"1\n2\n\xff\n")), "a.en has 1 lines but a.de has 3");
        let missing = read_parallel(folder.file("x", "1"), folder.0.path().join("y"), Empty::Refuse);
        assert_eq!(message(missing), "y: no such file");
    }
}
