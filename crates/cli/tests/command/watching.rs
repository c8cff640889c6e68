//! What a run leaves to be looked at: curves, event files, a model card; and the mean of its checkpoints.

use crate::support::{TINY, couplet, couplet_reading, new_project, tiny_model};
use std::fs;

/// Twelve updates of a tiny model, with all that can be looked at.
fn watched() -> tempfile::TempDir {
    let folder = new_project();
    let overrides = [
        "train.max_updates=12",
        "train.validate_every=4",
        "train.validation_translations=5",
        "train.best_model_metric=metric",
        "train.keep_checkpoints=3",
        "train.tensorboard=true",
    ];
    let mut arguments = [&["train", "project/config.toml", "--out", "model"], &TINY[..]].concat();
    overrides.iter().for_each(|each| arguments.extend(["--set", each]));
    let trained = couplet(folder.path(), &arguments);
    assert!(trained.stderr.contains(", BLEU "), "{}", trained.stderr);
    assert!(!trained.stderr.contains('\u{1b}'), "no color where there is no terminal");
    trained.ok();
    folder
}

#[test]
fn curves_event_files_a_card_and_the_mean_of_checkpoints() {
    let folder = watched();
    let at = folder.path();
    couplet(at, &["plot", "model/train.jsonl"]).ok();
    let svg = fs::read_to_string(at.join("model/train.svg")).unwrap();
    for name in ["loss", "perplexity", "BLEU", "learning rate", "updates"] {
        assert!(svg.contains(&format!(">{name}</text>")), "{name} in {svg}");
    }
    couplet(at, &["plot", "model/train.jsonl", "--out", "curves.png"]).ok();
    assert!(fs::read(at.join("curves.png")).unwrap().starts_with(b"\x89PNG"));

    let card = fs::read_to_string(at.join("model/README.md")).unwrap();
    assert!(card.contains("couplet train project/config.toml --out model"), "{card}");
    for part in ["| training pairs | 1000, 0 too long", "| parameters |", "| updates | 12, in", "seed = 1"] {
        assert!(card.contains(part), "{part} in {card}");
    }
    let events: Vec<_> = fs::read_dir(at.join("model/tensorboard")).unwrap().flatten().collect();
    assert_eq!(events.len(), 1);
    // "brain.Event:2" is the version of the format; a record of 1 + 8 + 2 + 2 + 13 bytes is around it.
    let bytes = fs::read(events[0].path()).unwrap();
    assert_eq!((bytes[0], &bytes[25..38]), (26, &b"brain.Event:2"[..]));

    let checkpoints = [4, 8, 12].map(|update| format!("model/checkpoints/step-{update}.safetensors"));
    let [first, second, third] = checkpoints.each_ref().map(String::as_str);
    couplet(at, &["average", first, second, third, "--out", "mean"]).ok();
    couplet_reading(at, &["translate", "--model", "mean"], b"Tom sees Jerry\n").ok();
    couplet(at, &["average", "model", "mean", "--out", "mean"]).failed(
        1,
        "mean: holds a model already",
        "--resume goes on with it; or choose another --out, or remove the folder",
    );
    // The mean of a model with itself is that model.
    couplet(at, &["average", "model", "model", "--out", "same"]).ok();
    let weights = |name: &str| fs::read(at.join(name).join("model.safetensors")).unwrap();
    assert_eq!(weights("same"), weights("model"));
    assert_ne!(weights("mean"), weights("model"));
}

#[test]
fn what_cannot_be_drawn_or_averaged_is_named() {
    let (folder, _) = tiny_model();
    let at = folder.path();
    fs::write(at.join("log.jsonl"), "{\"event\":\"start\"}\nnot an event\n").unwrap();
    couplet(at, &["plot", "log.jsonl"]).failed(
        1,
        "log.jsonl:2: not an event: expected ident at line 1 column 2",
        "give it the train.jsonl of a model folder",
    );
    // Half a line at the end is that of a run that goes on.
    fs::write(at.join("log.jsonl"), "{\"event\":\"start\"}\n{\"eve").unwrap();
    couplet(at, &["plot", "log.jsonl"]).failed(
        1,
        "log.jsonl: no event has a number to draw",
        "give it the train.jsonl of a run that has made 10 updates",
    );
    couplet(at, &["plot", "log.jsonl", "--out", "curves.gif"]).failed(
        2,
        "--out curves.gif: its name does not say what to write",
        "give it a name that ends in .svg or .png",
    );
    couplet(at, &["average", "model", "nowhere", "--out", "mean"]).failed(
        1,
        "nowhere: no such file or folder",
        "name model folders, or files in a folder's checkpoints",
    );
}

/// What a run lost is drawn once: the third update of the first try is not that of the second.
#[test]
fn what_was_made_again_is_drawn_once() {
    let folder = tempfile::tempdir().unwrap();
    let step =
        |update: u32, loss: f64| format!("{{\"event\":\"update\",\"update\":{update},\"loss\":{loss}}}\n");
    let resume = "{\"event\":\"resume\",\"update\":2}\n".to_owned();
    let log = [step(1, 9.0), step(2, 8.0), step(3, 700.0), resume, step(3, 7.0)].concat();
    fs::write(folder.path().join("log.jsonl"), log).unwrap();
    couplet(folder.path(), &["plot", "log.jsonl"]).ok();
    let svg = fs::read_to_string(folder.path().join("log.svg")).unwrap();
    assert!(!svg.contains("700") && svg.contains("M72.0 44.0L384.0 129.0L696.0 214.0"), "{svg}");
}
