//! The adapter's rules, with tables made for them.

use super::adapter::Adapter;
use super::names::{Kind, Row};
use toml::Table;

const ROWS: &[Row] = &[
    Row(Kind::Key, "train.rate", "train.learning_rate"),
    Row(Kind::Key, "model.context", "model.bridge_context"),
    Row(Kind::Key, "model.context.to", "model.context_use"),
    Row(Kind::Key, "classify:model.context", "model.pooling"),
    Row(Kind::Key, "train.momentum", ""),
    Row(Kind::Key, "data.train.weight", "data.train.share"),
    Row(Kind::Value, "model.context.to=start", "init_state"),
    Row(Kind::Value, "model.feed=true", "\"context\""),
    Row(Kind::Value, "train.freeze=encoder.embedding", "input"),
    Row(Kind::Command, "translate", "decode"),
    Row(Kind::Flag, "--beam", "--beam-size"),
    Row(Kind::Flag, "--sample", "--method=sample"),
    Row(Kind::Flag, "--explain", ""),
    Row(Kind::Value, "--stop=early", "first"),
];

fn config(task: &str, old: &str) -> String {
    let mut new = Table::new();
    Adapter(ROWS).config(task, "", &toml::from_str(old).unwrap(), &mut new);
    new.to_string()
}

fn command(line: &str) -> String {
    let words: Vec<String> = line.split_whitespace().map(str::to_owned).collect();
    Adapter(ROWS).command(&words).join(" ")
}

#[test]
fn keys_have_new_paths() {
    assert_eq!(config("", "train = { rate = 0.1, steps = 3 }"), "[train]\nlearning_rate = 0.1\nsteps = 3\n");
    assert_eq!(config("", "train.momentum = 0.9"), "");
}

#[test]
fn a_table_moves_with_its_keys_unless_they_have_rows_of_their_own() {
    let new = config("translate", "model.context = { kind = 'mean', to = 'start' }");
    assert_eq!(new, "[model]\ncontext_use = \"init_state\"\n\n[model.bridge_context]\nkind = \"mean\"\n");
    assert_eq!(config("classify", "model.context.kind = 'mean'"), "[model.pooling]\nkind = \"mean\"\n");
}

#[test]
fn values_change_alone_and_in_lists() {
    assert_eq!(config("", "model.feed = true"), "[model]\nfeed = \"context\"\n");
    let new = config("", "train.freeze = ['encoder.embedding', 'decoder']");
    assert_eq!(new, "[train]\nfreeze = [\"input\", \"decoder\"]\n");
    let new = config("", "data.train = [{ tsv = 'a', weight = 2.0 }]");
    assert_eq!(new, "[[data.train]]\nshare = 2.0\ntsv = \"a\"\n");
}

#[test]
fn command_lines_change_word_by_word() {
    assert_eq!(command("translate --beam 4 --stop early x"), "decode --beam-size 4 --stop first x");
    assert_eq!(command("predict --stop=early --sample --explain"), "predict --stop=first --method=sample");
    assert_eq!(
        command("train c --set train.rate=1 --beam 1"),
        "train c --set train.learning_rate=1 --beam-size 1"
    );
}

#[test]
fn an_empty_table_changes_nothing() {
    let line = ["translate", "--beam", "4", "--couplet=false"].map(str::to_owned);
    assert_eq!(Adapter(&[]).command(&line), line);
}
