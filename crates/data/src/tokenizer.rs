//! Text to token ids and back.
//!
//! The vocabulary is learned from the training text: whole words, single characters, or pieces of words that
//! [byte pair encoding](https://aclanthology.org/P16-1162/), a [unigram model](https://aclanthology.org/P18-1007/) or
//! [WordPiece](https://arxiv.org/abs/1609.08144) finds. The work is done by Hugging Face's `tokenizers`, whose file format this is as
//! well. Where a tokenizer does what that format has no word for (it cuts Chinese into words, or corrects words), a further key
//! `couplet` says so, and other programs refuse the file.
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
//! it away. A space that stands before no word (a second one, one at the end) is a token of its own. Characters and Chinese words
//! need none of this: there a space is a character like another. Text that was cut at its spaces gets one space between two tokens.

mod chinese;
mod config;
mod foreign;
mod huggingface;
mod pieces;
mod spelling;
mod stop_words;
mod vocabulary;

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokenizers::Tokenizer as Inner;

pub use config::{Normalize, TokenizerConfig, TokenizerKind};
use spelling::Speller;
pub use stop_words::StopWords;

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
    spacing: Spacing,
    beyond: Beyond,
    speller: Option<Arc<Speller>>,
}

/// What Hugging Face's format has no word for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct Beyond {
    /// Whether text is cut into Chinese words first.
    chinese: bool,
    /// How many letters of an unknown word may be wrong.
    correct_spelling: usize,
}

/// The key of the file that says it.
const BEYOND: &str = "couplet";

/// Where a text has spaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Spacing {
    /// Before a token that begins with this character.
    Marked(char),
    /// Before a token that does not begin with `##`.
    Continued,
    /// Before every token.
    Everywhere,
    /// Where there is a token for it.
    Nowhere,
}

impl Tokenizer {
    /// Makes the tokenizer that a config describes: learns a vocabulary from the lines, or reads the file that the config names, and
    /// does not look at the lines then. The same lines always give the same tokenizer, on any number of threads.
    pub fn train<S: AsRef<str>>(
        config: &TokenizerConfig,
        lines: impl IntoIterator<Item = S>,
    ) -> Result<Tokenizer, DataError> {
        config.check()?;
        match &config.file {
            Some(path) if config.names_tokenizer() => Tokenizer::import(path),
            Some(path) => {
                let inner = huggingface::with_tokens(config, vocabulary::read(path, config)?)?;
                let inner = inner.ok_or_else(|| DataError::Empty { path: path.clone() })?;
                Ok(Tokenizer::new(inner, Beyond::of(config)))
            }
            None => Ok(Tokenizer::new(huggingface::train(config, lines)?, Beyond::of(config))),
        }
    }

    /// Reads a tokenizer from a file in Hugging Face's `tokenizer.json` format whose first four tokens are [`SPECIAL`].
    pub fn load(path: impl AsRef<Path>) -> Result<Tokenizer, DataError> {
        let path = path.as_ref();
        let (inner, beyond) = read(path, Ok)?;
        check(&inner).map_err(|reason| DataError::ForeignTokenizer { path: path.into(), reason })?;
        Ok(Tokenizer::new(inner, beyond))
    }

    /// Reads any tokenizer in Hugging Face's format. The special tokens of others are replaced with ours, which come first; other
    /// tokens keep their order.
    pub fn import(path: impl AsRef<Path>) -> Result<Tokenizer, DataError> {
        let path = path.as_ref();
        match Tokenizer::load(path) {
            Err(DataError::ForeignTokenizer { .. }) => {}
            ours_or_damaged => return ours_or_damaged,
        }
        let (inner, beyond) = read(path, foreign::adopted)?;
        check(&inner).map_err(|reason| DataError::UnusableTokenizer { path: path.into(), reason })?;
        Ok(Tokenizer::new(inner, beyond))
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
        if self.beyond != Beyond::default() {
            let beyond = serde_json::to_string(&self.beyond).expect("two plain values");
            json = json.replacen('{', &format!("{{\n  \"{BEYOND}\": {beyond},"), 1);
        }
        json.push('\n');
        json
    }

