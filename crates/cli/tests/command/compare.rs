//! Several models on the same data: a table, pictures, and a page with the claims.

use crate::support::{Ran, command, couplet};
use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;
use tempfile::TempDir;

const SMALL: &str = "task = \"translate\"\n[model]\nbridge = \"copy\"\n[model.encoder]\nkind = \"gru\"\nbidirectional = false\nlayers = 1\n\
                     hidden = 8\nembedding = 8\n[model.attention]\nscore = \"none\"\n[model.decoder]\nkind = \"gru\"\nlayers = 1\n\
                     hidden = 8\nembedding = 8\n[train]\nbatch_tokens = 300\nvalidate_every = 10\n[search]\nbeam_size = 1\nmax_length_ratio = 1.0\n";

/// A folder with two configs and a little of the data that comes with the program.
fn two_models() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let at = folder.path();
    fs::write(at.join("plain.toml"), SMALL).expect("the folder can be written");
    fs::write(at.join("looks.toml"), SMALL.replace("score = \"none\"", "score = \"dot\""))
        .expect("the folder can be written");
    let pairs = [
        ("Tom sees Jerry", "汤姆 看见 杰瑞"),
        ("Jerry sees the big black dog in the kitchen every single morning", "杰瑞 看见 狗"),
    ];
    for set in ["train", "valid", "test"] {
        let times = if set == "train" { 30 } else { 4 };
        let lines = |side: fn(&(&str, &str)) -> String| {
            (0..times).flat_map(|_| &pairs).map(|pair| side(pair) + "\n").collect::<String>()
        };
        fs::write(at.join(format!("{set}.en")), lines(|pair| pair.0.to_owned()))
            .expect("the folder can be written");
        fs::write(at.join(format!("{set}.zh")), lines(|pair| pair.1.to_owned()))
            .expect("the folder can be written");
    }
    folder
}

const DATA: [&str; 11] = [
    "--train",
    "train.en",
    "train.zh",
    "--valid",
    "valid.en",
    "valid.zh",
    "--test",
    "test.en",
    "test.zh",
    "--threads",
    "1",
];

const AS_BEFORE: &str = "give another --out, or the --max-updates, --minutes or train.patience that it had";

fn compared(at: &Path, arguments: &[&str]) -> Ran {
    couplet(at, &[&["compare"], arguments, &DATA].concat())
}

fn table(at: &Path) -> Value {
    let text = fs::read_to_string(at.join("out/table.json")).expect("a table was written");
    serde_json::from_str(&text).expect("it is JSON")
}

