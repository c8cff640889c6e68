//! Where texts come from, as a config says it.
//!
//! | written | means |
//! |---|---|
//! | `"pairs.tsv"` | one file of two columns with a tab between: source and target, or label and text |
//! | `["train.en", "train.de"]` | two files: line n of one belongs to line n of the other; sources and targets, or texts and labels |
//! | `{ csv = "f.csv", source = "en", target = "de" }` | columns of a table; also `tsv` |
//! | `{ jsonl = "f.jsonl", source = "translation.en", target = "translation.de" }` | values of JSON objects, one on a line |
//! | `[{ … , weight = 2.0 }, { … }]` | several of these |
//!
//! A column is given by its name, which stands in the first line then, or by its number, counted from 1: then there is no such line.

use std::fmt;
use std::path::{Path, PathBuf};

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::DataError;
use crate::unpack::{add_file_to_checksum, is_standard_input};

/// Where pairs or labeled texts come from: one corpus or several.
#[derive(Clone, Debug, PartialEq)]
pub struct Files {
    corpora: Vec<Corpus>,
    bad_lines: BadLines,
}

/// What to do with a line that cannot be used: not UTF-8, not of the format, or empty where that is a mistake.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BadLines {
    /// It ends the reading with an error.
    #[default]
    Refuse,
    /// It is left out and counted, together with what belongs to it. A packed file that is cut off or damaged ends there.
    Skip,
}

impl BadLines {
    /// Whether what this error is about is left out.
    pub(crate) fn skips(self, error: &DataError) -> bool {
        self == BadLines::Skip && (error.is_of_one_line() || error.is_of_the_packing())
    }
}

/// One of the places where texts come from.
#[derive(Clone, Debug, PartialEq)]
pub struct Corpus {
    /// The file or the files.
    pub format: Format,
    /// Which column holds what; where nothing is said, the first and the second one do.
    pub columns: Columns,
    /// How often its texts are drawn beside those of the others: with 2, twice as often as with 1.
    pub weight: f64,
}

/// The file or the files of a corpus.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Format {
    /// Line n of one file belongs to line n of the other.
    Parallel([PathBuf; 2]),
    /// A table with tabs between its columns.
    Tsv(PathBuf),
    /// A table with commas between its columns and quotation marks around those that need them.
    Csv(PathBuf),
    /// A JSON object on each line.
    Jsonl(PathBuf),
}

/// The columns that a config chooses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Columns {
    /// What a model reads.
    pub source: Option<Column>,
    /// What it should write.
    pub target: Option<Column>,
    /// What a classifier reads.
    pub text: Option<Column>,
    /// What that is.
    pub label: Option<Column>,
}

/// A column of a table, or a value of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "a column's name, or its number from 1")]
pub enum Column {
    /// By its place, counted from 1.
    Number(usize),
    /// By its name, or by its key.
    Name(String),
}

impl fmt::Display for Column {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Column::Number(number) => write!(f, "{number}"),
            Column::Name(name) => write!(f, "{name:?}"),
        }
    }
}

impl Files {
    /// One file with a tab between two columns.
    pub fn tsv(path: impl Into<PathBuf>) -> Files {
        Files::of(Format::Tsv(path.into()))
    }

    /// Two files that belong together line by line.
    pub fn parallel(first: impl Into<PathBuf>, second: impl Into<PathBuf>) -> Files {
        Files::of(Format::Parallel([first.into(), second.into()]))
    }

    /// A table with these columns.
    pub fn table(format: Format, columns: Columns) -> Files {
        Files::all(vec![Corpus { columns, ..Corpus::of(format) }])
    }

    fn of(format: Format) -> Files {
        Files::all(vec![Corpus::of(format)])
    }

    fn all(corpora: Vec<Corpus>) -> Files {
        Files { corpora, bad_lines: BadLines::Refuse }
    }

    /// The same files, read in another way. A config says it in a key of its own, so that it is not written with them.
    pub fn with_bad_lines(self, bad_lines: BadLines) -> Files {
        Files { bad_lines, ..self }
    }

    /// What to do with a line that cannot be used.
    pub fn bad_lines(&self) -> BadLines {
        self.bad_lines
    }

    /// The corpora, one or more, in the order in which they are read.
    pub fn corpora(&self) -> &[Corpus] {
        &self.corpora
    }

    /// Refuses files that cannot be read a second time.
    pub fn check_rereadable(&self) -> Result<(), DataError> {
        if self.paths().any(is_standard_input) { Err(DataError::ReadOnce) } else { Ok(()) }
    }

