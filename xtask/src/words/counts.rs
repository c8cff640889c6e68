//! Counts of a row in each crate, and the committed ones, which may only fall.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use anyhow::{Context, Result};

/// Matches of a row in each crate or folder that has any.
type PerFolder = BTreeMap<String, usize>;

/// Matches of every row that has any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts(BTreeMap<String, PerFolder>);

pub(crate) const FILE: &str = "xtask/src/words/counts.toml";

const HEADER: &str = "\
# Words of the glossary that are still to be replaced: matches of each row in each crate or folder.
# `cargo xtask words` compares with these, and `cargo xtask words --write` lowers them.
";

/// A row that has more matches in a crate than it may have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Rise {
    pub(crate) row: String,
    pub(crate) folder: String,
    pub(crate) from: usize,
    pub(crate) to: usize,
}

impl Counts {
    /// The committed counts; none where the file is missing, as before the first are written.
    pub(crate) fn read(root: &Path) -> Result<Option<Counts>> {
        let path = root.join(FILE);
        if !path.exists() {
            return Ok(None);
        }
        let text = std::fs::read_to_string(path).with_context(|| format!("could not read {FILE}"))?;
        Ok(Some(Counts(toml::from_str(&text).with_context(|| FILE.to_owned())?)))
    }

    pub(crate) fn write(&self, root: &Path) -> Result<()> {
        std::fs::write(root.join(FILE), self.to_toml()).with_context(|| format!("could not write {FILE}"))
    }

    fn to_toml(&self) -> String {
        let mut text = HEADER.to_owned();
        for (row, folders) in &self.0 {
            let cells: Vec<String> =
                folders.iter().map(|(folder, count)| format!("{folder} = {count}")).collect();
            // Writing to a string does not fail.
            let _ = writeln!(text, "{row} = {{ {} }}", cells.join(", "));
        }
        text
    }

    pub(crate) fn add(&mut self, row: &str, folder: &str) {
        *self.0.entry(row.to_owned()).or_default().entry(folder.to_owned()).or_default() += 1;
    }

    pub(crate) fn get(&self, row: &str, folder: &str) -> usize {
        self.0.get(row).and_then(|folders| folders.get(folder)).copied().unwrap_or(0)
    }

    pub(crate) fn row_total(&self, row: &str) -> usize {
        self.0.get(row).map_or(0, |folders| folders.values().sum())
    }

    pub(crate) fn folder_total(&self, folder: &str) -> usize {
        self.0.values().filter_map(|folders| folders.get(folder)).sum()
    }

    pub(crate) fn total(&self) -> usize {
        self.0.values().flat_map(BTreeMap::values).sum()
    }

    pub(crate) fn folders(&self) -> BTreeSet<&str> {
        self.0.values().flat_map(BTreeMap::keys).map(String::as_str).collect()
    }

    /// The rows that have more matches in a crate than `allowed` has.
    pub(crate) fn rises_over(&self, allowed: &Counts) -> Vec<Rise> {
        let cells = self.0.iter().flat_map(|(row, folders)| {
            folders.iter().map(move |(folder, &to)| Rise {
                row: row.clone(),
                folder: folder.clone(),
                from: allowed.get(row, folder),
                to,
            })
        });
        cells.filter(|cell| cell.to > cell.from).collect()
    }

    /// The rows that have more matches in all than `allowed` has. Text that moves to another crate raises none.
    pub(crate) fn rows_over(&self, allowed: &Counts) -> Vec<String> {
        self.0.keys().filter(|row| self.row_total(row) > allowed.row_total(row)).cloned().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(cells: &[(&str, &str, usize)]) -> Counts {
        let mut counts = Counts::default();
        for &(row, folder, count) in cells {
            (0..count).for_each(|_| counts.add(row, folder));
        }
        counts
    }

    #[test]
    fn a_rise_in_one_crate_is_found_though_another_falls() {
        let allowed = counts(&[("1", "nn", 2), ("1", "search", 3), ("2", "nn", 1)]);
        let now = counts(&[("1", "nn", 3), ("1", "search", 2), ("2", "nn", 1)]);
        let rise = Rise { row: "1".to_owned(), folder: "nn".to_owned(), from: 2, to: 3 };
        assert_eq!(now.rises_over(&allowed), [rise]);
        assert!(now.rows_over(&allowed).is_empty());
        assert!(allowed.rises_over(&allowed).is_empty());
    }

    #[test]
    fn a_row_that_rises_in_all_is_found() {
        let allowed = counts(&[("1", "nn", 2)]);
        assert_eq!(counts(&[("1", "nn", 1), ("1", "model", 2)]).rows_over(&allowed), ["1"]);
    }

    #[test]
    fn counts_survive_the_file() {
        let counts = counts(&[("1", "nn", 2), ("reader", "search", 3), ("reader", "root", 1)]);
        let text = counts.to_toml();
        assert!(text.ends_with("1 = { nn = 2 }\nreader = { root = 1, search = 3 }\n"), "{text}");
        assert_eq!(Counts(toml::from_str(&text).unwrap()), counts);
        assert_eq!((counts.total(), counts.row_total("reader"), counts.folder_total("nn")), (6, 4, 2));
    }
}
