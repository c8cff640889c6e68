//! The tokenizer "13a", by which BLEU scores are compared: that of `mteval-v13a.pl`, as sacreBLEU has it.
//!
//! It is made for Western languages: marks become tokens of their own, but full stops and commas between digits, hyphens
//! not after a digit, and apostrophes stay where they are.

/// The tokens of a text.
pub(crate) fn tokenize_13a(text: &str) -> Vec<String> {
    let text = text.trim_end_matches(is_space);
    let mut text = text.replace("<skipped>", "").replace("-\n", "").replace('\n', " ");
    // In this order: `&amp;lt;` becomes `<`.
    for (entity, character) in [("&quot;", "\""), ("&amp;", "&"), ("&lt;", "<"), ("&gt;", ">")] {
        text = text.replace(entity, character);
    }
    let mut line: Vec<char> = format!(" {text} ").chars().collect();
    line = isolate_marks(&line);
    line = rewrite_pairs(&line, |a, b| (!a.is_ascii_digit() && is_point(b)).then_some([a, ' ', b, ' ']));
    line = rewrite_pairs(&line, |a, b| (is_point(a) && !b.is_ascii_digit()).then_some([' ', a, ' ', b]));
    line = rewrite_pairs(&line, |a, b| (a.is_ascii_digit() && b == '-').then_some([a, ' ', b, ' ']));
    line.split(|&c| is_space(c))
        .filter(|token| !token.is_empty())
        .map(|token| token.iter().collect())
        .collect()
}

/// Puts spaces around all ASCII marks but the apostrophe, the hyphen, the full stop and the comma.
fn isolate_marks(line: &[char]) -> Vec<char> {
    let mut out = Vec::with_capacity(2 * line.len());
    for &c in line {
        if c.is_ascii_punctuation() && !matches!(c, '\'' | '-' | '.' | ',') {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// From left to right, replaces pairs of neighbours. A character that was part of a replaced pair is not looked at again,
/// as with a regular expression: in `a.,b`, the rule that separates a point from what is before it sees `a.` and `,b`.
fn rewrite_pairs(line: &[char], rule: impl Fn(char, char) -> Option<[char; 4]>) -> Vec<char> {
    let mut out = Vec::with_capacity(2 * line.len());
    let mut rest = line;
    while let [a, after_a @ ..] = rest {
        let replaced = after_a.first().and_then(|&b| rule(*a, b));
        match replaced {
            Some(four) => {
                out.extend(four);
                rest = &after_a[1..];
            }
            None => {
                out.push(*a);
                rest = after_a;
            }
        }
    }
    out
}

fn is_point(c: char) -> bool {
    c == '.' || c == ','
}

/// What Python takes for white space: Unicode's idea of it and four separators of ASCII.
fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> String {
        tokenize_13a(text).join(" ")
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
        assert_eq!(tokens("a\u{a0}b\u{3000}c\td\u{1f}e"), "a b c d e");
    }

    #[test]
    fn runs_of_points() {
        assert_eq!(tokens("wait..."), "wait . . .");
        assert_eq!(tokens("a.,b"), "a . , b");
        assert_eq!(tokens("1..2"), "1 . . 2");
    }

    /// The tokens that sacreBLEU finds in the sentences of `fixtures/sacrebleu/bleu.py`.
    #[test]
    fn the_same_tokens_as_sacrebleu() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sacrebleu/bleu.json");
        let fixture: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        for line in fixture["lines"].as_array().unwrap() {
            let tokens = tokenize_13a(line["hypothesis"].as_str().unwrap());
            assert_eq!(serde_json::Value::from(tokens), line["tokens"], "{}", line["hypothesis"]);
        }
    }
}
