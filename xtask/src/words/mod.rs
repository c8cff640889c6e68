//! `cargo xtask words`: words of the glossary's left column that are still used.

mod counts;
mod exceptions;
mod row;
mod text;

use std::io::{self, Write};
use std::path::Path;

use anyhow::{Result, bail, ensure};

use crate::source::{self, SourceFile};
use counts::Counts;
use exceptions::Exceptions;
use row::{Names, Prepared, Row};
use text::Sort;

/// Compare the words in code, documentation and configs with the project's glossary.
///
/// Each row of the glossary is a pattern in xtask/src/words/rows.toml. The matches of each row in each crate are counted, and may only fall: a count above the one in xtask/src/words/counts.toml is an error that lists the matches.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// List the matches of a row, of a crate or folder, or of a row in one: ROW, CRATE or ROW/CRATE
    #[arg(long, value_name = "FILTER", conflicts_with_all = ["rows", "write"])]
    list: Option<String>,
    /// List the rows: matches found, the glossary's count, and why fewer are found
    #[arg(long, conflicts_with = "write")]
    rows: bool,
    /// Lower the committed counts to those of today
    #[arg(long)]
    write: bool,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask words                  counts for each crate; fails where one has risen
  cargo xtask words --list 44        every match of row 44, with its replacement
  cargo xtask words --list nn        every match in crates/nn
  cargo xtask words --list reader/nn every match of the row `reader` in crates/nn
  cargo xtask words --rows           every row with its count
  cargo xtask words --write          lower the counts, after words were replaced";

/// Kernels of CUDA have the same comments and names as Rust.
const EXTENSIONS: [&str; 4] = ["rs", "cu", "toml", "md"];

/// Files that keep their words: history, the patterns themselves, frozen cases, values made by others and generated data.
const EXCLUDED: [&str; 5] =
    ["CHANGELOG.md", "xtask/src/words/", "xtask/golden", "xtask/src/golden", "fixtures/"];

/// A word that should be another.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Match {
    row: usize,
    path: String,
    folder: String,
    line: usize,
    text: String,
}

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let rows = row::rows(root)?;
    let matches = matches(root, &rows)?;
    let counts = count(&rows, &matches);
    if let Some(filter) = &arguments.list {
        return list(&rows, &matches, filter);
    }
    if arguments.rows {
        print_rows(&rows, &counts);
        return Ok(());
    }
    match Counts::read(root)? {
        None if arguments.write => counts.write(root),
        None => bail!("{} is missing\nhint: `cargo xtask words --write` makes a new one", counts::FILE),
        Some(allowed) if arguments.write => write(root, &counts, &allowed),
        Some(allowed) => compare(&rows, &matches, &counts, &allowed),
    }
}

/// Counts of the whole workspace, for `cargo xtask shape`.
pub(crate) struct Summary {
    pub(crate) matches: usize,
    pub(crate) doc_comments: usize,
    /// Doc comments that open with a word of the row `opening`.
    pub(crate) openings: usize,
}

pub(crate) fn summary(root: &Path) -> Result<Summary> {
    let rows = row::rows(root)?;
    let matches = matches(root, &rows)?;
    let openings = matches.iter().filter(|found| rows[found.row].entry.row == "opening").count();
    let files = searched_files(root)?;
    let fragments = files.iter().flat_map(text::fragments);
    let doc_comments = fragments.filter(|fragment| fragment.sort == Sort::Doc).count();
    Ok(Summary { matches: matches.len(), doc_comments, openings })
}

fn matches(root: &Path, rows: &[Row]) -> Result<Vec<Match>> {
    let mut exceptions = Exceptions::read(root, rows)?;
    let mut names = Names::new(rows);
    let found =
        searched_files(root)?.iter().flat_map(|file| matches_in(file, rows, &mut names)).collect::<Vec<_>>();
    let kept = |found: &Match| !exceptions.allow(&rows[found.row].entry.row, &found.path, &found.text);
    let matches = found.into_iter().filter(kept).collect();
    exceptions.check_used()?;
    Ok(matches)
}

fn searched_files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut files = source::files(root, &EXTENSIONS)?;
    files.retain(|file| !EXCLUDED.iter().any(|prefix| file.path.starts_with(prefix)));
    Ok(files)
}

fn matches_in(file: &SourceFile, rows: &[Row], names: &mut Names<'_>) -> Vec<Match> {
    let folder = file.folder();
    let mut matches = Vec::new();
    let mut add = |row: usize, line: usize, text: String| {
        if rows[row].searches(folder) {
            matches.push(Match { row, path: file.path.clone(), folder: folder.to_owned(), line, text });
        }
    };
    for fragment in text::fragments(file) {
        if fragment.sort == Sort::Name {
            for &row in names.rows_of(&fragment.text) {
                add(row, fragment.line, fragment.text.clone());
            }
            continue;
        }
        let prepared = Prepared::new(&fragment);
        for (index, row) in rows.iter().enumerate() {
            for (line, text) in row.find(&prepared) {
                add(index, line, text);
            }
        }
    }
    matches.sort_by_key(|found| found.line);
    matches
}

fn count(rows: &[Row], matches: &[Match]) -> Counts {
    let mut counts = Counts::default();
    for found in matches {
        counts.add(&rows[found.row].entry.row, &found.folder);
    }
    counts
}

