//! Scores of files: tables, JSON, lines, and what is wrong with files.

use crate::support::{Ran, couplet, couplet_reading};
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// A folder with these files.
fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    for (name, text) in files {
        fs::write(folder.path().join(name), text).expect("a file for the test");
    }
    folder
}

/// Two systems and two references.
fn translations() -> TempDir {
    folder(&[
        ("base", "the cat the cat on the mat\nHello\n"),
        ("new", "the cat is on the mat\nHello world!\n"),
        ("ref", "the cat is on the mat\nHello world!\n"),
        ("ref2", "there is a cat on the mat\nHello, world!\n"),
    ])
}

fn metrics(folder: &TempDir, arguments: &str) -> Ran {
    couplet(folder.path(), &[&["metrics"], &arguments.split(' ').collect::<Vec<_>>()[..]].concat())
}

fn json(folder: &TempDir, arguments: &str) -> Value {
    serde_json::from_str(&metrics(folder, &format!("{arguments} --json")).ok()).expect("JSON")
}

#[test]
fn a_table() {
    let table = metrics(&translations(), "base ref -m bleu chrf,chrf++ ter wer cer exact").ok();
    assert_eq!(
        table,
        "\
metric       score
BLEU         27.46  75.0/50.0/20.0/12.5 (BP = 0.882 ratio = 0.889 hyp_len = 8 ref_len = 9)
chrF2        50.71  precision 54.66, recall 49.81
chrF2++      52.07  precision 56.62, recall 51.05
TER          37.50  3 edits for 8 words
WER          37.50  1 substitutions, 1 insertions, 1 deletions, 8 words
CER          42.42  2 substitutions, 5 insertions, 7 deletions, 33 characters
exact match   0.00  0 of 2
"
    );
}

#[test]
fn several_references_and_signatures() {
    let folder = translations();
    let table = metrics(&folder, "base ref ref2 -m bleu ter --signature").ok();
    assert!(
        table.contains("\nBLEU  nrefs:2|case:mixed|eff:no|tok:13a|smooth:exp|version:couplet-0.1.0\n"),
        "{table}"
    );
    assert!(
        table.ends_with(
            "\nTER   nrefs:2|case:lc|tok:tercom|norm:no|punct:yes|asian:no|version:couplet-0.1.0\n"
        ),
        "{table}"
    );

    // The same in one file with tabs, where a line may have more references than another.
    let both = "the cat is on the mat\tthere is a cat on the mat\nHello world!\tHello, world!\n";
    fs::write(folder.path().join("both"), both).unwrap();
    assert_eq!(metrics(&folder, "base both --tabs -m bleu ter --signature").ok(), table);
    fs::write(folder.path().join("both"), both.replace("Hello world!\t", "")).unwrap();
    let found = json(&folder, "base both --tabs -m bleu");
    assert!(found["scores"][0]["signature"].as_str().unwrap().starts_with("nrefs:var|"), "{found}");
}

#[test]
fn settings_reach_the_metrics() {
    let folder = folder(&[("a", "汤姆，A b.\n"), ("b", "汤姆。a B.\n")]);
    let signatures = |arguments: &str| metrics(&folder, &format!("a b {arguments} --signature")).ok();
    let bleu = signatures("-m bleu --tokenize zh --lowercase --smooth add-k --max-order 2");
    assert!(bleu.contains("BLEU  nrefs:1|case:lc|eff:no|tok:zh|smooth:add-k[1.00]|"), "{bleu}");
    assert!(bleu.contains("(BP = 1.000 ratio = 1.000 hyp_len = 6 ref_len = 6)"), "{bleu}");
    let chrf = signatures("-m chrf --chrf-char-order 3 --chrf-word-order 1 --chrf-beta 1 --chrf-whitespace");
    assert!(chrf.contains("chrF1+  nrefs:1|case:mixed|eff:yes|nc:3|nw:1|space:yes|"), "{chrf}");
    let ter = signatures("-m ter --ter-normalized --ter-no-punct --ter-asian --ter-case-sensitive");
    assert!(ter.contains("TER  nrefs:1|case:mixed|tok:tercom|norm:yes|punct:no|asian:yes|"), "{ter}");
}

#[test]
fn json_has_all_figures() {
    let found = json(&translations(), "base ref -m wer bleu");
    assert_eq!(found["lines"], 2);
    let wer = &found["scores"][0];
    assert_eq!(
        (&wer["metric"], &wer["system"], &wer["score"]),
        (&"WER".into(), &"base".into(), &37.5.into())
    );
    assert_eq!(wer["figures"]["substitutions"], 1.0);
    assert_eq!(found["scores"][1]["figures"]["hypothesis_length"], 8.0);
    assert_eq!((&wer["confidence"], &wer["p"]), (&Value::Null, &Value::Null));
}

