//! Items of a source: types, and what is public.

use crate::source::scanner::Token;

/// A type, function or constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item {
    pub(crate) name: String,
    pub(crate) is_public: bool,
    pub(crate) is_type: bool,
    /// In an `impl` or `trait`, in contrast to a module.
    pub(crate) is_associated: bool,
}

/// The items of a source without comments. Those inside of functions count as the items of a module do.
pub(crate) fn items(code: &[Token<'_>]) -> Vec<Item> {
    let mut items = Vec::new();
    // For each open brace, whether it is that of an `impl` or `trait`.
    let mut braces = vec![false];
    let mut opens_impl = false;
    for (at, token) in code.iter().enumerate() {
        if is_keyword_of_block(code, at) {
            opens_impl = true;
        } else if token.is("{") {
            braces.push(std::mem::take(&mut opens_impl));
        } else if token.is("}") {
            braces.pop();
        } else if token.is(";") {
            opens_impl = false;
        }
        items.extend(item(code, at, braces.last().copied().unwrap_or(false)));
    }
    items
}

/// `impl` that opens a block, not one in a type, or `trait`.
fn is_keyword_of_block(code: &[Token<'_>], at: usize) -> bool {
    let starts_item = at == 0 || ["}", ";", "{", "]", "unsafe"].iter().any(|text| code[at - 1].is(text));
    code[at].is("trait") || (code[at].is("impl") && starts_item)
}

const TYPES: [&str; 4] = ["struct", "enum", "trait", "type"];
const OTHERS: [&str; 3] = ["fn", "const", "static"];

fn item(code: &[Token<'_>], at: usize, is_associated: bool) -> Option<Item> {
    let is_type = TYPES.iter().any(|keyword| code[at].is(keyword));
    let is_other = OTHERS.iter().any(|keyword| code[at].is(keyword));
    let name = code.get(at + 1)?;
    let has_name = name.text.starts_with(|first: char| first.is_alphabetic() || first == '_');
    if !(is_type || is_other) || !has_name || ["fn", "mut", "unsafe", "extern"].contains(&name.text) {
        return None;
    }
    let is_pointer = at > 0 && code[at - 1].is("*");
    let is_public = is_public(code, at);
    (!is_pointer).then(|| Item { name: name.text.to_owned(), is_public, is_type, is_associated })
}

/// Returns true if `pub` without a restriction comes before the keyword, past `const`, `unsafe` and `async`.
fn is_public(code: &[Token<'_>], at: usize) -> bool {
    let modifiers = ["const", "unsafe", "async", "extern"];
    let before = code[..at].iter().rev().find(|token| !modifiers.iter().any(|text| token.is(text)));
    before.is_some_and(|token| token.is("pub"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::scanner::{code, scan};

    fn parsed(source: &str) -> Vec<(String, bool, bool, bool)> {
        let found = items(&code(&scan(source)));
        found.into_iter().map(|i| (i.name, i.is_public, i.is_type, i.is_associated)).collect()
    }

    #[test]
    fn types_and_functions_are_found_with_their_visibility() {
        let source = "pub struct A; pub(crate) enum B {} pub const fn c() {} type D = *const u8; pub static E: u8 = 1;";
        let expected = [
            ("A".to_owned(), true, true, false),
            ("B".to_owned(), false, true, false),
            ("c".to_owned(), true, false, false),
            ("D".to_owned(), false, true, false),
            ("E".to_owned(), true, false, false),
        ];
        assert_eq!(parsed(source), expected);
    }

    #[test]
    fn methods_are_associated_and_functions_after_them_are_not() {
        let source = "impl A { pub fn b() -> impl C { x } } pub fn d(e: impl F) {} pub trait G { fn h(); }";
        let associated: Vec<_> =
            parsed(source).into_iter().map(|(name, _, _, inside)| (name, inside)).collect();
        let expected = [("b", true), ("d", false), ("G", false), ("h", true)];
        assert_eq!(associated, expected.map(|(name, inside)| (name.to_owned(), inside)));
    }
}
