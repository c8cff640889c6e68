//! Learns a vocabulary and puts a tokenizer together around it, out of the parts that Hugging Face's crate has.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::sequence::Sequence as Decoders;
use tokenizers::decoders::strip::Strip;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::models::wordlevel::WordLevel;
use tokenizers::normalizers::{Lowercase, NormalizerWrapper, Prepend, Sequence as Normalisers};
use tokenizers::pre_tokenizers::PreTokenizerWrapper;
use tokenizers::pre_tokenizers::fixed_length::FixedLength;
use tokenizers::pre_tokenizers::sequence::Sequence as Splitters;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::utils::parallelism::set_parallelism;
use tokenizers::{
    AddedToken, DecoderWrapper, ModelWrapper, Normalizer, OffsetReferential, OffsetType, PreTokenizedString,
    PreTokenizer, SplitDelimiterBehavior, Tokenizer as Inner,
};

use super::{SPECIAL, TokenizerConfig, TokenizerKind, UNK};
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

/// Runs are cut after so many characters. The trainer takes time with the square of a run's length, and in text without
/// spaces a run may be a whole book.
const LONGEST_RUN: usize = 64;

/// How often each stretch of text occurs, in the order of the text, so that nothing depends on the order of a hash table.
type Counts<K> = BTreeMap<K, u64>;

pub(super) fn train<S: AsRef<str>>(
    config: &TokenizerConfig,
    lines: impl IntoIterator<Item = S>,
) -> Result<Inner, DataError> {
    if config.vocab_size <= SPECIAL.len() {
        return Err(DataError::SmallVocabulary { vocab_size: config.vocab_size });
    }
    let mut counter = Counter::new(config);
    lines.into_iter().for_each(|line| counter.add(line.as_ref()));
    learn(config, counter.counts.into_iter().collect())
}

fn learn(config: &TokenizerConfig, counts: Counts<String>) -> Result<Inner, DataError> {
    let model: ModelWrapper = match config.kind {
        TokenizerKind::Word | TokenizerKind::Char => dictionary(config, counts)?.into(),
        TokenizerKind::Bpe => pieces(config, &counts)?.into(),
    };
    Ok(assemble(config, model))
}

/// Counts what the tokenizer will look up: words, characters, or the runs that pieces are found within.
struct Counter {
    normaliser: Option<NormalizerWrapper>,
    splitter: PreTokenizerWrapper,
    counts: HashMap<String, u64>,
}

impl Counter {
    fn new(config: &TokenizerConfig) -> Counter {
        Counter { normaliser: normaliser(config), splitter: splitter(config.kind), counts: HashMap::new() }
    }

    fn add(&mut self, line: &str) {
        let mut text = PreTokenizedString::from(line);
        if let Some(normaliser) = &self.normaliser {
            text.normalize(|part| normaliser.normalize(part))
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
fn most_frequent<K: Ord>(counts: Counts<K>, min_count: u64, most: usize) -> Vec<K> {
    let mut kept: Vec<(K, u64)> = counts.into_iter().filter(|&(_, count)| count >= min_count).collect();
    kept.sort_by_key(|&(_, count)| Reverse(count)); // stable
    kept.into_iter().take(most).map(|(key, _)| key).collect()
}

/// A vocabulary by frequency: the special tokens, then the most frequent token, and so on.
fn dictionary(config: &TokenizerConfig, counts: Counts<String>) -> Result<WordLevel, DataError> {
    let tokens = most_frequent(counts, config.min_count, config.vocab_size - SPECIAL.len());
    if tokens.is_empty() {
        return Err(DataError::EmptyVocabulary { min_count: config.min_count });
    }
    let entries = SPECIAL.into_iter().map(String::from).chain(tokens);
    let model = WordLevel::builder().vocab(entries.zip(0..).collect()).unk_token(unknown()).build();
    Ok(model.expect("a vocabulary in memory is no file that could be missing"))
}

/// The special tokens, the characters, and then the pieces in the order in which they were found: of the pairs of pieces
/// that stand next to each other, the most frequent one becomes a piece, until the vocabulary is full.
fn pieces(config: &TokenizerConfig, counts: &Counts<String>) -> Result<BPE, DataError> {
    let alphabet = most_frequent(characters(counts), config.min_count, config.vocab_size - SPECIAL.len());
    if alphabet.is_empty() {
        return Err(DataError::EmptyVocabulary { min_count: config.min_count });
    }
    // Left to itself, the trainer breaks ties between rare characters at random. With an initial alphabet and a limit of
    // that size it takes these and no others.
    let trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(config.vocab_size)
        .min_frequency(config.min_count)
        .limit_alphabet(alphabet.len())
        .initial_alphabet(alphabet.into_iter().collect())
        .special_tokens(special_tokens())
        .build();
    let mut model =
        BPE::builder().unk_token(unknown()).build().expect("an empty model has nothing wrong in it");
    // Each merge is too little work to be worth a second thread: with two, training takes half as long again.
    set_parallelism(false);
    let counts = counts.iter().map(|(run, &count)| (run.as_str().into(), count)).collect();
    trainer.do_train(&counts, &mut model).expect("training from counts in memory does not fail");
    Ok(model)
}

fn characters(counts: &Counts<String>) -> Counts<char> {
    let mut characters = BTreeMap::new();
    for (run, count) in counts {
        for character in run.chars() {
            *characters.entry(character).or_default() += count;
        }
    }
    characters
}

fn assemble(config: &TokenizerConfig, model: ModelWrapper) -> Inner {
    let mut inner = Inner::new(model);
    inner.with_normalizer(normaliser(config)).expect("there are no added tokens yet that it could change");
    inner.with_pre_tokenizer(Some(splitter(config.kind)));
    inner.with_decoder(Some(decoder(config.kind)));
    inner.add_special_tokens(special_tokens()).expect("these tokens are in the vocabulary");
    inner
}

fn normaliser(config: &TokenizerConfig) -> Option<NormalizerWrapper> {
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    if config.lowercase {
        steps.push(Lowercase.into());
    }
    if config.kind != TokenizerKind::Char {
        steps.push(Prepend::new(" ".to_owned()).into());
    }
    (!steps.is_empty()).then(|| Normalisers::new(steps).into())
}

fn splitter(kind: TokenizerKind) -> PreTokenizerWrapper {
    match kind {
        TokenizerKind::Word => split(WORDS),
        TokenizerKind::Char => split(CHARACTERS),
        TokenizerKind::Bpe => Splitters::new(vec![split(RUNS), FixedLength::new(LONGEST_RUN).into()]).into(),
    }
}

fn split(pattern: &str) -> PreTokenizerWrapper {
    let pattern = SplitPattern::Regex(pattern.to_owned());
    Split::new(pattern, SplitDelimiterBehavior::Isolated, false)
        .expect("the pattern is a constant and sound")
        .into()
}

fn decoder(kind: TokenizerKind) -> DecoderWrapper {
    match kind {
        TokenizerKind::Word | TokenizerKind::Bpe => {
            Decoders::new(vec![Fuse::default().into(), Strip::new(' ', 1, 0).into()]).into()
        }
        TokenizerKind::Char => Fuse::default().into(),
    }
}

fn special_tokens() -> Vec<AddedToken> {
    SPECIAL.map(|token| AddedToken::from(token, true)).to_vec()
}

fn unknown() -> String {
    SPECIAL[UNK as usize].to_owned()
}
