use std::io::Write;
use std::path::PathBuf;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::{FeaturedTexts, Labeled, Pairs};

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

    fn csv(&self, text: impl AsRef<[u8]>) -> Files {
        let path = self.file("a.csv", text);
        serde_json::from_value(json!({ "csv": path, "source": "en", "target": "de" })).unwrap()
    }

    fn jsonl(&self, text: impl AsRef<[u8]>) -> Files {
        let path = self.file("a.jsonl", text);
        serde_json::from_value(json!({ "jsonl": path, "source": "en", "target": "x.de" })).unwrap()
    }

    fn message(&self, error: &DataError) -> String {
        error.to_string().replace(&format!("{}/", self.0.path().display()), "")
    }

    fn said(&self, files: &Files) -> String {
        let error = read(files, Reading::default()).unwrap_err();
        self.message(&error)
    }
}

/// All pairs as `source|target`.
fn read(files: &Files, reading: Reading) -> Result<Vec<String>, DataError> {
    let pairs = Pairs::open(files, reading)?;
    pairs.map(|pair| pair.map(|pair| format!("{}|{}", pair.source, pair.target))).collect()
}

fn skipping(files: &Files) -> (Vec<String>, Skipped) {
    let files = files.clone().with_bad_lines(BadLines::Skip);
    let mut pairs = Pairs::open(&files, Reading::default()).unwrap();
    let read =
        pairs.by_ref().map(|pair| pair.map(|pair| format!("{}|{}", pair.source, pair.target)).unwrap());
    (read.collect(), pairs.skipped().clone())
}

#[test]
fn csv_by_hand() {
    let folder = Folder::new();
    let table = "\u{feff}id,en,de\r\n1,one,eins\r\n2,\"two, \"\"2\"\"\",\"zwei\n2\"\r\n";
    assert_eq!(read(&folder.csv(table), Reading::default()).unwrap(), ["one|eins", "two, \"2\"|zwei 2"]);
    let numbers = json!({ "csv": folder.file("b.csv", "1,one,eins\n"), "source": 2, "target": 3 });
    let numbers = serde_json::from_value(numbers).unwrap();
    assert_eq!(read(&numbers, Reading::default()).unwrap(), ["one|eins"]);
}

#[test]
fn what_is_wrong_with_a_table_is_named_with_its_line() {
    let folder = Folder::new();
    let said = |text: &str| folder.said(&folder.csv(text));
    assert_eq!(said("en,fr\none,un\n"), "a.csv: no column \"de\"");
    assert_eq!(said(""), "a.csv: the file is empty");
    assert_eq!(said("en,de\n"), "a.csv: the file is empty");
    assert_eq!(said("en,de\n\"a\nb\",c\nonly\n"), "a.csv:4: 1 columns where there should be 2");
    assert_eq!(said("en,de\none, \n"), "a.csv:2: column 2 is empty");
    assert_eq!(folder.said(&folder.csv(b"en,de\none,\xff\n")), "a.csv:2: column 2 is not UTF-8");
    let unclosed = format!("en,de\none,\"eins\n{}", "two,zwei\n".repeat(200_000));
    assert_eq!(said(&unclosed), "a.csv:2: a column of 1800005 bytes");
    let unchosen = serde_json::from_value(json!({ "csv": folder.file("a.csv", "en,de\n") })).unwrap();
    assert_eq!(folder.said(&unchosen), "a.csv: which columns are source and target?");
}

#[test]
fn jsonl_by_hand() {
    let folder = Folder::new();
    let lines = "{\"en\": \"one\\ntwo\", \"x\": {\"de\": \"eins\"}}\n{\"x\": {\"de\": 3}, \"en\": true}";
    assert_eq!(read(&folder.jsonl(lines), Reading::default()).unwrap(), ["one two|eins", "true|3"]);
    let said = |text: &str| folder.said(&folder.jsonl(text));
    assert_eq!(said("{\"en\": \"one\""), "a.jsonl:1: not JSON: EOF while parsing an object (byte 12)");
    assert_eq!(said("{\"en\": \"1\", \"x\": {}}"), "a.jsonl:1: no key \"x.de\"");
    assert_eq!(said("{\"en\": [1]}"), "a.jsonl:1: the value of \"en\" is not a text");
    assert_eq!(said("{\"en\": \" \"}"), "a.jsonl:1: the value of \"en\" is empty");
    assert_eq!(said("\n"), "a.jsonl:1: the line is empty");
}

