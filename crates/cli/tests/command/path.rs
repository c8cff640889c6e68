//! The whole path: new, train, translate, evaluate, attend, inspect.

use crate::support::{TINY, command, couplet, couplet_reading, new_project, tiny_model, train_tiny};
use std::fs;

#[test]
fn a_new_project_can_be_trained_and_used() {
    let folder = new_project();
    let at = folder.path();
    let trained = train_tiny(at, "model");
    assert!(trained.stderr.contains("1000 pairs; vocabularies"), "{}", trained.stderr);
    assert!(trained.stderr.contains("the model is in model"), "{}", trained.stderr);
    trained.ok();
    for file in [
        "config.toml",
        "model.toml",
        "model.safetensors",
        "tokenizer.source.json",
        "train.jsonl",
        "README.md",
        "checkpoints/step-4.safetensors",
    ] {
        assert!(at.join("model").join(file).exists(), "{file}");
    }
    let log = fs::read_to_string(at.join("model/train.jsonl")).unwrap();
    assert!(log.lines().next().unwrap().starts_with("{\"event\":\"start\""));
    assert!(log.lines().last().unwrap().starts_with("{\"event\":\"end\",\"reason\":\"done\",\"update\":4"));

    let evaluated = couplet(
        at,
        &[
            "evaluate",
            "--model",
            "model",
            "--source",
            "project/valid.en",
            "--target",
            "project/valid.zh",
            "--json",
        ],
    );
    let figures: serde_json::Value = serde_json::from_str(&evaluated.ok()).unwrap();
    assert_eq!(figures["lines"], 100);
    let (loss, perplexity) = (figures["loss"].as_f64().unwrap(), figures["perplexity"].as_f64().unwrap());
    assert!((loss.exp() - perplexity).abs() < 1e-9 && loss > 0.0);
}

#[test]
fn a_line_in_is_a_line_out_in_order_whatever_the_batching() {
    let (folder, _) = tiny_model();
    let input = "Tom sees Jerry\n\nthe dog\nTom sees Jerry in the kitchen every morning\nTom\n";
    let together = couplet_reading(folder.path(), &["translate", "--model", "model"], input.as_bytes()).ok();
    let lines: Vec<&str> = together.split('\n').collect();
    assert_eq!(lines.len(), 6, "{together:?}"); // five lines, and nothing behind the last one
    assert_eq!(lines[1], "", "an empty line stays empty");
    for (line, translation) in input.lines().zip(&lines) {
        let alone = couplet_reading(
            folder.path(),
            &["translate", "--model", "model"],
            format!("{line}\n").as_bytes(),
        );
        assert_eq!(alone.ok(), format!("{translation}\n"));
    }
    fs::write(folder.path().join("in.txt"), input).unwrap();
    couplet(folder.path(), &["predict", "--model", "model", "--input", "in.txt", "--output", "out.txt"]).ok();
    assert_eq!(fs::read_to_string(folder.path().join("out.txt")).unwrap(), together);
}

#[test]
fn the_same_seed_gives_the_same_weights() {
    let folder = new_project();
    train_tiny(folder.path(), "one").ok();
    train_tiny(folder.path(), "two").ok();
    let weights = |name: &str| fs::read(folder.path().join(name).join("model.safetensors")).unwrap();
    assert_eq!(weights("one"), weights("two"));
}

#[test]
fn attention_is_drawn_in_the_terminal_and_as_svg() {
    let (folder, _) = tiny_model();
    let drawn = couplet(
        folder.path(),
        &["attend", "--model", "model", "Tom sees Jerry", "--target", "汤姆 看见 杰瑞"],
    )
    .ok();
    assert!(drawn.starts_with("汤姆 看见 杰瑞\n"), "{drawn}");
    assert!(drawn.contains("╭ Jerry") && drawn.lines().any(|line| line.starts_with("杰瑞 ")), "{drawn}");
    couplet(folder.path(), &["attend", "--model", "model", "Tom sees Jerry", "--out", "a.svg"]).ok();
    assert!(fs::read_to_string(folder.path().join("a.svg")).unwrap().starts_with("<svg"));
    couplet(folder.path(), &["attend", "--model", "model", "Tom", "--out", "a.jpg"]).failed(
        2,
        "--out a.jpg: its name does not say what to write",
        "give it a name that ends in .svg or .png or .json",
    );
}

/// An LSTM layer of h units that reads x numbers has 4·h·(x + h + 1) parameters. Here the encoder reads 8 numbers with 8 units
/// in each direction: 2 · 4·8·(8 + 8 + 1) = 1,088; the decoder reads 8 + 16 numbers with 16 units: 4·16·(24 + 16 + 1) = 2,624.
#[test]
fn parameters_can_be_counted_by_hand() {
    let (folder, _) = tiny_model();
    let table = couplet(folder.path(), &["inspect", "model"]).ok();
    let count = |name: &str| -> usize {
        let row = table.lines().find(|line| line.split_whitespace().next() == Some(name));
        row.and_then(|row| row.split_whitespace().last())
            .unwrap_or_else(|| panic!("{name} in {table}"))
            .parse()
            .unwrap()
    };
    let parts = |side: &str, ends: &[&str]| -> usize {
        let part =
            |kind: &str| ends.iter().map(|end| count(&format!("{side}.{kind}_l0{end}"))).sum::<usize>();
        part("weight_ih") + part("weight_hh") + part("bias_ih")
    };
    assert_eq!(parts("encoder", &["", "_reverse"]), 1088);
    assert_eq!(parts("decoder", &[""]), 2624);
    assert_eq!([count("encoder.l0"), count("decoder.l0")], [1088, 2624]);
}