fn list(rows: &[Row], matches: &[Match], filter: &str) -> Result<()> {
    let (row, folder) = match filter.split_once('/') {
        Some((row, folder)) => (Some(row), Some(folder)),
        None if rows.iter().any(|row| row.entry.row == filter) => (Some(filter), None),
        None => (None, Some(filter)),
    };
    let chosen: Vec<&Match> = matches
        .iter()
        .filter(|found| row.is_none_or(|row| rows[found.row].entry.row == row))
        .filter(|found| folder.is_none_or(|folder| found.folder == folder))
        .collect();
    if let Some(row) = row {
        let is_row = rows.iter().any(|known| known.entry.row == row);
        ensure!(is_row, "the glossary has no row `{row}`\nhint: `cargo xtask words --rows` lists them");
    }
    let mut out = io::stdout().lock();
    write_matches(&mut out, rows, &chosen)?;
    writeln!(out, "{} matches of `{filter}`", chosen.len())?;
    Ok(())
}

/// Fails where the output is closed, as by `| head`.
fn write_matches(out: &mut impl Write, rows: &[Row], matches: &[&Match]) -> io::Result<()> {
    for Match { row, path, line, text, .. } in matches {
        let entry = &rows[*row].entry;
        writeln!(out, "{path}:{line}: `{text}` -> {} (row {})", entry.then, entry.row)?;
    }
    Ok(())
}

fn print_rows(rows: &[Row], counts: &Counts) {
    println!("| row | today | from now on | found | glossary | why fewer |\n|---|---|---|--:|--:|---|");
    for Row { entry, .. } in rows {
        let glossary = entry.count.map_or_else(|| "–".to_owned(), |count| count.to_string());
        let why = entry.why_fewer.as_deref().unwrap_or("");
        let found = counts.row_total(&entry.row);
        println!("| {} | {} | {} | {found} | {glossary} | {why} |", entry.row, entry.today, entry.then);
    }
}

fn compare(rows: &[Row], matches: &[Match], counts: &Counts, allowed: &Counts) -> Result<()> {
    let folders = counts.folders().into_iter().chain(allowed.folders());
    for folder in folders.collect::<std::collections::BTreeSet<_>>() {
        let (now, before) = (counts.folder_total(folder), allowed.folder_total(folder));
        let change = if now == before { String::new() } else { format!(" (committed: {before})") };
        println!("{folder:12} {now:6}{change}");
    }
    println!("{:12} {:6}", "all", counts.total());

    let rises = counts.rises_over(allowed);
    if rises.is_empty() {
        if counts != allowed {
            println!("counts have fallen: `cargo xtask words --write` lowers the committed ones");
        }
        return Ok(());
    }
    for rise in &rises {
        println!("row {} in {}: {} matches, {} are allowed", rise.row, rise.folder, rise.to, rise.from);
        let risen = |found: &&Match| rows[found.row].entry.row == rise.row && found.folder == rise.folder;
        write_matches(&mut io::stdout(), rows, &matches.iter().filter(risen).collect::<Vec<_>>())?;
    }
    bail!(
        "words of the glossary's left column were added ({} counts above {})\n\
         hint: use the replacement after `->`; where text only moved between crates, `cargo xtask words --write`",
        rises.len(),
        counts::FILE
    )
}

/// Lowers the committed counts. A row may move from one crate to another, but not rise in all.
fn write(root: &Path, counts: &Counts, allowed: &Counts) -> Result<()> {
    let risen = counts.rows_over(allowed);
    if !risen.is_empty() {
        bail!(
            "the committed counts are not raised, and these rows have more matches than before: {}\n\
             hint: `cargo xtask words` lists the matches and their replacements",
            risen.join(", ")
        );
    }
    counts.write(root)?;
    println!("{} matches, before {}: written to {}", counts.total(), allowed.total(), counts::FILE);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn help_names_rows_that_exist() {
        let rows = row::rows(crate::workspace_root()).unwrap();
        assert!(["44", "reader"].iter().all(|name| rows.iter().any(|row| row.entry.row == *name)));
    }

    #[test]
    fn committed_counts_name_rows_that_exist() {
        let rows = row::rows(crate::workspace_root()).unwrap();
        let committed = Counts::read(crate::workspace_root()).unwrap().unwrap();
        let known: usize = rows.iter().map(|row| committed.row_total(&row.entry.row)).sum();
        assert_eq!(known, committed.total());
    }

    #[test]
    fn every_exception_is_used() {
        let root = crate::workspace_root();
        let rows = row::rows(root).unwrap();
        assert!(!matches(root, &rows).unwrap().is_empty());
    }

    #[test]
    fn a_match_has_its_row_file_and_line() {
        let rows = row::rows(crate::workspace_root()).unwrap();
        let text = "//! A file.\n\n/// The processor's\n/// twin.\nstruct Twin;\n".to_owned();
        let file = SourceFile { path: "crates/nn/src/a.rs".to_owned(), text };
        let found = matches_in(&file, &rows, &mut Names::new(&rows));
        let found: Vec<_> = found
            .iter()
            .map(|found| (rows[found.row].entry.row.as_str(), found.line, found.text.as_str()))
            .collect();
        assert_eq!(found, [("processor", 3, "processor"), ("71", 4, "twin"), ("71", 5, "Twin")]);
    }

    #[test]
    fn a_rise_fails_and_is_not_written() {
        let rows = row::rows(crate::workspace_root()).unwrap();
        let mut counts = Counts::default();
        counts.add("71", "nn");
        let none = Counts::default();
        let error = compare(&rows, &[], &counts, &none).unwrap_err().to_string();
        assert!(error.contains("1 counts above xtask/src/words/counts.toml"), "{error}");
        let error = write(Path::new("no/such/folder"), &counts, &none).unwrap_err().to_string();
        assert!(error.starts_with("the committed counts are not raised"), "{error}");
        assert!(compare(&rows, &[], &none, &counts).is_ok());
    }
}
