//! Model folders that cannot be used.

use crate::support::{Ran, couplet, couplet_reading, tiny_model};
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
