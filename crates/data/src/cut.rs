//! Texts that are longer than a model reads.

use serde::{Deserialize, Serialize};

/// Which end of a long text is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Keep {
    /// Its beginning.
    #[default]
    First,
    /// Its end.
    Last,
}

/// How a long text is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The most tokens that are left.
    pub tokens: usize,
    /// Which ones.
    pub keep: Keep,
}

impl Cut {
    /// What is left of a text.
    pub fn apply(self, text: &[u32]) -> &[u32] {
        let left_out = text.len().saturating_sub(self.tokens);
        match self.keep {
            Keep::First => &text[..text.len() - left_out],
            Keep::Last => &text[left_out..],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_or_the_last_tokens_are_left() {
        let text = [4, 5, 6, 7];
        let cut = |tokens, keep| Cut { tokens, keep }.apply(&text);
        assert_eq!(cut(3, Keep::First), [4, 5, 6]);
        assert_eq!(cut(3, Keep::Last), [5, 6, 7]);
        assert_eq!([cut(4, Keep::First), cut(9, Keep::Last)], [text, text]);
    }
}