    /// The vocabulary as a plain list, a token on each line, with a tab and a count where `counts` has one; a space in a token is
    /// written `▁`. The special tokens are left out.
    pub fn to_list(&self, counts: Option<&[u64]>) -> String {
        let ids = SPECIAL.len()..self.vocabulary_size();
        let tokens: Vec<String> =
            ids.clone().map(|id| self.inner.id_to_token(id as u32).unwrap_or_default()).collect();
        let count = |id: usize| counts.and_then(|counts| counts.get(id).copied());
        vocabulary::written(ids.zip(&tokens).map(|(id, token)| (token.as_str(), count(id))))
    }

    /// The ids of a text, without any special tokens around them. What looks like a special token in the text is text.
    pub fn encode(&self, text: &str) -> Vec<u32> {
        if self.speller.is_some() {
            return self.with_tokens(text).into_iter().map(|(id, _)| id).collect();
        }
        // The fast variant leaves out where in the text each token was.
        let encoding = self.inner.encode_fast(self.prepared(text), false).expect(ENCODES);
        encoding.get_ids().iter().map(|&id| as_text(id)).collect()
    }

    /// The text of ids; special tokens, unknown ones among them, are left out.
    pub fn decode(&self, ids: &[u32]) -> String {
        self.inner.decode(ids, true).expect("joining strings does not fail")
    }

