//! Texts with a label each, and the labels that there are.

use std::path::{Path, PathBuf};

use crate::corpora::Files;
use crate::features::{FeatureColumns, Value};
use crate::records::{Place, Reading, Records, Roles, Skipped};
use crate::{DataError, Lines, Weight};

/// The most names that a hint lists.
pub(crate) const LISTED: usize = 10;

/// A text and what it is.
#[derive(Clone, Debug, PartialEq)]
pub struct LabeledText {
    /// What it is.
    pub label: String,
    /// The text.
    pub text: String,
    /// What each column beside it says.
    pub values: Vec<Value>,
    /// Where the label stands.
    pub place: Place,
}

/// Labeled texts, one after the other, read as they are asked for; as [`Pairs`](crate::Pairs) are.
#[derive(Debug)]
pub struct Labeled {
    records: Records,
}

impl Labeled {
    /// Opens the files. A file of two columns has the label first, two parallel files are texts and labels. Columns beside them are
    /// read of tables only.
    pub fn open(files: &Files, columns: &FeatureColumns, reading: Reading) -> Result<Labeled, DataError> {
        Ok(Labeled { records: Records::open(files, Roles::Labeled, columns, reading)? })
    }

    /// Reads all texts, and says what was left out.
    pub fn all(files: &Files, columns: &FeatureColumns) -> Result<(LabeledTexts, Skipped), DataError> {
        let mut texts = Labeled::open(files, columns, Reading::default())?;
        let all = texts.by_ref().collect::<Result<_, _>>()?;
        Ok((all, texts.skipped().clone()))
    }

    /// How many texts of each corpus have been read so far, and how often they come up in an epoch.
    pub fn weights(&self) -> &[Weight] {
        self.records.weights()
    }

    /// What has been left out so far.
    pub fn skipped(&self) -> &Skipped {
        self.records.skipped()
    }
}

impl Iterator for Labeled {
    type Item = Result<LabeledText, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.records.next()?;
        Some(record.map(|record| {
            let [text, label] = record.texts;
            LabeledText { label: label.trim().to_owned(), text, values: record.values, place: record.place }
        }))
    }
}

/// Texts and what each of them is: label n belongs to text n.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LabeledTexts {
    /// What each text is.
    pub labels: Vec<String>,
    /// The texts.
    pub texts: Vec<String>,
    /// What each column beside a text says.
    pub values: Vec<Vec<Value>>,
    /// Where each label stands: errors name it.
    pub places: Vec<Place>,
}

impl LabeledTexts {
    /// Reads one file that has a label, a tab and a text on each line.
    pub fn read_tsv(path: impl AsRef<Path>) -> Result<LabeledTexts, DataError> {
        Labeled::all(&Files::tsv(path.as_ref()), &FeatureColumns::default()).map(|(texts, _)| texts)
    }

    /// Reads a file of texts and one of labels: line n of one belongs to line n of the other.
    pub fn read_parallel(
        texts: impl AsRef<Path>,
        labels: impl AsRef<Path>,
    ) -> Result<LabeledTexts, DataError> {
        let files = Files::parallel(texts.as_ref(), labels.as_ref());
        Labeled::all(&files, &FeatureColumns::default()).map(|(texts, _)| texts)
    }

    /// The file that the first label stands in.
    pub(crate) fn path(&self) -> PathBuf {
        self.places.first().map_or_else(PathBuf::new, |place| place.path.to_path_buf())
    }
}

impl FromIterator<LabeledText> for LabeledTexts {
    fn from_iter<I: IntoIterator<Item = LabeledText>>(all: I) -> LabeledTexts {
        let mut texts = LabeledTexts::default();
        for LabeledText { label, text, values, place } in all {
            texts.labels.push(label);
            texts.texts.push(text);
            texts.values.push(values);
            texts.places.push(place);
        }
        texts
    }
}

/// All labels that there are, each with a number.
///
/// ```
/// use couplet_data::{LabeledTexts, Labels};
///
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("train.tsv");
/// std::fs::write(&path, "good\tI liked it.\nbad\tI left early.\n")?;
/// let texts = LabeledTexts::read_tsv(&path)?;
/// let labels = Labels::of(&texts)?;
/// assert_eq!(labels.names(), ["bad", "good"]);
/// assert_eq!(labels.numbers(&texts)?, [1, 0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Labels {
    names: Vec<String>,
}

