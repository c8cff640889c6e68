//! Matches that stay, each with its reason, read from `exceptions.toml`.

use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::Deserialize;

use super::row::Row;

const FILE: &str = "xtask/src/words/exceptions.toml";

/// A longer list would be a sign of patterns that are too wide.
const LIMIT: usize = 30;

/// A word that stays in a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Exception {
    row: String,
    /// A file or a folder.
    path: String,
    /// A part of the matches that stay; all of them by default.
    #[serde(default)]
    text: String,
    /// For developers who wonder; required and not printed.
    reason: String,
    #[serde(skip)]
    used: bool,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Exceptions {
    #[serde(rename = "exception")]
    list: Vec<Exception>,
}

impl Exceptions {
    pub(super) fn read(root: &Path, rows: &[Row]) -> Result<Exceptions> {
        let text =
            std::fs::read_to_string(root.join(FILE)).with_context(|| format!("could not read {FILE}"))?;
        Exceptions::parse(&text, rows).context(FILE)
    }

    fn parse(text: &str, rows: &[Row]) -> Result<Exceptions> {
        let exceptions: Exceptions = toml::from_str(text)?;
        let count = exceptions.list.len();
        ensure!(
            count <= LIMIT,
            "{count} exceptions are more than the limit, {LIMIT}\nhint: narrow a pattern"
        );
        for Exception { row, path, reason, .. } in &exceptions.list {
            ensure!(rows.iter().any(|known| known.entry.row == *row), "no row is named `{row}`");
            ensure!(!reason.trim().is_empty(), "the exception of row {row} in {path} has no reason");
        }
        Ok(exceptions)
    }

    /// Returns true for a match that stays. The exception counts as used from then on.
    pub(super) fn allow(&mut self, row: &str, path: &str, text: &str) -> bool {
        let applies = |exception: &&mut Exception| {
            exception.row == row && path.starts_with(&exception.path) && text.contains(&exception.text)
        };
        self.list.iter_mut().find(applies).is_some_and(|exception| {
            exception.used = true;
            true
        })
    }

    /// Fails for an exception without a match.
    pub(super) fn check_used(&self) -> Result<()> {
        match self.list.iter().find(|exception| !exception.used) {
            None => Ok(()),
            Some(Exception { row, path, .. }) => bail!(
                "the exception of row {row} in {path} has no match any more\n\
                 hint: remove it from xtask/src/words/exceptions.toml"
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::row::rows;

    fn parse(text: &str) -> Result<Exceptions> {
        Exceptions::parse(text, &rows(crate::workspace_root()).unwrap())
    }

    const ONE: &str =
        "[[exception]]\nrow = \"1\"\npath = \"crates/nn/\"\ntext = \"beside\"\nreason = \"a name\"\n";

    #[test]
    fn an_exception_holds_for_its_row_path_and_text() {
        let mut exceptions = parse(ONE).unwrap();
        assert!(!exceptions.allow("2", "crates/nn/src/lib.rs", "beside"));
        assert!(!exceptions.allow("1", "crates/cli/src/main.rs", "beside"));
        assert!(!exceptions.allow("1", "crates/nn/src/lib.rs", "besi"));
        assert!(exceptions.check_used().is_err());
        assert!(exceptions.allow("1", "crates/nn/src/lib.rs", "beside"));
        assert!(exceptions.check_used().is_ok());
    }

    #[test]
    fn a_reason_a_known_row_and_a_short_list_are_required() {
        assert!(parse(&ONE.replace("a name", " ")).is_err());
        assert!(parse(&ONE.replace("\"1\"", "\"no such row\"")).is_err());
        assert!(parse(&ONE.repeat(LIMIT)).is_ok());
        assert!(parse(&ONE.repeat(LIMIT + 1)).is_err());
    }
}
