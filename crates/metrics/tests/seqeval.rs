//! Agreement with seqeval, on the tags and scores of `fixtures/seqeval/entity.py`.

use couplet_metrics::{EntityF1, Metric, Statistics, Tags};
use serde_json::{Value, json};

fn fixture() -> Value {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/seqeval/entity.json");
    let json = std::fs::read_to_string(path).expect("the fixture is in the repository");
    serde_json::from_str(&json).expect("the fixture is JSON")
}

fn tags(line: &Value, name: &str) -> Tags {
    Tags::parse(line[name].as_str().expect("a line of tags")).expect("tags")
}

#[test]
fn the_same_entities() {
    for line in fixture()["lines"].as_array().unwrap() {
        let entities = tags(line, "hypothesis").entities();
        let entities: Vec<Value> =
            entities.into_iter().map(|entity| json!([entity.kind, entity.first, entity.last])).collect();
        assert_eq!(Value::from(entities), line["entities"], "{}", line["hypothesis"]);
    }
}

#[test]
fn the_same_scores() {
    let fixture = fixture();
    let lines = fixture["lines"].as_array().unwrap();
    for row in fixture["corpora"].as_array().unwrap() {
        let number = |name: &str| row[name].as_u64().unwrap() as usize;
        let side = |name: &str| -> Vec<Tags> {
            lines[number("from")..number("to")].iter().map(|line| tags(line, name)).collect()
        };
        let sums = Statistics::of(&EntityF1, &side("hypothesis"), &side("reference")).sums();
        let mut figures = EntityF1.figures(&sums);
        figures.push(("f1", EntityF1.score(&sums)));
        for (name, wanted) in
            [("f1", "f1"), ("precision", "precision"), ("recall", "recall"), ("tag_accuracy", "accuracy")]
        {
            let (_, ours) =
                figures.iter().find(|(figure, _)| *figure == name).expect("a figure of that name");
            assert!((ours - 100.0 * row[wanted].as_f64().unwrap()).abs() < 1e-9, "{name} in {row}: {ours}");
        }
    }
}
