//! Prepared and streamed corpora: runs that read them end as runs that read text do, and go on in the same way.

use crate::support::{Ran, TINY, command, couplet, new_project};
use std::fs;
use std::path::Path;
use std::process::Stdio;

/// A run of 40 updates with checkpoints on the way.
const RUN: [&str; 5] = [
    "train.max_updates=40",
    "train.epochs=1000",
    "train.batch_tokens=200",
    "train.checkpoint_every=5",
    "train.patience=0",
];

fn arguments<'a>(out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let mut all = [&["train", "project/config.toml", "--out", out], &TINY[..]].concat();
    RUN.iter().for_each(|each| all.extend(["--set", each]));
    all.extend(more);
    all
}

fn train(folder: &Path, out: &str, more: &[&str]) -> Ran {
    couplet(folder, &arguments(out, more))
}

fn prepare(folder: &Path, more: &[&str]) -> Ran {
    couplet(folder, &[&["prepare", "project/config.toml", "--out", "corpus"], more].concat())
}

fn weights(folder: &Path, out: &str) -> Vec<u8> {
    fs::read(folder.join(out).join("model.safetensors")).expect("the model")
}

/// What a folder is left with after a command that failed.
fn names(folder: &Path) -> Vec<String> {
    let files = fs::read_dir(folder).expect("a folder").map(|file| file.expect("a file").file_name());
    let mut names: Vec<String> = files.map(|name| name.to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_prepared_corpus_trains_to_the_same_bits_as_its_text() {
    let folder = new_project();
    let at = folder.path();
    train(at, "text", &[]).ok();
    let made = prepare(at, &[]);
    assert!(made.stderr.starts_with("the corpus is in corpus, after "), "{}", made.stderr);
    made.ok();
    assert_eq!(
        names(&at.join("corpus")),
        [
            "prepared.toml",
            "tokenizer.source.json",
            "tokenizer.target.json",
            "train.corpus",
            "valid.corpus",
            "valid.jsonl"
        ]
    );
    // The text is needed no more.
    for file in ["train.en", "train.zh", "valid.en", "valid.zh"] {
        fs::remove_file(at.join("project").join(file)).unwrap();
    }
    train(at, "prepared", &["--prepared", "corpus"]).ok();
    assert_eq!(weights(at, "text"), weights(at, "prepared"));
    // The key of the config is seen from the config's folder.
    train(at, "by-key", &["--set", "data.prepared=../corpus"]).ok();
    assert_eq!(weights(at, "text"), weights(at, "by-key"));
    // A run that began with text may go on with what was prepared of it.
    train(at, "text", &["--resume", "--prepared", "corpus", "--set", "train.max_updates=42"]).ok();
}

#[test]
fn runs_of_prepared_and_streamed_corpora_go_on_to_the_same_bits() {
    let folder = new_project();
    let at = folder.path();
    prepare(at, &[]).ok();
    let stream = ["--set", "data.stream=true", "--set", "data.shuffle_buffer=300"];
    for (name, how) in [("prepared", &["--prepared", "corpus"][..]), ("stream", &stream)] {
        let (alone, stopped) = (format!("{name}-alone"), format!("{name}-stopped"));
        train(at, &alone, how).ok();
        // In the first epoch, and in a later one: a thousand pairs are about 45 batches.
        for steps in ["train.max_updates=7", "train.max_updates=31"] {
            train(at, &stopped, &[how, &["--resume", "--set", steps]].concat()).ok();
        }
        let on = train(at, &stopped, &[how, &["--resume"]].concat());
        assert!(on.stderr.contains("going on after update 31 and "), "{}", on.stderr);
        on.ok();
        assert_eq!(weights(at, &alone), weights(at, &stopped), "{name}");
    }
    assert_ne!(
        weights(at, "prepared-alone"),
        weights(at, "stream-alone"),
        "a stream has an order of its own"
    );
    let buffer = train(at, "stream-alone", &["--resume", "--set", "data.stream=true"]);
    buffer.failed(
        1,
        "stream-alone: data.shuffle_buffer was 300 in this run, and is 100000 now",
        "give it the value that it had, or train into another --out",
    );
}

#[test]
fn a_stream_ends_with_its_epochs_and_notices_other_text() {
    let folder = new_project();
    let at = folder.path();
    let stream = ["--set", "data.stream=true", "--set", "train.epochs=2", "--set", "train.max_updates=1000"];
    let ran = train(at, "model", &stream);
    assert!(ran.stderr.contains("1000 pairs; vocabularies "), "{}", ran.stderr);
    assert!(ran.stderr.contains("done after "), "{}", ran.stderr);
    let updates = ran.stderr.split("done after ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap();
    assert!((50..200).contains(&updates.parse::<u32>().unwrap()), "{}", ran.stderr);
    ran.ok();

    let path = at.join("project/train.en");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("Tom", "the dog", 1)).unwrap();
    train(at, "model", &[&stream[..], &["--resume"]].concat()).failed(
        1,
        "model: the training data is not what this run was trained on",
        "give it the data that it had, or train into another --out",
    );
    couplet(
        at,
        &["train", "project/config.toml", "--set", "data.stream=true", "--set", "train.schedule=cosine"],
    )
    .failed(
        2,
        "project/config.toml: data.stream with a schedule that ends with the last update",
        "how many updates a stream has is not known before; set train.max_updates",
    );
}

#[test]
fn weighted_corpora_are_the_same_from_text_and_prepared() {
    let folder = new_project();
    let at = folder.path();
    let lines = |name: &str| fs::read_to_string(at.join("project").join(name)).unwrap();
    let both = lines("train.en")
        .lines()
        .map(str::to_owned)
        .zip(lines("train.zh").lines().map(str::to_owned))
        .collect::<Vec<_>>();
    let tsv = |pairs: &[(String, String)]| -> String {
        pairs.iter().map(|(source, target)| format!("{source}\t{target}\n")).collect()
    };
    fs::write(at.join("project/a.tsv"), tsv(&both[..200])).unwrap();
    fs::write(at.join("project/b.tsv"), tsv(&both[200..600])).unwrap();
    let files = |weight: &str| format!("data.train=[{{tsv=\"a.tsv\", weight={weight}}}, {{tsv=\"b.tsv\"}}]");
    let (weighted, equal) = (files("2.5"), files("1.0"));
    prepare(at, &["--set", &weighted]).ok();
    train(at, "text", &["--set", &weighted]).ok();
    train(at, "prepared", &["--set", &weighted, "--prepared", "corpus"]).ok();
    train(at, "equal", &["--set", &equal]).ok();
    assert_eq!(weights(at, "text"), weights(at, "prepared"));
    assert_ne!(weights(at, "text"), weights(at, "equal"));
    train(at, "streamed", &["--set", &weighted, "--set", "data.stream=true"]).ok();
}

#[test]
fn the_report_says_what_would_be_padding() {
    let folder = new_project();
    let report = prepare(folder.path(), &["--report", "--set", "train.batch_tokens=400"]).ok();
    assert!(
        report.starts_with("pairs         1000, 0 that are too long skipped; 100 for validation\n"),
        "{report}"
    );
    assert!(report.contains(" of at most 400 tokens\npadding       "), "{report}");
    fs::remove_dir_all(folder.path().join("corpus")).unwrap();
    let report = prepare(folder.path(), &["--report", "--json"]).ok();
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    let padding = report["padding"].as_f64().unwrap();
    assert!((0.0..0.25).contains(&padding), "{report}");
}

const AGAIN: &str = "run `couplet prepare` again";

#[test]
fn a_damaged_corpus_is_named() {
    let folder = new_project();
    let at = folder.path();
    prepare(at, &[]).ok();
    let from_corpus = |error: &str| {
        train(at, "model", &["--prepared", "corpus"]).failed(1, error, AGAIN);
        let _ = fs::remove_dir_all(at.join("model"));
    };
    let path = at.join("corpus/train.corpus");
    let whole = fs::read(&path).unwrap();
    let spoiled = |change: &dyn Fn(&mut Vec<u8>)| {
        let mut bytes = whole.clone();
        change(&mut bytes);
        fs::write(&path, bytes).unwrap();
    };
    // A byte of the first pairs: found when the batch that has it is read.
    spoiled(&|bytes| bytes[24..4000].iter_mut().for_each(|byte| *byte ^= 0x10));
    let ran = train(at, "model", &["--prepared", "corpus"]);
    let said = "error: corpus/train.corpus: the corpus is damaged: the checksum of pair ";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    assert_eq!(ran.code, Some(1));
    fs::remove_dir_all(at.join("model")).unwrap();
    spoiled(&|bytes| bytes.truncate(whole.len() / 2));
    from_corpus(
        "corpus/train.corpus: the corpus is damaged: its end is missing, or the first or the last bytes are wrong",
    );
    spoiled(&|bytes| bytes[whole.len() - 100] ^= 1);
    from_corpus("corpus/train.corpus: the corpus is damaged: the lengths of its pairs are wrong");
    spoiled(&|bytes| bytes[16] = 2);
    from_corpus("corpus/train.corpus: a corpus of version 2; this couplet reads version 1");
    spoiled(&|bytes| *bytes = b"Tom sees Jerry, and Jerry sees Tom.".to_vec());
    from_corpus("corpus/train.corpus: not a corpus that couplet prepared");
    fs::write(&path, &whole).unwrap();

    for name in ["tokenizer.target.json", "valid.jsonl", "prepared.toml"] {
        let path = at.join("corpus").join(name);
        let whole = fs::read(&path).unwrap();
        let mut bytes = whole.clone();
        bytes[whole.len() / 2] ^= 1;
        fs::write(&path, bytes).unwrap();
        from_corpus(&format!("corpus/{name}: the corpus is damaged: its checksum is wrong"));
        fs::write(&path, whole).unwrap();
    }
    train(at, "model", &["--prepared", "corpus"]).ok();
}

#[test]
fn other_settings_are_named() {
    let folder = new_project();
    let at = folder.path();
    prepare(at, &[]).ok();
    train(at, "model", &["--prepared", "corpus", "--set", "data.max_tokens=50"]).failed(
        1,
        "corpus: prepared with data.max_tokens = 128, and the config has 50",
        "run `couplet prepare` again with this config, or give the key the value that it had",
    );
    let smaller = ["--prepared", "corpus", "--set", "data.source.vocab_size=50"];
    let ran = train(at, "model", &smaller);
    assert!(ran.stderr.contains("error: corpus: prepared with data.source.vocab_size = "), "{}", ran.stderr);
    train(at, "model", &["--prepared", "nowhere"]).failed(
        1,
        "nowhere/prepared.toml: no such file",
        "check the path; it is relative to the folder the command runs in",
    );
    train(at, "model", &["--prepared", "corpus", "--set", "train.learning_rate=0.1"]).ok();
}

#[test]
fn what_cannot_be_prepared_leaves_nothing() {
    let folder = new_project();
    let at = folder.path();
    let before = names(at);
    fs::write(at.join("project/valid.en"), "only\n").unwrap();
    assert_eq!(prepare(at, &[]).code, Some(1));
    assert_eq!(names(at), before);
    fs::create_dir(at.join("corpus")).unwrap();
    prepare(at, &[]).failed(1, "corpus: exists already", "choose another --out, or remove it");
}

/// Asked to stop in the middle of a large text, it ends soon and leaves nothing.
#[cfg(unix)]
#[test]
fn a_preparation_can_be_stopped() {
    let folder = new_project();
    let at = folder.path();
    for name in ["train.en", "train.zh"] {
        let path = at.join("project").join(name);
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.repeat(1000)).unwrap();
    }
    let before = names(at);
    let child = command(at, &["prepare", "project/config.toml", "--out", "corpus"])
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    while !at.join("corpus.partial").exists() {
        std::thread::yield_now();
    }
    let told = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(told.success());
    let output = child.wait_with_output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.ends_with("error: stopped; nothing was written\n"), "{said}");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(names(at), before);
}
