//! Text to token ids and back.
//!
//! The vocabulary is learnt from the training text: whole words, single characters, or pieces of words that
//! [byte pair encoding](https://aclanthology.org/P16-1162/) finds. The work is done by Hugging Face's `tokenizers`, whose
//! file format this is as well.
//!
//! # Spaces
//!
//! What is encoded can be decoded exactly, spaces included, because a token begins with the space in front of it:
//!
//! ```text
//! Tom's dog, barking.   →   [ Tom] ['] [s] [ dog] [,] [ barking] [.]
//! ```
//!
//! The text gets one space in front, so that a word is the same token at the start as anywhere else, and decoding takes
//! it away. A space that stands before no word (a second one, one at the end) is a token of its own. Characters need
//! none of this: there a space is a character like another.

mod huggingface;

use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};
use tokenizers::Tokenizer as Inner;

use crate::{DataError, write_whole};

/// The id that fills up shorter sequences; it never stands for text.
pub const PAD: u32 = 0;
/// The id of everything that is not in the vocabulary.
pub const UNK: u32 = 1;
/// The id before the first token of a target.
pub const START: u32 = 2;
/// The id after the last token.
pub const END: u32 = 3;
/// The special tokens as they are written, each at the place of its id.
pub const SPECIAL: [&str; 4] = ["<pad>", "<unk>", "<s>", "</s>"];

/// What one token is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TokenizerKind {
    /// A word or a punctuation mark: short sequences, large vocabularies, and words it has not seen are unknown.
    #[default]
    Word,
    /// A character: long sequences and small vocabularies.
    Char,
    /// A frequent piece of a word, from single characters to whole words: hardly anything is unknown.
    Bpe,
}

/// How to make a tokenizer from text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct TokenizerConfig {
    /// What one token is.
    pub kind: TokenizerKind,
    /// How many tokens the vocabulary has at most, the four special ones included.
    pub vocab_size: usize,
    /// How often a token must occur to enter the vocabulary.
    pub min_count: u64,
    /// Whether capital letters become small ones. Decoded text has small ones only.
    pub lowercase: bool,
}

impl Default for TokenizerConfig {
    fn default() -> TokenizerConfig {
        TokenizerConfig { kind: TokenizerKind::default(), vocab_size: 8000, min_count: 1, lowercase: false }
    }
}

/// Turns text into ids and ids into text.
///
/// ```
/// use couplet_data::{Tokenizer, TokenizerConfig, UNK};
///
/// let lines = ["Tom chases Jerry.", "Jerry chases the cat, Tom."];
/// let tokenizer = Tokenizer::train(&TokenizerConfig::default(), lines)?;
///
/// let ids = tokenizer.encode("Jerry, the dog.");
/// assert_eq!(tokenizer.tokens("Jerry, the dog."), ["Jerry", ",", "the", "dog", "."]);
/// assert_eq!(ids[3], UNK);
/// assert_eq!(tokenizer.decode(&ids), "Jerry, the.");
/// # Ok::<(), couplet_data::DataError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Tokenizer {
    inner: Inner,
    /// Each token of the vocabulary as a reader wants to see it.
    labels: Vec<String>,
    /// Whether a token begins with the space in front of it.
    spaces_lead: bool,
}

impl Tokenizer {
    /// Learns a vocabulary. The same lines always give the same tokenizer.
    pub fn train<S: AsRef<str>>(
        config: &TokenizerConfig,
        lines: impl IntoIterator<Item = S>,
    ) -> Result<Tokenizer, DataError> {
        huggingface::train(config, lines).map(Tokenizer::new)
    }

    /// Reads a tokenizer from a file in Hugging Face's `tokenizer.json` format whose first four tokens are [`SPECIAL`].
    pub fn load(path: impl AsRef<Path>) -> Result<Tokenizer, DataError> {
        read(path.as_ref()).map(Tokenizer::new)
    }

