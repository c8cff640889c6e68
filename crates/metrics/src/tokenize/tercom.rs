//! Tercom's tokenizer, which TER uses, as sacreBLEU has it.

use super::mteval::{isolated_marks, separated_points, unescaped};
use super::{Tokenizer, isolate};
use crate::words::is_space;

/// What is done to a text before it is cut at white space.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tercom {
    pub(crate) normalized: bool,
    pub(crate) no_punctuation: bool,
    pub(crate) asian: bool,
    pub(crate) case_sensitive: bool,
}

impl Tercom {
    /// The text with white space between its tokens.
    pub(crate) fn spaced(self, text: &str) -> String {
        let text = text.trim_end_matches(is_space);
        let mut text = if self.case_sensitive { text.to_owned() } else { text.to_lowercase() };
        if self.normalized && !text.is_empty() {
            text = normalized(&text);
            if self.asian {
                text = isolate(&text, |c| is_asian(c) || is_asian_mark(c));
            }
        }
        if self.no_punctuation {
            text.retain(|c| {
                !(matches!(c, '.' | ',' | '?' | ':' | ';' | '!' | '"' | '(' | ')')
                    || self.asian && is_asian_mark(c))
            });
        }
        text
    }

    /// As [`Tercom::spaced`] for a reference. sacreBLEU tokenizes references twice, which changes little; scores are compared
    /// with its scores, so it is done here, too.
    pub(crate) fn spaced_reference(self, text: &str) -> String {
        let once = self.spaced(text);
        if self.normalized || self.no_punctuation { self.spaced(&joined(&once)) } else { once }
    }
}

/// The words with one space between them.
fn joined(text: &str) -> String {
    Tokenizer::Whitespace.tokens(text).join(" ")
}

/// Marks and the English possessive become tokens, entities of XML become characters.
fn normalized(text: &str) -> String {
    let text = text.replace("\n-", "").replace('\n', " ");
    let line = format!(" {} ", unescaped(&text));
    let line = String::from_utf8(isolated_marks(line.as_bytes())).expect("whole characters, spaces between");
    let line = separated_points(line.replace("'s ", " 's ").as_bytes());
    String::from_utf8(line).expect("whole characters with spaces between them")
}

/// Characters that stand for a word or a syllable: Chinese ones, their strokes, radicals and compatibility forms.
fn is_asian(c: char) -> bool {
    matches!(c,
        '\u{4e00}'..='\u{9fff}'
        | '\u{3400}'..='\u{4dbf}'
        | '\u{31c0}'..='\u{31ef}'
        | '\u{2e80}'..='\u{2eff}'
        | '\u{3200}'..='\u{3f22}'
        | '\u{f900}'..='\u{faff}'
        | '\u{fe30}'..='\u{fe4f}')
}

/// Marks of East Asian scripts, and the wide forms of Western ones.
fn is_asian_mark(c: char) -> bool {
    matches!(c,
        '\u{3001}' | '\u{3002}' | '\u{3008}'..='\u{3011}' | '\u{3014}'..='\u{301f}' | '\u{ff61}'..='\u{ff65}' | '\u{30fb}'
        | '．' | '，' | '？' | '：' | '；' | '！' | '＂' | '（' | '）')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(tercom: Tercom, text: &str) -> String {
        joined(&tercom.spaced(text))
    }

    #[test]
    fn by_default_lower_case_and_spaces() {
        assert_eq!(tokens(Tercom::default(), "It's  GOOD, Ärger. "), "it's good, ärger.");
        let tercom = Tercom { case_sensitive: true, ..Tercom::default() };
        assert_eq!(tokens(tercom, "It's GOOD"), "It's GOOD");
    }

    #[test]
    fn normalized_texts_have_marks_as_tokens() {
        let tercom = Tercom { normalized: true, ..Tercom::default() };
        assert_eq!(tokens(tercom, "Tom's cat (1,000.5 kg) &amp; co."), "tom 's cat ( 1,000.5 kg ) & co .");
        assert_eq!(tokens(tercom, "汤姆，你好"), "汤姆，你好");
        let tercom = Tercom { asian: true, ..tercom };
        assert_eq!(tokens(tercom, "汤姆，ひらがな"), "汤 姆 ， ひらがな");
    }

    #[test]
    fn marks_can_be_left_out() {
        let tercom = Tercom { no_punctuation: true, ..Tercom::default() };
        assert_eq!(tokens(tercom, "a, b. (c) - d。"), "a b c - d。");
        let tercom = Tercom { asian: true, ..tercom };
        assert_eq!(tokens(tercom, "a, b。（c）"), "a bc");
    }

    /// The tokens that sacreBLEU finds in the hypotheses of `fixtures/sacrebleu/metrics.py`.
    #[test]
    fn the_same_tokens_as_sacrebleu() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/sacrebleu/metrics.json");
        let fixture: serde_json::Value =
            serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        let mut compared = 0;
        for line in fixture["lines"].as_array().unwrap() {
            for (name, wanted) in line["tokens"].as_object().unwrap() {
                let Some(flags) = name.strip_prefix("ter ") else { continue };
                let tercom = Tercom {
                    normalized: flags.contains("normalized"),
                    no_punctuation: flags.contains("no_punctuation"),
                    asian: flags.contains("asian"),
                    case_sensitive: false,
                };
                assert_eq!(
                    tokens(tercom, line["hypothesis"].as_str().unwrap()),
                    wanted.as_str().unwrap(),
                    "{name}"
                );
                compared += 1;
            }
        }
        assert!(compared >= 900);
    }
}
