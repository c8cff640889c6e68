//! The tokenizer `intl`: that of `mteval-v14.pl` for all languages, as sacreBLEU has it.
//!
//! Marks are separated from what is before them and from what is after them, unless that is a digit; symbols always. A mark
//! at the end of the line has nothing after it, so it stays with a digit before it.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::{isolate, rewrite_pairs};

/// The text with white space between its tokens.
pub(super) fn spaced(text: &str) -> String {
    let line: Vec<char> = text.chars().collect();
    let line = rewrite_pairs(&line, |a, b| (!is_number(a) && is_mark(b)).then_some([a, ' ', b, ' ']));
    let line = rewrite_pairs(&line, |a, b| (is_mark(a) && !is_number(b)).then_some([' ', a, ' ', b]));
    isolate(&line.into_iter().collect::<String>(), |c| group(c) == GeneralCategoryGroup::Symbol)
}

fn is_number(c: char) -> bool {
    group(c) == GeneralCategoryGroup::Number
}

fn is_mark(c: char) -> bool {
    group(c) == GeneralCategoryGroup::Punctuation
}

fn group(c: char) -> GeneralCategoryGroup {
    // Most characters, for which no table has to be searched.
    match c {
        'a'..='z' | 'A'..='Z' => GeneralCategoryGroup::Letter,
        ' ' => GeneralCategoryGroup::Separator,
        _ => c.general_category_group(),
    }
}

#[cfg(test)]
mod tests {
    use crate::Tokenizer;

    fn tokens(text: &str) -> String {
        Tokenizer::International.tokens(text).join(" ")
    }

    #[test]
    fn marks_and_symbols_of_all_scripts_are_tokens() {
        assert_eq!(tokens("汤姆，你好。 ¿Qué? «oui»"), "汤姆 ， 你好 。 ¿ Qué ? « oui »");
        assert_eq!(tokens("2+2=4€ ❤"), "2 + 2 = 4 € ❤");
        assert_eq!(tokens("it's well-known"), "it ' s well - known");
    }

    #[test]
    fn marks_between_digits_stay() {
        assert_eq!(tokens("1,000.50 and ٣,٤ but a.5 and 5.a"), "1,000.50 and ٣,٤ but a . 5 and 5 . a");
    }

    /// As in the original, which does not see an end of the line.
    #[test]
    fn a_mark_at_the_end_stays_with_a_digit() {
        assert_eq!(tokens("in 1999."), "in 1999.");
        assert_eq!(tokens("in 1999. "), "in 1999.");
        assert_eq!(tokens("in May."), "in May .");
    }
}
