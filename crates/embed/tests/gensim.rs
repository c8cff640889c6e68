//! Vectors are judged as gensim judges them. `fixtures/embed/evaluate.py` made its answers.

use couplet_embed::{Evaluation, Vectors};
use serde_json::Value;
use std::path::PathBuf;

fn fixture(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/embed").join(name)
}

#[test]
fn similarities_and_analogies_are_gensims() {
    let expected = std::fs::read_to_string(fixture("evaluate.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let vectors = Vectors::read(fixture("vectors.txt")).unwrap();
    let evaluation = Evaluation::new(&vectors, 300_000);

    let similarity = evaluation.similarity(&fixture("pairs.tsv")).unwrap();
    assert!((similarity.spearman.unwrap() - expected["spearman"].as_f64().unwrap()).abs() < 1e-6);
    let unknown = 100.0 * (1.0 - similarity.found as f64 / similarity.pairs as f64);
    assert!((unknown - expected["unknown_percent"].as_f64().unwrap()).abs() < 1e-6);

    let sections = evaluation.analogies(&fixture("questions.txt"), 2).unwrap();
    let wanted = expected["sections"].as_array().unwrap();
    // gensim's last section is all of them together.
    assert_eq!(sections.len() + 1, wanted.len());
    for (section, wanted) in sections.iter().zip(wanted) {
        let found = serde_json::json!([section.name, section.correct, section.found]);
        assert_eq!(&found, wanted);
    }
    assert!(sections.iter().any(|section| section.correct > 0 && section.correct < section.found));
}
