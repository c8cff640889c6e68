//! Texts that are longer or shorter than a model reads.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::tokenizer::{END, PAD, START};

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

/// Where a short text is filled up with [`PAD`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pad {
    /// Before its first token.
    Front,
    /// After its last token.
    Back,
}

/// How texts get the length that a model reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cut {
    /// The most tokens that are left.
    pub tokens: usize,
    /// Which ones.
    pub keep: Keep,
    /// Where shorter texts are filled up to that length, with a token that is read like any other. Without it, models read each text in
    /// its own length, and there is nothing to fill.
    pub pad: Option<Pad>,
}

impl Cut {
    /// What a model reads of a text. A text without tokens stays one.
    pub fn apply(self, text: &[u32]) -> Cow<'_, [u32]> {
        let left_out = text.len().saturating_sub(self.tokens);
        let left = match self.keep {
            Keep::First => &text[..text.len() - left_out],
            Keep::Last => &text[left_out..],
        };
        let missing = vec![PAD; if left.is_empty() { 0 } else { self.tokens - left.len() }];
        match self.pad {
            Some(Pad::Front) => [&missing[..], left].concat().into(),
            Some(Pad::Back) => [left, &missing[..]].concat().into(),
            None => left.into(),
        }
    }
}

/// What becomes of the sides of a pair that are too long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PairCut {
    /// The most tokens on a side.
    pub tokens: usize,
    /// Which tokens of a longer source are kept; where nothing is said, its pair is left out.
    pub source: Option<Keep>,
    /// The same of a longer target.
    pub target: Option<Keep>,
}

impl PairCut {
    /// Nothing is too long.
    pub const NONE: PairCut = PairCut { tokens: usize::MAX, source: None, target: None };

    /// What is left of a pair, if anything.
    pub fn apply(self, [source, target]: [Vec<u32>; 2]) -> Option<[Vec<u32>; 2]> {
        let side = |ids: Vec<u32>, keep: Option<Keep>| match keep {
            _ if ids.len() <= self.tokens => Some(ids),
            Some(keep) => Some(Cut { tokens: self.tokens, keep, pad: None }.apply(&ids).into_owned()),
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
        let cut = |tokens, keep| Cut { tokens, keep, pad: None }.apply(&text);
        assert_eq!(cut(3, Keep::First)[..], [4, 5, 6]);
        assert_eq!(cut(3, Keep::Last)[..], [5, 6, 7]);
        assert_eq!([cut(4, Keep::First), cut(9, Keep::Last)], [&text[..], &text]);
    }

    #[test]
    fn short_texts_are_filled_up_on_a_side() {
        let filled = |pad, text: &'static [u32]| {
            Cut { tokens: 4, keep: Keep::First, pad: Some(pad) }.apply(text).into_owned()
        };
        assert_eq!(filled(Pad::Front, &[4, 5]), [0, 0, 4, 5]);
        assert_eq!(filled(Pad::Back, &[4, 5]), [4, 5, 0, 0]);
        assert_eq!(filled(Pad::Front, &[4, 5, 6, 7, 8]), [4, 5, 6, 7]);
        assert!(filled(Pad::Back, &[]).is_empty());
    }

    #[test]
    fn a_side_that_is_too_long_is_cut_or_its_pair_left_out() {
        let cut = |source, target| PairCut { tokens: 2, source, target }.apply([vec![4, 5, 6], vec![7, 8]]);
        assert_eq!(cut(None, Some(Keep::Last)), None);
        assert_eq!(cut(Some(Keep::Last), None), Some([vec![5, 6], vec![7, 8]]));
        assert_eq!(cut(Some(Keep::First), None), Some([vec![4, 5], vec![7, 8]]));
    }
}