#[test]
fn two_models_with_two_seeds() {
    let folder = two_models();
    let at = folder.path();
    let arguments =
        ["plain.toml", "looks.toml", "--out", "out", "--seeds", "2", "--max-updates", "12", "--png"];
    let printed = compared(at, &arguments).ok();
    assert!(printed.starts_with("model  parameters  updates"), "{printed}");
    assert!(
        printed.contains("\nplain ") && printed.contains("\nlooks ") && printed.contains(" ± "),
        "{printed}"
    );
    let table = table(at);
    for row in table["rows"].as_array().unwrap() {
        assert_eq!((row["runs"].as_u64(), row["updates"]["mean"].as_f64()), (Some(2), Some(12.0)), "{row}");
        assert!(
            row["score"]["deviation"].is_number() && row["tokens_per_second"]["mean"].is_number(),
            "{row}"
        );
    }
    let page = fs::read_to_string(at.join("out/README.md")).unwrap();
    assert!(page.contains("`looks` ") && page.contains(" against `plain` "), "{page}");
    for name in ["quality-by-length", "accuracy-by-position", "cost-by-length", "norms-by-step"] {
        assert!(page.contains(&format!("]({name}.svg)")), "{page}");
        for ending in ["svg", "png", "tsv"] {
            assert!(at.join(format!("out/{name}.{ending}")).exists(), "{name}.{ending}");
        }
    }

    // The same again trains nothing, and says the same.
    let before = fs::read(at.join("out/plain/seed-1/train.jsonl")).unwrap();
    let again = compared(at, &arguments);
    assert!(!again.stderr.contains("seed 1"), "{}", again.stderr);
    assert_eq!(again.ok(), printed);
    assert_eq!(fs::read(at.join("out/plain/seed-1/train.jsonl")).unwrap(), before);

    // More updates go on where the runs ended.
    let longer = compared(at, &["plain.toml", "looks.toml", "--out", "out", "--max-updates", "20", "--json"]);
    assert!(longer.stderr.contains("going on after update 12"), "{}", longer.stderr);
    let json: Value = serde_json::from_str(&longer.ok()).unwrap();
    assert_eq!(json["rows"][0]["updates"]["mean"], 20.0);
    assert_eq!(json["rows"][0]["score"]["deviation"], Value::Null);

    // The second seed has still 12 updates: it is not reported together with the first.
    let reported = || {
        let report = couplet(at, &["compare", "plain.toml", "--out", "out", "--report", "--json"]).ok();
        let row = serde_json::from_str::<Value>(&report).unwrap()["rows"][0].clone();
        (row["runs"].as_u64(), row["updates"]["mean"].as_f64())
    };
    assert_eq!(reported(), (Some(1), Some(20.0)));
    compared(at, &["plain.toml", "--out", "out", "--max-updates", "20", "--seeds", "2"]).ok();
    assert_eq!(reported(), (Some(2), Some(20.0)));
}

#[test]
fn a_model_that_fails_does_not_keep_the_others_from_being_trained() {
    let folder = two_models();
    let at = folder.path();
    fs::write(at.join("odd.toml"), SMALL.replace("kind = \"gru\"\nbi", "kind = \"grue\"\nbi")).unwrap();
    let ran = compared(at, &["odd.toml", "plain.toml", "--out", "out", "--max-updates", "2"]);
    let (error, hint) = (
        "odd: odd.toml:5: unknown variant \"grue\"",
        "one of \"rnn\", \"gru\", \"lstm\", \"bag\", \"self-attention\", \"transformer\", \"conv\"",
    );
    ran.failed(1, error, hint);
    assert!(ran.stdout.contains("failed: odd.toml:5: unknown variant"), "{}", ran.stdout);
    let table = table(at);
    assert_eq!((table["rows"][0]["runs"].as_u64(), table["rows"][1]["runs"].as_u64()), (Some(0), Some(1)));

    compared(at, &["plain.toml", "./plain.toml", "--out", "out"]).failed(
        2,
        "plain.toml and ./plain.toml have the same name",
        "a config's file name is its model's name; rename one of them",
    );
    // All models learn from the same.
    let own = |train: &str| format!("{SMALL}[data]\ntrain = {train}\nvalid = [\"valid.en\", \"valid.zh\"]\n");
    fs::write(at.join("one.toml"), own("[\"train.en\", \"train.zh\"]")).unwrap();
    fs::write(at.join("other.toml"), own("\"a.tsv\"")).unwrap();
    couplet(at, &["compare", "one.toml", "other.toml", "--out", "own", "--max-updates", "1"]).failed(
        1,
        "other: other.toml: its data.train is not that of one.toml",
        "--train and --valid give all models the same data",
    );
}

