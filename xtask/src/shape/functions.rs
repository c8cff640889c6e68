//! Functions of a source: their lengths and parameters.

use crate::source::scanner::Token;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    pub(crate) line: usize,
    /// Lines from `fn` to the closing brace; none of a declaration without a body.
    pub(crate) lines: Option<usize>,
    /// Parameters, `self` included.
    pub(crate) parameters: usize,
}

/// All functions of a source without comments, in order, inner ones included.
pub(crate) fn functions(code: &[Token<'_>]) -> Vec<Function> {
    (0..code.len()).filter_map(|at| function(&code[at..])).collect()
}

fn function(code: &[Token<'_>]) -> Option<Function> {
    let [keyword, name, rest @ ..] = code else { return None };
    if !keyword.is("fn") || name.is("(") {
        return None;
    }
    let open = parameter_list(rest)?;
    let close = closing(rest, open);
    Some(Function {
        name: name.text.to_owned(),
        line: keyword.line,
        lines: body_end(rest, close).map(|line| line - keyword.line + 1),
        parameters: elements(&rest[open + 1..close]),
    })
}

/// The index of the parenthesis that opens the parameters, after generic ones in angle brackets.
fn parameter_list(code: &[Token<'_>]) -> Option<usize> {
    let mut angles = 0_i32;
    for (index, token) in code.iter().enumerate() {
        angles += angle(code, index);
        if token.is("(") && angles == 0 {
            return Some(index);
        }
        if token.is("{") || token.is(";") {
            return None;
        }
    }
    None
}

/// 1 for a `<`, −1 for a `>` that is not part of an arrow.
fn angle(code: &[Token<'_>], index: usize) -> i32 {
    let is_arrow = index > 0 && (code[index - 1].is("-") || code[index - 1].is("="));
    match code[index].text {
        "<" => 1,
        ">" if !is_arrow => -1,
        _ => 0,
    }
}

/// The index of the bracket that closes the one at `open`.
pub(crate) fn closing(code: &[Token<'_>], open: usize) -> usize {
    let mut depth = 0_usize;
    for (index, token) in code.iter().enumerate().skip(open) {
        if ["(", "[", "{"].iter().any(|text| token.is(text)) {
            depth += 1;
        } else if [")", "]", "}"].iter().any(|text| token.is(text)) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return index;
            }
        }
    }
    code.len() - 1
}

/// The line of the brace that closes the body, if there is one after the parameters.
fn body_end(code: &[Token<'_>], mut at: usize) -> Option<usize> {
    while let Some(token) = code.get(at + 1) {
        at += 1;
        if token.is("{") {
            return Some(code[closing(code, at)].line);
        }
        if token.is(";") {
            return None;
        }
        if token.is("(") || token.is("[") {
            at = closing(code, at);
        }
    }
    None
}

/// The number of elements between commas, a trailing comma aside.
fn elements(code: &[Token<'_>]) -> usize {
    let (mut brackets, mut angles, mut commas) = (0_i32, 0_i32, 0);
    for (index, token) in code.iter().enumerate() {
        angles += angle(code, index);
        match token.text {
            _ if token.is("(") || token.is("[") || token.is("{") => brackets += 1,
            _ if token.is(")") || token.is("]") || token.is("}") => brackets -= 1,
            _ if token.is(",") && brackets == 0 && angles == 0 && index + 1 < code.len() => commas += 1,
            _ => {}
        }
    }
    if code.is_empty() { 0 } else { commas + 1 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::scanner::{code, scan};

    fn parsed(source: &str) -> Vec<(String, Option<usize>, usize)> {
        let found = functions(&code(&scan(source)));
        found.into_iter().map(|found| (found.name, found.lines, found.parameters)).collect()
    }

    #[test]
    fn a_function_reaches_from_its_keyword_to_its_brace() {
        let source = "fn a() {}\npub fn b(\n    x: [u8; 2],\n) -> [u8; 2]\n{\n    x\n}\n";
        assert_eq!(parsed(source), [("a".to_owned(), Some(1), 0), ("b".to_owned(), Some(6), 1)]);
    }

    #[test]
    fn parameters_are_counted_past_generics_tuples_and_closures() {
        let source =
            "fn a<F: Fn(u8, u8) -> u8>(&self, f: F, m: Map<K, V>, (x, y): (u8, u8),) where F: Sized {}";
        assert_eq!(parsed(source), [("a".to_owned(), Some(1), 4)]);
    }

    #[test]
    fn a_declaration_has_no_lines_and_a_pointer_is_no_function() {
        assert_eq!(parsed("trait T { fn a(&self) -> fn(u8) -> u8; }"), [("a".to_owned(), None, 1)]);
    }
}
