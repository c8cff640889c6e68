//! A classifier's whole path, and data that it cannot use.

use crate::support::{Ran, couplet, couplet_reading, tiny_model};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

const LABEL_FIRST: &str = "a line has the label first, then a tab and the text";

/// A folder with a config and data, as `couplet new` makes it.
fn new_project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    couplet(folder.path(), &["new", "project", "--task", "classify"]).ok();
    folder
}

fn train(folder: &Path, overrides: &[&str]) -> Ran {
    let overrides: Vec<&str> = overrides.iter().flat_map(|each| ["--set", each]).collect();
    let fixed = ["train", "project/config.toml", "--out", "model", "--threads", "1"];
    couplet(folder, &[&fixed[..], &overrides].concat())
}

fn classify(folder: &Path, arguments: &[&str], input: &str) -> String {
    couplet_reading(folder, &[&["classify", "--model", "model"], arguments].concat(), input.as_bytes()).ok()
}

#[test]
fn a_new_project_learns_what_a_negation_does() {
    let folder = new_project();
    let at = folder.path();
    let trained = train(at, &[]);
    assert!(trained.stderr.starts_with("1000 texts; vocabulary "), "{}", trained.stderr);
    trained.ok();
    assert_eq!(fs::read_to_string(at.join("model/labels.txt")).unwrap(), "negative\npositive\n");
    let log = fs::read_to_string(at.join("model/train.jsonl")).unwrap();
    assert!(log.starts_with("{\"event\":\"start\",\"texts\":1000,\"truncated\":0,\"vocabulary\":"), "{log}");
    assert!(log.contains("{\"event\":\"validation\"") && log.contains("\"accuracy\":"), "{log}");

    let input = "the soup was good\n\nthe soup was not good\nmy seat is never dirty\n";
    let labels = "positive\n\nnegative\npositive\n";
    assert_eq!(classify(at, &[], input), labels);
    let scored = classify(at, &["--scores"], input);
    let first: Vec<&str> = scored.lines().next().unwrap().split('\t').collect();
    assert_eq!(first[0], "positive");
    assert!((0.5..=1.0).contains(&first[1].parse::<f32>().unwrap()), "{scored}");
    fs::write(at.join("in.txt"), input).unwrap();
    couplet(at, &["predict", "--model", "model", "--input", "in.txt", "--output", "out.txt"]).ok();
    assert_eq!(fs::read_to_string(at.join("out.txt")).unwrap(), labels);

    let evaluate = ["evaluate", "--model", "model", "--data", "project/valid.tsv"];
    let figures: serde_json::Value =
        serde_json::from_str(&couplet(at, &[&evaluate[..], &["--json"]].concat()).ok()).unwrap();
    assert_eq!(figures["lines"], 100);
    let (accuracy, f1) = (figures["accuracy"].as_f64().unwrap(), figures["macro_f1"].as_f64().unwrap());
    assert!(accuracy > 90.0 && f1 > 90.0 && figures["loss"].as_f64().unwrap() < 0.4, "{figures}");
    let printed = couplet(at, &evaluate).ok();
    assert!(printed.contains(&format!("accuracy = {accuracy:.2} (")), "{printed}");

    let table = couplet(at, &["inspect", "model"]).ok();
    assert!(table.contains("  classifier in all"), "{table}");
    let bench = couplet(at, &["bench", "project/config.toml", "--updates", "2", "--threads", "1"]).ok();
    assert!(bench.contains("cross_entropy"), "{bench}");
}

#[test]
fn texts_and_labels_may_be_two_files() {
    let folder = new_project();
    let data = folder.path().join("project");
    fs::write(data.join("texts"), "good soup\nbad soup\nno soup\n").unwrap();
    fs::write(data.join("labels"), "yes\nno\nmaybe\n").unwrap();
    let files = ["data.train=['texts', 'labels']", "data.valid=['texts', 'labels']", "train.epochs=1"];
    train(folder.path(), &[&files[..], &["model.classifier.output=sigmoid"]].concat()).failed(
        1,
        "model.classifier.output = \"sigmoid\" cannot tell 3 labels apart",
        "one logit tells two labels apart; use \"softmax\" for any other number of labels",
    );
    train(folder.path(), &files).ok();
    let parallel = ["--source", "project/texts", "--target", "project/labels"];
    let printed = couplet(folder.path(), &[&["evaluate", "--model", "model"], &parallel[..]].concat()).ok();
    assert!(printed.starts_with("lines       3\n"), "{printed}");
}

#[test]
fn data_that_cannot_be_used() {
    let folder = new_project();
    let refused = |file: &str, text: &str, error: &str, hint: &str| {
        let path = folder.path().join("project").join(file);
        let before = fs::read_to_string(&path).unwrap();
        fs::write(&path, text).unwrap();
        train(folder.path(), &[]).failed(1, error, hint);
        fs::write(&path, before).unwrap();
    };
    refused(
        "train.tsv",
        "positive\tgood\nnegative bad\n",
        "project/train.tsv:2: expected 2 columns separated by a tab, found 1",
        "write label, one tab, text; spaces do not separate columns",
    );
    refused(
        "valid.tsv",
        "positive\tgood\nneutral\tso so\n",
        "project/valid.tsv:2: no training text has the label \"neutral\"",
        &format!("one of negative, positive; {LABEL_FIRST}"),
    );
    refused(
        "train.tsv",
        "positive\tgood\npositive\tlovely\n",
        "project/train.tsv: every text has the label \"positive\"",
        &format!("two labels or more are needed; {LABEL_FIRST}"),
    );
    refused("train.tsv", "", "project/train.tsv: the file is empty", "put one sentence on each line");
    assert!(!folder.path().join("model").exists(), "nothing is written before the data is read");
}

#[test]
fn a_verb_for_another_task() {
    let folder = new_project();
    train(folder.path(), &["train.max_updates=1"]).ok();
    couplet(folder.path(), &["translate", "--model", "model"]).failed(
        1,
        "model: the model's task is classify, not translate",
        "`couplet classify` and `couplet predict` run this model",
    );
    let beam = ["evaluate", "--model", "model", "--data", "project/valid.tsv", "--beam-size", "3"];
    couplet(folder.path(), &beam).failed(
        2,
        "ways to search with a classifier",
        "a classifier does not search; leave them out",
    );
    fs::write(folder.path().join("model/labels.txt"), "positive\n").unwrap();
    couplet(folder.path(), &["classify", "--model", "model"]).failed(
        1,
        "model/labels.txt: 1 labels",
        "a model has two labels or more; copy the file again from the model it belongs to",
    );

    let (folder, _) = tiny_model();
    couplet(folder.path(), &["classify", "--model", "model"]).failed(
        1,
        "model: the model's task is translate, not classify",
        "`couplet translate` and `couplet predict` run this model",
    );
}
