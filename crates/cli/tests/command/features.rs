//! A classifier that reads columns beside the text, and tables that it cannot use.

use crate::support::{Ran, couplet, couplet_reading};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with a config and a table, as `couplet new` makes it.
fn new_project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let printed = couplet(folder.path(), &["new", "project", "--task", "classify", "--table"]).ok();
    assert!(printed.starts_with("project: a config and a table of guests to try it with\n"), "{printed}");
    folder
}

fn train(folder: &Path, out: &str, more: &[&str]) -> Ran {
    let fixed = ["train", "project/config.toml", "--out", out, "--threads", "1"];
    couplet(folder, &[&fixed[..], more].concat())
}

/// The accuracy of a model on the project's test set.
fn accuracy(folder: &Path, model: &str) -> f64 {
    let arguments = ["evaluate", "--model", model, "--data", "project/test.csv", "--json"];
    let figures: serde_json::Value =
        serde_json::from_str(&couplet(folder, &arguments).ok()).expect("figures as JSON");
    assert_eq!(figures["lines"], 2000);
    figures["accuracy"].as_f64().expect("a number")
}

#[test]
fn columns_add_to_what_a_text_says() {
    let folder = new_project();
    let at = folder.path();
    let trained = train(at, "model", &["--set", "train.epochs=6"]);
    assert!(trained.stderr.contains("; 2 labels; 11 numbers beside each text"), "{}", trained.stderr);
    trained.ok();
    train(at, "text", &["--set", "train.epochs=6", "--set", "data.features={}"]).ok();
    let [with_columns, text_alone] = ["model", "text"].map(|model| accuracy(at, model));
    assert!(with_columns > text_alone + 8.0 && text_alone > 65.0, "{with_columns} and {text_alone}");
    let features = fs::read_to_string(at.join("model/features.toml")).unwrap();
    assert!(features.starts_with("format = 1\n\n[columns.age]\nkind = \"number\"\nmean = "), "{features}");
    assert!(!at.join("text/features.toml").exists());
    let card = fs::read_to_string(at.join("model/README.md")).unwrap();
    assert!(card.contains("| numbers beside each text | 11 |"), "{card}");

    // A table in, a line out for each row; the same rows as JSON give the same labels.
    let table = fs::read_to_string(at.join("project/test.csv")).unwrap();
    let from_csv = couplet(at, &["classify", "--model", "model", "--input", "project/test.csv"]).ok();
    let object = |row: &str| {
        let [age, sex, country, text, _] = row.split(',').collect::<Vec<_>>().try_into().unwrap();
        let age = age.parse::<u32>().ok();
        format!("{}\n", serde_json::json!({ "text": text, "sex": sex, "age": age, "country": country }))
    };
    let objects: String = table.lines().skip(1).map(object).collect();
    let from_json = couplet_reading(at, &["predict", "--model", "model"], objects.as_bytes()).ok();
    assert_eq!((from_csv.lines().count(), &from_csv), (2000, &from_json));
    let right = from_csv.lines().zip(table.lines().skip(1)).filter(|(label, row)| row.ends_with(*label));
    assert_eq!(100.0 * right.count() as f64 / 2000.0, with_columns);

    // What a text alone lacks may be missing, and an empty text has no label.
    let few = "{\"text\": \"the bed was awful\"}\n{\"text\": \"\", \"age\": 50}\n";
    let found = couplet_reading(at, &["classify", "--model", "model"], few.as_bytes()).ok();
    assert_eq!(found.lines().map(str::is_empty).collect::<Vec<_>>(), [false, true]);

    couplet(at, &["average", "model", "model", "--out", "mean"]).ok();
    assert_eq!(accuracy(at, "mean"), with_columns);
    let inspected = couplet(at, &["inspect", "project/config.toml"]).ok();
    assert!(inspected.ends_with("; and one number for each of 3 columns beside the text.\n"), "{inspected}");
    couplet(at, &["vocab", "project/config.toml"]).ok();
}

#[test]
fn a_run_that_goes_on_ends_with_the_same_bits() {
    let folder = new_project();
    let at = folder.path();
    let steps = |steps: &'static str| ["--set", steps, "--set", "train.validate_every=4"];
    train(at, "alone", &steps("train.max_updates=12")).ok();
    train(at, "halted", &steps("train.max_updates=6")).ok();
    train(at, "halted", &[&steps("train.max_updates=12")[..], &["--resume"]].concat()).ok();
    let read = |path: &str| fs::read(at.join(path)).unwrap();
    assert_eq!(read("alone/model.safetensors"), read("halted/model.safetensors"));
    assert_eq!(read("alone/features.toml"), read("halted/features.toml"));

    let goes_on = |more: &[&str]| {
        let fixed = [&steps("train.max_updates=20")[..], &["--resume"], more].concat();
        train(at, "halted", &fixed)
    };
    let said = goes_on(&["--set", "data.features.age=category"]).stderr;
    assert!(said.contains("data.features.age was \"number\" in this run, and is \"category\" now"), "{said}");
    let table = fs::read_to_string(at.join("project/train.csv")).unwrap();
    let (header, rows) = table.split_once('\n').unwrap();
    fs::write(at.join("project/train.csv"), format!("{header}\n7{rows}")).unwrap();
    let said = goes_on(&[]).stderr;
    assert!(said.contains("the training data is not what this run was trained on"), "{said}");
}

