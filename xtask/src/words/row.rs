//! The rows of the glossary as patterns, read from `rows.toml`.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use regex::Regex;
use serde::Deserialize;

use super::text::{Fragment, Sort};

/// A row of the file. Patterns are regular expressions over lower-case prose, in which a space stands for any
/// white space and a match starts and ends with a word.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Entry {
    /// The number of the row in the glossary, or a short name.
    pub(crate) row: String,
    pub(crate) today: String,
    pub(crate) then: String,
    /// The glossary's count.
    pub(crate) count: Option<usize>,
    /// A pattern over prose.
    prose: Option<String>,
    /// A pattern over names, each given twice: unchanged, and split into lower-case words, `BeamSize beam size`.
    names: Option<String>,
    /// A pattern over keys with their tables, and over prose: `train.seed = 1`.
    keys: Option<String>,
    /// A pattern over doc comments, from their first word.
    doc: Option<String>,
    /// A sentence of prose in which this is found keeps the word.
    unless: Option<String>,
    /// A name in which this is found is kept.
    unless_names: Option<String>,
    /// The only crates or folders in which the word has the sense that is meant.
    folders: Option<Vec<String>>,
    /// The reason why the patterns find less than half of the glossary's count.
    pub(crate) why_fewer: Option<String>,
    /// Examples that are found: prose, or Rust, TOML or Markdown if they start with `rs:`, `toml:` or `md:`.
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests go through the examples"))]
    pub(crate) finds: Vec<String>,
    #[cfg_attr(not(test), expect(dead_code, reason = "the tests go through the examples"))]
    pub(crate) spares: Vec<String>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    rows: Vec<Entry>,
}

/// A row with its patterns compiled.
#[derive(Debug)]
pub(crate) struct Row {
    pub(crate) entry: Entry,
    prose: Option<Regex>,
    names: Option<Regex>,
    keys: Option<Regex>,
    doc: Option<Regex>,
    unless: Option<Regex>,
    unless_names: Option<Regex>,
}

const FILE: &str = "xtask/src/words/rows.toml";

/// All rows, in the glossary's order.
pub(crate) fn rows(root: &Path) -> Result<Vec<Row>> {
    let text = std::fs::read_to_string(root.join(FILE)).with_context(|| format!("could not read {FILE}"))?;
    let table: Table = toml::from_str(&text).context(FILE)?;
    table.rows.into_iter().map(Row::new).collect()
}

impl Row {
    fn new(entry: Entry) -> Result<Row> {
        let compile = |pattern: &Option<String>, start: &str, end: &str| -> Result<Option<Regex>> {
            let Some(pattern) = pattern else { return Ok(None) };
            let pattern =
                format!(r"{start}(?:{pattern}){end}").replace(r"\b", r"(?-u:\b)").replace(' ', r"[ \n]+");
            let regex = Regex::new(&pattern).with_context(|| format!("row {}", entry.row))?;
            ensure!(!regex.is_match(""), "row {}: `{pattern}` matches the empty text", entry.row);
            Ok(Some(regex))
        };
        Ok(Row {
            prose: compile(&entry.prose, r"\b", r"\b")?,
            names: compile(&entry.names, r"\b", r"\b")?,
            keys: compile(&entry.keys, "", "")?,
            doc: compile(&entry.doc, "^", r"\b")?,
            unless: compile(&entry.unless, r"\b", r"\b")?,
            unless_names: compile(&entry.unless_names, r"\b", r"\b")?,
            entry,
        })
    }

    pub(crate) fn searches(&self, folder: &str) -> bool {
        self.entry.folders.as_ref().is_none_or(|folders| folders.iter().any(|name| name == folder))
    }

    /// Returns true for a name, in the form of [`Prepared`], that is to be replaced.
    fn finds_name(&self, name: &str) -> bool {
        let is_match = |regex: &Option<Regex>| regex.as_ref().is_some_and(|regex| regex.is_match(name));
        is_match(&self.names) && !is_match(&self.unless_names)
    }

    /// The line and the text of each match in a fragment.
    pub(crate) fn find(&self, fragment: &Prepared<'_>) -> Vec<(usize, String)> {
        match fragment.fragment.sort {
            Sort::Prose => {
                let spared = |at: usize| {
                    self.unless.as_ref().is_some_and(|unless| unless.is_match(sentence(&fragment.text, at)))
                };
                let mut found = matches(self.prose.as_ref(), fragment);
                found.retain(|&(at, _)| !spared(at));
                found.extend(matches(self.keys.as_ref(), fragment));
                found.into_iter().map(|(at, text)| (fragment.line_at(at), text)).collect()
            }
            Sort::Doc => with_lines(fragment, matches(self.doc.as_ref(), fragment)),
            Sort::Key => with_lines(fragment, matches(self.keys.as_ref(), fragment)),
            Sort::Name => {
                let found = self.finds_name(&fragment.text);
                found.then(|| (fragment.fragment.line, fragment.fragment.text.clone())).into_iter().collect()
            }
        }
    }
}

/// A fragment in the form that patterns are matched with.
pub(crate) struct Prepared<'a> {
    fragment: &'a Fragment,
    text: String,
}

impl<'a> Prepared<'a> {
    pub(crate) fn new(fragment: &'a Fragment) -> Prepared<'a> {
        let text = match fragment.sort {
            Sort::Prose | Sort::Doc => fragment.text.to_ascii_lowercase(),
            Sort::Key => fragment.text.clone(),
            Sort::Name => name_and_words(&fragment.text),
        };
        Prepared { fragment, text }
    }

    fn line_at(&self, at: usize) -> usize {
        self.fragment.line + self.text[..at].bytes().filter(|&byte| byte == b'\n').count()
    }
}

/// The rows that find each name, looked for once a name.
pub(crate) struct Names<'a> {
    rows: &'a [Row],
    found: HashMap<String, Vec<usize>>,
}

