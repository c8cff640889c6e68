//! A scanner of Rust source: tells identifiers, literals, comments and punctuation apart, each with its line.
//!
//! It knows no grammar, and the sources of CUDA kernels, which have the same comments and strings, pass through it as well.

/// The sort of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Identifier,
    Lifetime,
    Number,
    Character,
    /// Any string literal; the text excludes prefix and quotes, escapes are as in the source.
    Text,
    /// A comment that is not documentation, without its marker.
    Comment,
    /// Documentation of the item that follows, without its marker.
    OuterDoc,
    /// Documentation of the item that it is in, without its marker.
    InnerDoc,
    Punctuation,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// The line of its first character, counted from 1.
    pub(crate) line: usize,
}

impl Token<'_> {
    pub(crate) fn is(&self, text: &str) -> bool {
        matches!(self.kind, Kind::Identifier | Kind::Punctuation) && self.text == text
    }

    pub(crate) fn is_comment(&self) -> bool {
        matches!(self.kind, Kind::Comment | Kind::OuterDoc | Kind::InnerDoc)
    }
}

/// Splits a source into tokens. A literal or comment that never ends reaches to the end of the file.
pub(crate) fn scan(source: &str) -> Vec<Token<'_>> {
    let mut scanner = Scanner { source, position: 0, line: 1, tokens: Vec::new() };
    while let Some(next) = scanner.peek(0) {
        scanner.token(next);
    }
    scanner.tokens
}

/// The tokens without comments.
pub(crate) fn code<'a>(tokens: &[Token<'a>]) -> Vec<Token<'a>> {
    tokens.iter().filter(|token| !token.is_comment()).copied().collect()
}

struct Scanner<'a> {
    source: &'a str,
    position: usize,
    line: usize,
    tokens: Vec<Token<'a>>,
}

impl Scanner<'_> {
    fn peek(&self, ahead: usize) -> Option<char> {
        self.source[self.position..].chars().nth(ahead)
    }

    fn starts_with(&self, text: &str) -> bool {
        self.source[self.position..].starts_with(text)
    }

    fn token(&mut self, next: char) {
        if next.is_whitespace() {
            self.advance(next.len_utf8());
        } else if self.starts_with("//") {
            self.line_comment();
        } else if self.starts_with("/*") {
            self.block_comment();
        } else if next == '"' {
            self.string(0);
        } else if next == '\'' {
            self.quote();
        } else if next.is_ascii_digit() {
            self.push(Kind::Number, 0, self.number_length(), 0);
        } else if is_identifier(next) {
            self.word();
        } else {
            self.push(Kind::Punctuation, 0, next.len_utf8(), 0);
        }
    }

    /// Adds a token of `length` bytes, between a marker of `before` bytes and one of `after`.
    fn push(&mut self, kind: Kind, before: usize, length: usize, after: usize) {
        self.advance(before);
        let text = &self.source[self.position..self.position + length];
        self.tokens.push(Token { kind, text, line: self.line });
        self.advance(length);
        self.advance(after.min(self.source.len() - self.position));
    }

    fn advance(&mut self, length: usize) {
        let passed = &self.source[self.position..self.position + length];
        self.line += passed.bytes().filter(|&byte| byte == b'\n').count();
        self.position += length;
    }

    fn line_comment(&mut self) {
        let rest = &self.source[self.position..];
        let length = rest.find('\n').unwrap_or(rest.len());
        let (kind, marker) = match &rest[..length] {
            text if text.starts_with("//!") => (Kind::InnerDoc, 3),
            text if text.starts_with("///") && !text.starts_with("////") => (Kind::OuterDoc, 3),
            _ => (Kind::Comment, 2),
        };
        self.push(kind, marker, length - marker, 0);
    }

    fn block_comment(&mut self) {
        let rest = &self.source[self.position..];
        let (kind, marker) = match rest {
            text if text.starts_with("/*!") => (Kind::InnerDoc, 3),
            text if text.starts_with("/**") && !text.starts_with("/***") && !text.starts_with("/**/") => {
                (Kind::OuterDoc, 3)
            }
            _ => (Kind::Comment, 2),
        };
        let length = block_length(&rest[2..]) + 2;
        self.push(kind, marker, length - marker, 2);
    }

    /// A string without `#`, after a prefix of `prefix` bytes.
    fn string(&mut self, prefix: usize) {
        let text = &self.source[self.position + prefix + 1..];
        self.push(Kind::Text, prefix + 1, until_quote(text, '"'), 1);
    }

    fn raw_string(&mut self, prefix: usize, hashes: usize) {
        let text = &self.source[self.position + prefix + hashes + 1..];
        let end = format!("\"{}", "#".repeat(hashes));
        let length = text.find(&end).unwrap_or(text.len());
        self.push(Kind::Text, prefix + hashes + 1, length, end.len());
    }

    /// A character, `'a'`, or a lifetime, `'a`.
    fn quote(&mut self) {
        let is_character = self.peek(1) == Some('\\') || self.peek(2) == Some('\'');
        if is_character {
            self.character(0);
        } else {
            let length = self.identifier_length(1);
            self.push(Kind::Lifetime, 1, length, 0);
        }
    }

    fn character(&mut self, prefix: usize) {
        let text = &self.source[self.position + prefix + 1..];
        self.push(Kind::Character, prefix + 1, until_quote(text, '\''), 1);
    }

    /// An identifier, or a literal with a prefix.
    fn word(&mut self) {
        let length = self.identifier_length(0);
        let word = &self.source[self.position..self.position + length];
        let rest = &self.source[self.position + length..];
        let hashes = rest.bytes().take_while(|&byte| byte == b'#').count();
        let quoted = rest[hashes..].starts_with('"');
        match word {
            "r" | "br" | "cr" if quoted => self.raw_string(length, hashes),
            "b" | "c" if quoted && hashes == 0 => self.string(length),
            "b" if rest.starts_with('\'') => self.character(length),
            "r" if hashes == 1 => self.push(Kind::Identifier, 2, self.identifier_length(2), 0),
            _ => self.push(Kind::Identifier, 0, length, 0),
        }
    }

    fn identifier_length(&self, from: usize) -> usize {
        let rest = &self.source[self.position + from..];
        rest.find(|next: char| !is_identifier(next)).unwrap_or(rest.len())
    }

    /// A number with its suffix, without a sign in the exponent; `1..2` and `1.max(2)` start with the number `1`.
    fn number_length(&self) -> usize {
        let whole = self.identifier_length(0);
        let fraction = self.source[self.position + whole..].strip_prefix('.');
        match fraction.and_then(|fraction| fraction.chars().next()) {
            Some(next) if next.is_ascii_digit() => whole + 1 + self.identifier_length(whole + 1),
            _ => whole,
        }
    }
}

