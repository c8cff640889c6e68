//! Labels: what can be shown of a token, and how wide that is.

use crate::svg::{escape, line};
use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// What a label shows of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Label {
    /// As much as there is room for.
    pub(crate) text: String,
    /// All of it, where the text is not.
    pub(crate) full: Option<String>,
}

impl Label {
    /// A label of at most `columns` columns of a terminal; a token that is wider is cut, and ends with `…`.
    pub(crate) fn new(token: &str, columns: usize) -> Self {
        let shown = showable(token);
        if shown.width() <= columns {
            return Self { text: shown, full: None };
        }
        let mut text = String::new();
        for c in shown.chars() {
            text.push(c);
            // The string is measured, not the sum of its characters: some join into one.
            if text.width() + 1 > columns {
                text.pop();
                break;
            }
        }
        text.push('…');
        Self { text, full: Some(shown) }
    }

    /// Columns of a terminal.
    pub(crate) fn columns(&self) -> usize {
        self.text.width()
    }

    /// About how wide the text is in a proportional font, as a multiple of the font's size.
    pub(crate) fn ems(&self) -> f32 {
        self.text.chars().map(ems).sum()
    }
}

/// A label in an SVG file; all of its text is the title where it was cut.
pub(crate) fn text(svg: &mut String, place: std::fmt::Arguments<'_>, label: &Label) {
    let title =
        label.full.as_ref().map_or_else(String::new, |full| format!("<title>{}</title>", escape(full)));
    line(svg, format_args!("<text {place}>{title}{}</text>", escape(&label.text)));
}

/// The end of a line in a terminal, without spaces before it.
pub(crate) fn end_line(text: &mut String) {
    text.truncate(text.trim_end_matches(' ').len());
    text.push('\n');
}

/// The token without what a terminal would obey and XML refuse. A token of spaces alone becomes visible.
fn showable(token: &str) -> String {
    if token.chars().all(|c| c == ' ') {
        return "␣".repeat(token.len().max(1));
    }
    let breaks_lines = |c| matches!(c, '\u{2028}' | '\u{2029}');
    let turns_lines_around = |c| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let no_character = |c| matches!(c, '\u{fffe}' | '\u{ffff}');
    let bad = |c: char| c.is_control() || breaks_lines(c) || turns_lines_around(c) || no_character(c);
    token.chars().map(|c| if bad(c) { '\u{fffd}' } else { c }).collect()
}

/// Measured on common system fonts and rounded up, so that labels rather get too much room than too little.
fn ems(c: char) -> f32 {
    match (c, c.width().unwrap_or(0)) {
        (_, 0) => 0.0,
        (_, 2..) => 1.0,
        ('i' | 'j' | 'l' | '.' | ',' | '\'' | '|' | '!' | ':' | ';', _) => 0.3,
        ('f' | 't' | 'r' | 'I' | ' ' | '-' | '(' | ')', _) => 0.4,
        ('m' | 'w' | 'M' | 'W' | '@' | '%' | '…', _) => 0.95,
        (c, _) if c.is_uppercase() => 0.72,
        _ => 0.6,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_token_stays_as_it_is() {
        assert_eq!(Label::new("kitchen", 7), Label { text: "kitchen".into(), full: None });
        assert_eq!(Label::new("厨房", 4), Label { text: "厨房".into(), full: None });
    }

    #[test]
    fn a_wide_token_is_cut() {
        let cut = |token, columns| Label::new(token, columns).text;
        assert_eq!(cut("kitchen", 6), "kitch…");
        // Two characters are four columns, and the ellipsis one.
        assert_eq!(cut("自行车", 5), "自行…");
        assert_eq!(cut("自行车", 4), "自…");
        assert_eq!(cut("自行车", 1), "…");
        assert_eq!(Label::new("自行车", 4).full.as_deref(), Some("自行车"));
    }

    #[test]
    fn what_cannot_be_shown_is_replaced() {
        let text = |token| Label::new(token, 20).text;
        assert_eq!(text("a\tb\u{1b}[31m"), "a\u{fffd}b\u{fffd}[31m");
        assert_eq!(text("\u{202e}abc"), "\u{fffd}abc");
        assert_eq!(text(""), "␣");
        assert_eq!(text("  "), "␣␣");
    }

    #[test]
    fn combining_characters_take_no_room() {
        assert_eq!(Label::new("e\u{301}te\u{301}", 3).columns(), 3);
        assert_eq!(Label::new("e\u{301}te\u{301}", 3).full, None);
    }
}
