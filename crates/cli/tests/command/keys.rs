//! Configs, and what the documentation says of them, have the keys that the program reads.

use couplet_train::{AnyConfig, RENAMED_KEYS};
use std::fs;
use std::path::{Path, PathBuf};

/// What `couplet new` writes for each task: the rest of a config of which a text shows a part.
const TEMPLATES: [&str; 4] = [
    include_str!("../../src/commands/translate.toml"),
    include_str!("../../src/commands/classify.toml"),
    include_str!("../../src/commands/language-model.toml"),
    include_str!("../../src/commands/autoencode.toml"),
];

/// The files of the workspace that are written by hand, by their path from its root. Golden's cases keep the names of their day.
fn sources(endings: &[&str]) -> Vec<(PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut folders, mut found) = (vec![root.clone()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
            let path = entry.strip_prefix(&root).expect("below the root").to_owned();
            let name = entry.file_name().expect("a name").to_string_lossy().into_owned();
            let skipped = name.starts_with('.') || name.ends_with(".model") || name.contains("venv");
            let old = ["target", "xtask/golden", "xtask/src/golden", "xtask/src/words"];
            if entry.is_dir() && !skipped && !old.iter().any(|folder| path == Path::new(folder)) {
                folders.push(entry);
            } else if endings.iter().any(|ending| name.ends_with(ending)) {
                found.push((path, fs::read_to_string(entry).expect("text")));
            }
        }
    }
    found.sort();
    found
}

/// Tables of a config, put over those of a template.
fn merged(template: &str, part: &toml::Table) -> String {
    fn merge(below: &mut toml::Table, above: &toml::Table) {
        for (key, value) in above {
            match (below.get_mut(key).and_then(toml::Value::as_table_mut), value) {
                (Some(table), toml::Value::Table(value)) => merge(table, value),
                _ => drop(below.insert(key.clone(), value.clone())),
            }
        }
    }
    let mut table: toml::Table = template.parse().expect("a template");
    merge(&mut table, part);
    table.to_string()
}

/// Fails if no template knows all the keys and values. Other mistakes are those of a text that shows a part only.
fn known(place: &str, parse: impl Fn(&str) -> Result<AnyConfig, couplet_train::ConfigFileError>) {
    let unknown = |template: &str| match parse(template) {
        Ok(_) => None,
        Err(error) => Some(error.to_string()).filter(|error| error.contains("unknown ")),
    };
    let errors: Vec<String> = TEMPLATES.iter().filter_map(|template| unknown(template)).collect();
    assert!(errors.len() < TEMPLATES.len(), "{place}: {errors:#?}");
}

#[test]
fn every_config_is_read() {
    let is_config = |path: &Path| {
        ["configs", "crates/cli/src/commands", "bench"].iter().any(|folder| path.starts_with(folder))
            && path.file_name().is_some_and(|name| name != "Cargo.toml")
    };
    let configs: Vec<_> = sources(&[".toml"]).into_iter().filter(|(path, _)| is_config(path)).collect();
    assert!(configs.len() > 40, "{}", configs.len());
    for (path, text) in configs {
        let name = path.display().to_string();
        // `couplet compare` gives those of the ladder their data.
        let data = ["data.train=a.tsv", "data.valid=b.tsv"].map(str::to_owned);
        let overrides = if text.contains("[data]") { &[][..] } else { &data };
        AnyConfig::parse(&text, &name, overrides).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn every_block_of_the_documentation_is_read() {
    let mut count = 0;
    for (path, text) in sources(&[".md"]) {
        for block in text.split("```toml\n").skip(1) {
            let block = block.split("```").next().unwrap();
            let place = path.display().to_string();
            // The manifest and features.toml of a model folder.
            if ["format = ", "[columns."].iter().any(|start| block.contains(start)) {
                continue;
            }
            let part: toml::Table = block.parse().unwrap_or_else(|error| panic!("{place}: {error}\n{block}"));
            known(&place, |template| AnyConfig::parse(&merged(template, &part), "block", &[]));
            count += 1;
        }
    }
    assert!(count >= 10, "{count}");
}

/// The `key=value` of each `--set` on a line, without quotation marks around it.
fn overrides(line: &str) -> Vec<String> {
    let value = |rest: &str| {
        let rest = rest.trim_start_matches([' ', '=']);
        let quote = rest.chars().next().filter(|first| ['\'', '"'].contains(first));
        let end = quote.map_or_else(
            || rest.find([' ', '`', ')', ',', '"', '\n']),
            |quote| rest[1..].find(quote).map(|end| end + 1),
        );
        rest[..end.unwrap_or(rest.len())].trim_start_matches(['\'', '"']).replace('\\', "")
    };
    let is_shown = |text: &String| {
        text.split_once('=').is_some_and(|(key, value)| {
            key.contains('.') && !value.is_empty() && !text.contains(['$', '{', '…']) && !text.contains("D/")
        })
    };
    line.split("--set ").skip(1).map(value).filter(is_shown).collect()
}

#[test]
fn overrides_by_hand() {
    assert_eq!(
        overrides("couplet train a --set train.epochs=5 --set 'a.b=[\"c\"]'`."),
        ["train.epochs=5", "a.b=[\"c\"]"]
    );
    assert!(overrides("--set key=value, --set \"a.b=$c\"").is_empty());
}

#[test]
fn every_override_that_is_shown_is_read() {
    let mut count = 0;
    for (path, text) in sources(&[".md", ".toml", ".sh", ".rs"]) {
        // Of code, the examples that `--help` shows: its tests set wrong keys on purpose.
        let is_code = path.extension().is_some_and(|ending| ending == "rs");
        for line in text.lines().filter(|line| !is_code || line.contains("Example: couplet")) {
            let overrides = overrides(line);
            known(&format!("{}: {line}", path.display()), |template| {
                AnyConfig::parse(template, "template", &overrides)
            });
            count += overrides.len();
        }
    }
    assert!(count >= 20, "{count}");
}

#[test]
fn no_earlier_name_of_a_key_is_left() {
    for (path, text) in sources(&[".md", ".toml", ".sh", ".rs"]) {
        // A translator has a context, so that this one is no earlier name everywhere.
        for (table, earlier, _) in RENAMED_KEYS.into_iter().filter(|&(_, earlier, _)| earlier != "context") {
            let dotted = format!("{table}.{earlier}");
            let is_part =
                |near: Option<char>| near.is_some_and(|near| near.is_alphanumeric() || "_.".contains(near));
            for (at, _) in text.match_indices(&dotted) {
                let (before, after) =
                    (text[..at].chars().next_back(), text[at + dotted.len()..].chars().next());
                let ends_sentence = after == Some('.');
                let whole = !is_part(before) && (ends_sentence || !is_part(after));
                assert!(!whole, "{}: {dotted}", path.display());
            }
        }
    }
}