/// A plain pair of networks has nothing to look at, and says so; a model with two heads shows one of them.
#[test]
fn what_a_model_can_show() {
    let folder = new_project();
    let train = |out: &str, overrides: &[&str]| {
        let overrides: Vec<&str> = overrides.iter().flat_map(|each| ["--set", each]).collect();
        let arguments = [&["train", "project/config.toml", "--out", out], &TINY[..], &overrides].concat();
        couplet(folder.path(), &arguments).ok();
    };
    train("plain", &["model.attention.score=none", "model.encoder.kind=gru", "model.decoder.kind=rnn"]);
    couplet(folder.path(), &["attend", "--model", "plain", "Tom sees Jerry"]).failed(
        1,
        "plain: this model has no attention to show",
        "train a model whose model.attention.score is not \"none\"",
    );
    let translated = couplet_reading(folder.path(), &["translate", "--model", "plain"], b"Tom sees Jerry\n");
    assert_eq!(translated.ok().lines().count(), 1);

    train("two", &["model.attention.heads=2"]);
    let attend = |head: &str| {
        couplet(
            folder.path(),
            &["attend", "--model", "two", "Tom sees Jerry", "--target", "狗", "--head", head],
        )
    };
    assert!(attend("2").ok().starts_with("狗\n"));
    attend("3").failed(
        2,
        "--head 3: the model's attention has 2",
        "a head from 1 to 2, or leave it out for the mean of all",
    );
}

/// Readers and writers without recurrence, whose layers all look at the source.
#[test]
fn layers_are_shown_one_by_one() {
    let folder = new_project();
    let config = fs::read_to_string(folder.path().join("project/config.toml")).unwrap();
    // They look at the source by themselves: what tells a recurrent writer of it is left out.
    let (before, rest) = config.split_once("[model.context]").unwrap();
    let (_, behind) = rest.split_once("[model.decoder]").unwrap();
    fs::write(folder.path().join("project/alone.toml"), format!("{before}[model.decoder]{behind}")).unwrap();
    let of_attention = |pair: &&[&str]| pair[1].starts_with("model.attention");
    let tiny: Vec<&str> = TINY.chunks(2).filter(|pair| !of_attention(pair)).flatten().copied().collect();
    for kind in ["transformer", "conv"] {
        let [reader, writer] = ["encoder", "decoder"].map(|part| format!("model.{part}.kind={kind}"));
        let own = ["--set", &reader, "--set", &writer, "--set", "model.decoder.layers=2"];
        let arguments = [&["train", "project/alone.toml", "--out", kind], &tiny[..], &own].concat();
        couplet(folder.path(), &arguments).ok();
        let translated =
            couplet_reading(folder.path(), &["translate", "--model", kind], b"Tom sees Jerry\nTom\n");
        assert_eq!(translated.ok().lines().count(), 2, "{kind}");
        let attend = |layer: &str| {
            let text = ["Tom sees Jerry", "--target", "狗"];
            let arguments = [&["attend", "--model", kind, "--layer", layer], &text[..]].concat();
            couplet(folder.path(), &arguments)
        };
        assert!(attend("2").ok().starts_with("狗\n"), "{kind}");
        attend("3").failed(
            2,
            "--layer 3: the model's attention has 2",
            "a layer from 1 to 2, or leave it out for the mean of all",
        );
        let table = couplet(folder.path(), &["inspect", kind]).ok();
        assert!(table.contains("decoder.layers.1 in all"), "{table}");
    }
}

/// Ctrl-C during a long training: it saves, says so, and ends well.
#[cfg(unix)]
#[test]
fn an_interrupted_training_is_saved() {
    use std::io::{BufRead, BufReader};
    let folder = new_project();
    let mut long = [&["train", "project/config.toml", "--out", "model"], &TINY[..]].concat();
    long.extend([
        "--set",
        "train.max_updates=1000000",
        "--set",
        "train.epochs=1000000",
        "--set",
        "train.patience=0",
    ]);
    let mut child = command(folder.path(), &long).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    lines.find(|line| line.contains("validation loss")).expect("it trains");
    let interrupted =
        std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(interrupted.success());
    let rest: Vec<String> = lines.collect();
    assert!(rest.iter().any(|line| line.starts_with("stopped, the model is saved after ")), "{rest:?}");
    assert!(child.wait().unwrap().success());
    couplet(folder.path(), &["inspect", "model"]).ok();
}