    /// Writes the tokenizer to a file in Hugging Face's format, as a whole or not at all.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), DataError> {
        let path = path.as_ref();
        write_whole(path, self.to_json().as_bytes())
            .map_err(|source| DataError::Unwritable { path: path.into(), source })
    }

    /// The tokenizer in Hugging Face's `tokenizer.json` format.
    pub fn to_json(&self) -> String {
        let mut json =
            self.inner.to_string(true).expect("a tokenizer has nothing in it that JSON cannot say");
        json.push('\n');
        json
    }

    /// The ids of a text, without any special tokens around them. What looks like a special token in the text is text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        // The fast variant leaves out where in the text each token was.
        self.inner.encode_fast(text, false).expect(ENCODES).get_ids().to_vec()
    }

    /// The text of ids; special tokens, unknown ones among them, are left out.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.inner.decode(ids, true).expect("joining strings does not fail")
    }

    /// The text of ids, with `word(place)` for the unknown token at a place; other special tokens are left out.
    ///
    /// ```
    /// use couplet_data::{Tokenizer, TokenizerConfig};
    ///
    /// let tokenizer = Tokenizer::train(&TokenizerConfig::default(), ["Tom sees Jerry."])?;
    /// let ids = tokenizer.encode("Tom chases Jerry.");
    /// assert_eq!(tokenizer.decode_with(&ids, |place| format!("<word {place}>")), "Tom <word 1> Jerry.");
    /// # Ok::<(), couplet_data::DataError>(())
    /// ```
    pub fn decode_with(&self, ids: &[u32], word: impl Fn(usize) -> String) -> String {
        let space = if self.spaces_lead { " " } else { "" };
        let text = |(place, &id): (usize, &u32)| match id {
            UNK => format!("{space}{}", word(place)),
            _ if (id as usize) < SPECIAL.len() => String::new(),
            _ => self.inner.id_to_token(id).unwrap_or_default(),
        };
        let text: String = ids.iter().enumerate().map(text).collect();
        text.strip_prefix(space).map(str::to_owned).unwrap_or(text)
    }

    /// The tokens of a text as they are shown to a reader, one for each id of [`encode`](Tokenizer::encode): without the
    /// space in front, and an unknown one as it stands in the text.
    pub fn tokens(&self, text: &str) -> Vec<String> {
        let encoding = self.inner.encode(text, false).expect(ENCODES);
        let tokens = encoding.get_ids().iter().zip(encoding.get_offsets());
        tokens
            .map(|(&id, &(from, to))| {
                if id == UNK { label(&text[from..to]) } else { self.token(id) }.to_owned()
            })
            .collect()
    }

    /// A token as it is shown to a reader: without the space in front.
    ///
    /// # Panics
    ///
    /// If the vocabulary has no such id.
    pub fn token(&self, id: u32) -> &str {
        let size = self.labels.len();
        self.labels.get(id as usize).unwrap_or_else(|| panic!("token {id} of a vocabulary of {size}"))
    }

    /// How many different ids there are, the special ones included.
    pub fn vocabulary_size(&self) -> usize {
        self.labels.len()
    }

    fn new(mut inner: Inner) -> Tokenizer {
        inner.set_encode_special_tokens(true);
        let size = inner.get_vocab_size(true) as u32;
        let tokens: Vec<String> = (0..size).map(|id| inner.id_to_token(id).unwrap_or_default()).collect();
        let spaces_lead = tokens.iter().any(|token| token.len() > 1 && token.starts_with(' '));
        Tokenizer { inner, labels: tokens.iter().map(|token| label(token).to_owned()).collect(), spaces_lead }
    }
}

const ENCODES: &str = "a tokenizer that knows `<unk>` encodes everything; loading has checked that";

/// Not generic: reading JSON is much code, and would be compiled again in every crate that calls it.
fn read(path: &Path) -> Result<Inner, DataError> {
    let json = fs::read(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => DataError::Missing { path: path.into() },
        _ => DataError::Unreadable { path: path.into(), source },
    })?;
    let inner = Inner::from_bytes(json).map_err(|error| DataError::DamagedTokenizer {
        path: path.into(),
        reason: one_line(&error.to_string()),
    })?;
    check(&inner).map_err(|reason| DataError::ForeignTokenizer { path: path.into(), reason })?;
    Ok(inner)
}

/// A token without the space in front of the word; a space that is all of the token stays.
fn label(token: &str) -> &str {
    match token.strip_prefix(' ') {
        Some(word) if !word.is_empty() => word,
        _ => token,
    }
}

/// Whether we can work with a tokenizer, and if not, why.
fn check(inner: &Inner) -> Result<(), String> {
    let vocabulary: HashMap<String, u32> = inner.get_vocab(true);
    for (id, special) in (0..).zip(SPECIAL) {
        match vocabulary.get(special) {
            Some(&found) if found == id => {}
            Some(found) => return Err(format!("{special} is token {found}, not {id}")),
            None => return Err(format!("it has no token {special}")),
        }
    }
    if let Some((token, id)) = vocabulary.iter().filter(|&(_, &id)| id as usize >= vocabulary.len()).min() {
        return Err(format!("it has {} tokens, yet {token:?} is token {id}", vocabulary.len()));
    }
    if inner.get_padding().is_some() || inner.get_truncation().is_some() {
        return Err("it pads or truncates".to_owned());
    }
    // Nobody uses this character, so that it is unknown.
    inner.encode_fast("\u{10ffff}", false).map(drop).map_err(|error| one_line(&error.to_string()))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
