//! Agreement with sacreBLEU, on the sentences and scores of `fixtures/sacrebleu/bleu.py`.

use couplet_metrics::{Bleu, bleu, bleu_of_many};
use serde_json::Value;

fn fixture() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sacrebleu/bleu.json");
    let json = std::fs::read_to_string(path).expect("the fixture is in the repository");
    serde_json::from_str(&json).expect("the fixture is JSON")
}

fn text<'a>(line: &'a Value, name: &str) -> &'a str {
    line[name].as_str().expect("a text")
}

fn assert_near(value: f64, wanted: &Value, what: &str) {
    let wanted = wanted.as_f64().expect("a number");
    assert!((value - wanted).abs() < 1e-9, "{what}: {value} is not {wanted}");
}

#[test]
fn every_line_as_a_corpus_of_one() {
    let fixture = fixture();
    let lines = fixture["lines"].as_array().unwrap();
    assert!(lines.len() >= 200);
    for line in lines {
        let (hypothesis, reference) = (text(line, "hypothesis"), text(line, "reference"));
        let score = bleu(&[hypothesis], &[reference]);
        assert_near(score.score, &line["score"], hypothesis);
    }
}

#[test]
fn every_corpus() {
    let fixture = fixture();
    let lines = fixture["lines"].as_array().unwrap();
    let number = |corpus: &Value, name: &str| corpus[name].as_u64().unwrap() as usize;
    for corpus in fixture["corpora"].as_array().unwrap() {
        let range = number(corpus, "from")..number(corpus, "to");
        let chosen: Vec<&Value> = lines[range].iter().step_by(number(corpus, "step")).collect();
        let hypotheses: Vec<&str> = chosen.iter().map(|line| text(line, "hypothesis")).collect();
        let score: Bleu = if number(corpus, "references") == 1 {
            let references: Vec<&str> = chosen.iter().map(|line| text(line, "reference")).collect();
            bleu(&hypotheses, &references)
        } else {
            let references: Vec<Vec<&str>> =
                chosen.iter().map(|line| vec![text(line, "reference"), text(line, "another")]).collect();
            bleu_of_many(&hypotheses, &references)
        };
        let wanted = text(corpus, "text");
        assert_near(score.score, &corpus["score"], wanted);
        assert_near(score.brevity_penalty, &corpus["brevity_penalty"], wanted);
        for (precision, wanted_precision) in
            score.precisions.iter().zip(corpus["precisions"].as_array().unwrap())
        {
            assert_near(*precision, wanted_precision, wanted);
        }
        assert_eq!(score.to_string(), wanted);
    }
}