    /// A checksum of all files as they are, after another one. What comes from the standard input does not count.
    pub fn add_to_checksum(&self, sum: u32) -> Result<u32, DataError> {
        let mut files = self.paths().filter(|path| !is_standard_input(path));
        files.try_fold(sum, add_file_to_checksum)
    }

    fn paths(&self) -> impl Iterator<Item = &Path> {
        self.corpora.iter().flat_map(|corpus| corpus.format.paths()).map(PathBuf::as_path)
    }

    /// Each corpus by itself.
    pub fn apart(&self) -> impl Iterator<Item = Files> {
        self.corpora.iter().map(|corpus| Files { corpora: vec![corpus.clone()], bad_lines: self.bad_lines })
    }

    /// The path, where one and nothing else is given: for texts that need no second column.
    pub fn one_path(&self) -> Option<&Path> {
        match &self.corpora[..] {
            [Corpus { format: Format::Tsv(path), columns, weight: 1.0 }]
                if *columns == Columns::default() =>
            {
                Some(path)
            }
            _ => None,
        }
    }

    /// The files, seen from a folder.
    pub fn relative_to(&self, folder: &Path) -> Files {
        let corpora = self
            .corpora
            .iter()
            .map(|corpus| Corpus { format: corpus.format.relative_to(folder), ..corpus.clone() });
        Files { corpora: corpora.collect(), bad_lines: self.bad_lines }
    }
}

/// How a file's name ends, without regard to its packing.
fn ending(path: &Path) -> Option<&str> {
    match path.extension()?.to_str()? {
        "gz" | "zst" => Path::new(path.file_stem()?).extension()?.to_str(),
        other => Some(other),
    }
}

impl Corpus {
    fn of(format: Format) -> Corpus {
        Corpus { format, columns: Columns::default(), weight: 1.0 }
    }
}

impl Format {
    /// The table at a path, as the name ends, whether or not it is packed: `.csv`, `.tsv` or `.jsonl`.
    pub fn of_path(path: &Path) -> Option<Format> {
        match ending(path)? {
            "csv" => Some(Format::Csv(path.into())),
            "tsv" => Some(Format::Tsv(path.into())),
            "jsonl" => Some(Format::Jsonl(path.into())),
            _ => None,
        }
    }

    /// As [`Format::of_path`]; any other file, the standard input for example, has a JSON object on each line.
    pub fn of_table(path: &Path) -> Format {
        Format::of_path(path).unwrap_or_else(|| Format::Jsonl(path.into()))
    }

    /// The file that errors name where a whole corpus is meant.
    pub(crate) fn path(&self) -> &Path {
        &self.paths()[0]
    }

    /// One file or two.
    fn paths(&self) -> &[PathBuf] {
        match self {
            Format::Parallel(paths) => paths,
            Format::Tsv(path) | Format::Csv(path) | Format::Jsonl(path) => std::slice::from_ref(path),
        }
    }

    fn relative_to(&self, folder: &Path) -> Format {
        let seen = |path: &PathBuf| {
            if is_standard_input(path) { path.clone() } else { folder.join(path) }
        };
        match self {
            Format::Parallel(paths) => Format::Parallel(paths.each_ref().map(seen)),
            Format::Tsv(path) => Format::Tsv(seen(path)),
            Format::Csv(path) => Format::Csv(seen(path)),
            Format::Jsonl(path) => Format::Jsonl(seen(path)),
        }
    }
}

/// A corpus as a table of a config.
#[derive(Serialize, Deserialize, Default)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(skip_serializing_if = "Option::is_none")]
    parallel: Option<[PathBuf; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tsv: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    csv: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    jsonl: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<Column>,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight: Option<f64>,
}

impl Written {
    /// What makes no corpus is said in words that a config's reader puts its line before.
    fn corpus(self) -> Result<Corpus, &'static str> {
        let Written { parallel, tsv, csv, jsonl, source, target, text, label, weight } = self;
        let formats = [
            parallel.map(Format::Parallel),
            tsv.map(Format::Tsv),
            csv.map(Format::Csv),
            jsonl.map(Format::Jsonl),
        ];
        let mut formats = formats.into_iter().flatten();
        let (Some(format), None) = (formats.next(), formats.next()) else {
            return Err("a corpus is one of: parallel, tsv, csv, jsonl");
        };
        let columns = Columns { source, target, text, label };
        let chosen = [&columns.source, &columns.target, &columns.text, &columns.label];
        if columns != Columns::default() && matches!(format, Format::Parallel(_)) {
            return Err("parallel files have no columns");
        }
        if chosen.into_iter().flatten().any(|column| *column == Column::Number(0)) {
            return Err("columns are counted from 1");
        }
        let weight = weight.unwrap_or(1.0);
        if !(weight > 0.0 && weight.is_finite()) {
            return Err("a weight is a number above 0");
        }
        Ok(Corpus { format, columns, weight })
    }
}