impl Labels {
    /// The labels of training texts, in the order of their characters. There must be two or more.
    pub fn of(texts: &LabeledTexts) -> Result<Labels, DataError> {
        let mut names = texts.labels.clone();
        names.sort_unstable();
        names.dedup();
        match &names[..] {
            [] => Err(DataError::Empty { path: texts.path() }),
            [label] => Err(DataError::OneLabel { path: texts.path(), label: label.clone() }),
            _ => Ok(Labels { names }),
        }
    }

    /// Reads the file `labels.txt` of a model folder.
    pub fn load(path: impl AsRef<Path>) -> Result<Labels, DataError> {
        let path = path.as_ref();
        let names = Lines::open(path)?.collect::<Result<Vec<String>, _>>()?;
        if names.len() < 2 {
            return Err(DataError::DamagedLabels { path: path.into(), labels: names.len() });
        }
        Ok(Labels { names })
    }

    /// The labels as `labels.txt` has them: one a line, in the order of their numbers.
    pub fn to_text(&self) -> String {
        self.names.iter().map(|name| format!("{name}\n")).collect()
    }

    /// The labels, in the order of their numbers.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The number of each text's label.
    pub fn numbers(&self, texts: &LabeledTexts) -> Result<Vec<u32>, DataError> {
        let number = |(place, label): (&Place, &String)| {
            let number = self.names.iter().position(|name| name == label);
            number.map(|number| number as u32).ok_or_else(|| DataError::UnknownLabel {
                path: place.path.to_path_buf(),
                line: place.line,
                label: label.clone(),
                known: self.listed(),
            })
        };
        texts.places.iter().zip(&texts.labels).map(number).collect()
    }

    /// The labels for a reader; where there are many, the first of them.
    fn listed(&self) -> String {
        let first = self.names.iter().take(LISTED).map(String::as_str).collect::<Vec<_>>().join(", ");
        match self.names.len() {
            0..=LISTED => first,
            all => format!("{first}, … ({all} in all)"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(labels: &[&str]) -> LabeledTexts {
        let text = |(line, label): (usize, &&str)| LabeledText {
            label: (*label).to_owned(),
            text: "text".to_owned(),
            values: Vec::new(),
            place: Place { path: Path::new("a.tsv").into(), line },
        };
        (1..).zip(labels).map(text).collect()
    }

    #[test]
    fn a_table_and_two_files_are_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        let table = LabeledTexts::read_tsv(file("a.tsv", "1\tgood film\n 0 \tbad film\n")).unwrap();
        assert_eq!(
            (&table.labels[..], &table.texts[1][..]),
            (&["1".to_owned(), "0".to_owned()][..], "bad film")
        );
        let labels = file("labels", "1\n0\n");
        let two = LabeledTexts::read_parallel(file("texts", "good film\nbad film\n"), &labels).unwrap();
        assert_eq!((two.labels, two.texts), (table.labels, table.texts));
        assert_eq!(two.places[1], Place { path: labels.into(), line: 2 });
    }

    #[test]
    fn labels_have_numbers_and_survive_a_file() {
        let labels = Labels::of(&texts(&["b", "a", "b", "c"])).unwrap();
        assert_eq!(labels.numbers(&texts(&["c", "a"])).unwrap(), [2, 0]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("labels.txt");
        std::fs::write(&path, labels.to_text()).unwrap();
        assert_eq!(Labels::load(&path).unwrap(), labels);
        std::fs::write(&path, "a\n").unwrap();
        assert!(Labels::load(&path).unwrap_err().to_string().ends_with("labels.txt: 1 labels"));
    }

    #[test]
    fn a_label_that_is_not_known_is_named_with_its_line() {
        let error = Labels::of(&texts(&["0", "1"])).unwrap().numbers(&texts(&["0", "2"])).unwrap_err();
        assert_eq!(error.to_string(), "a.tsv:2: no training text has the label \"2\"");
        assert_eq!(error.hint().unwrap(), "one of 0, 1; a line has the label first, then a tab and the text");
        let many: Vec<String> = (10..30).map(|n| n.to_string()).collect();
        let many = Labels::of(&texts(&many.iter().map(String::as_str).collect::<Vec<_>>())).unwrap();
        assert_eq!(many.listed(), "10, 11, 12, 13, 14, 15, 16, 17, 18, 19, … (20 in all)");
    }

    #[test]
    fn one_label_is_nothing_to_learn() {
        let error = Labels::of(&texts(&["1", "1"])).unwrap_err();
        assert_eq!(error.to_string(), "a.tsv: every text has the label \"1\"");
    }
}
