//! Outputs may be as long as the targets of the training data, wherever that is.

use crate::support::couplet;
use std::fs;
use std::path::Path;

/// One source token, and 20 target tokens: ten more than a limit of twice the source allows.
const PAIRS: &str = "\
one\ta b c d e f g h i j k l m n o p q r s t
two\tt s r q p o n m l k j i h g f e d c b a
";

const CONFIG: &str = r#"
task = "translate"
[data]
train = "pairs.tsv"
valid = "pairs.tsv"
[model.encoder]
layers = 1
hidden = 16
embedding = 16
[model.attention]
size = 16
[model.decoder]
layers = 1
hidden = 32
embedding = 16
[train]
epochs = 1000
max_updates = 200
learning_rate = 0.01
label_smoothing = 0.0
validate_every = 200
validation_translations = 2
"#;

fn train(folder: &Path, out: &str, more: &[&str]) {
    couplet(folder, &[&["train", "config.toml", "--out", out, "--threads", "1"], more].concat()).ok();
}

/// The longest target has 20 tokens, 20 times as many as its source. Of a stream nothing is known but data.max_tokens.
#[test]
fn training_data_says_how_long_an_output_may_be() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let at = folder.path();
    fs::write(at.join("pairs.tsv"), PAIRS).unwrap();
    fs::write(at.join("config.toml"), CONFIG).unwrap();
    let manifest = |name: &str| fs::read_to_string(at.join(name).join("model.toml")).unwrap();
    let expected = "format = 1\n\n[target_lengths]\nlongest = 20\nlargest_ratio = 20.0\n";

    train(at, "model", &[]);
    assert_eq!(manifest("model"), expected);
    let translated = couplet(at, &["evaluate", "--model", "model", "--data", "pairs.tsv", "--json"]);
    assert_eq!(translated.stderr, "");
    let values: serde_json::Value = serde_json::from_str(&translated.ok()).unwrap();
    assert!(values["bleu"].as_f64().unwrap() > 99.9 && values["truncated"] == 0, "{values}");
    let log = fs::read_to_string(at.join("model/train.jsonl")).unwrap();
    let validated = log.lines().find(|line| line.contains("\"event\":\"validation\"")).unwrap();
    let validated: serde_json::Value = serde_json::from_str(validated).unwrap();
    assert!(validated["bleu"].as_f64().unwrap() > 99.9, "{validated}");

    let one_update = ["--set", "train.max_updates=1"];
    couplet(at, &["prepare", "config.toml", "--out", "corpus"]).ok();
    train(at, "prepared", &[&one_update[..], &["--prepared", "corpus"]].concat());
    assert_eq!(manifest("prepared"), expected);
    train(at, "streamed", &[&one_update[..], &["--set", "data.stream=true"]].concat());
    assert_eq!(manifest("streamed"), expected.replace("20", "128"));
    couplet(at, &["average", "--out", "mean", "model", "model"]).ok();
    assert_eq!(manifest("mean"), expected);
}