impl<'de> Deserialize<'de> for Corpus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Corpus, D::Error> {
        Written::deserialize(deserializer)?.corpus().map_err(D::Error::custom)
    }
}

impl Serialize for Corpus {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Columns { source, target, text, label } = self.columns.clone();
        let weight = (self.weight != 1.0).then_some(self.weight);
        let mut written = Written { source, target, text, label, weight, ..Written::default() };
        match self.format.clone() {
            Format::Parallel(paths) => written.parallel = Some(paths),
            Format::Tsv(path) => written.tsv = Some(path),
            Format::Csv(path) => written.csv = Some(path),
            Format::Jsonl(path) => written.jsonl = Some(path),
        }
        written.serialize(serializer)
    }
}

impl Serialize for Files {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.corpora[..] {
            [one] if *one == Corpus::of(one.format.clone()) => match &one.format {
                Format::Tsv(path) => path.serialize(serializer),
                Format::Parallel(paths) => paths.serialize(serializer),
                Format::Csv(_) | Format::Jsonl(_) => one.serialize(serializer),
            },
            [one] => one.serialize(serializer),
            several => several.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Files {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Files, D::Error> {
        deserializer.deserialize_any(AnyForm)
    }
}

/// Takes a path, two paths, a table or several tables. An untagged enum would say of every mistake inside of them only that
/// nothing fits.
struct AnyForm;

impl<'de> Visitor<'de> for AnyForm {
    type Value = Files;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "a TSV file \"pairs.tsv\", two parallel files [\"source\", \"target\"], \
             a table { csv = \"f.csv\", source = \"en\", target = \"de\" } (or jsonl, tsv, parallel), or a list of tables",
        )
    }

    fn visit_str<E: serde::de::Error>(self, path: &str) -> Result<Files, E> {
        Ok(Files::tsv(path))
    }

    fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Files, A::Error> {
        let corpus = Corpus::deserialize(MapAccessDeserializer::new(table))?;
        Ok(Files::all(vec![corpus]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Files, A::Error> {
        let items = Vec::<Item>::deserialize(SeqAccessDeserializer::new(list))?;
        if let [Item::Path(first), Item::Path(second)] = &items[..] {
            return Ok(Files::parallel(first, second));
        }
        let corpora: Option<Vec<Corpus>> = items.into_iter().map(Item::into_corpus).collect();
        match corpora {
            Some(corpora) if !corpora.is_empty() => Ok(Files::all(corpora)),
            _ => Err(A::Error::custom(
                "a list that is neither two files nor tables, expected [\"source\", \"target\"] or [{ tsv = \"a.tsv\" }, { tsv = \"b.tsv\" }]",
            )),
        }
    }
}

/// What a list may hold.
enum Item {
    Path(PathBuf),
    Corpus(Corpus),
}

impl Item {
    fn into_corpus(self) -> Option<Corpus> {
        match self {
            Item::Path(_) => None,
            Item::Corpus(corpus) => Some(corpus),
        }
    }
}

impl<'de> Deserialize<'de> for Item {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Item, D::Error> {
        struct PathOrTable;

        impl<'de> Visitor<'de> for PathOrTable {
            type Value = Item;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a file, or a table such as { tsv = \"a.tsv\" }")
            }

            fn visit_str<E: serde::de::Error>(self, path: &str) -> Result<Item, E> {
                Ok(Item::Path(path.into()))
            }

            fn visit_map<A: MapAccess<'de>>(self, table: A) -> Result<Item, A::Error> {
                Corpus::deserialize(MapAccessDeserializer::new(table)).map(Item::Corpus)
            }
        }

        deserializer.deserialize_any(PathOrTable)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unpack::STANDARD_INPUT;

    fn parse(json: &str) -> Result<Files, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    fn name(name: &str) -> Option<Column> {
        Some(Column::Name(name.to_owned()))
    }

    /// That of the text of both files, one after the other; a file that is not there is named.
    #[test]
    fn a_checksum_is_that_of_all_files() {
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["a", "b"].map(|name| folder.path().join(name));
        std::fs::write(&first, "one\ntwo\n").unwrap();
        let files = Files::parallel(&first, &second);
        assert!(matches!(files.add_to_checksum(0), Err(DataError::Missing { path }) if path == second));
        std::fs::write(&second, "eins\nzwei\n").unwrap();
        assert_eq!(files.add_to_checksum(0).unwrap(), crc32c::crc32c(b"one\ntwo\neins\nzwei\n"));
        assert_eq!(Files::tsv(STANDARD_INPUT).add_to_checksum(7).unwrap(), 7);
    }

    #[test]
    fn every_form_is_read_and_written() {
        let csv = Corpus {
            columns: Columns { source: name("en"), target: name("de"), ..Columns::default() },
            ..Corpus::of(Format::Csv("f.csv".into()))
        };
        let jsonl = Corpus {
            columns: Columns { text: name("t"), label: Some(Column::Number(2)), ..Columns::default() },
            weight: 2.5,
            ..Corpus::of(Format::Jsonl("f.jsonl".into()))
        };
        let forms = [
            (r#""a.tsv""#, Files::tsv("a.tsv")),
            (r#"["a","b"]"#, Files::parallel("a", "b")),
            (r#"{"csv":"f.csv","source":"en","target":"de"}"#, Files::all(vec![csv.clone()])),
            (
                r#"[{"csv":"f.csv","source":"en","target":"de"},{"jsonl":"f.jsonl","text":"t","label":2,"weight":2.5}]"#,
                Files::all(vec![csv, jsonl]),
            ),
        ];
        for (written, files) in forms {
            assert_eq!(parse(written).as_ref(), Ok(&files));
            assert_eq!(serde_json::to_string(&files).unwrap(), written);
        }
        assert_eq!(parse(r#"{"parallel": ["a", "b"]}"#), Ok(Files::parallel("a", "b")));
        assert_eq!(parse(r#"[{"tsv": "a"}]"#), Ok(Files::tsv("a")));
    }

    #[test]
    fn what_makes_no_corpus_is_refused_by_name() {
        let said = |written: &str| parse(written).unwrap_err();
        let starts = [
            (r#"{"source": "en"}"#, "a corpus is one of: parallel, tsv, csv, jsonl"),
            (r#"{"csv": "a", "tsv": "b"}"#, "a corpus is one of: "),
            (r#"{"csv": "a", "sauce": "b"}"#, "unknown field `sauce`, expected one of `parallel`, "),
            (r#"{"csv": "a", "weight": 0}"#, "a weight is a number above 0"),
            (r#"{"csv": "a", "source": 0}"#, "columns are counted from 1"),
            (r#"{"parallel": ["a", "b"], "source": 1}"#, "parallel files have no columns"),
            (r#"["a", "b", "c"]"#, "a list that is neither two files nor tables"),
            ("[]", "a list that is neither"),
            (r#"["a", {"tsv": "b"}]"#, "a list that is neither"),
            ("3", "invalid type: integer `3`, expected a TSV file \"pairs.tsv\""),
        ];
        for (written, start) in starts {
            assert!(said(written).starts_with(start), "{written}: {}", said(written));
        }
    }

    #[test]
    fn a_table_is_what_its_name_ends_with() {
        let of_path = |path: &str| Format::of_path(Path::new(path));
        assert_eq!(of_path("a.csv"), Some(Format::Csv("a.csv".into())));
        assert_eq!(of_path("b/a.tsv.gz"), Some(Format::Tsv("b/a.tsv.gz".into())));
        assert_eq!(of_path("a.jsonl.zst"), Some(Format::Jsonl("a.jsonl.zst".into())));
        assert_eq!(["a.txt", "csv", "-", ".gz", "a.gz"].map(of_path), [const { None }; 5]);
    }

    #[test]
    fn paths_are_seen_from_a_folder_but_the_standard_input_is_everywhere() {
        let seen = |files: Files| files.relative_to(Path::new("here"));
        assert_eq!(seen(Files::parallel("a", "b")), Files::parallel("here/a", "here/b"));
        assert_eq!(seen(Files::tsv("-")), Files::tsv("-"));
        assert_eq!(seen(Files::tsv("/a")), Files::tsv("/a"));
    }
}
