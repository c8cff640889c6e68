//! How fast a config trains: what is printed, never how fast.

use crate::support::{Ran, TINY, couplet, new_project};
use serde_json::Value;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

fn bench(folder: &Path, extra: &[&str]) -> Ran {
    couplet(folder, &[&["bench", "project/config.toml", "--device", "cpu"], &TINY[..], extra].concat())
}

fn names_in(folder: &Path) -> Vec<OsString> {
    let entries = fs::read_dir(folder).expect("the folder is there");
    let mut names: Vec<OsString> = entries.map(|entry| entry.expect("it can be read").file_name()).collect();
    names.sort();
    names
}

#[test]
fn a_table_of_operations_and_nothing_written() {
    let folder = new_project();
    let before = (names_in(folder.path()), names_in(&folder.path().join("project")));
    let table = bench(folder.path(), &["--updates", "2"]).ok();
    let first_words: Vec<&str> =
        table.lines().map(|line| line.split_whitespace().next().unwrap_or("")).collect();
    assert_eq!(first_words[..7], ["device", "updates", "tokens", "an", "memory", "", "operation"], "{table}");
    assert!(table.contains("\nupdates          2\n"), "{table}");
    let rows: Vec<&str> = table.lines().skip(7).collect();
    for (name, way) in
        [("scan", "forward"), ("scan", "backward"), ("recurrent", "backward"), ("adam", "update")]
    {
        let is_row = |row: &&str| row.split_whitespace().take(2).eq([name, way]);
        assert_eq!(rows.iter().copied().filter(is_row).count(), 1, "{name} {way} in {table}");
    }
    let last = [rows[rows.len() - 2], rows[rows.len() - 1]];
    assert!(
        last[0].starts_with("outside of operations ") && last[1].starts_with("all of 1 updates "),
        "{table}"
    );
    assert_eq!((names_in(folder.path()), names_in(&folder.path().join("project"))), before);
}

/// Five updates are timed, and two of them once more: in each, the encoder reads in two directions, and the decoder scans once.
#[test]
fn json_that_adds_up() {
    let folder = new_project();
    let printed = bench(folder.path(), &["--updates", "5", "--json"]).ok();
    let found: Value = serde_json::from_str(&printed).unwrap();
    assert_eq!((&found["updates"], &found["profile"]["updates"]), (&5.into(), &2.into()));
    assert_eq!(found["gpu_bytes"], Value::Null);
    assert!(found["tokens"].as_u64() > Some(0));

    let operations = found["profile"]["operations"].as_array().unwrap();
    let calls = |name: &str, way: &str| {
        let wanted = operations.iter().find(|one| one["name"] == name && one["phase"] == way);
        wanted.and_then(|one| one["calls"].as_u64())
    };
    assert_eq!(calls("recurrent", "forward"), Some(4));
    assert_eq!(calls("recurrent", "backward"), Some(4));
    assert_eq!(calls("scan", "backward"), Some(2));
    assert_eq!(calls("adam", "update"), Some(2));

    let outside = &found["profile"]["outside"];
    let sum: f64 = operations.iter().chain([outside]).map(|one| one["fraction"].as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-6, "{sum}");
}

#[test]
fn what_cannot_be_measured() {
    let folder = new_project();
    let none = bench(folder.path(), &["--updates", "0"]);
    assert_eq!(none.code, Some(2));
    assert!(none.stderr.starts_with("error: invalid value '0' for '--updates <UPDATES>'"), "{}", none.stderr);
    fs::remove_file(folder.path().join("project/train.zh")).unwrap();
    let hint = "check the path; it is relative to the folder the command runs in";
    bench(folder.path(), &[]).failed(1, "project/train.zh: no such file", hint);
}