/// Interrupted, it says how to go on, and the same command does.
#[cfg(unix)]
#[test]
fn what_was_interrupted_goes_on() {
    let folder = two_models();
    let at = folder.path();
    let arguments =
        [&["compare", "plain.toml", "looks.toml", "--out", "out", "--max-updates", "3000"], &DATA[..]]
            .concat();
    let mut child = command(at, &arguments).stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let log = at.join("out/plain/seed-1/train.jsonl");
    let has_begun = || fs::read_to_string(&log).is_ok_and(|log| log.contains("\"event\":\"update\""));
    while !has_begun() {
        assert_eq!(child.try_wait().unwrap(), None, "it goes on");
        std::thread::sleep(Duration::from_millis(20));
    }
    let sent = std::process::Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(sent.success());
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success() && stderr.ends_with("stopped; the same command goes on\n"), "{stderr}");
    assert!(!at.join("out/plain/seed-1/result.json").exists());

    let files = fs::read_dir(at.join("out/plain/seed-1/checkpoints")).unwrap();
    let names = files.map(|file| file.unwrap().file_name().into_string().unwrap());
    let updates = names
        .filter_map(|name| name.strip_prefix("step-")?.strip_suffix(".safetensors")?.parse::<u64>().ok());
    let few_more = (updates.max().unwrap_or(0) + 2).to_string();
    let went_on = compared(at, &["plain.toml", "looks.toml", "--out", "out", "--max-updates", &few_more]);
    assert!(went_on.stderr.contains("going on after update"), "{}", went_on.stderr);
    went_on.ok();
    assert_eq!(table(at)["rows"][1]["runs"], 1);
}

/// What is done counts for the same data and the same budget only.
#[test]
fn what_is_done_is_not_taken_for_something_else() {
    let folder = two_models();
    let at = folder.path();
    let plain = |more: &[&str]| compared(at, &[&["plain.toml", "--out", "out", "--no-times"], more].concat());
    plain(&["--max-updates", "6"]).ok();
    let lines = || -> u64 {
        let text = fs::read_to_string(at.join("out/plain/seed-1/result.json")).unwrap();
        serde_json::from_str::<Value>(&text).unwrap()["quality"]["lines"].as_u64().unwrap()
    };
    assert_eq!(lines(), 8);

    // Another test set under the same name: nothing is trained, and all is measured again.
    for side in ["en", "zh"] {
        let path = at.join(format!("test.{side}"));
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.repeat(2)).unwrap();
    }
    let again = plain(&["--max-updates", "6"]);
    assert!(again.stderr.contains("going on after update 6"), "{}", again.stderr);
    again.ok();
    assert_eq!(lines(), 16);

    let longer = "plain: out/plain/seed-1: it has been trained for longer than asked for";
    for _ in 0..2 {
        plain(&["--max-updates", "3"]).failed(1, longer, AS_BEFORE);
    }
    // With some patience it might have ended earlier.
    plain(&["--max-updates", "6", "--set", "train.patience=1"]).failed(1, longer, AS_BEFORE);
    plain(&["--max-updates", "6"]).ok();
    let path = at.join("valid.zh");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("汤姆", "杰瑞", 1)).unwrap();
    plain(&["--max-updates", "6"]).failed(
        1,
        "plain: out/plain/seed-1: it was checked with another validation set",
        "give it the data that it had, or train into another --out",
    );
    fs::write(&path, text).unwrap();
    let path = at.join("train.en");
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replacen("Tom", "Spike", 1)).unwrap();
    plain(&["--max-updates", "6"]).failed(
        1,
        "plain: out/plain/seed-1: the training data is not what this run was trained on",
        "give it the data that it had, or train into another --out",
    );
}

