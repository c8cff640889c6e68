//! Vocabularies of pieces of words: three ways to find them, each with the same result for the same text.

use std::collections::BTreeSet;

use tokenizers::AddedToken;
use tokenizers::models::bpe::{BPE, BpeTrainer};
use tokenizers::models::unigram::{Unigram, UnigramTrainer};
use tokenizers::models::wordpiece::WordPiece;
use tokenizers::utils::parallelism::set_parallelism;

use super::huggingface::{Counts, most_frequent, special_tokens, unknown};
use super::{SPECIAL, TokenizerConfig, UNK};
use crate::DataError;

/// What stands before a piece that does not begin a word, as in BERT's vocabularies.
pub(super) const CONTINUES: &str = "##";

/// The special tokens, the characters, and then the pieces in the order in which they were found: of the pairs of pieces
/// that stand next to each other, the most frequent one becomes a piece, until the vocabulary is full.
pub(super) fn bpe(config: &TokenizerConfig, counts: &Counts<String>) -> Result<BPE, DataError> {
    let alphabet = alphabet(config, counts, room(config))?;
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
    Ok(merged(&trainer, counts))
}

/// The same, but a piece within a word is another one than the same piece at its beginning.
pub(super) fn wordpiece(config: &TokenizerConfig, counts: &Counts<String>) -> Result<WordPiece, DataError> {
    // A character may be there twice: at the beginning of a word, and within one.
    let alphabet = alphabet(config, counts, room(config) / 2)?;
    let within: BTreeSet<char> = counts.keys().flat_map(|run| run.chars().skip(1)).collect();
    // The trainer numbers the characters within words as a hash table has them, unless they are there already.
    let within = within.into_iter().filter(|character| alphabet.contains(character));
    let within = within.map(|character| AddedToken::from(format!("{CONTINUES}{character}"), true));
    let trainer = BpeTrainer::builder()
        .show_progress(false)
        .vocab_size(config.vocab_size)
        .min_frequency(config.min_count)
        .limit_alphabet(alphabet.len())
        .initial_alphabet(alphabet.iter().copied().collect())
        .continuing_subword_prefix(CONTINUES.to_owned())
        .special_tokens(special_tokens().into_iter().chain(within).collect())
        .build();
    let mut pieces = WordPiece::from_bpe(&merged(&trainer, counts));
    pieces.unk_token = unknown();
    Ok(pieces)
}

fn merged(trainer: &BpeTrainer, counts: &Counts<String>) -> BPE {
    let mut model =
        BPE::builder().unk_token(unknown()).build().expect("an empty model has nothing wrong in it");
    // Each merge is too little work to be worth a second thread: with two, training takes half as long again.
    set_parallelism(false);
    let counts = counts.iter().map(|(run, &count)| (run.as_str().into(), count)).collect();
    trainer.do_train(&counts, &mut model).expect("training from counts in memory does not fail");
    model
}

/// The special tokens, then the pieces, the most probable one first. From all pieces that occur in the text, those are taken away, a
/// quarter at a time, without which the text becomes least improbable.
pub(super) fn unigram(config: &TokenizerConfig, counts: &Counts<String>) -> Result<Unigram, DataError> {
    let alphabet: BTreeSet<char> = alphabet(config, counts, room(config))?.into_iter().collect();
    let trainer = UnigramTrainer::builder()
        .show_progress(false)
        .vocab_size(config.vocab_size as u32)
        .special_tokens(special_tokens())
        .unk_token(Some(unknown()))
        .build()
        .expect("all of its settings have a value");
    let mut model = Unigram::default();
    // It adds up in as many parts as there are threads, and sums of other parts are other numbers.
    let one_thread = rayon::ThreadPoolBuilder::new().num_threads(1).build();
    let one_thread = one_thread.map_err(|error| DataError::NoThread { reason: error.to_string() })?;
    set_parallelism(false);
    one_thread
        .install(|| trainer.do_train(weighed(counts, &alphabet), &mut model))
        .expect("the vocabulary has room for the alphabet");
    let pieces = in_order(model.iter().skip(SPECIAL.len()), room(config));
    let special = SPECIAL.iter().map(|token| ((*token).to_owned(), 0.0));
    let model = Unigram::from(special.chain(pieces).collect(), Some(UNK as usize), false);
    Ok(model.expect("it has the unknown token"))
}

/// What lies between characters that are not in the alphabet, with counts whose sum the trainer can hold; then each character of the
/// alphabet, which counts nothing. The trainer lays all of it out in a row and seeks what occurs twice; where such a row ends in a
/// repetition, as one random text in a hundred does, esaxx-rs 0.1.10 overlooks a place and panics. A row of different characters has none.
fn weighed(counts: &Counts<String>, alphabet: &BTreeSet<char>) -> Vec<(String, u32)> {
    let characters: u64 = counts.iter().map(|(run, count)| run.chars().count() as u64 * count).sum();
    let scale = characters / u64::from(u32::MAX / 2) + 1;
    let parts = counts.iter().flat_map(|(run, &count)| {
        let parts = run.split(|character| !alphabet.contains(&character)).filter(|part| !part.is_empty());
        parts.map(move |part| (part.to_owned(), count.div_ceil(scale) as u32))
    });
    parts.chain(alphabet.iter().map(|character| (character.to_string(), 0))).collect()
}

/// The characters and the most probable pieces. The trainer gives the characters that are left of no other piece the lowest score
/// and a little more, each another one, as a hash table has them; here they are all equal.
fn in_order<'a>(pieces: impl Iterator<Item = &'a (String, f64)>, most: usize) -> Vec<(String, f64)> {
    const LITTLE: f64 = 0.000_1;
    let (mut characters, mut longer): (Vec<_>, Vec<_>) =
        pieces.cloned().partition(|(piece, _)| piece.chars().count() == 1);
    let lowest = characters.iter().chain(&longer).map(|&(_, score)| score).fold(f64::INFINITY, f64::min);
    let rare = lowest + LITTLE * (characters.len() + 1) as f64;
    characters.iter_mut().filter(|(_, score)| *score < rare).for_each(|(_, score)| *score = lowest);
    let by_score = |a: &(String, f64), b: &(String, f64)| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0));
    longer.sort_by(by_score);
    longer.truncate(most.saturating_sub(characters.len()));
    characters.append(&mut longer);
    characters.sort_by(by_score);
    characters
}

/// How many tokens there can be beside the special ones.
fn room(config: &TokenizerConfig) -> usize {
    config.vocab_size - SPECIAL.len()
}

/// The most frequent characters.
fn alphabet(config: &TokenizerConfig, counts: &Counts<String>, most: usize) -> Result<Vec<char>, DataError> {
    let mut characters = Counts::new();
    for (run, count) in counts {
        for character in run.chars() {
            *characters.entry(character).or_default() += count;
        }
    }
    let alphabet = most_frequent(characters, config.min_count, most);
    if alphabet.is_empty() {
        return Err(DataError::EmptyVocabulary { min_count: config.min_count });
    }
    Ok(alphabet)
}
