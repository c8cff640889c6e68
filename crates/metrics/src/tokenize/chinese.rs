//! The tokenizer `zh`: each Chinese character and mark is a token, all else is cut as `13a` does; as sacreBLEU has it.

use super::{isolate, mteval};
use crate::words::is_space;

/// The text with white space between its tokens.
pub(super) fn spaced(text: &str) -> String {
    mteval::separated(isolate(text.trim_matches(is_space), is_chinese).as_bytes())
}

/// sacreBLEU's table. It means to have two ranges beyond U+FFFF, U+20000 to U+2A6D6 and U+2F800 to U+2FA1D, but writes them with
/// four digits; what Python makes of them is the second and the third range here.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{3400}'..='\u{4db5}'
        | '\u{2001}'..='\u{2a6d}'
        | '\u{2f81}'..='\u{2fa1}'
        | '\u{4e00}'..='\u{9fbb}'
        | '\u{f900}'..='\u{fa2d}'
        | '\u{fa30}'..='\u{fa6a}'
        | '\u{fa70}'..='\u{fad9}'
        | '\u{ff00}'..='\u{ffef}'
        | '\u{2e80}'..='\u{2eff}'
        | '\u{2f00}'..='\u{2fdf}'
        | '\u{2ff0}'..='\u{303f}'
        | '\u{3100}'..='\u{312f}'
        | '\u{31a0}'..='\u{31bf}'
        | '\u{31c0}'..='\u{31ef}'
        | '\u{3200}'..='\u{33ff}'
        | '\u{fe10}'..='\u{fe1f}'
        | '\u{fe30}'..='\u{fe4f}')
}

#[cfg(test)]
mod tests {
    use crate::Tokenizer;

    fn tokens(text: &str) -> String {
        Tokenizer::Chinese.tokens(text).join(" ")
    }

    #[test]
    fn chinese_characters_and_marks_are_tokens() {
        assert_eq!(tokens("汤姆说：“你好！”"), "汤 姆 说 ： “ 你 好 ！ ”");
        assert_eq!(tokens("价格是3.50元（含税）。"), "价 格 是 3.50 元 （ 含 税 ） 。");
    }

    #[test]
    fn all_else_is_cut_as_13a_does() {
        assert_eq!(tokens("Hello, world! ひらがな &amp;"), "Hello , world ! ひらがな & amp ;");
    }

    /// No space is put around the line, which `13a` does: a full stop at the end stays with a digit.
    #[test]
    fn the_ends_of_the_line_are_no_neighbors() {
        assert_eq!(tokens("在1999."), "在 1999.");
    }
}