/// What would not be the comparison that was asked for is refused before anything is trained.
#[test]
fn what_cannot_be_compared_is_refused_before_it_is_trained() {
    let folder = two_models();
    let at = folder.path();
    let refused = |config: &str, more: &[&str], code: i32, error: &str, hint: &str| {
        let ran = compared(at, &[&[config, "--out", "out", "--no-times"], more].concat());
        ran.failed(code, error, hint);
        assert!(!ran.stderr.contains("validation loss"), "{}", ran.stderr);
    };
    let seed = "plain: --set train.seed: runs have the seeds 1, 2 and so on";
    for key in ["train.seed=2", "train={seed=2}"] {
        refused("plain.toml", &["--set", key], 1, seed, "--seeds says how many");
    }
    let unknown = compared(at, &["plain.toml", "--out", "out", "--max-updates", "2", "--set", "train.rat=2"]);
    assert!(
        unknown.stderr.contains("\nerror: plain: --set train.rat=2: unknown field"),
        "{}",
        unknown.stderr
    );
    let falling = ["--minutes", "1", "--set", "train.schedule=cosine"];
    let endless = "plain: plain.toml: a rate that falls to zero at the last update, with --minutes";
    refused("plain.toml", &falling, 1, endless, "give --max-updates, or --set train.schedule=inverse-sqrt");
    for minutes in ["-1", "nan"] {
        let ran = compared(at, &["plain.toml", "--out", "out", &format!("--minutes={minutes}")]);
        assert!(ran.code == Some(2) && ran.stderr.contains(": a number above 0 is wanted"), "{}", ran.stderr);
    }
    let prepared = ["--max-updates", "2", "--set", "data.prepared=big"];
    let elsewhere = "plain: plain.toml: data.prepared takes the place of --train and --valid";
    let leave = "leave data.prepared out of the config, or --train and --valid";
    refused("plain.toml", &prepared, 1, elsewhere, leave);
    fs::write(at.join("test.en"), "one line\n").unwrap();
    let ran = compared(at, &["plain.toml", "--out", "out", "--no-times", "--max-updates", "2"]);
    assert!(ran.code == Some(1) && ran.stderr.contains("test.en has 1 lines but "), "{}", ran.stderr);
    assert!(!ran.stderr.contains("validation loss"), "{}", ran.stderr);

    // A schedule that has an end cannot be given another one.
    fs::copy(at.join("valid.en"), at.join("test.en")).unwrap();
    fs::copy(at.join("valid.zh"), at.join("test.zh")).unwrap();
    let falling = |steps: &str| {
        let all = [
            "plain.toml",
            "--out",
            "out",
            "--no-times",
            "--max-updates",
            steps,
            "--set",
            "train.schedule=cosine",
        ];
        compared(at, &all)
    };
    falling("3").ok();
    for _ in 0..2 {
        falling("5").failed(
            1,
            "plain: out/plain/seed-1: its rate falls to zero at the last update, which was another one",
            AS_BEFORE,
        );
    }
    falling("3").ok();
}

