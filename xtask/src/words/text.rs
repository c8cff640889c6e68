//! The texts of a file that hold words: prose, documentation, names and keys of configs, each with its line.

use crate::source::SourceFile;
use crate::source::scanner::{Kind, Token, scan};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sort {
    /// Comments, documentation, strings with spaces, Markdown; code in backticks is taken out of it.
    Prose,
    /// A doc comment as a whole, for the way it opens.
    Doc,
    /// An identifier.
    Name,
    /// A key of a config with the tables that it is in, `train.seed = 1`, or any code in backticks.
    Key,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Fragment {
    pub(crate) sort: Sort,
    /// The line of its first character.
    pub(crate) line: usize,
    pub(crate) text: String,
}

/// The fragments of a file, by its extension.
pub(crate) fn fragments(file: &SourceFile) -> Vec<Fragment> {
    let mut fragments = Fragments(Vec::new());
    match file.path.rsplit('.').next() {
        Some("md") => fragments.markdown(&file.text, 1, "text"),
        Some("toml") => fragments.toml(&file.text, 1),
        _ => fragments.rust(&file.text, 1),
    }
    fragments.0
}

struct Fragments(Vec<Fragment>);

impl Fragments {
    fn push(&mut self, sort: Sort, line: usize, text: impl Into<String>) {
        self.0.push(Fragment { sort, line, text: text.into() });
    }

    fn rust(&mut self, source: &str, first: usize) {
        let tokens = scan(source);
        let mut rest = tokens.as_slice();
        while let Some(token) = rest.first() {
            let length = if token.is_comment() { comment_length(rest) } else { 1 };
            let (group, after) = rest.split_at(length);
            let line = first + token.line - 1;
            match token.kind {
                Kind::Comment | Kind::OuterDoc | Kind::InnerDoc => self.comment(group, line),
                Kind::Text => self.string(token.text, line),
                Kind::Identifier => self.push(Sort::Name, line, token.text),
                _ => {}
            }
            rest = after;
        }
    }

    fn comment(&mut self, tokens: &[Token<'_>], line: usize) {
        let text = tokens.iter().map(|token| token.text).collect::<Vec<_>>().join("\n");
        if tokens[0].kind != Kind::Comment {
            self.push(Sort::Doc, line, text.trim_start());
        }
        self.markdown(&text, line, "rust");
    }

    /// A string with spaces is prose or a config, any other a name or key.
    fn string(&mut self, text: &str, line: usize) {
        let text = without_escapes(text);
        if is_config(&text) {
            self.toml(&text, line);
        } else if text.contains([' ', '\n']) {
            self.prose(&text, line);
        } else {
            self.code(&text, line);
        }
    }

    fn toml(&mut self, text: &str, first: usize) {
        let mut table = String::new();
        let mut comment = (0, String::new());
        for (line, text) in (first..).zip(text.lines()) {
            let (code, remark) = split_comment(text);
            let is_whole_line = code.trim().is_empty() && remark.is_some();
            if !is_whole_line {
                self.flush(&mut comment);
            }
            if let Some(remark) = remark {
                self.entry(&table, remark, line);
                comment.0 = if comment.1.is_empty() { line } else { comment.0 };
                comment.1 += remark;
                comment.1.push('\n');
            }
            if code.trim_start().starts_with('[') && code.trim_end().ends_with(']') {
                table = code.trim().trim_matches(['[', ']']).to_owned();
            }
            self.entry(&table, code, line);
        }
        self.flush(&mut comment);
    }

    /// The comment gathered so far, with the line where it opened.
    fn flush(&mut self, (line, text): &mut (usize, String)) {
        if !text.is_empty() {
            self.markdown(&std::mem::take(text), *line, "text");
        }
    }

    /// `key = value`, where a line has that form.
    fn entry(&mut self, table: &str, text: &str, line: usize) {
        let Some((key, value)) = text.split_once('=') else { return };
        let key = key.trim();
        if key.is_empty() || key.contains([' ', '\t', '(', '`']) {
            return;
        }
        let point = if table.is_empty() { "" } else { "." };
        self.push(Sort::Key, line, format!("{table}{point}{key} = {}", value.trim()));
    }

    /// Markdown; `plain` is the language of blocks of code that name none. Quotations and outputs are passed over.
    fn markdown(&mut self, text: &str, first: usize, plain: &str) {
        let mut prose = String::new();
        let mut block: Option<(String, usize, String)> = None;
        for (line, text) in (first..).zip(text.lines()) {
            let fence = text.trim_start().strip_prefix("```");
            match (&mut block, fence) {
                (None, Some(language)) => block = Some((language.to_owned(), line + 1, String::new())),
                (None, None) if !text.starts_with("> ") => prose += text,
                (Some((_, _, inside)), None) => {
                    *inside += text;
                    inside.push('\n');
                }
                (Some((language, line, inside)), Some(_)) => {
                    let language = if language.is_empty() { plain } else { language.as_str() };
                    match language.split(',').next() {
                        Some("toml") => self.toml(inside, *line),
                        Some("rust" | "no_run" | "ignore" | "should_panic" | "compile_fail") => {
                            self.rust(inside, *line);
                        }
                        Some("sh") => self.shell(inside, *line),
                        _ => {}
                    }
                    block = None;
                }
                (None, None) => {}
            }
            prose.push('\n');
        }
        self.prose(&prose, first);
    }

    /// The comments of shell commands.
    fn shell(&mut self, text: &str, first: usize) {
        for (line, text) in (first..).zip(text.lines()) {
            if let Some((_, remark)) = text.split_once("# ") {
                self.prose(remark, line);
            }
        }
    }

    /// Prose, of which code in backticks is taken out, and targets of links.
    fn prose(&mut self, text: &str, first: usize) {
        let mut prose = String::new();
        let mut line = first;
        for (index, part) in text.split('`').enumerate() {
            if index % 2 == 1 {
                self.code(part, line);
                prose.push('`');
                prose.extend(part.chars().filter(|&next| next == '\n'));
                prose.push('`');
            } else {
                prose += part;
            }
            line += newlines(part);
        }
        self.push(Sort::Prose, first, without_targets(&prose));
    }

    fn code(&mut self, text: &str, line: usize) {
        self.push(Sort::Key, line, text);
        let names = text.split(|next: char| !next.is_alphanumeric() && next != '_');
        for name in names.filter(|name| name.starts_with(|next: char| next.is_alphabetic() || next == '_')) {
            self.push(Sort::Name, line, name);
        }
    }
}

/// The tokens of the comment that opens here: comments of its kind on consecutive lines.
fn comment_length(tokens: &[Token<'_>]) -> usize {
    let follows = |pair: &[Token<'_>]| {
        pair[1].kind == pair[0].kind && pair[1].line == pair[0].line + newlines(pair[0].text) + 1
    };
    1 + tokens.windows(2).take_while(|pair| follows(pair)).count()
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|&byte| byte == b'\n').count()
}

/// A string with spaces instead of escapes, of which `\n` would join with the word after it.
fn without_escapes(text: &str) -> String {
    let mut clean = String::with_capacity(text.len());
    let mut characters = text.chars();
    while let Some(next) = characters.next() {
        match next {
            '\\' => match characters.next() {
                Some('\n') => clean.push('\n'),
                _ => clean.push(' '),
            },
            _ => clean.push(next),
        }
    }
    clean
}

/// A text that holds a table of TOML, alone on its line.
fn is_config(text: &str) -> bool {
    let is_table = |line: &str| line.starts_with('[') && line.ends_with(']') && !line.contains([' ', '"']);
    text.contains('=') && text.lines().any(|line| is_table(line.trim()))
}

/// A line of TOML, and its comment without the marker.
fn split_comment(line: &str) -> (&str, Option<&str>) {
    let mut quote = None;
    for (at, next) in line.char_indices() {
        match (quote, next) {
            (None, '#') => return (&line[..at], Some(&line[at + 1..])),
            (None, '"' | '\'') => quote = Some(next),
            (Some(open), _) if open == next => quote = None,
            _ => {}
        }
    }
    (line, None)
}

/// Markdown whose links have lost where they point to: `[text](target)` becomes `[text]`.
fn without_targets(text: &str) -> String {
    let mut parts = text.split("](");
    let mut clean = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let after = part.find(')').map_or(part, |end| &part[end + 1..]);
        clean.push(']');
        clean += after;
    }
    clean
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(path: &str, text: &str) -> Vec<(Sort, usize, String)> {
        let file = SourceFile { path: path.to_owned(), text: text.to_owned() };
        fragments(&file)
            .into_iter()
            .map(|fragment| (fragment.sort, fragment.line, fragment.text.trim().to_owned()))
            .collect()
    }

    fn fragment(sort: Sort, line: usize, text: &str) -> (Sort, usize, String) {
        (sort, line, text.to_owned())
    }

    #[test]
    fn a_comment_is_one_text_over_its_lines() {
        let found = parsed("a.rs", "// one\n// two\n\n// three\n");
        assert_eq!(found, [fragment(Sort::Prose, 1, "one\n two"), fragment(Sort::Prose, 4, "three")]);
    }

    #[test]
    fn documentation_is_prose_with_names_in_backticks() {
        let found = parsed("a.rs", "\n/// The `Beam` of\n/// a search.\nstruct Beam;");
        let expected = [
            fragment(Sort::Doc, 2, "The `Beam` of\n a search."),
            fragment(Sort::Key, 2, "Beam"),
            fragment(Sort::Name, 2, "Beam"),
            fragment(Sort::Prose, 2, "The `` of\n a search."),
            fragment(Sort::Name, 4, "struct"),
            fragment(Sort::Name, 4, "Beam"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn strings_are_prose_names_or_configs() {
        assert_eq!(parsed("a.rs", r#""no beam\nhere""#), [fragment(Sort::Prose, 1, "no beam here")]);
        assert_eq!(
            parsed("a.rs", "\"beam\""),
            [fragment(Sort::Key, 1, "beam"), fragment(Sort::Name, 1, "beam")]
        );
        let config = "\"[search]\nbeam = 5\n\"";
        assert_eq!(parsed("a.rs", config), [fragment(Sort::Key, 2, "search.beam = 5")]);
    }

    #[test]
    fn keys_of_toml_carry_their_table() {
        let config = "seed = 1\n[a.b] # one\n# two\n# k = 2\nc = \"#\" # three\n";
        let found = parsed("a.toml", config);
        let expected = [
            fragment(Sort::Key, 1, "seed = 1"),
            fragment(Sort::Key, 4, "a.b.k = 2"),
            fragment(Sort::Prose, 2, "one\n two\n k = 2"),
            fragment(Sort::Key, 5, "a.b.c = \"#\""),
            fragment(Sort::Prose, 5, "three"),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn markdown_passes_over_outputs_quotations_and_targets() {
        let page = "One [two](three.md).\n> quoted\n```text\noutput\n```\n```toml\n[a]\nb = 1\n```\n";
        let found = parsed("a.md", page);
        assert_eq!(found, [fragment(Sort::Key, 8, "a.b = 1"), fragment(Sort::Prose, 1, "One [two].")]);
    }
}
