//! What a target can copy from its source: a vocabulary that grows by the source's own words.

use crate::tokenizer::{Tokenizer, UNK, label};

/// The tokens of one source as tokens of the target.
///
/// A token is the same on both sides where its text is the same, the space in front of it included. One that the target's vocabulary does
/// not have gets an id behind it, for this source only: the k-th of them vocabulary + k.
///
/// ```
/// use couplet_data::{SourceWords, Tokenizer, TokenizerConfig, UNK};
///
/// let config = TokenizerConfig::default();
/// let source = Tokenizer::train(&config, ["please call Tom"])?;
/// let target = Tokenizer::train(&config, ["Tom is called"])?; // Tom, called, is: 4, 5, 6
/// let words = SourceWords::new("please call Zoe or Tom", &source, &target);
/// assert_eq!(words.ids(), [7, 8, 9, 10, 4]);
///
/// let ids = words.encode("Zoe is called today", &target);
/// assert_eq!(ids, [9, 6, 5, UNK]);
/// assert_eq!(words.decode(&ids, &target), "Zoe is called");
/// assert_eq!(words.decode_with(&ids, &target, |_| "…".to_owned()), "Zoe is called …");
/// # Ok::<(), couplet_data::DataError>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SourceWords {
    ids: Vec<u32>,
    vocabulary: u32,
    /// Those behind the vocabulary, in the order of their ids, each with the space in front of it.
    behind: Vec<String>,
}

impl SourceWords {
    /// The tokens of a line.
    pub fn new(line: &str, source: &Tokenizer, target: &Tokenizer) -> SourceWords {
        let vocabulary = target.vocabulary_size() as u32;
        let mut words = SourceWords { ids: Vec::new(), vocabulary, behind: Vec::new() };
        for piece in source.written_pieces(line) {
            let piece = target.as_in_the_vocabulary(&piece);
            let id = target.id(&piece).or_else(|| words.behind(&piece)).unwrap_or_else(|| {
                words.behind.push(piece);
                vocabulary + words.behind.len() as u32 - 1
            });
            words.ids.push(id);
        }
        words
    }

    /// For each token of the source the target's.
    pub fn ids(&self) -> &[u32] {
        &self.ids
    }

    /// The same as a list of its own.
    pub fn into_ids(self) -> Vec<u32> {
        self.ids
    }

    /// With some of its ids only, where a part of the source is left: nothing else can be copied.
    #[must_use]
    pub fn with_ids(self, ids: Vec<u32>) -> SourceWords {
        SourceWords { ids, ..self }
    }

    /// The ids of a target: a word that its vocabulary does not have is known if the source has it.
    pub fn encode(&self, text: &str, target: &Tokenizer) -> Vec<u32> {
        let known = target.encode(text);
        if self.behind.is_empty() || !known.contains(&UNK) {
            return known;
        }
        let or_behind = |(id, piece): (u32, String)| {
            let there = Some(piece).filter(|_| id == UNK).and_then(|piece| self.behind(&piece));
            there.filter(|id| self.ids.contains(id)).unwrap_or(id)
        };
        known.into_iter().zip(target.pieces(text)).map(or_behind).collect()
    }

    /// The text of ids; special tokens, unknown ones among them, are left out.
    pub fn decode(&self, ids: &[u32], target: &Tokenizer) -> String {
        if ids.iter().all(|&id| self.word(id).is_none()) {
            return target.decode(ids);
        }
        let known: Vec<u32> = ids.iter().copied().filter(|&id| id != UNK).collect();
        self.decode_with(&known, target, |_| String::new())
    }

    /// The same, with `unknown(place)` for the unknown token at a place.
    pub fn decode_with(&self, ids: &[u32], target: &Tokenizer, unknown: impl Fn(usize) -> String) -> String {
        target
            .decode_with(ids, |place| self.word(ids[place]).map_or_else(|| unknown(place), ToOwned::to_owned))
    }

    /// A token as it is shown to a reader: without the space in front.
    pub fn token<'a>(&'a self, id: u32, target: &'a Tokenizer) -> &'a str {
        self.word(id).map_or_else(|| target.token(id), label)
    }

    /// A word behind the vocabulary.
    fn word(&self, id: u32) -> Option<&str> {
        self.behind.get(id.checked_sub(self.vocabulary)? as usize).map(String::as_str)
    }

