//! Texts that are longer or shorter than a model reads.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::tokenizer::{END, PAD, START};

/// Which end of a long text is kept.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TruncationSide {
    /// Its beginning.
    #[default]
    Right,
    /// Its end.
    Left,
}

/// Where a short text is filled up with [`PAD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PaddingSide {
    /// Before its first token.
    Left,
    /// After its last token.
    Right,
}

/// How texts get the length that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncation {
    /// The most tokens that are left.
    pub tokens: usize,
    /// Which ones.
    pub side: TruncationSide,
    /// Where shorter texts are filled up to that length, with a token that is read like any other. Without it, models read each text in
    /// its own length, and there is nothing to fill.
    pub padding: Option<PaddingSide>,
}

impl Truncation {
    /// What a model reads of a text. A text without tokens stays one.
    pub fn apply(self, text: &[u32]) -> Cow<'_, [u32]> {
        let left_out = text.len().saturating_sub(self.tokens);
        let left = match self.side {
            TruncationSide::Right => &text[..text.len() - left_out],
            TruncationSide::Left => &text[left_out..],
        };
        let missing = vec![PAD; if left.is_empty() { 0 } else { self.tokens - left.len() }];
        match self.padding {
            Some(PaddingSide::Left) => [&missing[..], left].concat().into(),
            Some(PaddingSide::Right) => [left, &missing[..]].concat().into(),
            None => left.into(),
        }
    }
}

/// What becomes of the sides of a pair that are too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairTruncation {
    /// The most tokens on a side.
    pub tokens: usize,
    /// Which tokens of a longer source are kept; where nothing is said, its pair is left out.
    pub source: Option<TruncationSide>,
    /// The same of a longer target.
    pub target: Option<TruncationSide>,
}

impl PairTruncation {
    /// Nothing is too long.
    pub const NONE: PairTruncation = PairTruncation { tokens: usize::MAX, source: None, target: None };

    /// What is left of a pair, if anything.
    pub fn apply(self, [source, target]: [Vec<u32>; 2]) -> Option<[Vec<u32>; 2]> {
        let side = |ids: Vec<u32>, keep: Option<TruncationSide>| match keep {
            _ if ids.len() <= self.tokens => Some(ids),
            Some(keep) => {
                Some(Truncation { tokens: self.tokens, side: keep, padding: None }.apply(&ids).into_owned())
            }
            None => None,
        };
        Some([side(source, self.source)?, side(target, self.target)?])
    }
}

/// A text with its start and its end, in pieces that a model of the next token reads one by one: each has at most so many tokens to
/// predict, behind one that is read only, the last of the piece before.
///
/// ```
/// use couplet_data::{END, START, pieces};
///
/// assert_eq!(pieces(&[7, 8, 9], 3), [vec![START, 7, 8, 9], vec![9, END]]);
/// ```
///
/// # Panics
///
/// If pieces are to have no tokens.
pub fn pieces(text: &[u32], tokens: usize) -> Vec<Vec<u32>> {
    let whole = [&[START], text, &[END]].concat();
    let last = whole.len() - 1;
    (0..last).step_by(tokens).map(|first| whole[first..=last.min(first + tokens)].to_vec()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_or_the_last_tokens_are_left() {
        let text = [4, 5, 6, 7];
        let cut = |tokens, keep| Truncation { tokens, side: keep, padding: None }.apply(&text);
        assert_eq!(cut(3, TruncationSide::Right)[..], [4, 5, 6]);
        assert_eq!(cut(3, TruncationSide::Left)[..], [5, 6, 7]);
        assert_eq!([cut(4, TruncationSide::Right), cut(9, TruncationSide::Left)], [&text[..], &text]);
    }

    #[test]
    fn short_texts_are_filled_up_on_a_side() {
        let filled = |pad, text: &'static [u32]| {
            Truncation { tokens: 4, side: TruncationSide::Right, padding: Some(pad) }.apply(text).into_owned()
        };
        assert_eq!(filled(PaddingSide::Left, &[4, 5]), [0, 0, 4, 5]);
        assert_eq!(filled(PaddingSide::Right, &[4, 5]), [4, 5, 0, 0]);
        assert_eq!(filled(PaddingSide::Left, &[4, 5, 6, 7, 8]), [4, 5, 6, 7]);
        assert!(filled(PaddingSide::Right, &[]).is_empty());
    }

    #[test]
    fn a_side_that_is_too_long_is_cut_or_its_pair_left_out() {
        let cut =
            |source, target| PairTruncation { tokens: 2, source, target }.apply([vec![4, 5, 6], vec![7, 8]]);
        assert_eq!(cut(None, Some(TruncationSide::Left)), None);
        assert_eq!(cut(Some(TruncationSide::Left), None), Some([vec![5, 6], vec![7, 8]]));
        assert_eq!(cut(Some(TruncationSide::Right), None), Some([vec![4, 5], vec![7, 8]]));
    }
}