    /// The text of ids, with `word(place)` for the unknown token at a place, and for an id behind the vocabulary, with its own space
    /// in front or none; other special tokens are left out.
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
        let (mut text, mut begun) = (String::new(), false);
        let mut place = 0;
        let known = |id: u32| id != UNK && (id as usize) < self.vocabulary_size();
        for stretch in ids.chunk_by(|&first, &second| known(first) && known(second)) {
            let (has_space, part) = match stretch {
                [UNK] => (self.spacing != Spacing::Nowhere, word(place)),
                [id] if !known(*id) => {
                    let word = word(place);
                    match word.strip_prefix(' ').filter(|_| self.spacing != Spacing::Nowhere) {
                        Some(word) => (true, word.to_owned()),
                        None => (false, word),
                    }
                }
                known => (self.space_before(known), self.decode(known)),
            };
            // A token that is nothing but a space leaves no part.
            let is_text = !part.is_empty() || stretch.iter().any(|&id| id as usize >= SPECIAL.len());
            if has_space && begun && is_text {
                text.push(' ');
            }
            begun |= is_text;
            text.push_str(&part);
            place += stretch.len();
        }
        text
    }

    /// Whether a space stands before the first token that is text.
    fn space_before(&self, ids: &[u32]) -> bool {
        let Some(&first) = ids.iter().find(|&&id| id as usize >= SPECIAL.len()) else { return false };
        let token = self.inner.id_to_token(first).unwrap_or_default();
        match self.spacing {
            Spacing::Marked(mark) => token.starts_with(mark) && !self.writes_spaces(),
            Spacing::Continued => !token.starts_with(pieces::CONTINUES),
            Spacing::Everywhere => true,
            Spacing::Nowhere => false,
        }
    }

    /// Whether decoding keeps the space of the first token: what decodes bytes does.
    fn writes_spaces(&self) -> bool {
        self.spacing == Spacing::Marked('Ġ')
    }

    /// The tokens of a text as they are shown to a reader, one for each id of [`encode`](Tokenizer::encode): without the
    /// space in front, and an unknown one as it stands in the text.
    pub fn tokens(&self, text: &str) -> Vec<String> {
        self.with_tokens(text).into_iter().map(|(_, token)| token).collect()
    }

    /// Ids and how they are shown.
    fn with_tokens(&self, text: &str) -> Vec<(u32, String)> {
        let text = self.prepared(text);
        let encoding = self.inner.encode(&*text, false).expect(ENCODES);
        let tokens = encoding.get_ids().iter().zip(encoding.get_offsets());
        let shown = |(&id, &(from, to)): (&u32, &(usize, usize))| {
            let written = &text[from..to];
            match if as_text(id) == UNK { self.corrected(written) } else { Some(id) } {
                Some(id) => (id, self.token(id).to_owned()),
                None => (UNK, label(written).to_owned()),
            }
        };
        tokens.map(shown).collect()
    }

    /// The text as the inner tokenizer is to see it.
    fn prepared<'a>(&self, text: &'a str) -> Cow<'a, str> {
        if self.beyond.chinese { chinese::segmented(text).into() } else { text.into() }
    }

    /// The known word that an unknown one is taken for.
    fn corrected(&self, written: &str) -> Option<u32> {
        let speller = self.speller.as_ref()?;
        let word = huggingface::normalized(&self.inner, written);
        let nearest = speller.nearest(word.trim())?;
        let id = |token: &str| self.inner.token_to_id(token);
        id(&format!(" {nearest}")).or_else(|| id(nearest))
    }

    /// The tokens of a text with the space in front, one for each id of [`encode`](Tokenizer::encode), an unknown one as it would be
    /// among the others.
    pub(crate) fn pieces(&self, text: &str) -> Vec<String> {
        self.pieces_as(text, |token, _| token, |piece| self.as_in_the_vocabulary(&piece))
    }

    /// The same, as they are written in the text: with the capital letters that this tokenizer does not tell apart, for example.
    pub(crate) fn written_pieces(&self, text: &str) -> Vec<String> {
        let as_written = |token: String, written: &str| {
            let (space, written) = (if token.starts_with(' ') { " " } else { "" }, written.trim_start());
            let is_changed = self.as_in_the_vocabulary(written) != written;
            if is_changed { format!("{space}{written}") } else { token }
        };
        self.pieces_as(text, as_written, |piece| piece)
    }

    /// The tokens of a text: `known` makes them of those of the vocabulary and of what is written in their place, `unknown` of what is
    /// written alone, with the space in front.
    fn pieces_as(
        &self,
        text: &str,
        known: impl Fn(String, &str) -> String,
        unknown: impl Fn(String) -> String,
    ) -> Vec<String> {
        let text = self.prepared(text);
        let encoding = self.inner.encode(&*text, false).expect(ENCODES);
        let offsets = encoding.get_offsets();
        let tokens = encoding.get_ids().iter().zip(offsets).enumerate();
        // Whether spaces are parts of tokens. Then only the one that every text gets in front does not stand in it.
        let is_part = matches!(self.spacing, Spacing::Marked(_));
        let piece = |(place, (&id, &(from, to))): (usize, (&u32, &(usize, usize)))| {
            // Where that is a token, it seems to lie where the next one does.
            let is_in_front = is_part && place == 0 && offsets.get(1).is_some_and(|next| next.0 == from);
            let written = if is_in_front { "" } else { &text[from..to] };
            match if as_text(id) == UNK { self.corrected(written) } else { Some(id) } {
                Some(id) => known(self.with_space(&self.inner.id_to_token(id).unwrap_or_default()), written),
                None if self.spacing == Spacing::Nowhere => unknown(written.to_owned()),
                None => {
                    let begins = place == 0 || (!is_part && text[..from].ends_with(char::is_whitespace));
                    let space = if begins && !written.starts_with(' ') { " " } else { "" };
                    unknown(format!("{space}{written}"))
                }
            }
        };
        tokens.map(piece).collect()
    }

    /// A token of the vocabulary with a plain space where one stands before it.
    fn with_space(&self, token: &str) -> String {
        match self.spacing {
            Spacing::Marked(mark) => {
                token.strip_prefix(mark).map_or_else(|| token.to_owned(), |word| format!(" {word}"))
            }
            Spacing::Continued => {
                token.strip_prefix(pieces::CONTINUES).map_or_else(|| format!(" {token}"), ToOwned::to_owned)
            }
            Spacing::Everywhere => format!(" {token}"),
            Spacing::Nowhere => token.to_owned(),
        }
    }

    /// A token with a plain space in front or none as the vocabulary would have it: in small letters where it has no others.
    pub(crate) fn as_in_the_vocabulary(&self, piece: &str) -> String {
        let (space, word) = piece.strip_prefix(' ').map_or(("", piece), |word| (" ", word));
        if word.trim().is_empty() {
            return piece.to_owned();
        }
        let normalized = huggingface::normalized(&self.inner, word);
        format!("{space}{}", normalized.trim_start_matches([' ', '▁', 'Ġ']))
    }

    /// The id of a token with a plain space in front or none, if the vocabulary has it.
    pub(crate) fn id(&self, piece: &str) -> Option<u32> {
        let word = piece.strip_prefix(' ').filter(|word| !word.is_empty());
        let token = match (self.spacing, word) {
            (Spacing::Marked(mark), Some(word)) => format!("{mark}{word}"),
            (Spacing::Continued, None) => format!("{}{piece}", pieces::CONTINUES),
            (Spacing::Continued | Spacing::Everywhere, Some(word)) => word.to_owned(),
            (Spacing::Marked(_) | Spacing::Everywhere | Spacing::Nowhere, _) => piece.to_owned(),
        };
        self.inner.token_to_id(&token).filter(|&id| id as usize >= SPECIAL.len())
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

    fn new(mut inner: Inner, beyond: Beyond) -> Tokenizer {
        inner.set_encode_special_tokens(true);
        let size = inner.get_vocab_size(true) as u32;
        let tokens: Vec<String> = (0..size).map(|id| inner.id_to_token(id).unwrap_or_default()).collect();
        let spacing = Spacing::of(&tokens, &inner);
        let shown = |(id, token): (u32, &String)| match spacing {
            // Bytes and spaces in disguise.
            Spacing::Marked('Ġ' | '▁') if id as usize >= SPECIAL.len() => {
                let text = inner.decode(&[id], false).unwrap_or_default();
                label(if text.is_empty() { token } else { &text }).to_owned()
            }
            _ => label(token).to_owned(),
        };
        let labels: Vec<String> = (0..).zip(&tokens).map(shown).collect();
        let speller = (beyond.correct_spelling > 0).then(|| {
            let words = labels.iter().skip(SPECIAL.len()).map(String::as_str);
            Arc::new(Speller::new(words, beyond.correct_spelling))
        });
        Tokenizer { inner, labels, spacing, beyond, speller }
    }
}