#[test]
fn columns_of_a_tsv_table_can_be_chosen() {
    let folder = Folder::new();
    let path = folder.file("a.tsv", "id\tde\ten\tby\n1\teins\tone\tme\n2\tzwei\ttwo\t\n");
    let named = serde_json::from_value(json!({ "tsv": path, "source": "en", "target": "de" })).unwrap();
    assert_eq!(read(&named, Reading::default()).unwrap(), ["one|eins", "two|zwei"]);
    let numbered = serde_json::from_value(json!({ "tsv": path, "source": 3, "target": 5 })).unwrap();
    assert_eq!(folder.said(&numbered), "a.tsv:1: 4 columns where there should be 5");
    let path = folder.file("b.tsv", "\tone\t \n");
    let empty = serde_json::from_value(json!({ "tsv": path, "source": 2, "target": 3 })).unwrap();
    assert_eq!(folder.said(&empty), "b.tsv:1: column 3 is empty");
}

#[test]
fn corpora_are_read_one_after_the_other() {
    let folder = Folder::new();
    let (a, b) = (folder.file("a", "1\t2\n3\t4\n"), folder.file("b", "5\t6\n"));
    let files: Files = serde_json::from_value(json!([{ "tsv": a }, { "tsv": b, "weight": 3 }])).unwrap();
    let mut pairs = Pairs::open(&files, Reading::default()).unwrap();
    let mut corpora = Vec::new();
    while let Some(pair) = pairs.next() {
        corpora.push((pair.unwrap().source, pairs.corpus()));
    }
    assert_eq!(corpora, [("1".to_owned(), 0), ("3".to_owned(), 0), ("5".to_owned(), 1)]);
}

#[test]
fn labels_have_columns_too() {
    let folder = Folder::new();
    let path = folder.file("a.jsonl", "{\"review\": \"fine\", \"stars\": 5}\n");
    let files = serde_json::from_value(json!({ "jsonl": path, "text": "review", "label": "stars" })).unwrap();
    let labeled = Labeled::open(&files, &FeatureColumns::default(), Reading::default())
        .unwrap()
        .next()
        .unwrap()
        .unwrap();
    assert_eq!((labeled.label.as_str(), labeled.text.as_str(), labeled.place.line), ("5", "fine", 1));
    let pairs = Pairs::open(&files, Reading::default()).unwrap_err();
    assert_eq!(folder.message(&pairs), "a.jsonl: which columns are source and target?");
}

fn age_and_member() -> FeatureColumns {
    serde_json::from_value(json!({ "age": "number", "member": "yes-no" })).unwrap()
}

/// What stands beside each text, whatever the format; an empty field, a key that is not there and `null` are missing.
#[test]
fn columns_beside_a_text_by_hand() {
    let folder = Folder::new();
    let csv = folder.file("a.csv", "member,text,label,age\nyes,fine,1,41\n,poor,0,\n");
    let tsv = folder.file("a.tsv", "member\ttext\tlabel\tage\nyes\tfine\t1\t41\n\tpoor\t0\t\n");
    let lines = "{\"text\": \"fine\", \"label\": 1, \"age\": 41, \"member\": true}\n\
                 {\"text\": \"poor\", \"label\": 0, \"age\": null}\n";
    let jsonl = folder.file("a.jsonl", lines);
    let name = |name: &str| Some(Column::Name(name.to_owned()));
    let columns = Columns { text: name("text"), label: name("label"), ..Columns::default() };
    for path in [csv, tsv, jsonl] {
        let (texts, _) =
            Labeled::all(&Files::table(Format::of_table(&path), columns.clone()), &age_and_member()).unwrap();
        assert_eq!(
            (texts.texts.join(" "), texts.labels.join(" ")),
            ("fine poor".to_owned(), "1 0".to_owned())
        );
        let expected = [vec![Value::Number(41.0), Value::YesNo(true)], vec![Value::Missing, Value::Missing]];
        assert_eq!(texts.values, expected, "{path:?}");
        let alone = FeaturedTexts::open(&path, &Column::Name("text".to_owned()), &age_and_member()).unwrap();
        let values: Vec<Vec<Value>> = alone.map(|text| text.unwrap().values).collect();
        assert_eq!(values, expected, "{path:?}");
    }
}