#[test]
fn tables_that_cannot_be_used() {
    let folder = new_project();
    let at = folder.path();
    let path = at.join("project/train.csv");
    let refused = |table: &str, error: &str, hint: &str| {
        fs::write(&path, table).unwrap();
        train(at, "model", &[]).failed(1, error, hint);
    };
    refused(
        "age,sex,text,again\n41,male,fine,yes\n",
        "project/train.csv: no column \"country\"",
        "the first line has: age, sex, text, again; a number, from 1, is a column of a file without names",
    );
    refused(
        "age,sex,country,text,again\n41,male,India,fine,yes\nforty,male,India,poor,no\n",
        "project/train.csv:3: column \"age\": \"forty\" is not a number",
        "write 41 or 3.5, nothing where it is not known, or say what stands for that: \
         age = { kind = \"number\", missing = \"forty\" }",
    );
    refused(
        "age,sex,country,text,again\n41,m,India,fine,yes\n",
        "project/train.csv:2: column \"sex\": \"m\" is neither yes nor no",
        "\"female\" or \"male\", as the config says, or nothing where it is not known",
    );
    refused(
        "age,sex,country,text,again\n,male,India,fine,yes\n,female,India,poor,no\n",
        "project/train.csv: column \"age\" is empty in all training texts",
        "fill it in, or leave it out of data.features; in JSON, its key may be another one",
    );
    fs::write(at.join("project/plain.tsv"), "yes\tfine\nno\tpoor\n").unwrap();
    train(at, "model", &["--set", "data.train=plain.tsv"]).failed(
        1,
        "project/plain.tsv: no columns beside text and label",
        "data.features names columns of a table: { csv = \"f.csv\", text = \"…\", label = \"…\" }, or tsv, or jsonl",
    );
    train(at, "model", &["--set", "data.features.again=category"]).failed(
        1,
        "project/train.csv: data.features names the column \"again\", which is the text or the label",
        "leave it out of data.features: what is to be found must not be known",
    );
    train(at, "model", &["--set", "data.features.age=float"]).failed(
        2,
        "--set data.features.age=float: unknown variant \"float\"",
        "one of \"number\", \"yes-no\", \"category\"",
    );
    assert!(!at.join("model").exists(), "nothing is written before the data is read");
    // A number that is the same everywhere says nothing, and does no harm.
    let same = "age,sex,country,text,again\n41,male,India,fine,yes\n41,female,,poor,no\n";
    fs::write(&path, same).unwrap();
    fs::write(at.join("project/valid.csv"), same).unwrap();
    train(at, "model", &["--set", "train.max_updates=2"]).ok();
    let log = fs::read_to_string(at.join("model/train.jsonl")).unwrap();
    assert!(log.contains("\"accuracy\":") && !log.contains("null"), "{log}");
}

#[test]
fn a_text_alone_is_not_enough() {
    let folder = new_project();
    let at = folder.path();
    train(at, "model", &["--set", "train.max_updates=1"]).ok();
    let hint = "the model reads columns beside the text; write an object on each line, or name a table with --input FILE.csv: \
                {\"text\": \"…\", \"age\": …, \"country\": …, \"sex\": …}";
    couplet_reading(at, &["classify", "--model", "model"], b"the bed was awful\n").failed(
        1,
        "standard input:1: not JSON: expected ident (byte 2)",
        hint,
    );
    couplet_reading(at, &["classify", "--model", "model"], b"{\"age\": 41}\n").failed(
        1,
        "standard input:1: no key \"text\"",
        hint,
    );
    couplet_reading(at, &["classify", "--model", "model"], b"{\"text\": \"fine\", \"age\": \"old\"}\n")
        .failed(
            1,
            "standard input:1: column \"age\": \"old\" is not a number",
            "write 41 or 3.5, nothing where it is not known, or say what stands for that: \
         age = { kind = \"number\", missing = \"old\" }",
        );
    fs::write(at.join("texts"), "fine\n").unwrap();
    let two = ["evaluate", "--model", "model", "--source", "texts", "--target", "texts"];
    couplet(at, &two).failed(
        2,
        "--source and --target with a model that reads columns beside the text",
        "--data names a table that has them: age, country, sex",
    );
    fs::remove_file(at.join("model/features.toml")).unwrap();
    couplet(at, &["classify", "--model", "model"]).failed(
        1,
        "model/features.toml: no such file",
        "check the path; it is relative to the folder the command runs in",
    );
    couplet(at, &["new", "other", "--task", "translate", "--table"]).failed(
        2,
        "--table with a task that is not classify",
        "only a classifier reads columns beside a text; leave it out",
    );
    assert!(!at.join("other").exists());
}
