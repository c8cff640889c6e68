//! Ways to search, at the command line, with a model that knows a few couplets by heart.

use crate::support::{Ran, couplet, couplet_reading};
use insta::assert_snapshot;
use std::fs;
use std::path::Path;
use std::sync::OnceLock;
use tempfile::TempDir;

/// First lines and second lines.
const FIRST: &str = "\
风 弦 未 拨 心 先 乱
春 风 得 意 ， 山 水 有 情
山 山 水 水
花 梦 粘 于 春 袖 口
";
const SECOND: &str = "\
夜 幕 已 沉 梦 更 闲
秋 月 无 边 ， 江 天 如 画
日 日 天 天
莺 声 溅 落 柳 枝 头
";

const CONFIG: &str = r#"
task = "translate"
[data]
train = ["first", "second"]
valid = ["first", "second"]
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
max_updates = 300
learning_rate = 0.01
label_smoothing = 0.0
validate_every = 300
[search]
beam_size = 4
"#;

/// A folder with the data and models that know it: `model`, `other` from another seed, and `few`, which lacks some characters.
fn project() -> &'static Path {
    static PROJECT: OnceLock<TempDir> = OnceLock::new();
    PROJECT
        .get_or_init(|| {
            let folder = tempfile::tempdir().expect("a folder for the test");
            for (name, text) in [("first", FIRST), ("second", SECOND), ("config.toml", CONFIG)] {
                fs::write(folder.path().join(name), text).expect("room for a few lines");
            }
            let train = |out: &str, overrides: &[&str]| {
                let overrides: Vec<&str> = overrides.iter().flat_map(|each| ["--set", each]).collect();
                let fixed = ["train", "config.toml", "--out", out, "--threads", "1"];
                couplet(folder.path(), &[&fixed[..], &overrides].concat()).ok();
            };
            train("model", &[]);
            train("other", &["train.seed=2"]);
            train("few", &["data.target.vocab_size=8", "train.max_updates=30"]);
            folder
        })
        .path()
}

fn translate(arguments: &[&str], input: &str) -> Ran {
    couplet_reading(project(), &[&["translate", "--model", "model"], arguments].concat(), input.as_bytes())
}

/// With dashes for numbers that have a fraction: scores differ in the last digits between machines.
fn without_figures(text: &str) -> String {
    let is_figure = |word: &str| word.contains('.') && word.parse::<f64>().is_ok();
    let word = |word: &'_ str| if is_figure(word) { "-.----".to_owned() } else { word.to_owned() };
    let joined = |text: &str, by: &str, part: &dyn Fn(&str) -> String| {
        text.split(by).map(part).collect::<Vec<_>>().join(by)
    };
    joined(text, "\n", &|line| joined(line, "\t", &|cell| joined(cell, " ", &word)))
}

