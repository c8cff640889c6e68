//! Words, and numbers in place of them.

use std::collections::HashMap;

/// What Python takes for white space: Unicode's idea of it and four separators of ASCII.
pub(crate) fn is_space(c: char) -> bool {
    c.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&c)
}

/// What stands between white space.
pub(crate) fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// The same number for the same word, as long as it lives: numbers are quick to compare.
#[derive(Default)]
pub(crate) struct Numbering<'a> {
    numbers: HashMap<&'a str, u32>,
}

impl<'a> Numbering<'a> {
    pub(crate) fn number(&mut self, word: &'a str) -> u32 {
        let next = self.numbers.len() as u32;
        *self.numbers.entry(word).or_insert(next)
    }

    /// The words of a text as numbers.
    pub(crate) fn words(&mut self, text: &'a str) -> Vec<u32> {
        words(text).map(|word| self.number(word)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_word_has_the_same_number() {
        let mut numbering = Numbering::default();
        assert_eq!(numbering.words("a b  a\tc"), [0, 1, 0, 2]);
        assert_eq!(numbering.words("c\u{1f}d\u{3000}a "), [2, 3, 0]);
    }
}
