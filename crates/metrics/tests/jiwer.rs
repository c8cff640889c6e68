//! Agreement with jiwer, on the lines and counts of `fixtures/jiwer/error_rate.py`.

use couplet_metrics::{ErrorRate, Metric, Statistics};
use serde_json::Value;

fn fixture(name: &str) -> Value {
    let path = format!("{}/../../fixtures/{name}", env!("CARGO_MANIFEST_DIR"));
    let json = std::fs::read_to_string(path).expect("the fixture is in the repository");
    serde_json::from_str(&json).expect("the fixture is JSON")
}

/// The counts and the rate, as the fixture has them.
fn assert_same(metric: ErrorRate, sums: &[f64], wanted: &Value, what: &str) {
    let counts: Vec<f64> =
        wanted.as_array().expect("a list").iter().map(|n| n.as_f64().expect("a number")).collect();
    assert_eq!(sums[..3], counts[..3], "{what}");
    assert!(
        (metric.score(sums) - 100.0 * counts[3]).abs() < 1e-8,
        "{what}: {} is not {}",
        metric.score(sums),
        counts[3]
    );
}

#[test]
fn every_line_and_all_together() {
    let (texts, rates) = (fixture("sacrebleu/metrics.json"), fixture("jiwer/error_rate.json"));
    let texts = texts["lines"].as_array().unwrap();
    // The script has white space of all kinds replaced by one space before jiwer sees it.
    let spaced = |text: &Value| {
        let is_space = |c: char| c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c);
        let words: Vec<&str> =
            text.as_str().unwrap().split(is_space).filter(|word| !word.is_empty()).collect();
        words.join(" ")
    };
    let hypotheses: Vec<String> = texts.iter().map(|line| spaced(&line["hypothesis"])).collect();
    let references: Vec<String> = texts.iter().map(|line| spaced(&line["references"][0])).collect();
    for (unit, metric) in [("words", ErrorRate::words()), ("characters", ErrorRate::characters())] {
        let statistics = Statistics::of(&metric, &hypotheses, &references);
        let rows = rates["lines"].as_array().unwrap();
        assert_eq!(rows.len(), hypotheses.len());
        for (index, row) in rows.iter().enumerate() {
            let what = format!("{:?} for {:?}", hypotheses[index], references[index]);
            assert_same(metric, &statistics.line(index), &row[unit], &what);
        }
        assert_same(metric, &statistics.sums(), &rates["corpus"][unit], "all lines");
    }
}
