//! What a config says of how text becomes tokens.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{SPECIAL, StopWords};
use crate::DataError;

/// What one token is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenizerKind {
    /// A word or a punctuation mark: short sequences, large vocabularies, and words it has not seen are unknown.
    #[default]
    Word,
    /// A character: long sequences and small vocabularies.
    Char,
    /// What stands between spaces, for text that is cut into tokens already. Decoding puts one space between tokens.
    Whitespace,
    /// A Chinese word, where jieba cuts. A space is a token, as any other mark.
    Chinese,
    /// A frequent piece of a word, from single characters to whole words: hardly anything is unknown.
    Bpe,
    /// A piece of a word, of those that make the text most probable.
    Unigram,
    /// A piece of a word; those that do not begin one are written with `##`. A word with an unknown character is unknown as a whole.
    Wordpiece,
}

impl TokenizerKind {
    /// Whether tokens are pieces that a trainer finds, not entries of a dictionary.
    pub(super) fn is_of_pieces(self) -> bool {
        matches!(self, TokenizerKind::Bpe | TokenizerKind::Unigram | TokenizerKind::Wordpiece)
    }

    /// Whether a token begins with the space in front of it.
    pub(super) fn leads_with_space(self) -> bool {
        self == TokenizerKind::Word || self.is_of_pieces()
    }
}

/// Which of the ways to write the same character is used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Normalize {
    /// As it stands in the text.
    #[default]
    None,
    /// A letter and its accent become one character.
    Nfc,
    /// And ligatures, wide letters and the like become plain ones.
    Nfkc,
}

/// How to make a tokenizer from text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// What one token is.
    pub kind: TokenizerKind,
    /// A tokenizer or a vocabulary that there is already: any `tokenizer.json` of Hugging Face's, which has its own rules; or a plain list
    /// of tokens, one on a line, for a kind that has a dictionary.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<PathBuf>,
    /// How many tokens the vocabulary has at most, the four special ones included.
    pub vocab_size: usize,
    /// How often a token must occur to enter the vocabulary.
    pub min_count: u64,
    /// Whether capital letters become small ones. Decoded text has small ones only.
    pub lowercase: bool,
    /// Which of the ways to write the same character is used.
    pub normalize: Normalize,
    /// Words that are left out, whatever their case.
    #[serde(skip_serializing_if = "StopWords::is_none")]
    pub stop_words: StopWords,
    /// Whether a letter that stands three times or more in a row is written twice: `gooood` becomes `good`.
    pub collapse_letters: bool,
    /// How many letters of an unknown word may be wrong for it to be taken for the nearest known one; 0 for none, 2 at most.
    pub correct_spelling: usize,
}

impl Default for TokenizerConfig {
    fn default() -> TokenizerConfig {
        TokenizerConfig {
            kind: TokenizerKind::default(),
            file: None,
            vocab_size: 8000,
            min_count: 1,
            lowercase: false,
            normalize: Normalize::None,
            stop_words: StopWords::None,
            collapse_letters: false,
            correct_spelling: 0,
        }
    }
}

impl TokenizerConfig {
    /// With its files as they are seen from a folder.
    pub fn relative_to(&self, folder: &Path) -> TokenizerConfig {
        TokenizerConfig {
            file: self.file.as_ref().map(|file| folder.join(file)),
            stop_words: self.stop_words.relative_to(folder),
            ..self.clone()
        }
    }

    /// Whether the file is a whole tokenizer, and not a list of tokens.
    pub(super) fn names_tokenizer(&self) -> bool {
        self.file.as_ref().is_some_and(|file| file.extension().is_some_and(|ending| ending == "json"))
    }

    /// Refuses what makes no tokenizer.
    pub fn check(&self) -> Result<(), DataError> {
        let refused = |message: String, hint| Err(DataError::NoSuchTokenizer { message, hint });
        let only_file = TokenizerConfig { file: self.file.clone(), ..TokenizerConfig::default() };
        let kind = format!("kind = \"{}\"", format!("{:?}", self.kind).to_lowercase());
        if self.vocab_size <= SPECIAL.len() {
            return Err(DataError::SmallVocabulary { vocab_size: self.vocab_size });
        }
        if self.names_tokenizer() && *self != only_file {
            return refused(
                "other keys beside the file of a tokenizer".to_owned(),
                "a tokenizer.json has rules of its own; leave the other keys out",
            );
        }
        if self.file.is_some() && !self.names_tokenizer() && self.kind.is_of_pieces() {
            return refused(
                format!("{kind} with a list of tokens"),
                "pieces come from a file that ends in .json; a list is for \"word\", \"char\", \"whitespace\" and \"chinese\"",
            );
        }
        if self.kind == TokenizerKind::Char && !self.stop_words.is_none() {
            return refused(
                format!("stop_words with {kind}"),
                "characters are no words; use another kind, or leave stop_words out",
            );
        }
        if self.correct_spelling > 2 {
            return refused(format!("correct_spelling = {}", self.correct_spelling), "0, 1 or 2");
        }
        if self.correct_spelling > 0 && !matches!(self.kind, TokenizerKind::Word | TokenizerKind::Whitespace)
        {
            return refused(
                format!("correct_spelling with {kind}"),
                "words are corrected with \"word\" and \"whitespace\"; leave correct_spelling out",
            );
        }
        Ok(())
    }
}
