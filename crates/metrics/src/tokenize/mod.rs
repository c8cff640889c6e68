//! Tokenizers: what BLEU and TER take for a word.

mod chinese;
mod international;
mod mteval;
pub(crate) mod tercom;

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use crate::words::{is_space, words};

/// How BLEU cuts a text into tokens: sacreBLEU's tokenizers that need no model, by its names.
///
/// ```
/// use couplet_metrics::Tokenizer;
///
/// assert_eq!(Tokenizer::Mteval13a.tokens("It's 3.5 km, isn't it?"), ["It's", "3.5", "km", ",", "isn't", "it", "?"]);
/// assert_eq!(Tokenizer::Chinese.tokens("他走了3.5公里。"), ["他", "走", "了", "3.5", "公", "里", "。"]);
/// assert_eq!("intl".parse(), Ok(Tokenizer::International));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Tokenizer {
    /// `13a`, that of `mteval-v13a.pl`, made for Western languages: ASCII marks become tokens.
    #[default]
    Mteval13a,
    /// `intl`, that of `mteval-v14.pl`: all marks and symbols of Unicode become tokens, but not marks between digits.
    International,
    /// `char`: every character is a token.
    Character,
    /// `zh`: every Chinese character is a token, all else is cut as `13a` does.
    Chinese,
    /// `none`: the text is tokenized already, with spaces between tokens.
    Whitespace,
}

impl Tokenizer {
    /// All of them.
    pub const ALL: [Tokenizer; 5] = [
        Tokenizer::Mteval13a,
        Tokenizer::International,
        Tokenizer::Character,
        Tokenizer::Chinese,
        Tokenizer::Whitespace,
    ];

    /// The name by which sacreBLEU knows it.
    pub fn name(self) -> &'static str {
        match self {
            Tokenizer::Mteval13a => "13a",
            Tokenizer::International => "intl",
            Tokenizer::Character => "char",
            Tokenizer::Chinese => "zh",
            Tokenizer::Whitespace => "none",
        }
    }

    /// The tokens of a text.
    pub fn tokens(self, text: &str) -> Vec<String> {
        words(&self.spaced(text)).map(str::to_owned).collect()
    }

    /// The text with white space between all of its tokens.
    pub(crate) fn spaced(self, text: &str) -> Cow<'_, str> {
        let text = text.trim_end_matches(is_space);
        match self {
            Tokenizer::Mteval13a => mteval::spaced(text).into(),
            Tokenizer::International => international::spaced(text).into(),
            Tokenizer::Character => text.chars().flat_map(|c| [c, ' ']).collect::<String>().into(),
            Tokenizer::Chinese => chinese::spaced(text).into(),
            Tokenizer::Whitespace => text.into(),
        }
    }
}

impl fmt::Display for Tokenizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The names that there are, if it is none of them.
impl FromStr for Tokenizer {
    type Err = String;

    fn from_str(name: &str) -> Result<Tokenizer, String> {
        Tokenizer::ALL.into_iter().find(|tokenizer| tokenizer.name() == name).ok_or_else(|| {
            let names = Tokenizer::ALL.map(Tokenizer::name).join(", ");
            format!("no tokenizer is called {name:?}; one of {names}")
        })
    }
}

/// Puts spaces around the characters that are to be tokens.
fn isolate(text: &str, is_token: impl Fn(char) -> bool) -> String {
    let mut out = String::with_capacity(text.len() * 2);
    for c in text.chars() {
        if is_token(c) {
            out.extend([' ', c, ' ']);
        } else {
            out.push(c);
        }
    }
    out
}

/// From left to right, replaces pairs of neighbors. A neighbor that was part of a replaced pair is not looked at again, as
/// with a regular expression: in `a.,b`, a rule that separates a full stop or a comma from what is before it sees `a.` and `,b`.
fn rewrite_pairs<T: Copy>(line: &[T], rule: impl Fn(T, T) -> Option<[T; 4]>) -> Vec<T> {
    let mut out = Vec::with_capacity(line.len() + line.len() / 2);
    let mut rest = line;
    while let [first, after @ ..] = rest {
        match after.first().and_then(|second| rule(*first, *second)) {
            Some(four) => {
                out.extend(four);
                rest = &after[1..];
            }
            None => {
                out.push(*first);
                rest = after;
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_back() {
        for tokenizer in Tokenizer::ALL {
            assert_eq!(tokenizer.name().parse(), Ok(tokenizer));
        }
        assert_eq!(
            "mecab".parse::<Tokenizer>().unwrap_err(),
            "no tokenizer is called \"mecab\"; one of 13a, intl, char, zh, none"
        );
    }

    #[test]
    fn characters_and_words() {
        assert_eq!(Tokenizer::Character.tokens("é b。 "), ["é", "b", "。"]);
        assert_eq!(Tokenizer::Whitespace.tokens(" a,  b\u{3000}c. "), ["a,", "b", "c."]);
        assert!(Tokenizer::Character.tokens(" \t ").is_empty());
    }
}