#[test]
fn the_best_outputs_with_their_scores() {
    assert_eq!(translate(&[], FIRST).ok(), SECOND);
    let found = translate(&["--n-best", "3"], FIRST).ok();
    let rows: Vec<Vec<&str>> = found.lines().map(|line| line.split('\t').collect()).collect();
    let score = |row: &[&str]| row[1].parse::<f32>().unwrap();
    for (number, (rows, best)) in (1..).zip(rows.chunks(3).zip(SECOND.lines())) {
        assert_eq!((rows[0][0], rows[0][2]), (number.to_string().as_str(), best));
        assert!(score(&rows[0]) >= score(&rows[1]) && score(&rows[1]) >= score(&rows[2]), "{found}");
    }
    assert_snapshot!(without_figures(&translate(&["--n-best", "1"], FIRST).ok()), @r"
    1	-.----	夜 幕 已 沉 梦 更 闲
    2	-.----	秋 月 无 边 ， 江 天 如 画
    3	-.----	日 日 天 天
    4	-.----	莺 声 溅 落 柳 枝 头
    ");
    translate(&["--n-best", "5"], FIRST).failed(
        2,
        "search.n_best = 5",
        "from 1 to as many as the beam is wide; with sampling, any number",
    );
}

#[test]
fn what_is_drawn_depends_on_the_seed_alone() {
    let drawn = |more: &[&str]| translate(&[&["--sample"], more].concat(), FIRST).ok();
    assert_snapshot!(drawn(&["--temperature", "0.1"]), @r"
    夜 幕 已 沉 梦 更 闲
    秋 月 无 边 ， 江 天 如 画
    日 日 天 天
    莺 声 溅 落 柳 枝 头
    ");
    let hot = ["--temperature", "9", "--seed"];
    let seed = |seed: &str| drawn(&[&hot[..], &[seed]].concat());
    assert_eq!(seed("7"), seed("7"));
    assert_ne!(seed("7"), seed("8"));
    assert_eq!(drawn(&["--temperature", "9", "--top-k", "1"]), SECOND);
    assert_eq!(drawn(&["--n-best", "6", "--top-p", "0.5"]).lines().count(), 6 * 4);
    translate(&["--sample", "--temperature", "0"], FIRST).failed(
        2,
        "search.sampling.temperature = 0",
        "a number above 0; 1 changes nothing",
    );
}

#[test]
fn links_between_tokens() {
    let hard = translate(&["--align", "hard"], "山 山 水 水\n").ok();
    let (text, links) = hard.trim_end().split_once(" ||| ").expect("links behind the text");
    let targets: Vec<&str> = links.split(' ').map(|link| link.split_once('-').unwrap().1).collect();
    assert_eq!((text, targets), ("日 日 天 天", vec!["0", "1", "2", "3"]));
    let all = "日 日 天 天 ||| 0-0 1-0 2-0 3-0 0-1 1-1 2-1 3-1 0-2 1-2 2-2 3-2 0-3 1-3 2-3 3-3\n";
    assert_eq!(translate(&["--align", "0"], "山 山 水 水\n").ok(), all);
    assert_eq!(translate(&["--align", "1.5"], "").code, Some(2));
}

#[test]
fn the_rules_of_couplets_are_kept_and_explained() {
    let input = "春 风 得 意 ， 山 水 有 情\n山 水 山 月\n\n心 乱\n";
    let ran = translate(&["--couplet", "--explain"], input);
    assert_snapshot!(ran.stderr, @r"
    line 1 keeps to: 9 characters; marks at 5; all characters different; none of 春, 风, 得, 意, 山, 水, 有, 情; tones opposed at 9 (仄)
    line 2 keeps to: 4 characters; no marks; 1 and 3 alike, all others different; none of 山, 水, 月; tones opposed at 4 (平)
    line 3 keeps to: nothing
    line 4 keeps to: 2 characters; no marks; all characters different; none of 心, 乱; tones opposed at 2 (平)
    ");
    let lines: Vec<Vec<&str>> = ran.stdout.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(lines[0].join(" "), SECOND.lines().nth(1).unwrap());
    let second = &lines[1];
    assert!(second.len() == 4 && second[0] == second[2] && second[1] != second[3], "{second:?}");
    assert!(lines[2].is_empty() && lines[3].len() == 2);

    let evaluate = ["evaluate", "--model", "model", "--source", "first", "--target", "second", "--couplet"];
    let report = couplet(project(), &evaluate).ok();
    assert_snapshot!(report.lines().skip(4).collect::<Vec<_>>().join("\n"), @r"
    equal_length  kept in 4 of 4 lines
    marks         kept in 4 of 4 lines
    repetition    kept in 4 of 4 lines
    fresh         kept in 4 of 4 lines
    tones         kept in 4 of 4 lines
    empty, or with an unknown character: 0
    ");
    let json = couplet(project(), &[&evaluate[..], &["--json"]].concat()).ok();
    assert!(json.contains("\"couplet\":{\"broken\":{\"equal_length\":0,"), "{json}");
}

/// Each rule can be asked for alone.
#[test]
fn a_rule_by_itself() {
    let said = |rule: &str| translate(&[rule, "--explain"], "山 ， 山\n").stderr;
    assert_eq!(said("--equal-length"), "line 1 keeps to: 3 characters\n");
    assert_eq!(said("--same-punctuation"), "line 1 keeps to: marks at 2\n");
    assert_eq!(said("--same-repetition"), "line 1 keeps to: 1 and 3 alike, all others different\n");
    assert_eq!(said("--fresh"), "line 1 keeps to: none of 山\n");
    assert_eq!(said("--opposed-tones=2,-1"), "line 1 keeps to: tones opposed at 3 (仄)\n");
    assert_eq!(said("--couplet=false"), "line 1 keeps to: nothing\n");
}

#[test]
fn what_cannot_be_written_is_named() {
    let few = ["predict", "--model", "few", "--couplet"];
    let ran = couplet_reading(project(), &few, "春 风 ！ ，\n".as_bytes());
    assert_eq!(ran.stdout, "\n");
    assert_snapshot!(ran.stderr, @"warning: line 1 has no output: the vocabulary has no mark for place 3");
    let ran = translate(&["--min-length", "9", "--max-length", "3", "--max-length-ratio", "0"], "山 山\n");
    assert_eq!(ran.stderr, "warning: line 1 has no output: at least 9 tokens are asked for, and at most 3\n");
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "\n"));
}

#[test]
fn beginnings_and_phrases() {
    let at = project();
    fs::write(at.join("prefixes"), "\n江 天\n\n\n").unwrap();
    fs::write(at.join("phrases"), "\n\n\n枝 头\t闲\n").unwrap();
    let found = translate(&["--prefixes", "prefixes", "--phrases", "phrases"], FIRST).ok();
    let lines: Vec<&str> = found.lines().collect();
    assert!(lines[0] == SECOND.lines().next().unwrap() && lines[1].starts_with("江 天"), "{found}");
    assert!(lines[3].contains("枝 头") && lines[3].contains('闲'), "{found}");
    fs::write(at.join("short"), "江\n").unwrap();
    translate(&["--prefixes", "short"], FIRST).failed(
        1,
        "short: 1 lines, and the input has more",
        "it has a line for each line of the input, which may be empty",
    );
    translate(&["--phrases", "phrases", "--sample"], FIRST).failed(
        2,
        "--phrases with sampling",
        "phrases that must be there are looked for by a beam; leave --sample out",
    );
    fs::write(at.join("foreign"), "\n龙\n\n\n").unwrap();
    let ran = translate(&["--prefixes", "foreign"], FIRST);
    assert_eq!(ran.stderr, "warning: line 2 has no output: the vocabulary does not have \"龙\"\n");
}

#[test]
fn unknown_tokens_become_words_of_the_source() {
    let at = project();
    let few = |more: &[&str]| {
        couplet_reading(at, &[&["translate", "--model", "few"], more].concat(), "山 山\n".as_bytes()).ok()
    };
    let copied = few(&["--unknown", "copy", "--min-length", "6"]);
    assert!(copied.contains('山'), "{copied}");
    fs::write(at.join("dictionary"), "山\t岳\n").unwrap();
    let looked_up = few(&["--unknown", "copy", "--min-length", "6", "--lexicon", "dictionary"]);
    assert_eq!(looked_up, copied.replace('山', "岳"));
    let avoided = few(&["--unknown", "avoid", "--min-length", "6"]);
    assert!(avoided.split_whitespace().count() >= 6 && !avoided.contains('山'), "{avoided}");
}

#[test]
fn models_write_together() {
    assert_eq!(translate(&["--ensemble", "other"], FIRST).ok(), SECOND);
    translate(&["--ensemble", "few"], FIRST).failed(
        1,
        "few: its vocabularies are not those of model",
        "models write together if they were trained on the same data, with the same tokenizers",
    );
}

#[test]
fn given_outputs_have_the_score_that_the_search_reports() {
    let at = project();
    let score = |more: &[&str]| {
        let fixed = ["score", "--model", "model", "--source", "first", "--target", "second"];
        couplet(at, &[&fixed[..], more].concat()).ok()
    };
    let found = translate(&["--n-best", "1", "--length-penalty", "0"], FIRST).ok();
    for (scored, found) in score(&[]).lines().zip(found.lines()) {
        let (scored, found) = (scored.split('\t').next().unwrap(), found.split('\t').nth(1).unwrap());
        let (scored, found): (f32, f32) = (scored.parse().unwrap(), found.parse().unwrap());
        assert!((scored - found).abs() < 2e-4, "{scored} and {found}");
    }
    let tokens = score(&["--tokens"]);
    assert_snapshot!(without_figures(tokens.lines().nth(2).unwrap()), @r"-.----	-.----	日 -.----	日 -.----	天 -.----	天 -.----	</s> -.----");
    let json: serde_json::Value = serde_json::from_str(score(&["--json"]).lines().nth(2).unwrap()).unwrap();
    assert_eq!(json["tokens"][4]["token"], "</s>");
    fs::write(at.join("one"), "山\n").unwrap();
    couplet(at, &["score", "--model", "model", "--source", "first", "--target", "one"]).failed(
        1,
        "one has 1 lines, first has more",
        "line n of one file belongs to line n of the other",
    );
}

/// The second lines have 7, 9, 4 and 7 tokens: with a limit of 8 the second one is truncated, and the first and the last just end. With one
/// of 10 all do.
#[test]
fn truncated_outputs_are_counted() {
    let warning = |count: &str| {
        format!(
            "warning: {count} outputs were cut at the length limit\n\
             hint: raise search.max_length (--max-length) to let them end\n"
        )
    };
    for more in [&[][..], &["--beam-size", "1"], &["--sample", "--temperature", "0.1"]] {
        let limited = |limit: &str| translate(&[more, &["--max-length", limit]].concat(), FIRST);
        assert_eq!(limited("8").stderr, warning("1 of 4"), "{more:?}");
        assert_eq!(limited("3").stderr, warning("4 of 4"), "{more:?}");
        let whole = limited("10");
        assert_eq!((whole.stderr.as_str(), whole.stdout.as_str()), ("", SECOND), "{more:?}");
    }
    let evaluate = ["evaluate", "--model", "model", "--source", "first", "--target", "second", "--json"];
    let ran = couplet(project(), &[&evaluate[..], &["--max-length", "8"]].concat());
    assert_eq!(ran.stderr, warning("1 of 4"));
    let values: serde_json::Value = serde_json::from_str(&ran.ok()).unwrap();
    assert_eq!(values["truncated"], 1);

    let attend = |model: &str| {
        let ran = couplet(project(), &["attend", "--model", model, "山 山 水 水", "--json"]);
        serde_json::from_str::<serde_json::Value>(&ran.ok()).unwrap()["truncated"].clone()
    };
    let short = project().join("short-limit");
    fs::create_dir_all(&short).unwrap();
    for file in fs::read_dir(project().join("model")).unwrap().map(Result::unwrap) {
        if file.path().is_file() {
            fs::copy(file.path(), short.join(file.file_name())).unwrap();
        }
    }
    let config = fs::read_to_string(short.join("config.toml")).unwrap();
    fs::write(short.join("config.toml"), config.replace("\n[search]\n", "\n[search]\nmax_length = 3\n"))
        .unwrap();
    assert_eq!([attend("model"), attend("short-limit")], [false, true]);
}

/// Nobody reads the rest: the command ends, and says nothing.
#[cfg(unix)]
#[test]
fn a_closed_pipe_ends_it_quietly() {
    let endless = format!(
        "yes '山 山 水 水' | {} translate --model model --beam-size 1 --threads 1 | head -1",
        env!("CARGO_BIN_EXE_couplet")
    );
    let output =
        std::process::Command::new("sh").args(["-c", &endless]).current_dir(project()).output().unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), "日 日 天 天\n");
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
}

#[test]
fn a_classifier_does_not_search() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    fs::create_dir(folder.path().join("model")).unwrap();
    fs::write(folder.path().join("model/config.toml"), "task = \"classify\"\n").unwrap();
    fs::write(folder.path().join("model/model.toml"), "format = 1\n").unwrap();
    couplet(folder.path(), &["predict", "--model", "model", "--beam-size", "2"]).failed(
        2,
        "ways to search with a classifier",
        "a classifier does not search; leave them out",
    );
}
