//! The tokenizer `13a`, by which BLEU scores are compared: that of `mteval-v13a.pl`, as sacreBLEU has it.
//!
//! It is made for Western languages: marks become tokens of their own, but full stops and commas between digits, hyphens
//! not after a digit, and apostrophes stay where they are.

use std::borrow::Cow;

use super::rewrite_pairs;

/// The text with white space between its tokens.
pub(super) fn spaced(text: &str) -> String {
    let text = without(text, "<skipped>");
    let text = without(&text, "-\n");
    separated(format!(" {} ", unescaped(&text)).replace('\n', " ").as_bytes())
}

fn without<'a>(text: &'a str, part: &str) -> Cow<'a, str> {
    if text.contains(part) { text.replace(part, "").into() } else { text.into() }
}

/// Entities of XML as the characters they stand for, in this order: `&amp;lt;` becomes `<`.
pub(super) fn unescaped(text: &str) -> Cow<'_, str> {
    if !text.contains('&') {
        return text.into();
    }
    let entities = [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")];
    entities.iter().fold(text.to_owned(), |text, (entity, character)| text.replace(entity, character)).into()
}

/// The rules for marks. They look at ASCII only, of which no byte occurs within another character.
pub(super) fn separated(line: &[u8]) -> String {
    let line = separated_points(&isolated_marks(line));
    String::from_utf8(line).expect("whole characters with spaces between them")
}

/// Puts spaces around all ASCII marks but the apostrophe, the hyphen, the full stop and the comma.
pub(super) fn isolated_marks(line: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(line.len() + line.len() / 2);
    for &c in line {
        if c.is_ascii_punctuation() && !matches!(c, b'\'' | b'-' | b'.' | b',') {
            out.extend([b' ', c, b' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// Separates full stops and commas that are not between digits, and hyphens after digits.
pub(super) fn separated_points(line: &[u8]) -> Vec<u8> {
    let space = b' ';
    let line =
        rewrite_pairs(line, |a, b| (!a.is_ascii_digit() && is_point(b)).then_some([a, space, b, space]));
    let line =
        rewrite_pairs(&line, |a, b| (is_point(a) && !b.is_ascii_digit()).then_some([space, a, space, b]));
    rewrite_pairs(&line, |a, b| (a.is_ascii_digit() && b == b'-').then_some([a, space, b, space]))
}

fn is_point(c: u8) -> bool {
    c == b'.' || c == b','
}

#[cfg(test)]
mod tests {
    use crate::Tokenizer;

    fn tokens(text: &str) -> String {
        Tokenizer::Mteval13a.tokens(text).join(" ")
    }

    #[test]
    fn marks_are_tokens() {
        assert_eq!(tokens("Hello, world!"), "Hello , world !");
        assert_eq!(tokens("(a/b) [c] {d}~e_f\\g"), "( a / b ) [ c ] { d } ~ e _ f \\ g");
        assert_eq!(tokens("It's well-known."), "It's well-known .");
        assert_eq!(tokens("  "), "");
    }

    #[test]
    fn numbers_stay_together() {
        assert_eq!(tokens("1,000.50 and 3-4, or 3.x"), "1,000.50 and 3 - 4 , or 3 . x");
        assert_eq!(tokens(".5 5."), ". 5 5 .");
    }

    #[test]
    fn entities_become_characters() {
        assert_eq!(tokens("&quot;A &amp; B&quot; &lt;b&gt; &amp;lt; &apos;"), "\" A & B \" < b > < & apos ;");
    }

    #[test]
    fn other_scripts_are_left_alone() {
        assert_eq!(tokens("汤姆，你好。 ¿Qué? «oui»"), "汤姆，你好。 ¿Qué ? «oui»");
        assert_eq!(tokens("é.ü,ö 1.é"), "é . ü , ö 1 . é");
        assert_eq!(tokens("a\u{a0}b\u{3000}c\td\u{1f}e"), "a b c d e");
    }

    #[test]
    fn runs_of_points() {
        assert_eq!(tokens("wait..."), "wait . . .");
        assert_eq!(tokens("a.,b"), "a . , b");
        assert_eq!(tokens("1..2"), "1 . . 2");
    }

    #[test]
    fn lines_are_joined() {
        assert_eq!(tokens("a hy-\nphen and <skipped>\nmore"), "a hyphen and more");
    }
}