#[test]
fn what_is_wrong_beside_a_text_is_named_with_its_line_and_can_be_left_out() {
    let folder = Folder::new();
    let path = folder.file("a.csv", "text,label,age,member\nfine,1,old,yes\npoor,0,41,no\n");
    let files: Files =
        serde_json::from_value(json!({ "csv": path, "text": "text", "label": "label" })).unwrap();
    let said =
        |files: &Files, columns: &FeatureColumns| folder.message(&Labeled::all(files, columns).unwrap_err());
    assert_eq!(said(&files, &age_and_member()), "a.csv:2: column \"age\": \"old\" is not a number");
    let (texts, skipped) =
        Labeled::all(&files.clone().with_bad_lines(BadLines::Skip), &age_and_member()).unwrap();
    assert_eq!((&texts.texts[..], skipped.lines), (&["poor".to_owned()][..], 1));
    let other = serde_json::from_value(json!({ "size": "number" })).unwrap();
    assert_eq!(said(&files, &other), "a.csv: no column \"size\"");
    for plain in [Files::tsv(folder.file("a.tsv", "1\tfine\n")), Files::parallel("a.tsv", "b")] {
        assert!(said(&plain, &age_and_member()).ends_with("a.tsv: no columns beside text and label"));
    }
}

#[test]
fn bad_lines_are_left_out_and_counted() {
    let folder = Folder::new();
    let files =
        Files::parallel(folder.file("a.en", b"1\n\xff\n3\n\n5\n"), folder.file("a.de", "1\n2\n3\n4\n5"));
    let (pairs, skipped) = skipping(&files);
    assert_eq!((pairs, skipped.lines), (vec!["1|1".to_owned(), "3|3".to_owned(), "5|5".to_owned()], 2));
    assert!(skipped.first[0].ends_with("a.en:2: byte 1 of the line is not UTF-8"), "{skipped:?}");

    let (pairs, skipped) = skipping(&folder.csv("en,de\none\n,\ntwo,zwei\n"));
    assert_eq!((pairs, skipped.lines), (vec!["two|zwei".to_owned()], 2));
    let (pairs, skipped) = skipping(&folder.jsonl("{}\nno\n{\"en\": 2, \"x.de\": 3}\n"));
    assert_eq!((pairs, skipped.lines), (vec!["2|3".to_owned()], 2));
    // A line too many moves all others: that is not the fault of one line.
    let files = Files::parallel(folder.file("a.en", "1\n2\n"), folder.file("a.de", "1\n"));
    let files = files.with_bad_lines(BadLines::Skip);
    assert!(matches!(read(&files, Reading::default()), Err(DataError::DifferentLengths { .. })));
}

#[test]
fn a_file_that_is_cut_off_ends_there() {
    let folder = Folder::new();
    let mut random = crate::random::Random::new(1);
    let lines: String = (0..9000).map(|n| format!("{n}\t{:x}\n", random.next_u64())).collect();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(lines.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let cut = folder.file("a.gz", &packed[..packed.len() / 2]);
    let error = read(&Files::tsv(&cut), Reading::default()).unwrap_err();
    let DataError::Truncated { line, .. } = error else { panic!("{error}") };
    let (pairs, skipped) = skipping(&Files::tsv(&cut));
    assert_eq!((pairs.len(), skipped.lines), (line - 1, 1));
    // In parallel files, both end there; the next corpus is read.
    let whole = folder.file("whole", &lines);
    let two = json!([{ "parallel": [cut, whole] }, { "tsv": whole }]);
    let (pairs, skipped) = skipping(&serde_json::from_value(two).unwrap());
    assert_eq!((pairs.len(), skipped.lines), (line - 1 + 9000, 1));
}

/// Texts that a table has to quote, but no line breaks, which become spaces.
fn field() -> impl Strategy<Value = String> {
    "[a-z,\"; \t汤é']{0,12}x"
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_a_table_was_made_of_comes_back(rows in prop::collection::vec((field(), field()), 1..8)) {
        let folder = Folder::new();
        let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
        let line = |(source, target): &(String, String)| format!("{},{}\n", quoted(target), quoted(source));
        let table: String = rows.iter().map(line).collect();
        let expected: Vec<String> = rows.iter().map(|(source, target)| format!("{source}|{target}")).collect();
        prop_assert_eq!(&read(&folder.csv(format!("de,en\n{table}")), Reading::default()).unwrap(), &expected);
        let line = |(source, target): &(String, String)| format!("{}\n", json!({ "en": source, "x.de": target }));
        let lines: String = rows.iter().map(line).collect();
        prop_assert_eq!(&read(&folder.jsonl(lines), Reading::default()).unwrap(), &expected);
    }

    #[test]
    fn no_file_makes_a_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), header in any::<bool>()) {
        let folder = Folder::new();
        let start: &[u8] = if header { b"en,de\n" } else { b"" };
        let bytes = [start, &bytes].concat();
        for files in [folder.csv(&bytes), folder.jsonl(&bytes), Files::tsv(folder.file("t", &bytes))] {
            let _ = read(&files, Reading::default());
            if let Ok(pairs) = Pairs::open(&files.with_bad_lines(BadLines::Skip), Reading::default()) {
                prop_assert!(pairs.count() <= bytes.len() + 1);
            }
        }
    }
}
