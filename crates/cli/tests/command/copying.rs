//! Copying at the command line: a name that training has not shown goes in and comes out.

use crate::support::{couplet, couplet_reading};
use serde_json::json;
use std::fs;
use tempfile::TempDir;

const CONFIG: &str = r#"
task = "translate"
[data]
train = "train.tsv"
valid = "valid.tsv"
source = { min_count = 5 }
target = { min_count = 5 }
[model.encoder]
layers = 1
hidden = 16
embedding = 16
dropout = 0.0
[model.attention]
size = 16
[model.decoder]
layers = 1
hidden = 32
embedding = 16
dropout = 0.0
copy = true
[train]
epochs = 40
batch_tokens = 300
learning_rate = 0.01
seed = 2 # one of two seeds stays at copying the second name alone
label_smoothing = 0.0
"#;

/// A name for a number below 26³.
fn name(number: usize) -> String {
    let letter = |place: u32, first: u8| char::from(first + (number / 26usize.pow(place) % 26) as u8);
    [letter(0, b'A'), letter(1, b'a'), letter(2, b'a')].iter().collect()
}

/// `please call Abc or Xyz`, to be answered by `Xyz is called before Abc`.
fn lines(numbers: std::ops::Range<usize>) -> String {
    let line = |i: usize| {
        let [first, second] = [name(i * 7 % 9000), name(9000 + i * 11 % 8000)];
        format!("please call {first} or {second}\t{second} is called before {first}\n")
    };
    numbers.map(line).collect()
}

fn project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let files = [
        ("train.tsv", lines(0..200)),
        ("valid.tsv", lines(200..220)),
        ("test.tsv", lines(220..240)),
        ("config.toml", CONFIG.to_owned()),
    ];
    for (file, text) in files {
        fs::write(folder.path().join(file), text).expect("room for a few lines");
    }
    folder
}

#[test]
fn an_unseen_name_is_copied() {
    let folder = project();
    couplet(folder.path(), &["train", "config.toml", "--out", "model", "--threads", "1"]).ok();

    let line = "please call Quentin or Zoe";
    for beam in ["1", "4"] {
        let translate = ["translate", "--model", "model", "--beam-size", beam];
        let written = couplet_reading(folder.path(), &translate, line.as_bytes()).ok();
        assert_eq!(written, "Zoe is called before Quentin\n");
    }
    let evaluate = ["evaluate", "--model", "model", "--data", "test.tsv", "--json"];
    let evaluated = couplet(folder.path(), &evaluate).ok();
    let evaluated: serde_json::Value = serde_json::from_str(&evaluated).expect("an object");
    let (loss, bleu) = (evaluated["loss"].as_f64(), evaluated["bleu"].as_f64());
    assert!(loss < Some(0.1) && bleu > Some(95.0), "{evaluated}");
    let attended = couplet(folder.path(), &["attend", "--model", "model", line, "--json"]).ok();
    let attended: serde_json::Value = serde_json::from_str(&attended).expect("an object");
    assert_eq!(attended["source"], json!(["please", "call", "Quentin", "or", "Zoe", "(copied)"]));
    assert_eq!(attended["target"], json!(["Zoe", "is", "called", "before", "Quentin"]));
    let copied = |row: usize| attended["weights"][row][5].as_f64();
    assert!(copied(0) > Some(0.9) && copied(1) < Some(0.5) && copied(4) > Some(0.9), "{attended}");
    let drawn = couplet(folder.path(), &["attend", "--model", "model", line, "--out", "picture.svg"]);
    drawn.ok();
    let picture = fs::read_to_string(folder.path().join("picture.svg")).expect("a picture");
    assert!(picture.contains("(copied)") && picture.contains("Quentin"), "{picture}");
    let forced = ["attend", "--model", "model", line, "--target", "Quentin is called before Zoe"];
    assert!(couplet(folder.path(), &forced).ok().contains("Quentin is called before Zoe"));
}

/// With words that are hidden and guesses that are read, from memory and from a stream.
#[test]
fn a_run_goes_on_to_the_same_bits() {
    let folder = project();
    let train = |out: &str, more: &[&str]| {
        let mut arguments = vec!["train", "config.toml", "--out", out, "--threads", "1"];
        let noise = [
            "model.encoder.word_dropout=0.1",
            "model.decoder.word_dropout=0.1",
            "train.scheduled_sampling=0.3",
            "train.scheduled_sampling_warmup=20",
            "train.checkpoint_every=5",
        ];
        noise.iter().chain(more).for_each(|each| arguments.extend(["--set", each]));
        let run = |arguments: &[&str]| couplet(folder.path(), arguments).ok();
        run(&[&arguments[..], &["--resume"]].concat());
        fs::read(folder.path().join(out).join("model.safetensors")).expect("the model")
    };
    for (name, stream) in [("memory", "data.stream=false"), ("stream", "data.stream=true")] {
        let alone = train(&format!("{name}-alone"), &[stream, "train.max_updates=30"]);
        let stopped = format!("{name}-stopped");
        assert_ne!(alone, train(&stopped, &[stream, "train.max_updates=13"]));
        assert_eq!(alone, train(&stopped, &[stream, "train.max_updates=30"]), "{name}");
    }
}

#[test]
fn a_prepared_corpus_has_nothing_to_copy() {
    let folder = project();
    let hint =
        "a prepared corpus has no words to copy; train from text, with data.stream = true where it is large";
    couplet(folder.path(), &["prepare", "config.toml", "--out", "corpus"]).failed(
        1,
        "a corpus cannot be prepared for model.decoder.copy",
        hint,
    );
    couplet(
        folder.path(),
        &["prepare", "config.toml", "--out", "corpus", "--set", "model.decoder.copy=false"],
    )
    .ok();
    couplet(folder.path(), &["train", "config.toml", "--prepared", "corpus"]).failed(
        2,
        "config.toml: model.decoder.copy with data.prepared",
        hint,
    );
}

#[test]
fn what_cannot_copy_says_so() {
    let folder = project();
    let arguments = ["train", "config.toml", "--set", "model.attention.score=none"];
    couplet(folder.path(), &arguments).failed(
        2,
        "config.toml: model.decoder.copy cannot be combined with model.attention.score = \"none\"",
        "a decoder copies what it attends to; choose a score, or remove it",
    );
}
