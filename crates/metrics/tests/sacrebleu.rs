//! Agreement with sacreBLEU, on the sentences and scores of `fixtures/sacrebleu/metrics.py`.

use couplet_metrics::{
    Bleu, Bootstrap, Chrf, Compare, Interval, Signature, Smoothing, Statistics, Ter, Tokenizer,
    paired_bootstrap, paired_randomization, references_of_each,
};
use serde_json::Value;
use std::sync::LazyLock;

static FIXTURE: LazyLock<Value> = LazyLock::new(|| {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sacrebleu/metrics.json");
    let json = std::fs::read_to_string(path).expect("the fixture is in the repository");
    serde_json::from_str(&json).expect("the fixture is JSON")
});

type TextMetric = dyn Compare<Line = str>;

fn list<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().unwrap_or_else(|| panic!("a list of {name} in {value}"))
}

fn number(value: &Value, name: &str) -> usize {
    value[name].as_u64().unwrap_or_else(|| panic!("a number {name} in {value}")) as usize
}

fn near(value: f64, wanted: &Value, within: f64) -> bool {
    (value - wanted.as_f64().expect("a number")).abs() < within
}

/// One of the systems.
fn hypotheses<'a>(lines: &'a [Value], name: &str) -> Vec<&'a str> {
    lines.iter().map(|line| line[name].as_str().expect("a text")).collect()
}

/// The first references of each line, at most so many; some are missing.
fn references(lines: &[Value], most: usize) -> Vec<Vec<&str>> {
    lines
        .iter()
        .map(|line| list(line, "references")[..most].iter().filter_map(Value::as_str).collect())
        .collect()
}

/// The metric of a row, with its settings.
fn metric(row: &Value) -> Box<TextMetric> {
    let settings = &row["settings"];
    let flag = |name: &str| settings[name].as_bool().unwrap_or(false);
    let number =
        |name: &str, default: usize| settings[name].as_u64().map_or(default, |number| number as usize);
    match row["metric"].as_str().expect("a name") {
        "bleu" => {
            let value = settings["smooth_value"].as_f64();
            Box::new(Bleu {
                tokenizer: settings["tokenize"]
                    .as_str()
                    .map_or(Tokenizer::default(), |name| name.parse().expect("a tokenizer")),
                smoothing: match settings["smooth_method"].as_str() {
                    None => Smoothing::Exp,
                    Some("none") => Smoothing::None,
                    Some("floor") => Smoothing::Floor(value.unwrap_or(0.1)),
                    Some("add-k") => Smoothing::AddK(value.unwrap_or(1.0)),
                    Some(other) => panic!("the smoothing {other}"),
                },
                lowercase: flag("lowercase"),
                max_order: number("max_ngram_order", 4),
                effective_order: flag("effective_order"),
            })
        }
        "chrf" => Box::new(Chrf {
            char_order: number("char_order", 6),
            word_order: number("word_order", 0),
            beta: number("beta", 2) as u32,
            lowercase: flag("lowercase"),
            whitespace: flag("whitespace"),
            epsilon_smoothing: flag("epsilon_smoothing"),
        }),
        "ter" => Box::new(Ter {
            normalized: flag("normalized"),
            no_punctuation: flag("no_punctuation"),
            asian: flag("asian"),
            case_sensitive: flag("case_sensitive"),
        }),
        other => panic!("the metric {other}"),
    }
}

/// sacreBLEU's signature, made ours: the version alone differs.
fn assert_signature(ours: &Signature, theirs: &Value) {
    let ours = ours.to_string();
    let settings =
        |signature: &str| signature.rsplit_once("|version:").expect("a version at the end").0.to_owned();
    assert_eq!(settings(&ours), settings(theirs.as_str().expect("a signature")));
    assert!(ours.ends_with(concat!("|version:couplet-", env!("CARGO_PKG_VERSION"))), "{ours}");
}

#[test]
fn the_same_tokens() {
    let lines = list(&FIXTURE, "lines");
    assert!(lines.len() >= 300);
    for line in lines {
        for (name, wanted) in line["tokens"].as_object().expect("tokens by tokenizer") {
            let Ok(tokenizer) = name.parse::<Tokenizer>() else { continue };
            let tokens = tokenizer.tokens(line["hypothesis"].as_str().unwrap()).join(" ");
            assert_eq!(&tokens, wanted.as_str().unwrap(), "{name}: {}", line["hypothesis"]);
        }
    }
}

#[test]
fn every_line() {
    let lines = list(&FIXTURE, "lines");
    for row in list(&FIXTURE, "sentences") {
        let metric = metric(row);
        let statistics =
            Statistics::of_many(&*metric, &hypotheses(lines, "hypothesis"), &references(lines, 3));
        for (index, wanted) in list(row, "scores").iter().enumerate() {
            let score = metric.score(&statistics.line(index));
            assert!(near(score, wanted, 1e-8), "{row:.100}: {score} is not {wanted} for {}", lines[index]);
        }
    }
}

#[test]
fn every_corpus_with_every_setting() {
    let lines = list(&FIXTURE, "lines");
    for row in list(&FIXTURE, "corpora") {
        let metric = metric(row);
        for wanted in list(row, "scores") {
            let chosen = &lines[number(wanted, "from")..number(wanted, "to")];
            let references = references(chosen, number(wanted, "references"));
            let sums = Statistics::of_many(&*metric, &hypotheses(chosen, "hypothesis"), &references).sums();
            let score = metric.score(&sums);
            assert!(near(score, &wanted["score"], 1e-8), "{} {wanted}: {score}", row["settings"]);
            if let Some(text) = wanted["text"].as_str() {
                let ours = format!("{} = {score:.2} {}", metric.name(), metric.remark(&sums));
                assert_eq!(ours, text, "{}", row["settings"]);
            }
            if !wanted["signature"].is_null() {
                let signature = Signature::new(&*metric, references_of_each(&references));
                assert_signature(&signature, &wanted["signature"]);
            }
        }
    }
}

/// The same lines are drawn; sacreBLEU adds them up with less precision.
#[test]
fn the_same_intervals_and_p_values() {
    let lines = list(&FIXTURE, "lines");
    for row in list(&FIXTURE, "significance") {
        let metric = metric(row);
        let references = references(lines, number(row, "references"));
        let systems = ["hypothesis", "system"]
            .map(|name| Statistics::of_many(&*metric, &hypotheses(lines, name), &references));
        let (samples, seed) = (number(row, "samples"), number(row, "seed") as u64);
        let signature = Signature::new(&*metric, references_of_each(&references));
        let (p, signature) = if row["test"] == "bs" {
            let bootstrap = Bootstrap { resamples: samples, seed };
            let scores = systems.each_ref().map(|system| bootstrap.scores(&*metric, system));
            for (index, scores) in scores.iter().enumerate() {
                let interval = Interval::of(scores);
                assert!(near(interval.mean, &row["means"][index], 1e-4), "{row}: {interval:?}");
                assert!(near(interval.half_width(), &row["half_widths"][index], 1e-4), "{row}: {interval:?}");
            }
            let [base, system] = systems.each_ref().map(|system| metric.score(&system.sums()));
            (paired_bootstrap(base - system, &scores[0], &scores[1]), signature.with_bootstrap(samples, seed))
        } else {
            let [base, system] = &systems;
            let p = paired_randomization(&*metric, base, system, samples, seed);
            (p, signature.with_randomization(samples, seed))
        };
        assert!(near(p, &row["p"], 1e-9), "{row}: {p}");
        assert_signature(&signature, &row["signature"]);
    }
}