impl Beyond {
    fn of(config: &TokenizerConfig) -> Beyond {
        Beyond { chinese: config.kind == TokenizerKind::Chinese, correct_spelling: config.correct_spelling }
    }
}

impl Spacing {
    fn of(tokens: &[String], inner: &Inner) -> Spacing {
        let marks =
            |mark: char| tokens.iter().any(|token| token.starts_with(mark) && token.chars().count() > 1);
        if let Some(mark) = [' ', 'Ġ', '▁'].into_iter().find(|&mark| marks(mark)) {
            return Spacing::Marked(mark);
        }
        if tokens.iter().any(|token| token.starts_with(pieces::CONTINUES)) {
            return Spacing::Continued;
        }
        if inner.get_decoder().is_none() { Spacing::Everywhere } else { Spacing::Nowhere }
    }
}

const ENCODES: &str = "a tokenizer that knows `<unk>` encodes everything; loading has checked that";

/// A word that is written like a special token is an unknown word.
fn as_text(id: u32) -> u32 {
    if (id as usize) < SPECIAL.len() { UNK } else { id }
}

/// Reads a file, changed by a function. Not generic over it: reading JSON is much code, and would be compiled again in every crate
/// that calls it.
fn read(path: &Path, changed: fn(Value) -> Result<Value, String>) -> Result<(Inner, Beyond), DataError> {
    let json = fs::read(path).map_err(|source| match source.kind() {
        ErrorKind::NotFound => DataError::Missing { path: path.into() },
        _ => DataError::Unreadable { path: path.into(), source },
    })?;
    let damaged = |reason: &str| DataError::DamagedTokenizer { path: path.into(), reason: one_line(reason) };
    let mut file: Value = serde_json::from_slice(&json).map_err(|error| damaged(&error.to_string()))?;
    let beyond = file.as_object_mut().and_then(|parts| parts.remove(BEYOND)).unwrap_or_else(|| json!({}));
    let beyond = serde_json::from_value(beyond).map_err(|error| damaged(&error.to_string()))?;
    let file = changed(file).map_err(|reason| DataError::UnusableTokenizer { path: path.into(), reason })?;
    // As a text again: their crate has this compiled already, and a tokenizer out of a `Value` would be as much code once more.
    let inner = file.to_string().parse::<Inner>().map_err(|error| damaged(&error.to_string()))?;
    Ok((inner, beyond))
}

/// A token without the space in front of the word; a space that is all of the token stays.
pub(crate) fn label(token: &str) -> &str {
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
pub(crate) mod tests;
