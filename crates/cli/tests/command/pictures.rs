//! Attention in the terminal and in files: `attend` computes it, `plot` draws it again.

use crate::support::{TINY, couplet, couplet_reading, new_project, tiny_model};
use insta::assert_snapshot;
use serde_json::Value;
use std::fs;
use tempfile::TempDir;

/// The worked example of the study notes, in `tom.json`.
fn tom() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let tom = r#"{"source": ["Tom", "chase", "Jerry"], "target": ["汤姆", "追逐", "杰瑞"],
        "weights": [[0.6, 0.2, 0.2], [0.2, 0.7, 0.1], [0.3, 0.2, 0.5]]}"#;
    fs::write(folder.path().join("tom.json"), tom).expect("a file in it");
    folder
}

#[test]
fn the_worked_example_as_a_heatmap() {
    assert_snapshot!(couplet(tom().path(), &["plot", "tom.json"]).ok(), @r"
         ╭ Tom
         │ ╭ chase
         │ │ ╭ Jerry
    汤姆 ▓▓░░░░
    追逐 ░░▓▓░░
    杰瑞 ▒▒░░▓▓

         ░░ ≥ 0.05  ▒▒ ≥ 0.25  ▓▓ ≥ 0.5  ██ ≥ 0.75
    ");
}

#[test]
fn the_worked_example_as_lines() {
    assert_snapshot!(couplet(tom().path(), &["plot", "tom.json", "--view", "lines"]).ok(), @r"
      Tom ⠶⠶⢶⣶⡶⡶⡶⡶⡶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⡶⡶⡶⡶⡶⡶⡶⠶⠶ 汤姆
              ⠈⠉⠉⠒⠒⡥⡥⣅⣁⡁⠆⠆⠆⠆⠆⠆⠆⠆⠆⡁⡁⡅⡅⠂⠂⠁⠁⠁
    chase ⠶⠶⠶⠶⠶⡷⡷⡷⡷⠶⠶⠶⠶⠾⡿⡿⠶⠶⠶⠶⣷⣷⡷⠶⠶⠶⠶⡷⡷⡷⡷⡷⠶⠶⠶⠶ 追逐
               ⡀⡀⠄⠄⡃⡃⡃⡁⡁⠆⠆⠆⠆⠆⠆⠆⠆⠎⡉⡑⡓⡓⠤⠤⣀⣀⡀
    Jerry ⠶⠶⠶⠷⠷⠷⠷⠷⠷⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠶⠷⠷⠷⠷⠿⠿⠷⠶⠶ 杰瑞

          ⠄⠄ ≥ 0.1  ⠤⠤ ≥ 0.25  ⠶⠶ ≥ 0.5  ⣶⣶ ≥ 0.75
    ");
}

#[test]
fn the_worked_example_in_files() {
    let folder = tom();
    let plot = |out: &str, more: &[&str]| {
        let said = couplet(folder.path(), &[&["plot", "tom.json", "--out", out], more].concat()).ok();
        assert_eq!(said, format!("the attention is in {out}\n"));
        fs::read(folder.path().join(out)).unwrap()
    };
    let svg = String::from_utf8(plot("tom.svg", &[])).unwrap();
    assert!(svg.contains("fill-opacity=\"0.7\"><title>chase → 追逐: 0.70</title>"), "{svg}");
    let lines = String::from_utf8(plot("lines.svg", &["--view", "lines", "--dark"])).unwrap();
    assert!(lines.contains("stroke-width=\"7.00\"><title>chase → 追逐: 0.70</title>"), "{lines}");
    assert!(plot("tom.png", &["--view", "lines"]).starts_with(b"\x89PNG\r\n"));
    assert_ne!(plot("light.png", &[]), plot("dark.png", &["--dark"]));
}

/// A picture without text is made all the same.
#[test]
fn a_missing_font_is_named() {
    let folder = tom();
    fs::create_dir(folder.path().join("empty")).unwrap();
    let ran = couplet(folder.path(), &["plot", "tom.json", "--out", "tom.png", "--fonts", "empty"]);
    assert_snapshot!(ran.stderr, @r"
    warning: there is no font in empty: the picture has no text
    hint: install a font that has it (on Debian: fonts-noto-core), name a folder with --fonts, or write SVG, which the reader's fonts show
    ");
    ran.ok();
    assert!(folder.path().join("tom.png").exists());
    couplet(folder.path(), &["plot", "tom.json", "--out", "tom.png", "--fonts", "nowhere"]).failed(
        1,
        "--fonts nowhere: no such folder",
        "name a folder with .ttf, .otf or .ttc files, or leave it out for the system's fonts",
    );
}

/// What `attend` writes has the model's text and score, rows that add up to 1, and can be drawn again.
#[test]
fn attention_as_json() {
    let (folder, _) = tiny_model();
    let attend = |more: &[&str]| {
        let words = ["attend", "--model", "model", "Tom sees Jerry", "--target", "汤姆 看见 杰瑞"];
        couplet(folder.path(), &[&words, more].concat()).ok()
    };
    let json: Value = serde_json::from_str(&attend(&["--json"])).unwrap();
    assert_eq!(json["text"], "汤姆 看见 杰瑞");
    assert_eq!(json["source"], serde_json::json!(["Tom", "sees", "Jerry"]));
    assert_eq!(json["target"], serde_json::json!(["汤姆", "看见", "杰瑞"]));
    assert!(json["score"].as_f64().unwrap() < 0.0);
    for row in json["weights"].as_array().unwrap() {
        let sum: f64 = row.as_array().unwrap().iter().map(|weight| weight.as_f64().unwrap()).sum();
        assert!((sum - 1.0).abs() < 1e-5, "{row}");
    }
    assert_eq!(attend(&["--out", "a.json"]), "汤姆 看见 杰瑞\n");
    let written: Value =
        serde_json::from_str(&fs::read_to_string(folder.path().join("a.json")).unwrap()).unwrap();
    assert_eq!(written, json);
    let drawn = attend(&["--view", "lines"]);
    let again = couplet(folder.path(), &["plot", "a.json", "--view", "lines"]).ok();
    assert_eq!(drawn, format!("汤姆 看见 杰瑞\n{again}"));
}

#[test]
fn what_is_no_attention_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let plot = |json: &str| {
        fs::write(folder.path().join("a.json"), json).unwrap();
        couplet(folder.path(), &["plot", "a.json"])
    };
    let hint = "give it what `couplet attend --json` prints: source, target, and a row of weights for each target token";
    plot("{}").failed(1, "a.json: not an attention: missing field `source` at line 1 column 2", hint);
    plot(r#"{"source": ["a", "b"], "target": ["x"], "weights": [[1]]}"#).failed(
        1,
        "a.json: not an attention: attention of 1 target and 2 source tokens, but 1 rows of weights with [1] columns",
        hint,
    );
    assert_eq!(
        plot(r#"{"source": ["a"], "target": ["x"], "weights": [[null]]}"#).ok().lines().nth(1),
        Some("x ?")
    );
}

/// Attention that is bent is trained, saved, read again, followed by a beam, and drawn. What lies outside of a window weighs nothing.
#[test]
fn bent_attention_is_drawn() {
    let folder = new_project();
    let at = folder.path();
    let bent: [(&str, &[&str]); 4] = [
        ("monotonic", &["model.attention.local=monotonic", "model.attention.window=1"]),
        ("predictive", &["model.attention.local=predictive", "model.attention.window=1"]),
        ("coverage", &["model.attention.coverage=true", "model.attention.coverage_loss=0.5"]),
        ("self-attention", &["model.encoder.self_attention=dot", "model.encoder.word_dropout=0.1"]),
    ];
    for (model, keys) in bent {
        let mut train = [&["train", "project/config.toml", "--out", model], &TINY[..]].concat();
        keys.iter().for_each(|key| train.extend(["--set", key]));
        couplet(at, &train).ok();
        let line = "the cat sees the dog in the garden";
        let translate = ["translate", "--model", model, "--beam-size", "4"];
        assert_eq!(couplet_reading(at, &translate, line.as_bytes()).ok().lines().count(), 1);
        let target = "汤姆 看见 杰瑞";
        let json = couplet(at, &["attend", "--model", model, line, "--target", target, "--json"]).ok();
        let attended: Value = serde_json::from_str(&json).unwrap();
        let weights: Vec<Vec<f64>> = serde_json::from_value(attended["weights"].clone()).unwrap();
        assert_eq!((weights.len(), weights[0].len()), (3, 8), "{model}: {attended}");
        for (step, row) in weights.iter().enumerate() {
            let outside = row.iter().enumerate().filter(|(place, _)| place.abs_diff(step) > 1);
            let lost = outside.map(|(_, weight)| weight).sum::<f64>() == 0.0;
            assert_eq!(lost, model == "monotonic", "{model}: {row:?}");
            let seen = row.iter().filter(|weight| **weight > 0.0).count();
            assert!(seen <= if model == "predictive" { 3 } else { 8 }, "{model}: {row:?}");
        }
        let drawn = format!("{model}.svg");
        couplet(at, &["attend", "--model", model, line, "--target", target, "--out", &drawn]).ok();
        let picture = fs::read_to_string(at.join(drawn)).unwrap();
        assert!(picture.contains(">garden<") && picture.contains(" → 汤姆: 0."), "{model}: {picture}");
    }
}
