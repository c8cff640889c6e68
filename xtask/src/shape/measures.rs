//! The measures that the tables are made from.

use std::collections::{BTreeMap, BTreeSet};

use super::Source;
use super::functions::Function;
use super::items::items;
use super::kinds::{KINDS, Named, may_name_kinds};
use crate::source::scanner::{Kind, scan};

/// Crates above the engine and the data.
const UPPER_CRATES: [&str; 6] = ["nn", "search", "model", "train", "couplet", "cli"];

/// Types that carry what a step or sequence results in, by today's names and by those to come.
pub(super) const RESULTS: [&str; 9] =
    ["Written", "Stepped", "Step", "Sequence", "Seen", "Scanned", "StepOutput", "DecoderOutput", "ModelStep"];

/// Types that carry a loss.
pub(super) const LOSSES: [&str; 6] = ["Loss", "BatchLoss", "Summed", "Updated", "Recent", "LossStats"];

/// More lines than a file should have.
const LONG_FILE: usize = 400;

/// The parameters from which on clippy warns.
const MANY_PARAMETERS: usize = 7;

pub(super) fn lines_above_engine(src: &[&Source<'_>]) -> usize {
    src.iter()
        .filter(|source| UPPER_CRATES.contains(&source.file.folder()))
        .map(|source| source.lines())
        .sum()
}

/// A measure of each sort of kind: `encoder 3, decoder 4, task 5`.
pub(super) fn per_kind(src: &[&Source<'_>], measure: fn(&Source<'_>, &[&str]) -> usize) -> String {
    let counts = KINDS.iter().map(|(name, enums)| {
        let count: usize = src.iter().map(|source| measure(source, enums)).sum();
        format!("{name} {count}")
    });
    counts.collect::<Vec<_>>().join(", ")
}

pub(super) fn named_variants(source: &Source<'_>, enums: &[&str]) -> usize {
    if may_name_kinds(&source.file.path) { 0 } else { Named::new(&source.code, enums).positions.len() }
}

pub(super) fn matches(source: &Source<'_>, enums: &[&str]) -> usize {
    if may_name_kinds(&source.file.path) { 0 } else { Named::new(&source.code, enums).matches().len() }
}

pub(super) fn wildcards(source: &Source<'_>, enums: &[&str]) -> usize {
    Named::new(&source.code, enums).wildcards().len()
}

/// Returns true for a file between the search and the scan.
fn is_between_search_and_scan(source: &Source<'_>) -> bool {
    let path = &source.file.path;
    ["nn", "search", "model", "train"].contains(&source.file.folder())
        || path.starts_with("crates/tensor/src/ops/scan")
        || path.starts_with("crates/tensor/src/ops/cross_entropy")
}

fn types_between<'a>(src: &'a [&Source<'a>]) -> impl Iterator<Item = String> + 'a {
    let sources = src.iter().filter(|source| is_between_search_and_scan(source));
    sources
        .flat_map(|source| items(&source.code))
        .filter(|item| item.is_type && !item.is_associated)
        .map(|item| item.name)
}

/// Types whose name ends with `State`.
pub(super) fn states(src: &[&Source<'_>]) -> String {
    listed(types_between(src).filter(|name| name.ends_with("State")).collect())
}

pub(super) fn types_named(src: &[&Source<'_>], names: &[&str]) -> String {
    listed(types_between(src).filter(|name| names.contains(&name.as_str())).collect())
}

/// `2: `A`, `B``.
fn listed(mut names: Vec<String>) -> String {
    names.sort();
    let quoted: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
    if names.is_empty() { "0".to_owned() } else { format!("{}: {}", names.len(), quoted.join(", ")) }
}

/// Public items, methods included.
pub(super) fn public_items(source: &Source<'_>) -> usize {
    items(&source.code).iter().filter(|item| item.is_public).count()
}

/// The public names of a crate, methods included, that occur nowhere outside of its sources, and the number of all its public names.
pub(super) fn unused_names(sources: &[Source<'_>], name: &str) -> String {
    let (inside, outside): (Vec<_>, Vec<_>) =
        sources.iter().partition(|source| source.file.is_src() && source.file.folder() == name);
    let items = inside.iter().flat_map(|source| items(&source.code));
    let public = items.filter(|item| item.is_public).map(|item| item.name);
    let public: BTreeSet<String> = public.collect();
    let used: BTreeSet<&str> = outside
        .iter()
        .flat_map(|source| scan(&source.file.text))
        .filter(|token| token.kind == Kind::Identifier)
        .map(|token| token.text)
        .collect();
    let unused = public.iter().filter(|name| !used.contains(name.as_str())).count();
    format!("{unused} of {}", public.len())
}

/// The names of several types, with the most frequent ones.
pub(super) fn homonyms(src: &[&Source<'_>], only_public: bool) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for item in src.iter().flat_map(|source| items(&source.code)) {
        if item.is_type && !item.is_associated && (item.is_public || !only_public) {
            *counts.entry(item.name).or_default() += 1;
        }
    }
    let mut several: Vec<(String, usize)> = counts.into_iter().filter(|&(_, count)| count > 1).collect();
    several.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let shown = several.iter().take(8).map(|(name, count)| format!("`{name}` × {count}"));
    let shown = shown.collect::<Vec<_>>().join(", ");
    if several.is_empty() { "0".to_owned() } else { format!("{}: {shown} …", several.len()) }
}

/// Sizes of the functions of some sources.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Sizes {
    pub(super) functions: usize,
    pub(super) median: usize,
    pub(super) p90: usize,
    pub(super) longest: usize,
    pub(super) many_parameters: usize,
}

impl Sizes {
    pub(super) fn new<'a>(sources: impl Iterator<Item = &'a Source<'a>>) -> Sizes {
        Sizes::from_functions(&sources.flat_map(Source::functions).collect::<Vec<_>>())
    }

    fn from_functions(functions: &[Function]) -> Sizes {
        let mut lines: Vec<usize> = functions.iter().filter_map(|function| function.lines).collect();
        lines.sort_unstable();
        let at = |percent: usize| {
            let rank = (lines.len() * percent).div_ceil(100);
            rank.checked_sub(1).map_or(0, |index| lines[index])
        };
        Sizes {
            functions: lines.len(),
            median: at(50),
            p90: at(90),
            longest: at(100),
            many_parameters: functions.iter().filter(|function| has_many_parameters(function)).count(),
        }
    }
}

fn has_many_parameters(function: &Function) -> bool {
    function.parameters > MANY_PARAMETERS
}

/// The number of functions with too many parameters, and each with its file.
pub(super) fn many_parameters(src: &[&Source<'_>]) -> String {
    let mut found = Vec::new();
    for source in src {
        let functions = source.functions().into_iter().filter(has_many_parameters);
        found.extend(functions.map(|function| {
            format!("{}:{} {}", without_prefix(&source.file.path), function.line, function.parameters)
        }));
    }
    if found.is_empty() { "0".to_owned() } else { format!("{}: {}", found.len(), found.join(", ")) }
}

/// `nn/src/lib.rs` of `crates/nn/src/lib.rs`.
fn without_prefix(path: &str) -> &str {
    path.strip_prefix("crates/").unwrap_or(path)
}

pub(super) fn argument_exceptions(sources: &[Source<'_>]) -> usize {
    let tokens = sources.iter().flat_map(|source| scan(&source.file.text));
    tokens.filter(|token| token.is("too_many_arguments")).count()
}

pub(super) fn longest_functions(src: &[&Source<'_>]) -> String {
    let mut all: Vec<(usize, String)> = Vec::new();
    for source in src {
        let functions = source.functions().into_iter();
        all.extend(functions.filter_map(|function| Some((function.lines?, function.name))));
    }
    all.sort_by(|a, b| b.cmp(a));
    let shown = all.iter().take(5).map(|(lines, name)| format!("`{name}` {lines}"));
    shown.collect::<Vec<_>>().join(", ")
}

pub(super) fn long_files(src: &[&Source<'_>]) -> String {
    let long = src.iter().filter(|source| source.lines() > LONG_FILE);
    let shown: Vec<String> =
        long.map(|source| format!("{} {}", without_prefix(&source.file.path), source.lines())).collect();
    if shown.is_empty() { "0".to_owned() } else { format!("{}: {}", shown.len(), shown.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::SourceFile;

    fn function(lines: usize, parameters: usize) -> Function {
        Function { name: "f".to_owned(), line: 1, lines: Some(lines), parameters }
    }

    #[test]
    fn sizes_are_ranks_of_lines() {
        let functions: Vec<Function> = (1..=10).map(|lines| function(lines, 8 - lines % 2)).collect();
        let expected = Sizes { functions: 10, median: 5, p90: 9, longest: 10, many_parameters: 5 };
        assert_eq!(Sizes::from_functions(&functions), expected);
        let none = Sizes { functions: 0, median: 0, p90: 0, longest: 0, many_parameters: 0 };
        assert_eq!(Sizes::from_functions(&[]), none);
    }

    #[test]
    fn lines_exclude_tests() {
        let text = "fn a() {}\n\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\n";
        let file = SourceFile { path: "crates/nn/src/a.rs".to_owned(), text: text.to_owned() };
        let source = Source::new(&file, &BTreeSet::new());
        assert_eq!(lines_above_engine(&[&source]), 1);
        let whole = Source::new(&file, &BTreeSet::from([file.path.clone()]));
        assert_eq!(lines_above_engine(&[&whole]), 0);
    }

    #[test]
    fn unused_names_and_homonyms_are_counted() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let files = [
            file(
                "crates/nn/src/a.rs",
                "pub struct Used; pub struct Idle; struct Own; impl Idle { pub fn f() {} }",
            ),
            file("crates/train/src/b.rs", "use nn::Used; pub struct Idle; struct Own;"),
        ];
        let sources: Vec<_> = files.iter().map(|file| Source::new(file, &BTreeSet::new())).collect();
        assert_eq!(unused_names(&sources[..1], "nn"), "3 of 3");
        assert_eq!(unused_names(&sources, "nn"), "1 of 3");
        let src: Vec<_> = sources.iter().collect();
        assert_eq!(homonyms(&src, true), "1: `Idle` × 2 …");
        assert_eq!(homonyms(&src, false), "2: `Idle` × 2, `Own` × 2 …");
    }

    #[test]
    fn states_are_found_by_name_where_they_matter() {
        let file =
            |path: &str| SourceFile { path: path.to_owned(), text: "struct AState; struct B;".to_owned() };
        let files = [file("crates/nn/src/a.rs"), file("crates/tensor/src/ops/linear/mod.rs")];
        let sources: Vec<_> = files.iter().map(|file| Source::new(file, &BTreeSet::new())).collect();
        let src: Vec<_> = sources.iter().collect();
        assert_eq!(states(&src), "1: `AState`");
        assert_eq!(types_named(&src, &["B", "C"]), "1: `B`");
        assert_eq!(types_named(&src, &["C"]), "0");
    }
}