    /// The id of a word behind the vocabulary.
    fn behind(&self, piece: &str) -> Option<u32> {
        let place = self.behind.iter().position(|word| word == piece)?;
        Some(self.vocabulary + place as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tokenizer::tests::KINDS;
    use crate::{TokenizerConfig, TokenizerKind};
    use proptest::prelude::*;

    /// Those that decode what they encoded exactly.
    const KEEP_SPACES: [TokenizerKind; 4] =
        [TokenizerKind::Word, TokenizerKind::Char, TokenizerKind::Chinese, TokenizerKind::Bpe];

    fn trained(kind: TokenizerKind, lowercase: bool, lines: &[&str]) -> Tokenizer {
        Tokenizer::train(&TokenizerConfig { kind, lowercase, ..TokenizerConfig::default() }, lines).unwrap()
    }

    /// Decodes what was encoded; what is unknown is shown as such.
    fn round(words: &SourceWords, target: &Tokenizer, text: &str) -> String {
        words.decode_with(&words.encode(text, target), target, |_| "?".to_owned())
    }

    /// `Zoe` behind a space and `Zoe` behind a quotation mark are two tokens, and each comes out with its own space or none.
    #[test]
    fn the_space_in_front_belongs_to_a_word() {
        let target = trained(TokenizerKind::Word, false, &["\"a\" is b."]);
        let words = SourceWords::new("Zoe said \"Ann\"", &target, &target);
        assert_eq!(round(&words, &target, "Zoe is \"Ann\"."), "Zoe is \"Ann\".");
        assert_eq!(round(&words, &target, "Ann is \"Zoe\"."), "? is \" ?\".");
        assert_eq!(words.token(words.ids()[0], &target), "Zoe");
    }

    #[test]
    fn characters_are_copied_one_by_one() {
        let target = trained(TokenizerKind::Char, false, &["ab"]);
        let words = SourceWords::new("axyx", &target, &target);
        assert_eq!(words.ids(), [4, 6, 7, 6]);
        assert_eq!(round(&words, &target, "xyb"), "xyb");
    }

    /// Where the target knows small letters only, a copied word has no others either.
    #[test]
    fn capital_letters_follow_the_target() {
        let [small, both] =
            [true, false].map(|lowercase| trained(TokenizerKind::Word, lowercase, &["Call Tom now"]));
        for source in [&small, &both] {
            let words = SourceWords::new("Zoe calls Tom", source, &small);
            assert_eq!(words.ids()[2], small.encode("tom")[0]);
            assert_eq!(round(&words, &small, "now ZOE"), "now zoe");
        }
    }

    /// Where the source knows small letters only, a copied word is still what stands in the line, known to the source or not.
    #[test]
    fn capital_letters_that_the_source_does_not_know() {
        let small = trained(TokenizerKind::Word, true, &["Call Tom now"]);
        let both = trained(TokenizerKind::Word, false, &["Tom is called"]);
        let words = SourceWords::new("Zoe calls Tom now NOW", &small, &both);
        assert_eq!(words.ids()[2], both.encode("Tom")[0]);
        assert_eq!(round(&words, &both, "Zoe is called NOW"), "Zoe is called NOW");
        assert_eq!(round(&words, &both, "zoe is called"), "? is called");
    }

    /// Pieces that both sides have are the same on both; a character that neither has is copied.
    #[test]
    fn pieces_are_copied_by_their_text() {
        let source = trained(TokenizerKind::Bpe, false, &["low lower lowest"]);
        let target = trained(TokenizerKind::Bpe, false, &["slow slower slow low"]);
        let words = SourceWords::new("low ñ", &source, &target);
        assert_eq!(round(&words, &target, "slow ñ"), "slow ñ");
    }

    #[test]
    fn a_word_that_was_cut_off_is_not_copied() {
        let target = trained(TokenizerKind::Word, false, &["is"]);
        let words = SourceWords::new("Zoe Ann", &target, &target);
        let first = words.ids()[..1].to_vec();
        let words = words.with_ids(first);
        assert_eq!(round(&words, &target, "Ann is Zoe"), "? is Zoe");
    }

    proptest! {
        /// Whatever a line and a tokenizer are: a token for each id, and the whole line can be written with what it has.
        #[test]
        fn a_line_can_be_copied_as_a_whole(line in "\\PC{0,20}", which in 0..KINDS.len()) {
            let tokenizer = trained(KINDS[which], false, &["some text, and more"]);
            let words = SourceWords::new(&line, &tokenizer, &tokenizer);
            prop_assert_eq!(words.ids().len(), tokenizer.encode(&line).len());
            prop_assert_eq!(words.encode(&line, &tokenizer), words.ids());
            if KEEP_SPACES.contains(&KINDS[which]) {
                prop_assert_eq!(round(&words, &tokenizer, &line), line);
            }
        }

        /// Whether a source tells capital letters apart or not, a line of words has the same to copy.
        #[test]
        fn capital_letters_of_the_source_change_nothing(line in "[A-Za-z]{1,6}( [A-Za-z]{1,6}){0,4}[.!]?", which in 0..2usize) {
            let kind = [TokenizerKind::Word, TokenizerKind::Char][which];
            let [small, both] = [true, false].map(|lowercase| trained(kind, lowercase, &["some text, and more"]));
            prop_assert_eq!(SourceWords::new(&line, &small, &both), SourceWords::new(&line, &both, &both));
        }
    }
}
