//! Learns a vocabulary and puts a tokenizer together around it, out of the parts that Hugging Face's crate has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence as Decoders;
use tokenizers::decoders::strip::Strip;
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::normalizers::replace::{Replace, ReplacePattern};
use tokenizers::normalizers::unicode::{NFC, NFKC};
use tokenizers::normalizers::{Lowercase, NormalizerWrapper, Prepend, Sequence as Normalizers};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::fixed_length::FixedLength;
use tokenizers::pre_tokenizers::sequence::Sequence as Splitters;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::pre_tokenizers::whitespace::WhitespaceSplit;
use tokenizers::{
    AddedToken, DecoderWrapper, ModelWrapper, NormalizedString, Normalizer, OffsetReferential, OffsetType,
    PreTokenizedString, PreTokenizer, SplitDelimiterBehavior, Tokenizer as Inner,
};

use super::pieces::CONTINUES;
use super::{Normalize, SPECIAL, TokenizerConfig, TokenizerKind, UNK, chinese, pieces};
use crate::DataError;

/// A word with the space before it; or a mark or symbol with the space before it; or one space, tab, or the like. Words
/// are letters and digits with the accents and joiners that belong to them. Between them, these match every character.
const WORDS: &str =
    concat!(r" ?[\p{L}\p{N}][\p{L}\p{N}\p{M}\x{200c}\x{200d}]*", r"| ?[^\s\p{L}\p{N}]\p{M}*", r"|\s");

/// What pieces are found within: as above, but letters and digits apart, and marks together. Letters and marks stay apart,
/// so that no `<s>` in the text can become one piece, the special token.
const RUNS: &str =
    concat!(r" ?\p{L}[\p{L}\p{M}\x{200c}\x{200d}]*", r"| ?\p{N}+", r"| ?[^\s\p{L}\p{N}]+", r"|\s");

/// Any character. `(?s).` would do as well, but not for Oniguruma, which Python's `tokenizers` reads our files with.
const CHARACTERS: &str = r"[\s\S]";

/// A letter that two more of the same follow.
const STRETCHED: &str = r"(\p{L})(?=\1\1)";

/// Runs are cut after so many characters. The trainer takes time with the square of a run's length, and in text without
/// spaces a run may be a whole book.
const LONGEST_RUN: usize = 64;

/// How often each stretch of text occurs, in the order of the text, so that nothing depends on the order of a hash table.
pub(super) type Counts<K> = BTreeMap<K, u64>;

/// Learns from lines.
pub(super) fn train<S: AsRef<str>>(
    config: &TokenizerConfig,
    lines: impl IntoIterator<Item = S>,
) -> Result<Inner, DataError> {
    let mut counter = Counter::new(config)?;
    lines.into_iter().for_each(|line| counter.add(line.as_ref()));
    learn(config, counter.counts.into_iter().collect())
}

fn learn(config: &TokenizerConfig, mut counts: Counts<String>) -> Result<Inner, DataError> {
    counts.retain(|token, _| !SPECIAL.contains(&token.as_str()));
    let model: ModelWrapper = match config.kind {
        TokenizerKind::Bpe => pieces::bpe(config, &counts)?.into(),
        TokenizerKind::Unigram => pieces::unigram(config, &counts)?.into(),
        TokenizerKind::Wordpiece => pieces::wordpiece(config, &counts)?.into(),
        _ => dictionary(most_frequent(counts, config.min_count, config.vocab_size - SPECIAL.len()))
            .ok_or(DataError::EmptyVocabulary { min_count: config.min_count })?
            .into(),
    };
    assemble(config, model)
}

/// A tokenizer with the tokens of a list, the special ones before them.
pub(super) fn with_tokens(config: &TokenizerConfig, tokens: Vec<String>) -> Result<Option<Inner>, DataError> {
    dictionary(tokens).map(|model| assemble(config, model.into())).transpose()
}

/// A text as a tokenizer's dictionary has it.
pub(super) fn normalized(inner: &Inner, text: &str) -> String {
    let mut text = NormalizedString::from(text);
    if let Some(normalizer) = inner.get_normalizer() {
        normalizer.normalize(&mut text).expect("changing the case of text does not fail");
    }
    text.get().to_owned()
}

/// Counts what the tokenizer will look up: words, characters, or the runs that pieces are found within.
struct Counter {
    normalizer: Option<NormalizerWrapper>,
    splitter: PreTokenizerWrapper,
    is_segmented: bool,
    counts: HashMap<String, u64>,
}

impl Counter {
    fn new(config: &TokenizerConfig) -> Result<Counter, DataError> {
        let (normalizer, splitter) = (normalizer(config), splitter(config)?);
        let is_segmented = config.kind == TokenizerKind::Chinese;
        Ok(Counter { normalizer, splitter, is_segmented, counts: HashMap::new() })
    }

    fn add(&mut self, line: &str) {
        let mut text = if self.is_segmented {
            PreTokenizedString::from(chinese::segmented(line))
        } else {
            PreTokenizedString::from(line)
        };
        if let Some(normalizer) = &self.normalizer {
            text.normalize(|part| normalizer.normalize(part))
                .expect("changing the case of text does not fail");
        }
        self.splitter.pre_tokenize(&mut text).expect("splitting at these patterns does not fail");
        for (part, ..) in text.get_splits(OffsetReferential::Normalized, OffsetType::None) {
            match self.counts.get_mut(part) {
                Some(count) => *count += 1,
                None => drop(self.counts.insert(part.to_owned(), 1)),
            }
        }
    }
}

