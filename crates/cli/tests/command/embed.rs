//! Word vectors, from a text to a picture.

use crate::support::{command, couplet, couplet_reading};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// Sentences of two kinds, whose words are dealt out in turn.
fn corpus() -> String {
    let sentence = |i: usize| match i % 2 {
        0 => format!(
            "{} {} {}\n",
            ["cat", "dog"][i / 2 % 2],
            ["eats", "drinks"][i / 4 % 2],
            ["meat", "milk"][i / 8 % 2]
        ),
        _ => format!(
            "{} {} {}\n",
            ["saw", "drill"][i / 2 % 2],
            ["cuts", "breaks"][i / 4 % 2],
            ["wood", "steel"][i / 8 % 2]
        ),
    };
    (0..2000).map(sentence).collect()
}

const SMALL: [&str; 8] = ["--size", "8", "--threads", "1", "--sample", "0", "--learning-rate", "0.05"];

fn train(folder: &Path, arguments: &[&str]) -> String {
    couplet(folder, &[&["embed", "train", "corpus.txt"], arguments, &SMALL].concat()).ok()
}

/// A folder with a corpus and the vectors of it.
fn trained() -> &'static TempDir {
    static FOLDER: OnceLock<TempDir> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let folder = tempfile::tempdir().expect("a temporary folder");
        fs::write(folder.path().join("corpus.txt"), corpus()).expect("a file in it");
        let said = train(folder.path(), &["--out", "vectors.txt"]);
        assert_eq!(said, "12 vectors of 8 numbers are in vectors.txt\n");
        folder
    })
}

#[test]
fn neighbors_are_used_alike() {
    let folder = trained().path();
    let found =
        couplet(folder, &["embed", "neighbors", "cat", "wood", "--vectors", "vectors.txt", "-n", "5"]).ok();
    let (cat, wood) = found.split_once("\n\n").unwrap();
    assert!(cat.starts_with("cat\n") && wood.starts_with("wood\n"), "{found}");
    assert!(cat.contains("  dog") && !cat.contains("steel"), "{found}");
    assert_eq!(cat.lines().count(), 6);
    let answers =
        couplet(folder, &["embed", "analogy", "cat", "dog", "eats", "--vectors", "vectors.txt", "-n", "3"])
            .ok();
    assert_eq!(answers.lines().count(), 3);
    assert!(!answers.contains("cat") && !answers.contains("eats"), "{answers}");
}

#[test]
fn a_word_without_a_vector_is_named_with_its_likes() {
    let ran = couplet(trained().path(), &["embed", "neighbors", "steal", "--vectors", "vectors.txt"]);
    ran.failed(1, "\"steal\" has no vector", "spelt nearly like it: steel");
}

#[test]
fn the_same_seed_gives_the_same_file_and_the_standard_input_is_a_corpus() {
    let folder = trained().path();
    let arguments = [&["embed", "train", "-", "--out", "again.txt"], &SMALL[..]].concat();
    couplet_reading(folder, &arguments, corpus().as_bytes()).ok();
    let read = |name: &str| fs::read(folder.join(name)).unwrap();
    assert!(read("again.txt") == read("vectors.txt"));
}

#[test]
fn formats_are_written_and_recognized() {
    let folder = trained().path();
    let said = couplet(folder, &["embed", "convert", "vectors.txt", "--out", "packed.bin"]).ok();
    assert_eq!(said, "12 vectors of 8 numbers, text before, are as binary in packed.bin\n");
    couplet(folder, &["embed", "convert", "packed.bin", "--out", "g.txt.gz", "--format", "glove"]).ok();
    let said = couplet(folder, &["embed", "convert", "g.txt.gz", "--out", "back.txt"]).ok();
    assert!(said.contains("glove before"), "{said}");
    assert!(fs::read(folder.join("back.txt")).unwrap() == fs::read(folder.join("vectors.txt")).unwrap());
}

#[test]
fn unseen_words_have_a_vector_where_parts_have() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("corpus.txt"), corpus()).unwrap();
    train(folder.path(), &["--out", "v.txt", "--model", "cbow", "--subwords=2-3", "--epochs", "2"]);
    assert!(folder.path().join("v.txt.ngrams").is_file());
    let near =
        couplet(folder.path(), &["embed", "neighbors", "drills", "--vectors", "v.txt", "-n", "6"]).ok();
    assert!(near.contains("  drill\n"), "{near}");
    fs::write(folder.path().join("v.txt.ngrams"), "nonsense").unwrap();
    let ran = couplet(folder.path(), &["embed", "neighbors", "drills", "--vectors", "v.txt"]);
    assert!(ran.stderr.contains("v.txt.ngrams: not the n-grams of word vectors"), "{}", ran.stderr);
}

