//! Language models and auto-encoders, and runs that begin with them.

use crate::support::{couplet, couplet_reading};
use std::fs;
use std::path::Path;
use tempfile::TempDir;

/// A folder with a config and data, as `couplet new` makes it, and a short run of it in the folder of its task.
fn trained(task: &str, overrides: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    couplet(folder.path(), &["new", "project", "--task", task]).ok();
    train(folder.path(), "project/config.toml", "model", overrides).ok();
    folder
}

fn train(folder: &Path, config: &str, out: &str, overrides: &[&str]) -> crate::support::Ran {
    let overrides: Vec<&str> = overrides.iter().flat_map(|each| ["--set", each]).collect();
    couplet(folder, &[&["train", config, "--out", out, "--threads", "1"], &overrides[..]].concat())
}

const SMALL: [&str; 3] = ["model.encoder.hidden=16", "model.encoder.embedding=16", "train.max_updates=300"];

fn json(printed: &str) -> serde_json::Value {
    serde_json::from_str(printed).expect("JSON")
}

#[test]
fn a_language_model_is_trained_scored_and_writes() {
    let folder = trained("language-model", &SMALL);
    let at = folder.path();
    let log = fs::read_to_string(at.join("model/train.jsonl")).unwrap();
    assert!(log.starts_with("{\"event\":\"start\",\"lines\":1000,\"chunks\":1000,\"vocabulary\":"), "{log}");

    let evaluate = ["evaluate", "--model", "model", "--data", "project/valid.txt"];
    let figures = json(&couplet(at, &[&evaluate[..], &["--json"]].concat()).ok());
    let perplexity = figures["perplexity"].as_f64().unwrap();
    assert!(figures["lines"] == 100 && perplexity < 20.0, "{figures}");
    let printed = couplet(at, &evaluate).ok();
    assert!(printed.contains(&format!("perplexity  {perplexity:.2}\n")), "{printed}");

    fs::write(at.join("texts"), "the soup was good\n\nsoup soup soup soup\n").unwrap();
    let scores = couplet(at, &["score", "--model", "model", "--target", "texts"]).ok();
    let scores: Vec<&str> = scores.lines().collect();
    let log_p = |line: &str| line.split('\t').next().unwrap().parse::<f32>().unwrap();
    assert!(scores[1].is_empty() && log_p(scores[0]) > log_p(scores[2]), "{scores:?}");

    let write = |verb: &str, more: &[&str]| {
        couplet_reading(
            at,
            &[&[verb, "--model", "model"], more].concat(),
            b"the soup was\n\nthe zigzag was\n",
        )
        .ok()
    };
    let greedy = write("generate", &["--beam-size", "1", "--sample", "--temperature", "0.01"]);
    let lines: Vec<&str> = greedy.lines().collect();
    assert!(lines.len() == 3 && lines[0].starts_with("the soup was ") && !lines[1].is_empty(), "{greedy}");
    // What the vocabulary does not have stays where it was.
    assert!(lines[2].starts_with("the zigzag was"), "{greedy}");
    assert_eq!(write("generate", &["--seed", "7"]), write("predict", &["--seed", "7"]));
    assert_ne!(write("generate", &["--seed", "7"]), write("generate", &["--seed", "8"]));
    let numbered = write("generate", &["--n-best", "2"]);
    assert!(numbered.starts_with("1\t-") && numbered.lines().count() == 6, "{numbered}");

    let table = couplet(at, &["inspect", "model"]).ok();
    assert!(table.contains("encoder.weight_ih_l0") && table.contains("output.weight"), "{table}");
    assert!(couplet(at, &["inspect", "project/config.toml"]).ok().ends_with("allows: 8000 tokens.\n"));
}