fn is_identifier(character: char) -> bool {
    character == '_' || character.is_alphanumeric()
}

/// The bytes before the quote that ends a literal.
fn until_quote(text: &str, quote: char) -> usize {
    let mut escaped = false;
    let end = text.char_indices().find(|&(_, next)| {
        let found = next == quote && !escaped;
        escaped = next == '\\' && !escaped;
        found
    });
    end.map_or(text.len(), |(end, _)| end)
}

/// The bytes of a block comment between its markers, comments inside of it included.
fn block_length(text: &str) -> usize {
    let (mut depth, mut position) = (1, 0);
    while position < text.len() {
        let rest = &text.as_bytes()[position..];
        if rest.starts_with(b"*/") {
            depth -= 1;
            if depth == 0 {
                return position;
            }
            position += 2;
        } else if rest.starts_with(b"/*") {
            depth += 1;
            position += 2;
        } else {
            position += 1;
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(source: &str) -> Vec<(Kind, &str)> {
        scan(source).iter().map(|token| (token.kind, token.text)).collect()
    }

    #[test]
    fn comments_differ_from_documentation() {
        let source = "// a\n/// b\n//! c\n//// d\n/* e /* f */ g */ /** h */ /*! i */ /**/";
        let expected = [
            (Kind::Comment, " a"),
            (Kind::OuterDoc, " b"),
            (Kind::InnerDoc, " c"),
            (Kind::Comment, "// d"),
            (Kind::Comment, " e /* f */ g "),
            (Kind::OuterDoc, " h "),
            (Kind::InnerDoc, " i "),
            (Kind::Comment, ""),
        ];
        assert_eq!(kinds(source), expected);
    }

    #[test]
    fn strings_end_where_they_end() {
        assert_eq!(
            kinds(r####"f("a \" // b", r"c\", r#"d " e"#, b"g", br##"h"# "##)"####),
            [
                (Kind::Identifier, "f"),
                (Kind::Punctuation, "("),
                (Kind::Text, r#"a \" // b"#),
                (Kind::Punctuation, ","),
                (Kind::Text, r"c\"),
                (Kind::Punctuation, ","),
                (Kind::Text, "d \" e"),
                (Kind::Punctuation, ","),
                (Kind::Text, "g"),
                (Kind::Punctuation, ","),
                (Kind::Text, "h\"# "),
                (Kind::Punctuation, ")"),
            ]
        );
    }

    #[test]
    fn characters_differ_from_lifetimes() {
        assert_eq!(
            kinds(r"'a' 'b '\'' '\u{1F600}' '∂' b'/' &'static '_"),
            [
                (Kind::Character, "a"),
                (Kind::Lifetime, "b"),
                (Kind::Character, r"\'"),
                (Kind::Character, r"\u{1F600}"),
                (Kind::Character, "∂"),
                (Kind::Character, "/"),
                (Kind::Punctuation, "&"),
                (Kind::Lifetime, "static"),
                (Kind::Lifetime, "_"),
            ]
        );
    }

    #[test]
    fn ranges_and_methods_are_not_parts_of_a_number() {
        assert_eq!(
            kinds("1..2 1.5e3 3.max r#match rest"),
            [
                (Kind::Number, "1"),
                (Kind::Punctuation, "."),
                (Kind::Punctuation, "."),
                (Kind::Number, "2"),
                (Kind::Number, "1.5e3"),
                (Kind::Number, "3"),
                (Kind::Punctuation, "."),
                (Kind::Identifier, "max"),
                (Kind::Identifier, "match"),
                (Kind::Identifier, "rest"),
            ]
        );
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let tokens = scan("a\n\"b\n\nc\" d\n/* e\n*/ f");
        let lines: Vec<_> = tokens.iter().map(|token| token.line).collect();
        assert_eq!(lines, [1, 2, 4, 5, 6]);
    }

    #[test]
    fn a_literal_without_end_reaches_to_the_end() {
        assert_eq!(kinds("\"a b"), [(Kind::Text, "a b")]);
        assert_eq!(kinds("/* a b"), [(Kind::Comment, " a b")]);
        assert_eq!(kinds("r#\"a"), [(Kind::Text, "a")]);
    }
}