#[test]
fn each_line_has_scores_of_its_own() {
    let folder = translations();
    assert_eq!(metrics(&folder, "base ref -m bleu wer --sentence").ok(), "30.74\t33.33\n13.53\t50.00\n");
    let lines = metrics(&folder, "new ref -m bleu wer --sentence --json").ok();
    let first: Value = serde_json::from_str(lines.lines().next().unwrap()).unwrap();
    assert_eq!((&first["line"], &first["WER"]), (&1.into(), &0.0.into()));
    let refused = metrics(&folder, "base ref --sentence --confidence");
    assert_eq!(refused.code, Some(2), "{}", refused.stderr);
}

#[test]
fn confidence_is_the_same_with_the_same_seed() {
    let folder = translations();
    let table = metrics(&folder, "base ref -m wer --confidence --resamples 50").ok();
    assert!(
        table.starts_with("metric  score   mean ± 95 %\nWER     37.50  39.83 ± 8.33  1 substitutions"),
        "{table}"
    );
    assert_eq!(metrics(&folder, "base ref -m wer --confidence --resamples 50").ok(), table);
    let found = json(&folder, "base ref -m wer --confidence --resamples 50 --seed 1");
    let interval = &found["scores"][0]["confidence"];
    assert!(interval["low"].as_f64() <= interval["mean"].as_f64(), "{found}");
    assert!(
        found["scores"][0]["signature"].as_str().unwrap().starts_with("nrefs:1|bs:50|seed:1|"),
        "{found}"
    );
}

#[test]
fn systems_are_compared_with_the_first() {
    let folder = folder(&[
        ("base", &"a b x\n".repeat(40)),
        ("new", &("a b c\n".repeat(30) + &"a b x\n".repeat(10))),
        ("ref", &"a b c\n".repeat(40)),
    ]);
    for (test, name) in
        [("bs", "paired bootstrap, 1000 resamples"), ("ar", "approximate randomization, 10000 trials")]
    {
        let table = metrics(&folder, &format!("base ref --system new -m exact wer --paired {test}")).ok();
        assert!(table.contains(&format!("({name}, seed 12345);\n* below 0.05\n")), "{table}");
        let row =
            table.lines().find(|line| line.starts_with("exact match  new")).expect("a row for each system");
        assert!(row.contains(" *") && row.ends_with("30 of 40"), "{table}");
    }
    let found = json(&folder, "base ref --system new -m wer --paired ar --resamples 99");
    assert_eq!((&found["scores"][0]["p"], &found["scores"][1]["p"]), (&Value::Null, &0.01.into()));
    assert_eq!(metrics(&folder, "base ref --paired bs").code, Some(2), "a test needs two systems");
}

#[test]
fn labels_tags_links_and_likelihoods() {
    let labels = folder(&[("a", "x\nx\ny\n"), ("b", "x\ny\ny\n")]);
    assert_eq!(
        metrics(&labels, "a b -m accuracy macro-f1").ok(),
        "metric    score\naccuracy  66.67  2 of 3\nmacro F1  66.67  2 labels\n"
    );
    let tags = folder(&[("a", "B-PER I-PER O\nS-LOC\n"), ("b", "B-PER I-PER B-LOC\nS-LOC\n")]);
    assert_eq!(
        metrics(&tags, "a b -m entity-f1").ok(),
        "metric     score\nentity F1  80.00  precision 100.00 (2/2), recall 66.67 (2/3), tags 75.00\n"
    );
    let links = folder(&[("a", "0-0 1-1 2-3\n\n"), ("b", "0-0 1-1 2-2 2?3\n0p0\n")]);
    assert_eq!(
        metrics(&links, "a b -m aer").ok(),
        "metric  score\nAER     16.67  precision 100.00 (3/3), recall 66.67 (2/3)\n"
    );
    // Four tokens of probability 1/2 each: −4 · ln 2.
    let scores = folder(&[("a", "-1.3862943611198906\t2\n-1.3862943611198906\t2\n"), ("b", "ab\ncd\n")]);
    assert_eq!(
        metrics(&scores, "a b -m perplexity bits-per-character").ok(),
        "metric              score\nperplexity           2.00  log-probability -2.77, 4 tokens\n\
         bits per character   1.00  log-probability -2.77, 4 characters\n"
    );
    assert!(metrics(&scores, "a -m perplexity --confidence --signature").ok().contains("2.00 ± 0.00"));
    let texts = folder(&[("a", "a b a b\na\n")]);
    assert_eq!(
        metrics(&texts, "a -m distinct-1 distinct-2").ok(),
        "metric      score\ndistinct-1  40.00  2 of 5\ndistinct-2  66.67  2 of 3\n"
    );
    assert!(metrics(&texts, "a -m distinct-1 --tokenize char --json").ok().contains("\"total\":5.0"));
}

