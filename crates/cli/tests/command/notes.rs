//! The models of the study notes have as many parameters as the notes count.

use crate::support::couplet;
use std::path::Path;

/// What `couplet inspect` counts in a part of a config's model.
fn count(config: &str, part: &str) -> usize {
    let configs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../configs/notes");
    let table = couplet(&configs, &["inspect", config]).ok();
    let sum = format!("{part} in all");
    let row = table.lines().find(|line| line.trim_start().starts_with(&sum));
    let number = row.and_then(|row| row.split_whitespace().last());
    number.and_then(|number| number.parse().ok()).unwrap_or_else(|| panic!("{sum} in {table}"))
}

#[test]
fn parameters_are_counted_as_in_the_notes() {
    assert_eq!(count("logistic-regression.toml", "classifier"), 20 * 8 + 1);
    assert_eq!(count("simple-rnn.toml", "encoder.l0"), 2080);
    assert_eq!(count("simple-rnn.toml", "encoder.l0") + count("simple-rnn.toml", "classifier"), 2113);
    assert_eq!(count("lstm.toml", "encoder.l0"), 8320);
    assert_eq!(count("bidirectional-lstm.toml", "encoder.l0"), 2 * 8320);
}