#[test]
fn vectors_are_judged() {
    let folder = trained().path();
    fs::write(folder.join("pairs.tsv"), "cat\tdog\t9\ncat\twood\t1\nsaw\tdrill\t8\nmilk\tunknown\t5\n")
        .unwrap();
    fs::write(folder.join("questions.txt"), ": animals\ncat dog eats drinks\n: none\na b c d\n").unwrap();
    let judge = [
        "embed",
        "evaluate",
        "--vectors",
        "vectors.txt",
        "--similarity",
        "pairs.tsv",
        "--analogies",
        "questions.txt",
    ];
    let found = couplet(folder, &judge).ok();
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0].starts_with("pairs ") && lines[0].ends_with("3 of 4 pairs"), "{found}");
    assert!(lines[1].ends_with("1 of 1 questions") && lines[2].ends_with("-  0 of 1 questions"), "{found}");
    assert!(lines[3].starts_with("analogies, all") && lines[3].ends_with("1 of 2 questions"), "{found}");
    let json = couplet(folder, &[&judge[..], &["--json"]].concat()).ok();
    let json: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(json["similarity"][0]["found"], 3);
    couplet(folder, &judge[..4]).failed(
        2,
        "there is nothing to compare with",
        "name files with --similarity, --analogies or both",
    );
}

#[test]
fn words_are_drawn() {
    let folder = trained().path();
    let said = couplet(
        folder,
        &["embed", "plot", "cat", "dog", "wood", "steel", "--vectors", "vectors.txt", "--out", "w.svg"],
    );
    assert_eq!(said.ok(), "4 words are in w.svg\n");
    let svg = fs::read_to_string(folder.join("w.svg")).unwrap();
    assert!(svg.contains(">steel</text>") && svg.matches("<circle").count() == 4, "{svg}");
    let few = couplet(folder, &["embed", "plot", "cat", "--vectors", "vectors.txt", "--out", "w.svg"]);
    few.failed(2, "1 words make no picture", "name three words or more");
}

#[test]
fn bad_input_is_named_before_anything_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, bytes: &[u8]| fs::write(folder.path().join(name), bytes).unwrap();
    file("corpus.txt", b"a b a b\n");
    file("bytes.txt", b"a b\nc \xff d\n");
    file("damaged.txt", b"2 2\ncat 1 2\ndog 1 x\n");
    let fails = |arguments: &[&str]| couplet(folder.path(), &[&["embed"], arguments].concat());
    let ran = fails(&["train", "corpus.txt", "--out", "v.txt"]);
    ran.failed(
        1,
        "0 words occur 5 times or more in the text; two are needed",
        "lower --min-count, or learn from more text",
    );
    assert!(fails(&["train", "bytes.txt", "--out", "v.txt"]).stderr.contains("bytes.txt:2: byte 3"));
    assert!(
        fails(&["train", "corpus.txt", "--out", "nowhere/v.txt"])
            .stderr
            .contains("there is no folder nowhere")
    );
    assert_eq!(fails(&["train", "corpus.txt", "--out", "v.txt", "--size", "0"]).code, Some(2));
    assert_eq!(fails(&["train", "corpus.txt", "--out", "v.txt", "--subwords=x"]).code, Some(2));
    assert!(!folder.path().join("v.txt").exists());
    let ran = fails(&["neighbors", "cat", "--vectors", "damaged.txt"]);
    ran.failed(
        1,
        "damaged.txt:3: \"x\" is not a number",
        "download or write the file again; it may have been cut off on its way",
    );
}

#[cfg(unix)]
#[test]
fn an_interrupt_writes_what_there_is() {
    let folder = trained().path();
    let arguments =
        [&["embed", "train", "corpus.txt", "--out", "stopped.txt", "--epochs", "1000000"], &SMALL[..]]
            .concat();
    let mut child = command(folder, &arguments).stderr(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    // It listens before it counts.
    assert!(said.any(|line| line.contains("words in")));
    let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(killed.success());
    assert!(said.any(|line| line.contains("stopped, what there is is written")));
    assert!(child.wait().unwrap().success());
    assert!(fs::read_to_string(folder.join("stopped.txt")).unwrap().starts_with("12 8\n"));
}
