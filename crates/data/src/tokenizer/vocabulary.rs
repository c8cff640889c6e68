//! Plain lists of tokens, as other programs have them: `token`, or `token`, a tab and a count, one on a line.
//!
//! A space in a token is written `▁`, as SentencePiece does.

use std::path::Path;

use super::{SPECIAL, TokenizerConfig, TokenizerKind};
use crate::{DataError, Lines};

/// What stands for a space.
const SPACE: char = '▁';

/// What other programs call the special tokens, which are not text.
const SPECIAL_ELSEWHERE: [&str; 16] = [
    "<blank>", "<bos>", "<eos>", "<EOS>", "<BOS>", "<sos>", "<PAD>", "<UNK>", "<mask>", "<go>", "[PAD]",
    "[UNK]", "[CLS]", "[SEP]", "[MASK]", "<S>",
];

/// The tokens of a file in its order, as a tokenizer of the kind has them.
pub(super) fn read(path: &Path, config: &TokenizerConfig) -> Result<Vec<String>, DataError> {
    let lines = Lines::open(path)?.collect::<Result<Vec<String>, _>>()?;
    let tokens = lines.iter().map(|line| line.split('\t').next().unwrap_or_default());
    let tokens = tokens
        .filter(|token| !token.is_empty() && !SPECIAL.contains(token) && !SPECIAL_ELSEWHERE.contains(token));
    let tokens: Vec<String> = tokens.map(|token| token.replace(SPACE, " ")).collect();
    let mut entries: Vec<String> = if config.kind == TokenizerKind::Word && !has_spaces(&tokens) {
        tokens.iter().flat_map(|token| as_words(token)).collect()
    } else {
        tokens
    };
    let mut seen = std::collections::HashSet::new();
    entries.retain(|token| seen.insert(token.clone()));
    entries.truncate(config.vocab_size - SPECIAL.len());
    if entries.is_empty() { Err(DataError::Empty { path: path.into() }) } else { Ok(entries) }
}

fn has_spaces(tokens: &[String]) -> bool {
    tokens.iter().any(|token| token.starts_with(' '))
}

/// A list that knows nothing of spaces: words have one before them, marks may have one.
fn as_words(token: &str) -> Vec<String> {
    let spaced = format!(" {token}");
    if token.starts_with(char::is_alphanumeric) { vec![spaced] } else { vec![token.to_owned(), spaced] }
}

/// A list of tokens with their counts.
pub(super) fn written<'a>(tokens: impl Iterator<Item = (&'a str, Option<u64>)>) -> String {
    let line = |(token, count): (&str, Option<u64>)| {
        let token = token.replace(' ', &SPACE.to_string());
        count.map_or_else(|| format!("{token}\n"), |count| format!("{token}\t{count}\n"))
    };
    tokens.map(line).collect()
}
