//! Model folders that cannot be used.

use crate::support::{Ran, TINY, couplet, couplet_reading, new_project, tiny_model};
use std::fs;
use std::path::Path;

const SAME_TRAINING: &str =
    "config.toml, the tokenizers and model.safetensors must come from the same training";

fn translate(folder: &Path) -> Ran {
    couplet_reading(folder, &["translate", "--model", "model"], b"Tom\n")
}

#[test]
fn no_folder() {
    let folder = tempfile::tempdir().unwrap();
    translate(folder.path()).failed(
        1,
        "model/config.toml: No such file or directory (os error 2)",
        "a model folder is what `couplet train` writes; check the path",
    );
}

#[test]
fn truncated_weights() {
    let (folder, model) = tiny_model();
    let weights = model.join("model.safetensors");
    let bytes = fs::read(&weights).unwrap();
    fs::write(&weights, &bytes[..bytes.len() / 2]).unwrap();
    let ran = translate(folder.path());
    assert!(
        ran.stderr.starts_with("error: model/model.safetensors: not a whole safetensors file: "),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with("hint: copy the file again, or train the model again\n"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(1));
}

#[test]
fn weights_of_something_else() {
    let (folder, model) = tiny_model();
    // A safetensors file of one tensor "x" with one number: the header's length, the header, the number.
    let header = br#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}}"#;
    let bytes = [&(header.len() as u64).to_le_bytes()[..], header, &[0; 4]].concat();
    fs::write(model.join("model.safetensors"), bytes).unwrap();
    translate(folder.path()).failed(
        1,
        "model/model.safetensors: no tensor \"encoder.embedding.weight\"",
        SAME_TRAINING,
    );
}

#[test]
fn a_config_that_does_not_fit_the_weights() {
    let (folder, model) = tiny_model();
    let config = model.join("config.toml");
    let text = fs::read_to_string(&config).unwrap();
    fs::write(&config, text.replacen("hidden = 8", "hidden = 9", 1)).unwrap();
    let error = "model/model.safetensors: tensor \"encoder.weight_ih_l0\" is [32, 8], the model's is [36, 8]";
    translate(folder.path()).failed(1, error, SAME_TRAINING);
}

#[test]
fn a_vocabulary_that_does_not_fit_the_weights() {
    let (folder, model) = tiny_model();
    fs::copy(model.join("tokenizer.target.json"), model.join("tokenizer.source.json")).unwrap();
    let ran = translate(folder.path());
    assert!(
        ran.stderr.starts_with("error: model/model.safetensors: tensor \"encoder.embedding.weight\" is ["),
        "{}",
        ran.stderr
    );
    assert!(ran.stderr.ends_with(&format!("hint: {SAME_TRAINING}\n")), "{}", ran.stderr);
}

#[test]
fn a_damaged_tokenizer() {
    let (folder, model) = tiny_model();
    fs::write(model.join("tokenizer.source.json"), "{}").unwrap();
    let ran = translate(folder.path());
    assert!(ran.stderr.starts_with("error: model/tokenizer.source.json: not a tokenizer"), "{}", ran.stderr);
    assert_eq!(ran.code, Some(1));
    couplet(folder.path(), &["inspect", "model", "--set", "train.epochs=1"]).failed(
        2,
        "--set with a model folder",
        "a trained model cannot be changed; inspect its config file instead",
    );
}

/// A folder without model.toml is older than the file, one of a later format newer than this version. Every command that opens it says so,
/// and nothing else.
#[test]
fn a_folder_of_another_version() {
    let (folder, model) = tiny_model();
    let project = new_project();
    fs::rename(project.path().join("project"), folder.path().join("project")).unwrap();
    let config = "project/config.toml";
    let init_from = format!("train.init_from={}", model.display());
    let mut resume = vec!["train", config, "--out", "model", "--resume"];
    resume.extend(TINY);
    let mut begin = vec!["train", config, "--out", "other", "--set", &init_from];
    begin.extend(TINY);
    let text = ["--source", "project/valid.en", "--target", "project/valid.zh"];
    let commands: [&[&str]; 9] = [
        &["translate", "--model", "model"],
        &["predict", "--model", "model"],
        &["attend", "--model", "model", "Tom"],
        &[&["evaluate", "--model", "model"], &text[..]].concat(),
        &[&["score", "--model", "model"], &text[..]].concat(),
        &["average", "--out", "mean", "model", "model"],
        &["inspect", "model"],
        &resume,
        &begin,
    ];
    let versions = [
        (None, "an older", "train it again with this version"),
        (Some("format = 0\n"), "an older", "train it again with this version"),
        (
            Some("format = 2\nkeys = \"of a later version\"\n"),
            "a newer",
            "use the version that wrote it, or train it again with this one",
        ),
    ];
    for (manifest, version, hint) in versions {
        match manifest {
            Some(text) => fs::write(model.join("model.toml"), text).unwrap(),
            None => fs::remove_file(model.join("model.toml")).unwrap(),
        }
        for command in commands {
            let ran = couplet(folder.path(), command);
            let error = format!("model: the model was written by {version} version of couplet");
            let (last, before) = (format!("hint: {hint}\n"), format!("{error}\n"));
            assert!(ran.stderr.ends_with(&format!("{before}{last}")), "{command:?}: {}", ran.stderr);
            assert_eq!(ran.stderr.matches("error: ").count(), 1, "{command:?}");
            assert_eq!(ran.code, Some(1), "{command:?}");
        }
    }
    fs::write(model.join("model.toml"), "format = 1\nlongest = 3\n").unwrap();
    translate(folder.path()).failed(
        1,
        "model/model.toml: unknown field `longest`, expected `format` or `target_lengths`",
        "use the model.toml that `couplet train` wrote",
    );
}