#[test]
fn what_a_language_model_cannot_do_is_named() {
    let folder = trained("language-model", &[&SMALL[..2], &["train.max_updates=1"]].concat());
    let at = folder.path();
    couplet(at, &["translate", "--model", "model"]).failed(
        1,
        "model: the model's task is language-model, not translate",
        "`couplet generate` and `couplet predict` run this model",
    );
    couplet(
        at,
        &["score", "--model", "model", "--source", "project/valid.txt", "--target", "project/valid.txt"],
    )
    .failed(
        2,
        "--source with a language model",
        "it says how probable a text is; --target alone names the texts",
    );
    couplet(at, &["generate", "--model", "model", "--align", "hard"]).failed(
        2,
        "--align with a language model",
        "a language model has no source that its output answers; leave it out",
    );
    train(at, "project/config.toml", "other", &["model.encoder.bidirectional=true"]).failed(
        2,
        "project/config.toml: model.encoder.bidirectional cannot be combined with task = \"language-model\"",
        "a language model predicts the next token from earlier ones only; set model.encoder.bidirectional = false",
    );
    train(at, "project/config.toml", "other", &["model.encoder.kind=bag"]).failed(
        2,
        "project/config.toml: model.encoder.kind = \"bag\" cannot be combined with task = \"language-model\"",
        "a language model predicts the next token from earlier ones only; choose a recurrent kind",
    );
}

#[test]
fn an_auto_encoder_writes_what_it_reads() {
    let small = [
        "model.encoder.hidden=32",
        "model.encoder.embedding=32",
        "model.attention.score=additive",
        "model.attention.size=32",
        "model.decoder.hidden=64",
        "model.decoder.embedding=32",
        "train.max_updates=400",
        "train.learning_rate=0.01",
        "train.label_smoothing=0.0",
    ];
    let folder = trained("autoencode", &small);
    let at = folder.path();
    let evaluate = ["evaluate", "--model", "model", "--data", "project/valid.txt", "--json"];
    let figures = json(&couplet(at, &evaluate).ok());
    assert!(figures["lines"] == 100 && figures["bleu"].as_f64().unwrap() > 50.0, "{figures}");
    let same = couplet_reading(at, &["predict", "--model", "model"], b"Tom sees Jerry\n").ok();
    assert_eq!(same, "Tom sees Jerry\n");
    let config = fs::read_to_string(at.join("model/config.toml")).unwrap();
    assert!(config.contains("joint_vocabulary = true"), "{config}");
    train(at, "project/config.toml", "other", &["data.train=[\"a\", \"b\"]"]).failed(
        2,
        "project/config.toml: two files of data with task = \"autoencode\"",
        "what comes out is what goes in: one file with a text on each line",
    );
}

#[test]
fn a_classifier_begins_with_a_language_model() {
    let folder = trained("language-model", &[&SMALL[..2], &["train.max_updates=10"]].concat());
    let at = folder.path();
    couplet(at, &["new", "reviews", "--task", "classify"]).ok();
    let same = ["model.encoder.hidden=16", "model.encoder.embedding=16", "model.encoder.bidirectional=false"];
    let with = |out: &str, more: &[&str]| {
        train(
            at,
            "reviews/config.toml",
            out,
            &[&same[..], &["train.init_from=../model", "train.max_updates=4"], more].concat(),
        )
    };
    let ran = with("classifier", &["train.freeze=[\"encoder.embedding\"]", "train.freeze_updates=2"]);
    let said: Vec<&str> = ran.stderr.lines().take(4).collect();
    assert!(said[1].starts_with("taken from reviews/../model: encoder.embedding, encoder.l0; "), "{said:?}");
    assert!(said[1].ends_with(" parameters, with its tokenizer"), "{said:?}");
    assert!(said[2].starts_with("frozen for 2 updates: encoder.embedding; "), "{said:?}");
    ran.ok();
    let tokenizer = |folder: &str| fs::read(at.join(folder).join("tokenizer.source.json")).unwrap();
    assert_eq!(tokenizer("classifier"), tokenizer("model"));

    with("other", &["train.init_modules=[\"decoder\"]"]).failed(
        1,
        "train.init_modules: no part \"decoder\"",
        "reviews/../model has encoder, encoder.l0, encoder.embedding, output, output.bias, output.weight",
    );
    with("other", &["model.encoder.hidden=17"]).failed(
        1,
        "train.init_from = \"reviews/../model\": tensor \"encoder.weight_ih_l0\" is [64, 16], the model's is [68, 16]",
        "give both models the same sizes, or name the parts that fit in train.init_modules",
    );
    train(at, "reviews/config.toml", "other", &["train.init_modules=[\"encoder\"]"]).failed(
        2,
        "reviews/config.toml: train.init_modules without train.init_from",
        "name the model folder that they are taken from",
    );
}
