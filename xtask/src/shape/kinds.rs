//! Code that names a kind of encoder, decoder or task, which a new kind would have to change.

use std::collections::BTreeSet;

use super::functions::closing;
use crate::source::scanner::Token;

/// Enums that list kinds, by today's names and by those to come.
pub(crate) const KINDS: [(&str, &[&str]); 3] = [
    ("encoder", &["EncoderKind", "ReaderKind", "Encoder", "Reader"]),
    ("decoder", &["DecoderKind", "WriterKind", "Decoder", "Writer", "WriterState"]),
    ("task", &["Task", "TaskKind", "AnyConfig", "Comparable"]),
];

/// Files that may name kinds: the lists themselves.
const LISTS: [&str; 5] = [
    "crates/nn/src/cell.rs",
    "crates/nn/src/encoders/mod.rs",
    "crates/nn/src/decoders/mod.rs",
    "crates/model/src/task.rs",
    "crates/train/src/tasks/mod.rs",
];

/// Configs and lists may name kinds; so may tests, of which the caller takes care.
pub(crate) fn may_name_kinds(path: &str) -> bool {
    LISTS.contains(&path) || path.contains("/config/") || path.ends_with("config.rs")
}

/// The variants of some enums that a source without comments names, each as often as it does.
#[derive(Debug)]
pub(crate) struct Named<'a> {
    code: &'a [Token<'a>],
    /// The indices of the variants' names.
    pub(crate) positions: BTreeSet<usize>,
}

impl<'a> Named<'a> {
    pub(crate) fn new(code: &'a [Token<'a>], enums: &[&str]) -> Named<'a> {
        let mut positions = BTreeSet::new();
        let mut imported = BTreeSet::new();
        for at in 0..code.len().saturating_sub(3) {
            let is_path = enums.contains(&code[at].text) && code[at + 1].is(":") && code[at + 2].is(":");
            if is_path && code[at + 3].is("{") {
                let names = &code[at + 4..closing(code, at + 3)];
                imported.extend(names.iter().filter(|token| !token.is(",")).map(|token| token.text));
            } else if is_path && is_variant(code, at + 3) {
                positions.insert(at + 3);
            }
        }
        let is_import = |at: usize| at > 0 && [",", "{"].iter().any(|text| code[at - 1].is(text));
        let is_bare = |at: usize| imported.contains(code[at].text) && !(at > 0 && code[at - 1].is(":"));
        positions
            .extend((0..code.len()).filter(|&at| is_bare(at) && !(is_import(at) && in_import(code, at))));
        Named { code, positions }
    }

    /// The indices of `match` and `matches!` of which a pattern names a kind.
    pub(crate) fn matches(&self) -> Vec<usize> {
        let is_match = |at: &usize| {
            let names = |patterns: &[(usize, usize)]| {
                patterns.iter().any(|&(from, to)| self.positions.range(from..to).next().is_some())
            };
            match self.code[*at].text {
                _ if self.code[*at].is("match") => names(&patterns(self.code, *at)),
                "matches" => {
                    let end = closing(self.code, *at);
                    self.code.get(at + 1).is_some_and(|next| next.is("!")) && names(&[(*at, end)])
                }
                _ => false,
            }
        };
        (0..self.code.len()).filter(is_match).collect()
    }

    /// The lines of arms `_` in a `match` that names a kind.
    pub(crate) fn wildcards(&self) -> Vec<usize> {
        let matches = self.matches().into_iter().filter(|&at| self.code[at].is("match"));
        let starts = matches.flat_map(|at| patterns(self.code, at)).map(|(from, _)| from);
        starts.filter(|&from| self.code[from].text == "_").map(|from| self.code[from].line).collect()
    }
}

/// `Kind::Variant`, not `Kind::function` or `Kind::CONSTANT`.
fn is_variant(code: &[Token<'_>], at: usize) -> bool {
    let mut letters = code[at].text.chars();
    let is_capital = letters.next().is_some_and(char::is_uppercase);
    is_capital && (letters.as_str().is_empty() || letters.any(char::is_lowercase))
}

/// Returns true for a name in the braces of a `use`.
fn in_import(code: &[Token<'_>], at: usize) -> bool {
    let statement = code[..at].iter().rev().take_while(|token| !token.is(";") && !token.is("}"));
    statement.into_iter().any(|token| token.is("use"))
}

/// The patterns of a `match`, from their first token to their arrow.
fn patterns(code: &[Token<'_>], at: usize) -> Vec<(usize, usize)> {
    let Some(open) = block_of(code, at) else { return Vec::new() };
    let end = closing(code, open);
    let mut patterns = Vec::new();
    let mut from = open + 1;
    while from < end {
        let Some(arrow) = skip_to(code, from, end, |at| code[at].is("=") && code[at + 1].is(">")) else {
            break;
        };
        patterns.push((from, arrow));
        let value = arrow + 2;
        from = if code[value].is("{") {
            closing(code, value) + 1
        } else {
            skip_to(code, value, end, |at| code[at].is(",")).unwrap_or(end)
        };
        if code[from].is(",") {
            from += 1;
        }
    }
    patterns
}

/// The index of the brace that opens the arms of a `match`.
fn block_of(code: &[Token<'_>], at: usize) -> Option<usize> {
    skip_to(code, at + 1, code.len(), |at| code[at].is("{"))
}

/// The first index from `from` on that is wanted, past everything in brackets.
fn skip_to(
    code: &[Token<'_>],
    mut from: usize,
    end: usize,
    is_wanted: impl Fn(usize) -> bool,
) -> Option<usize> {
    while from + 1 < end {
        if is_wanted(from) {
            return Some(from);
        }
        let opens = ["(", "[", "{"].iter().any(|text| code[from].is(text));
        from = if opens { closing(code, from) + 1 } else { from + 1 };
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::scanner::{code, scan};

    /// Variants named, matches over them, lines of their `_` arms.
    fn counts(source: &str) -> (usize, usize, Vec<usize>) {
        let code = code(&scan(source));
        let named = Named::new(&code, &["Kind"]);
        (named.positions.len(), named.matches().len(), named.wildcards())
    }

    #[test]
    fn variants_are_named_by_path_or_import() {
        assert_eq!(counts("if kind == Kind::Bag || Kind::new() == Kind::ALL {}"), (1, 0, vec![]));
        assert_eq!(counts("fn f() { use Kind::{Bag, Conv}; g(Bag, other::Conv) }"), (1, 0, vec![]));
    }

    #[test]
    fn matches_and_their_wildcards_are_found() {
        let source = "match (kind, f(1, 2)) {\n(Kind::Bag, _) => { g() }\nKind::Conv | Kind::Rnn => h(1, 2),\n_ if x => 1,\n_ => 2,\n}";
        assert_eq!(counts(source), (3, 1, vec![4, 5]));
        assert_eq!(counts("matches!(kind, Kind::Bag)"), (1, 1, vec![]));
    }

    #[test]
    fn a_match_over_something_else_is_not_counted() {
        assert_eq!(counts("match x { 1 => f(Kind::Bag), _ => g() }"), (1, 0, vec![]));
    }
}