impl<'a> Names<'a> {
    pub(crate) fn new(rows: &'a [Row]) -> Names<'a> {
        Names { rows, found: HashMap::new() }
    }

    /// The indices of the rows that find a name.
    pub(crate) fn rows_of(&mut self, name: &str) -> &[usize] {
        if !self.found.contains_key(name) {
            let prepared = name_and_words(name);
            let finds = |&row: &usize| self.rows[row].finds_name(&prepared);
            self.found.insert(name.to_owned(), (0..self.rows.len()).filter(finds).collect());
        }
        &self.found[name]
    }
}

/// The position and the text of each match.
fn matches(regex: Option<&Regex>, fragment: &Prepared<'_>) -> Vec<(usize, String)> {
    let Some(regex) = regex else { return Vec::new() };
    let one_line = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    regex.find_iter(&fragment.text).map(|found| (found.start(), one_line(found.as_str()))).collect()
}

fn with_lines(fragment: &Prepared<'_>, found: Vec<(usize, String)>) -> Vec<(usize, String)> {
    found.into_iter().map(|(at, text)| (fragment.line_at(at), text)).collect()
}

/// The sentence around a match, as far as the next full stop, semicolon, colon, table cell or empty line.
fn sentence(text: &str, at: usize) -> &str {
    let ends = |text: &str, index: usize| {
        let rest = &text.as_bytes()[index..];
        match rest {
            [b'|', ..] | [b'\n', b'\n', ..] => true,
            [b'.' | b';' | b':' | b'!' | b'?', after, ..] => after.is_ascii_whitespace(),
            _ => false,
        }
    };
    let start = (0..at).rev().find(|&index| ends(text, index)).map_or(0, |index| index + 1);
    let end = (at..text.len()).find(|&index| ends(text, index)).unwrap_or(text.len());
    &text[start..end]
}

/// A name in the form that patterns are matched with: `BeamSize beam size`.
fn name_and_words(name: &str) -> String {
    format!("{name} {}", words_of(name))
}

/// A name as words: `BeamSize`, `beam_size` and `BEAM_SIZE` are `beam size`.
fn words_of(name: &str) -> String {
    let characters: Vec<char> = name.chars().collect();
    let mut words = String::new();
    for (index, &next) in characters.iter().enumerate() {
        let before = index.checked_sub(1).map(|index| characters[index]);
        let after = characters.get(index + 1);
        let opens = next.is_uppercase()
            && before.is_some_and(|before| {
                before.is_lowercase()
                    || before.is_ascii_digit()
                    || (before.is_uppercase() && after.is_some_and(|after| after.is_lowercase()))
            });
        if opens {
            words.push(' ');
        }
        words.extend(if next == '_' { ' ' } else { next }.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;
    use crate::words::text::fragments;

    /// Matches of a row in an example.
    fn found(row: &Row, example: &str) -> usize {
        let (extension, text) = match example.split_once(':') {
            Some((extension @ ("rs" | "toml" | "md"), text)) => (extension, text.trim_start()),
            _ => ("md", example),
        };
        let file = SourceFile { path: format!("example.{extension}"), text: text.to_owned() };
        fragments(&file).iter().map(|fragment| row.find(&Prepared::new(fragment)).len()).sum()
    }

    #[test]
    fn every_row_finds_its_examples_and_spares_the_others() {
        let mut mistakes = Vec::new();
        for row in rows(crate::workspace_root()).unwrap() {
            let Entry { row: name, finds, spares, .. } = &row.entry;
            if finds.is_empty() || spares.is_empty() {
                mistakes.push(format!("row {name} has no example to find, or none to spare"));
            }
            let missed = finds.iter().filter(|example| found(&row, example) == 0);
            mistakes.extend(missed.map(|example| format!("row {name} does not find: {example}")));
            let taken = spares.iter().filter(|example| found(&row, example) > 0);
            mistakes.extend(taken.map(|example| format!("row {name} does not spare: {example}")));
        }
        assert!(mistakes.is_empty(), "{}", mistakes.join("\n"));
    }

    #[test]
    fn row_names_are_unique() {
        let rows = rows(crate::workspace_root()).unwrap();
        let mut names: Vec<_> = rows.iter().map(|row| row.entry.row.as_str()).collect();
        names.sort_unstable();
        assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
    }

    #[test]
    fn numbered_rows_are_complete() {
        let rows = rows(crate::workspace_root()).unwrap();
        let is_there = |number: usize| rows.iter().any(|row| row.entry.row == number.to_string());
        let missing: Vec<usize> = (1..=73).filter(|&number| !is_there(number)).collect();
        assert_eq!(missing, [0_usize; 0]);
    }

    #[test]
    fn names_are_split_into_words() {
        assert_eq!(words_of("BeamSize"), "beam size");
        assert_eq!(words_of("beam_size"), "beam size");
        assert_eq!(words_of("BEAM_SIZE"), "beam size");
        assert_eq!(words_of("KVView2D"), "kv view2 d");
    }

    #[test]
    fn a_sentence_ends_at_its_punctuation() {
        let text = "one two. three, four; five | six";
        assert_eq!(sentence(text, text.find("four").unwrap()), " three, four");
        assert_eq!(sentence(text, text.find("six").unwrap()), " six");
    }
}