/// Parts of a comparison in processes of their own, in one folder; then the whole finds all done, and the report needs the figures only.
#[test]
fn parts_side_by_side_make_one_table() {
    let folder = two_models();
    let at = folder.path();
    let part = |config: &str| {
        let arguments = ["compare", config, "--out", "out", "--max-updates", "6", "--no-times"];
        command(at, &[&arguments, &DATA[..]].concat())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    for child in [part("plain.toml"), part("looks.toml")] {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let both = ["plain.toml", "looks.toml", "--out", "out", "--max-updates", "6"];
    let whole = compared(at, &both);
    assert!(
        !whole.stderr.contains("seed 1") && whole.stderr.contains("looks: how fast it is"),
        "{}",
        whole.stderr
    );
    let printed = whole.ok();
    for row in table(at)["rows"].as_array().unwrap() {
        assert!(row["runs"] == 1 && row["tokens_per_second"]["deviation"].is_number(), "{row}");
    }

    for name in ["plain", "looks"] {
        fs::remove_file(at.join(format!("out/{name}/seed-1/model.safetensors"))).unwrap();
    }
    fs::remove_file(at.join("train.en")).unwrap();
    let report = || couplet(at, &["compare", "plain.toml", "looks.toml", "--out", "out", "--report"]);
    assert_eq!(report().ok(), printed);

    // A report of nothing leaves the one that is there alone.
    let page = fs::read(at.join("out/README.md")).unwrap();
    for (config, out) in [("other.toml", "out"), ("plain.toml", "nowhere")] {
        couplet(at, &["compare", config, "--out", out, "--report"]).failed(
            1,
            &format!("{out}: none of these models has been measured there"),
            "check the names of the configs and --out; without --report, models are trained and measured",
        );
    }
    assert_eq!(fs::read(at.join("out/README.md")).unwrap(), page);

    // Figures of other data do not stand beside the others.
    let path = at.join("out/looks/seed-1/result.json");
    let text = fs::read_to_string(&path).unwrap();
    let mut figures: Value = serde_json::from_str(&text).unwrap();
    figures["data"] = 1.into();
    fs::write(&path, figures.to_string()).unwrap();
    report().failed(
        1,
        "looks: looks.toml: its data is not that of plain.toml",
        "--train and --valid give all models the same data",
    );
    assert_eq!(table(at)["rows"][1]["runs"], 0);
}

/// Lines are joined where that is asked for; a language model has nothing to be compared by.
#[test]
fn lines_are_joined_to_passages() {
    let folder = two_models();
    let at = folder.path();
    compared(at, &["plain.toml", "--out", "out", "--max-updates", "2", "--no-times", "--concatenate", "30"])
        .ok();
    let files = fs::read_dir(at.join("out/data")).unwrap().map(|file| file.unwrap().path());
    let of_test = |path: &std::path::PathBuf| path.to_string_lossy().contains("/test-30-");
    let test = files.filter(of_test).find(|path| path.extension().is_some_and(|is| is == "source")).unwrap();
    let text = fs::read_to_string(test).unwrap();
    assert!(text.lines().any(|line| line.contains("Tom sees Jerry Jerry sees")), "{text}");
    fs::write(
        at.join("next.toml"),
        "task = \"language-model\"\n[data]\ntrain = \"train.en\"\nvalid = \"valid.en\"\n\
                [model.encoder]\nbidirectional = false\n",
    )
    .unwrap();
    couplet(at, &["compare", "next.toml", "--out", "next", "--max-updates", "2"]).failed(
        1,
        "next: next.toml: task = \"language-model\" has no score to compare models by",
        "models that translate, classify or auto-encode can be compared",
    );
}

/// A classifier is compared by the share of labels that are right.
#[test]
fn classifiers_are_compared_by_accuracy() {
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path();
    let texts = "good film\nbad film\n".repeat(8);
    let labels = "1\n0\n".repeat(8);
    fs::write(at.join("texts"), &texts).unwrap();
    fs::write(at.join("labels"), &labels).unwrap();
    let config =
        "task = \"classify\"\n[model.encoder]\nkind = \"rnn\"\nlayers = 1\nhidden = 4\nembedding = 4\n";
    fs::write(at.join("rnn.toml"), config).unwrap();
    fs::write(at.join("lstm.toml"), config.replace("rnn", "lstm")).unwrap();
    let files = ["--train", "texts", "labels", "--valid", "texts", "labels"];
    let arguments = [
        &["compare", "rnn.toml", "lstm.toml", "--out", "out", "--max-updates", "3", "--threads", "1"],
        &files[..],
    ]
    .concat();
    let printed = couplet(at, &arguments).ok();
    assert!(printed.contains("accuracy, %"), "{printed}");
    assert_eq!(table(at)["metric"], "accuracy");

    let joined = couplet(at, &[&arguments[..], &["--concatenate", "9"]].concat());
    let labels = "2 of 2 models failed; rnn: rnn.toml: --concatenate would join the labels of a classifier";
    joined.failed(1, labels, "leave --concatenate out");
    fs::write(at.join("plain.toml"), SMALL).unwrap();
    let both = ["compare", "rnn.toml", "plain.toml", "--out", "both", "--max-updates", "1", "--threads", "1"];
    let mixed = couplet(at, &[&both, &files[..]].concat());
    mixed.failed(1, "plain: plain.toml: its task is not that of rnn.toml", "compare models of one task");
    // Whether anybody reads the table or not.
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let unread = command(at, &[&both, &files[..]].concat()).stdout(writer).output().unwrap();
    assert_eq!(unread.status.code(), Some(1));
}