/// The most frequent of those that occur often enough; among equals, the first in the order of their text.
pub(super) fn most_frequent<K: Ord>(counts: Counts<K>, min_count: u64, most: usize) -> Vec<K> {
    let mut kept: Vec<(K, u64)> = counts.into_iter().filter(|&(_, count)| count >= min_count).collect();
    kept.sort_by_key(|&(_, count)| Reverse(count)); // stable
    kept.into_iter().take(most).map(|(key, _)| key).collect()
}

/// A vocabulary of these tokens, the special ones before them.
fn dictionary(tokens: Vec<String>) -> Option<WordLevel> {
    if tokens.is_empty() {
        return None;
    }
    let entries = SPECIAL.into_iter().map(String::from).chain(tokens);
    let model = WordLevel::builder().vocab(entries.zip(0..).collect()).unk_token(unknown()).build();
    Some(model.expect("a vocabulary in memory is no file that could be missing"))
}

fn assemble(config: &TokenizerConfig, model: ModelWrapper) -> Result<Inner, DataError> {
    let mut inner = Inner::new(model);
    inner.with_normalizer(normalizer(config)).expect("there are no added tokens yet that it could change");
    inner.with_pre_tokenizer(Some(splitter(config)?));
    inner.with_decoder(decoder(config.kind));
    inner.add_special_tokens(special_tokens()).expect("these tokens are in the vocabulary");
    Ok(inner)
}

fn normalizer(config: &TokenizerConfig) -> Option<NormalizerWrapper> {
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    match config.normalize {
        Normalize::None => {}
        Normalize::Nfc => steps.push(NFC.into()),
        Normalize::Nfkc => steps.push(NFKC.into()),
    }
    if config.lowercase {
        steps.push(Lowercase.into());
    }
    if config.collapse_letters {
        let stretched = ReplacePattern::Regex(STRETCHED.to_owned());
        steps.push(Replace::new(stretched, "").expect("the pattern is a constant and sound").into());
    }
    if config.kind.leads_with_space() {
        steps.push(Prepend::new(" ".to_owned()).into());
    }
    (!steps.is_empty()).then(|| Normalizers::new(steps).into())
}

fn splitter(config: &TokenizerConfig) -> Result<PreTokenizerWrapper, DataError> {
    let mut steps = match config.kind {
        TokenizerKind::Word => vec![split(WORDS)],
        TokenizerKind::Char => vec![split(CHARACTERS)],
        TokenizerKind::Whitespace => vec![WhitespaceSplit.into()],
        TokenizerKind::Chinese => vec![without(&chinese::BETWEEN.to_string())],
        TokenizerKind::Bpe | TokenizerKind::Unigram | TokenizerKind::Wordpiece => {
            vec![split(RUNS), FixedLength::new(LONGEST_RUN).into()]
        }
    };
    if !config.stop_words.is_none() {
        let words: Vec<String> = config.stop_words.words()?.iter().map(|word| escaped(word)).collect();
        steps.push(without(&format!(r"(?i)\A ?(?:{})\z", words.join("|"))));
    }
    Ok(match &steps[..] {
        [only] => only.clone(),
        _ => Splitters::new(steps).into(),
    })
}

fn split(pattern: &str) -> PreTokenizerWrapper {
    cut_at(pattern, SplitDelimiterBehavior::Isolated)
}

/// Takes away what matches.
fn without(pattern: &str) -> PreTokenizerWrapper {
    cut_at(pattern, SplitDelimiterBehavior::Removed)
}

fn cut_at(pattern: &str, behavior: SplitDelimiterBehavior) -> PreTokenizerWrapper {
    let pattern = SplitPattern::Regex(pattern.to_owned());
    Split::new(pattern, behavior, false).expect("the pattern is sound").into()
}

/// A word as a pattern that matches it.
fn escaped(word: &str) -> String {
    let escape =
        |c: char| if c.is_alphanumeric() { c.to_string() } else { format!(r"\x{{{:x}}}", u32::from(c)) };
    word.chars().map(escape).collect()
}

/// How tokens become text; without a decoder they are joined with a space between.
fn decoder(kind: TokenizerKind) -> Option<DecoderWrapper> {
    let mut steps: Vec<DecoderWrapper> = vec![Fuse::default().into()];
    match kind {
        TokenizerKind::Whitespace => return None,
        TokenizerKind::Char | TokenizerKind::Chinese => {}
        TokenizerKind::Word | TokenizerKind::Bpe | TokenizerKind::Unigram => {
            steps.push(Strip::new(' ', 1, 0).into());
        }
        TokenizerKind::Wordpiece => {
            let continues = ReplacePattern::Regex(format!("^{CONTINUES}"));
            let joined = Replace::new(continues, "").expect("the pattern is a constant and sound");
            steps.insert(0, joined.into());
            steps.push(Strip::new(' ', 1, 0).into());
        }
    }
    Some(Decoders::new(steps).into())
}

pub(super) fn special_tokens() -> Vec<AddedToken> {
    SPECIAL.map(|token| AddedToken::from(token, true)).to_vec()
}

pub(super) fn unknown() -> String {
    SPECIAL[UNK as usize].to_owned()
}
