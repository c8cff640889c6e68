//! Word vectors of others as the first vectors of a model's tokens.

use crate::error::TrainError;
use crate::event::Event;
use couplet_data::{SPECIAL, Tokenizer};
use couplet_embed::Vectors;
use couplet_nn::{EmbeddingConfig, Freeze};
use couplet_tensor::{Param, Params};

/// The vectors of a part's tokens, where it has some.
fn param_of(params: &Params, part: &str) -> Option<Param> {
    params.find(&format!("{part}.embedding.weight"))
}

/// The vectors of a part's tokens and for how many updates they stay as they are, where its config says so.
pub(crate) fn frozen(params: &Params, part: &str, config: &EmbeddingConfig) -> Option<(Param, Option<u64>)> {
    let param = param_of(params, part)?;
    match config.freeze {
        Freeze::Never => None,
        Freeze::Always => Some((param, None)),
        Freeze::Updates(updates) => Some((param, Some(updates))),
    }
}

/// Gives the tokens of a part the vectors of a file: a word as it is written, or else in small letters. Others keep what they have.
/// Says how many were found, where there is a file.
pub(crate) fn fill(
    params: &mut Params,
    part: &'static str,
    config: &EmbeddingConfig,
    tokenizer: &Tokenizer,
) -> Result<Option<Event>, TrainError> {
    let Some((path, param)) = config.pretrained.as_ref().zip(param_of(params, part)) else { return Ok(None) };
    let vectors = Vectors::read(path)?;
    if vectors.dimension() != config.size {
        return Err(TrainError::Start {
            message: format!(
                "{}: vectors of {} numbers, and model.{part}.embedding.size = {}",
                path.display(),
                vectors.dimension(),
                config.size
            ),
            hint: format!("set model.{part}.embedding.size = {}", vectors.dimension()),
        });
    }
    let mut numbers = params.tensor(param).to_vec();
    let (mut found, mut lowercased) = (0, 0);
    let vocabulary = SPECIAL.len()..tokenizer.vocabulary_size();
    for token in vocabulary.clone() {
        let word = tokenizer.token(token as u32);
        let exact = vectors.get(word);
        let Some(vector) = exact.or_else(|| vectors.get(&word.to_lowercase())) else { continue };
        numbers[token * config.size..][..config.size].copy_from_slice(vector);
        (found, lowercased) = (found + 1, lowercased + usize::from(exact.is_none()));
    }
    params.set(param, &numbers);
    Ok(Some(Event::Vectors { module: part, path: path.clone(), tokens: vocabulary.len(), found, lowercased }))
}
