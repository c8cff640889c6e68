//! Text in many forms, and what vocabularies make of it.

use crate::support::{Ran, TINY, couplet, couplet_reading, new_project};
use std::fs;
use std::path::Path;

fn train(folder: &Path, extra: &[&str]) -> Ran {
    couplet(folder, &[&["train", "project/config.toml", "--out", "model"], &TINY[..], extra].concat())
}

/// Writes a file of the project.
fn write(folder: &Path, name: &str, text: impl AsRef<[u8]>) {
    fs::write(folder.join("project").join(name), text).expect("a file of the test");
}

const SMALL: [&str; 4] = ["--set", "train.max_updates=2", "--set", "train.validate_every=2"];

#[test]
fn a_table_and_json_train_a_model() {
    let folder = new_project();
    write(folder.path(), "a.csv", "id,en,zh\n1,Tom,汤姆\n2,\"the \"\"dog\"\", Jerry\",\"狗,杰瑞\"\n");
    write(folder.path(), "b.jsonl", "{\"x\": {\"en\": \"Jerry\", \"zh\": \"杰瑞\"}}\n");
    let corpora = "data.train=[{csv='a.csv', source='en', target='zh'}, \
                   {jsonl='b.jsonl', source='x.en', target='x.zh', weight=2.0}]";
    let ran = train(folder.path(), &["--set", corpora, "--set", "data.source.kind=char"]);
    assert!(ran.stderr.starts_with("3 pairs;"), "{}", ran.stderr);
    ran.ok();
    let translated = couplet_reading(folder.path(), &["translate", "--model", "model"], b"Tom\n").ok();
    assert_eq!(translated.lines().count(), 1);
}

#[test]
fn what_is_wrong_with_a_table_is_one_line() {
    let folder = new_project();
    write(folder.path(), "a.csv", "en,zh\nTom,汤姆\nJerry\n");
    let with = |corpus: &str| train(folder.path(), &["--set", &format!("data.train={corpus}")]);
    with("{csv='a.csv', source='en', target='zh'}").failed(
        1,
        "project/a.csv:3: 1 columns where there should be 2",
        "look for a quotation mark that is not closed, or a separator that is missing",
    );
    with("{csv='a.csv', source='en', target='de'}").failed(
        1,
        "project/a.csv: no column \"de\"",
        "the first line has: en, zh; a number, from 1, is a column of a file without names",
    );
    with("{csv='a.csv', source='en'}").failed(
        1,
        "project/a.csv: which columns are source and target?",
        "name both and no others: source = \"…\", target = \"…\"",
    );
    let ran = with("{csv='a.csv', sauce='en'}");
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("unknown field \"sauce\""), "{}", ran.stderr);
}

#[test]
fn bad_lines_can_be_left_out() {
    let folder = new_project();
    write(folder.path(), "train.en", b"Tom\nJerr\xff\n\nthe dog\n");
    write(folder.path(), "train.zh", "汤姆\n杰瑞\n猫\n狗\n");
    train(folder.path(), &SMALL).failed(
        1,
        "project/train.en:2: byte 5 of the line is not UTF-8",
        "convert the file if it has another encoding, for example: iconv -f LATIN1 -t UTF-8 OLD > NEW",
    );
    let ran = train(folder.path(), &["--skip-bad-lines"]);
    let said = "warning: 2 bad lines were left out\n\
                warning: project/train.en:2: byte 5 of the line is not UTF-8\n\
                warning: project/train.en:3: the line is empty\n2 pairs;";
    assert!(ran.stderr.starts_with(said), "{}", ran.stderr);
    ran.ok();
    let resolved = fs::read_to_string(folder.path().join("model/config.toml")).unwrap();
    assert!(resolved.contains("skip_bad_lines = true"), "{resolved}");
    let vocab = couplet(folder.path(), &["vocab", "project/config.toml", "--skip-bad-lines"]);
    assert!(vocab.stderr.starts_with("warning: 2 bad lines were left out\n"), "{}", vocab.stderr);
    vocab.ok();
    let arguments = ["prepare", "project/config.toml", "--out", "corpus", "--skip-bad-lines"];
    let prepared = couplet(folder.path(), &arguments);
    assert!(prepared.stderr.starts_with("warning: 2 bad lines were left out\n"), "{}", prepared.stderr);
    prepared.ok();
}

#[test]
fn a_packed_file_that_is_cut_off() {
    let folder = new_project();
    // The beginning of what `zstd` makes of a line: its mark, a header, and no blocks.
    write(folder.path(), "train.zst", b"\x28\xb5\x2f\xfd\x04\x88");
    train(folder.path(), &["--set", "data.train=train.zst"]).failed(
        1,
        "project/train.zst:1: the zstd file ends too early",
        "`zstd -t` checks the file; download or compress it again",
    );
}

#[test]
fn pairs_may_come_from_the_standard_input() {
    let folder = new_project();
    let arguments = [&["train", "project/config.toml", "--out", "model", "--set", "data.train=-"], &TINY[..]];
    let ran = couplet_reading(folder.path(), &arguments.concat(), "Tom\t汤姆\nJerry\t杰瑞\n".as_bytes());
    assert!(ran.stderr.starts_with("2 pairs;"), "{}", ran.stderr);
    ran.ok();
}