#[test]
fn standard_input_and_a_warning_of_tokens() {
    let folder = folder(&[("ref", &"It is.\n".repeat(100))]);
    let lines = "It is .\n".repeat(100);
    let ran = couplet_reading(folder.path(), &["metrics", "-", "ref", "-m", "bleu"], lines.as_bytes());
    assert!(
        ran.stderr.starts_with("warning: standard input: 100 lines or more end in a full stop "),
        "{}",
        ran.stderr
    );
    ran.ok();
    let forced =
        couplet_reading(folder.path(), &["metrics", "-", "ref", "-m", "bleu", "--force"], lines.as_bytes());
    assert_eq!(forced.stderr, "");
}

#[test]
fn files_that_do_not_fit() {
    let folder = translations();
    fs::write(folder.path().join("short"), "one line\n").unwrap();
    fs::write(folder.path().join("empty"), "").unwrap();
    let hint =
        "line n of one file must be the answer to line n of the other; look for a missing or an extra line";
    metrics(&folder, "base ref short").failed(1, "base has 2 lines but short has 1", hint);
    metrics(&folder, "base ref --system short").failed(1, "base has 2 lines but short has 1", hint);
    metrics(&folder, "base empty").failed(1, "empty: the file is empty", "put one sentence on each line");
    let hint = "check the path; it is relative to the folder the command runs in";
    metrics(&folder, "nowhere ref").failed(1, "nowhere: no such file", hint);
}

#[test]
fn lines_that_are_no_tags_links_or_numbers() {
    let folder = folder(&[
        ("tags", "O O\nO PER\n"),
        ("more", "O O\nO O O\n"),
        ("links", "0-0\n0:1\n"),
        ("p", "-1\t2\n0.5\t1\n"),
    ]);
    metrics(&folder, "tags more -m entity-f1").failed(
        1,
        "tags:2: \"PER\" is no tag",
        "tags are O, and B-, I-, E- or S- with a kind after it, such as B-PER, with spaces between them",
    );
    fs::write(folder.path().join("tags"), "O O\nO B-PER\n").unwrap();
    let hint = "both files have a tag for each word of the sentence";
    metrics(&folder, "tags more -m entity-f1").failed(1, "tags:2: 2 tags, but 3 in more", hint);
    let hint = "a sure link is written 3-4, a possible one 3?4 or 3p4, with spaces between links";
    metrics(&folder, "links links -m aer").failed(1, "links:2: \"0:1\" is no link", hint);
    let hint = "write logarithms of probabilities, which are 0 or below";
    metrics(&folder, "p -m perplexity").failed(1, "p:2: the log-probability 0.5 is above 0", hint);
}

#[test]
fn what_makes_no_sense_together() {
    let folder = translations();
    let hint = "name a file of references after the one to score";
    metrics(&folder, "base -m bleu").failed(2, "bleu without references", hint);
    let hint = "this metric compares with one reference; name one file";
    metrics(&folder, "base ref ref2 -m macro-f1").failed(2, "macro-f1 with several references", hint);
    let hint = "put all references of a line on one line of one file";
    metrics(&folder, "base ref ref2 --tabs").failed(2, "--tabs with 2 files of references", hint);
    let hint = "it is a figure of all lines together and does not add up over them; ask for it alone";
    metrics(&folder, "base -m distinct-2 --confidence").failed(
        2,
        "distinct-2 with --confidence, --paired or --sentence",
        hint,
    );
    let hint = "choose --smooth floor or --smooth add-k";
    metrics(&folder, "base ref --smooth-value 2").failed(
        2,
        "--smooth-value without a smoothing that has one",
        hint,
    );
    assert_eq!(metrics(&folder, "base ref --smooth floor --smooth-value nan").code, Some(2));
    let unknown = metrics(&folder, "base ref -m rouge");
    assert_eq!(unknown.code, Some(2));
    assert!(
        unknown.stderr.contains("no such metric; one of bleu, chrf, chrf++, ter, wer, "),
        "{}",
        unknown.stderr
    );
}