#[test]
fn vocabularies_and_what_they_make_of_the_data() {
    let folder = new_project();
    write(folder.path(), "train.tsv", "the cat\t猫\nthe dog and the cat\t狗 和 猫\n");
    write(folder.path(), "valid.tsv", "the emu\t鸸鹋\n");
    let files = ["--set", "data.train=train.tsv", "--set", "data.valid=valid.tsv"];
    let vocab = |extra: &[&str]| {
        couplet(folder.path(), &[&["vocab", "project/config.toml"], &files[..], extra].concat())
    };
    insta::assert_snapshot!(vocab(&[]).ok(), @"
    source: a vocabulary of 8 tokens
      training    7 tokens in 2 texts, 0.00 % unknown
      validation  2 tokens in 1 texts, 50.00 % unknown
      coverage    50 % by 2, 90 % by 4, 95 % by 4, 99 % by 4
      frequent    the 3  cat 2  and 1  dog 1
      lengths     mean 3.5, median 2, 99 % up to 5, longest 5
    source: % of the training text that so many tokens cover
    4 ██████████████████████████████████████████████████████████████████████████████████████████████ 100

    source: training texts of so many tokens
    1 0
    2 ████████████████████████████████████████████████████████████████████████████████████████████████ 1
    3 0
    4 0
    5 ████████████████████████████████████████████████████████████████████████████████████████████████ 1

    target: a vocabulary of 7 tokens
      training    4 tokens in 2 texts, 0.00 % unknown
      validation  1 tokens in 1 texts, 100.00 % unknown
      coverage    50 % by 1, 90 % by 3, 95 % by 3, 99 % by 3
      frequent    猫 2  和 1  狗 1
      lengths     mean 2.0, median 1, 99 % up to 3, longest 3
    target: % of the training text that so many tokens cover
    3 ██████████████████████████████████████████████████████████████████████████████████████████████ 100

    target: training texts of so many tokens
    1 ████████████████████████████████████████████████████████████████████████████████████████████████ 1
    2 0
    3 ████████████████████████████████████████████████████████████████████████████████████████████████ 1
    ");

    vocab(&["--source", "source.json", "--target", "target.tsv", "--out", "vocabulary.svg"]).ok();
    let list = fs::read_to_string(folder.path().join("target.tsv")).unwrap();
    assert_eq!(list, "▁猫\t2\n▁和\t1\n▁狗\t1\n");
    assert!(fs::read_to_string(folder.path().join("vocabulary.svg")).unwrap().starts_with("<svg"));
    // What was written can be named in a config, and gives the same ids.
    let named =
        ["--set", "data.source.file=../source.json", "--set", "data.target.file=../target.tsv", "--json"];
    let figures: serde_json::Value = serde_json::from_str(&vocab(&named).ok()).unwrap();
    assert_eq!(figures["source"]["vocabulary"], 8);
    assert_eq!(figures["target"]["train"]["unknown"], 0);
    assert_eq!(figures["source"]["valid"]["coverage"], 0.5);
    let trained = train(folder.path(), &[&files[..], &named[..4]].concat());
    assert!(trained.stderr.contains("vocabularies 8 and 7"), "{}", trained.stderr);
    trained.ok();

    vocab(&["--source", "source.vocab"]).failed(
        2,
        "--source source.vocab: its name does not say what to write",
        "give it a name that ends in .json, .txt or .tsv",
    );
    vocab(&["--set", "data.source.stop_words=english", "--set", "data.source.kind=char"]).failed(
        2,
        "project/config.toml: data.source: stop_words with kind = \"char\"",
        "characters are no words; use another kind, or leave stop_words out",
    );
}

#[test]
fn every_kind_of_token_trains_a_model() {
    let folder = new_project();
    for kind in ["char", "whitespace", "chinese", "bpe", "unigram", "wordpiece"] {
        let (source, target) = (format!("data.source.kind={kind}"), format!("data.target.kind={kind}"));
        let small = ["--set", "data.source.vocab_size=200", "--set", "data.target.vocab_size=200"];
        train(folder.path(), &[&["--set", &source, "--set", &target], &small[..]].concat()).ok();
        let said =
            couplet_reading(folder.path(), &["translate", "--model", "model"], b"Tom sees Jerry\n").ok();
        assert_eq!(said.lines().count(), 1, "{kind}");
        fs::remove_dir_all(folder.path().join("model")).unwrap();
    }
}

#[test]
fn a_foreign_tokenizer_becomes_part_of_the_model() {
    let folder = new_project();
    let foreign = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/tokenizers/byte_level.json");
    let file = format!("data.source.file={foreign}");
    train(folder.path(), &["--set", &file]).ok();
    let said = couplet_reading(folder.path(), &["translate", "--model", "model"], b"Tom sees Jerry\n").ok();
    assert_eq!(said.lines().count(), 1);
    write(folder.path(), "no.json", "{\"model\": 3}");
    let ran = train(folder.path(), &["--set", "data.source.file=no.json"]);
    assert!(ran.stderr.contains("error: project/no.json: not a tokenizer: "), "{}", ran.stderr);
}

#[test]
fn long_sides_are_cut_on_demand() {
    let folder = new_project();
    write(folder.path(), "train.tsv", "a b c d e\t1\nf\t2\n");
    let long = ["--set", "data.train=train.tsv", "--set", "data.max_tokens=3"];
    let ran = train(folder.path(), &long);
    assert!(ran.stderr.starts_with("1 pairs, 1 longer than data.max_tokens left out;"), "{}", ran.stderr);
    fs::remove_dir_all(folder.path().join("model")).unwrap();
    let ran = train(folder.path(), &[&long[..], &["--set", "data.truncate_source=left"]].concat());
    assert!(ran.stderr.starts_with("2 pairs;"), "{}", ran.stderr);
}
