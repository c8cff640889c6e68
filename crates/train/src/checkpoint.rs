//! A checkpoint: all that a run needs to go on as if it had not stopped, in one file.
//!
//! It is a safetensors file with the rest of the state as TOML in its metadata, and a checksum over all of it: what a disk has damaged is
//! recognized. Of a parameter `encoder.embedding.weight` it has the tensors `weights.encoder.embedding.weight`, `moment0.` and whatever
//! else the optimizer remembers of it, and `ema.` where there is a moving average, each with its shape: a file whose tensors are not
//! those that the model needs is rejected. Random numbers need no state of their own: they follow from the seed, the epoch and the
//! update.

use couplet_data::{Position, write_whole};
use couplet_nn::weights::shape_in_file;
use couplet_tensor::{Params, Tensor};
use safetensors::tensor::{Dtype, SafeTensors, TensorView};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::io;
use std::path::Path;
use thiserror::Error;

/// The keys of the metadata.
const STATE: &str = "state";
const CHECKSUM: &str = "checksum";
/// The key of the checksum in files of earlier versions, whose tensors have no names of their own.
const EARLIER_CHECKSUM: &str = "crc32c";

/// What the names of weights begin with.
pub(crate) const WEIGHTS: &str = "weights.";
/// And those of their moving averages.
pub(crate) const EMA: &str = "ema.";

/// The shapes of tensors, by name.
pub(crate) type Shapes = BTreeMap<String, (usize, usize)>;

/// Where a run stands, besides its weights and what the optimizer remembers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Progress {
    /// The version of the program that wrote it.
    pub(crate) version: String,
    /// A checksum of the training data: batches are numbers of its examples.
    pub(crate) data: u32,
    /// A checksum of what the model is checked with; none in files of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) valid: Option<u32>,
    /// How many updates have been made.
    pub(crate) update: u64,
    /// The next batch.
    pub(crate) position: Position,
    /// The seconds of training so far.
    pub(crate) seconds: f64,
    /// Those of them that went into updates.
    pub(crate) update_seconds: f64,
    /// How many steps the optimizer has made: fewer than updates where some were left out.
    pub(crate) optimizer_steps: u64,
    /// Updates that were left out because something was not finite; all, and those since the last good one.
    pub(crate) skipped: u64,
    pub(crate) skipped_in_a_row: u64,
    /// The best validation so far: how good it was, and its loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) best: Option<Best>,
    /// The update of the last validation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) validated: Option<u64>,
    /// Validations since the best one.
    pub(crate) without_improvement: u32,
    /// What the plateau has made of the rate, and its validations without a better one.
    pub(crate) rate_factor: f32,
    pub(crate) plateau: u32,
    /// Larger batches are computed in parts, since one of so many tokens had no room.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) max_tokens: Option<usize>,
}

/// A validation that was better than all before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Best {
    pub(crate) update: u64,
    /// The larger the better.
    pub(crate) goodness: f64,
    pub(crate) loss: f64,
}

impl Progress {
    /// Before the first update.
    pub(crate) fn new([data, valid]: [u32; 2]) -> Progress {
        Progress {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            data,
            valid: Some(valid),
            update: 0,
            position: Position::default(),
            seconds: 0.0,
            update_seconds: 0.0,
            optimizer_steps: 0,
            skipped: 0,
            skipped_in_a_row: 0,
            validated: None,
            without_improvement: 0,
            rate_factor: 1.0,
            plateau: 0,
            max_tokens: None,
            best: None,
        }
    }

    /// As it is for a run that is checked with these examples. What others gave says nothing of how good the next validation is.
    pub(crate) fn checked_with(self, valid: Option<u32>) -> Progress {
        if !self.is_checked_with_others(valid) {
            return Progress { valid, ..self };
        }
        Progress { valid, best: None, validated: None, without_improvement: 0, plateau: 0, ..self }
    }

    /// Whether it was checked with other examples than these, as far as is known.
    pub(crate) fn is_checked_with_others(&self, valid: Option<u32>) -> bool {
        self.valid.is_some_and(|before| Some(before) != valid)
    }
}

/// What was read.
#[derive(Debug)]
pub(crate) struct Checkpoint {
    pub(crate) state: Progress,
    pub(crate) tensors: BTreeMap<String, Vec<f32>>,
    shapes: BTreeMap<String, Vec<usize>>,
}

impl Checkpoint {
    /// The first difference between its tensors and those that a model needs.
    pub(crate) fn difference(&self, needed: &Shapes) -> Option<String> {
        let of_needed = |(name, &(rows, columns)): (&String, &(usize, usize))| {
            let needed = shape_in_file(rows, columns);
            match self.shapes.get(name) {
                None => Some(format!("tensor {name:?} is missing")),
                Some(found) if *found != needed => {
                    Some(format!("tensor {name:?} is {found:?}, and the model needs {needed:?}"))
                }
                Some(_) => None,
            }
        };
        let unexpected = || {
            let name = self.shapes.keys().find(|name| !needed.contains_key(*name))?;
            Some(format!("tensor {name:?} is unexpected"))
        };
        needed.iter().find_map(of_needed).or_else(unexpected)
    }

    /// Leaves the weights alone.
    pub(crate) fn into_weights(mut self) -> Checkpoint {
        self.tensors.retain(|name, _| name.starts_with(WEIGHTS));
        self.shapes.retain(|name, _| name.starts_with(WEIGHTS));
        self
    }

    /// Takes one tensor a parameter out, the names beginning with `prefix`, as the row that the model lays out. There must be no
    /// [difference](Checkpoint::difference).
    pub(crate) fn take_row(&mut self, params: &Params, prefix: &str) -> Tensor {
        params.join(|param| {
            let name = format!("{prefix}{}", params.name(param));
            self.tensors.remove(&name).expect("a tensor for each parameter")
        })
    }
}

/// The shapes of one tensor a parameter, the names beginning with `prefix`.
pub(crate) fn shapes(params: &Params, prefix: &str) -> Shapes {
    params.iter().map(|param| (format!("{prefix}{}", params.name(param)), params.shape(param))).collect()
}

/// Why a file is no checkpoint.
#[derive(Debug, Error)]
pub(crate) enum CheckpointError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("damaged: {0}")]
    Damaged(String),
    #[error("an earlier version of couplet wrote this checkpoint")]
    Earlier,
}

#[allow(clippy::needless_pass_by_value, reason = "it stands where an error is mapped")]
fn damaged(error: impl ToString) -> CheckpointError {
    CheckpointError::Damaged(error.to_string())
}

/// The checksum of a state and its tensors, with their names and shapes.
fn checksum<'a>(state: &str, tensors: impl Iterator<Item = (&'a str, &'a TensorView<'a>)>) -> String {
    let sum = tensors.fold(crc32c::crc32c(state.as_bytes()), |sum, (name, view)| {
        let header = format!("{name}{:?}", view.shape());
        crc32c::crc32c_append(crc32c::crc32c_append(sum, header.as_bytes()), view.data())
    });
    format!("{sum:08x}")
}

/// Writes a checkpoint as a whole or not at all.
pub(crate) fn write(path: &Path, state: &Progress, tensors: &BTreeMap<String, Tensor>) -> io::Result<()> {
    let state = toml::to_string(state).map_err(io::Error::other)?;
    let bytes_of =
        |tensor: &Tensor| -> Vec<u8> { tensor.to_vec().into_iter().flat_map(f32::to_le_bytes).collect() };
    let bytes: BTreeMap<&str, Vec<u8>> =
        tensors.iter().map(|(name, tensor)| (name.as_str(), bytes_of(tensor))).collect();
    let views: Vec<(&str, TensorView)> = bytes
        .iter()
        .map(|(name, bytes)| {
            let (rows, columns) = tensors[*name].shape();
            let view = TensorView::new(Dtype::F32, shape_in_file(rows, columns), bytes);
            view.map(|view| (*name, view)).map_err(io::Error::other)
        })
        .collect::<io::Result<_>>()?;
    let sum = checksum(&state, views.iter().map(|(name, view)| (*name, view)));
    let metadata = HashMap::from([(STATE.to_owned(), state), (CHECKSUM.to_owned(), sum)]);
    write_whole(path, &safetensors::serialize(views, Some(metadata)).map_err(io::Error::other)?)
}

/// Reads a checkpoint that is whole.
pub(crate) fn read(path: &Path) -> Result<Checkpoint, CheckpointError> {
    let bytes = std::fs::read(path)?;
    let (_, header) = SafeTensors::read_metadata(&bytes).map_err(damaged)?;
    let file = SafeTensors::deserialize(&bytes).map_err(damaged)?;
    let metadata = header.metadata().as_ref();
    let entry = |key: &str| {
        metadata.and_then(|metadata| metadata.get(key)).ok_or_else(|| damaged(format!("no {key} in it")))
    };
    if entry(CHECKSUM).is_err() && entry(EARLIER_CHECKSUM).is_ok() {
        return Err(CheckpointError::Earlier);
    }
    let (state, sum) = (entry(STATE)?, entry(CHECKSUM)?);
    let views: BTreeMap<String, TensorView> = file.tensors().into_iter().collect();
    if checksum(state, views.iter().map(|(name, view)| (name.as_str(), view))) != *sum {
        return Err(damaged("its checksum is wrong"));
    }
    let state = toml::from_str(state).map_err(|error| damaged(error.message()))?;
    let number = |four: &[u8]| f32::from_le_bytes([four[0], four[1], four[2], four[3]]);
    let numbers = |view: &TensorView| view.data().chunks_exact(4).map(number).collect();
    Ok(Checkpoint {
        state,
        tensors: views.iter().map(|(name, view)| (name.clone(), numbers(view))).collect(),
        shapes: views.iter().map(|(name, view)| (name.clone(), view.shape().to_vec())).collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_tensor::Device;

    fn example() -> (Progress, BTreeMap<String, Tensor>) {
        let best = Best { update: 4, goodness: -0.1, loss: 0.1 };
        let state = Progress { update: 7, seconds: 0.1 + 0.2, best: Some(best), ..Progress::new([9, 8]) };
        let tensor =
            |rows: usize, numbers: &[f32]| Tensor::new(&Device::cpu(), rows, numbers.len() / rows, numbers);
        let weights = tensor(2, &[1.0, -0.0, f32::MIN_POSITIVE, 3.0]);
        let tensors = [("weights.w", weights), ("moment0.w", tensor(1, &[2.5]))];
        (state, tensors.map(|(name, tensor)| (name.to_owned(), tensor)).into())
    }

    #[test]
    fn all_of_it_comes_back_bit_for_bit() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let (state, tensors) = example();
        write(&path, &state, &tensors).unwrap();
        let found = read(&path).unwrap();
        assert_eq!(found.state, state);
        let bits = |numbers: &[f32]| numbers.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
        for (name, tensor) in &tensors {
            assert_eq!(bits(&found.tensors[name]), bits(&tensor.to_vec()), "{name}");
        }
    }

    /// Of what is missing, of another shape or unexpected, the first is named.
    #[test]
    fn a_model_that_needs_other_tensors_is_told_which() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let (state, tensors) = example();
        write(&path, &state, &tensors).unwrap();
        let found = read(&path).unwrap();
        let difference = |needed: &[(&str, (usize, usize))]| {
            found.difference(&needed.iter().map(|&(name, shape)| (name.to_owned(), shape)).collect())
        };
        assert_eq!(difference(&[("moment0.w", (1, 1)), ("weights.w", (2, 2))]), None);
        let said = |needed| difference(needed).unwrap();
        let missing = [("moment0.w", (1, 1)), ("weights.a", (2, 2)), ("weights.w", (3, 3))];
        assert_eq!(said(&missing), "tensor \"weights.a\" is missing");
        let transposed = [("moment0.w", (1, 1)), ("weights.w", (4, 1))];
        assert_eq!(said(&transposed), "tensor \"weights.w\" is [2, 2], and the model needs [4, 1]");
        assert_eq!(said(&[("weights.w", (2, 2))]), "tensor \"moment0.w\" is unexpected");
        let weights = found.into_weights();
        assert_eq!(weights.difference(&[("weights.w".to_owned(), (2, 2))].into()), None);
    }

    /// The metadata of a file with flat tensors.
    #[test]
    fn an_earlier_file_is_told_apart_from_a_damaged_one() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let metadata = [STATE, EARLIER_CHECKSUM].map(|key| (key.to_owned(), "0".to_owned())).into();
        let view = TensorView::new(Dtype::F32, vec![1], &[0; 4]).unwrap();
        std::fs::write(&path, safetensors::serialize([("weights", view)], Some(metadata)).unwrap()).unwrap();
        assert!(matches!(read(&path), Err(CheckpointError::Earlier)));
    }

    /// The same examples, and those of a file of an earlier version, leave it as it is.
    #[test]
    fn other_examples_to_check_with_begin_anew() {
        let (state, _) = example();
        assert_eq!(state.clone().checked_with(Some(8)), state);
        let earlier = Progress { valid: None, ..state.clone() };
        assert_eq!(earlier.checked_with(Some(8)), state);
        assert_eq!(state.clone().checked_with(Some(7)), Progress { valid: Some(7), best: None, ..state });
    }

    /// Every bit of the file is flipped, one at a time, and the file is cut at every length: none of them is read as a checkpoint
    /// that says something else.
    #[test]
    fn damage_is_recognized_wherever_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("checkpoint");
        let (state, tensors) = example();
        write(&path, &state, &tensors).unwrap();
        let whole = std::fs::read(&path).unwrap();
        let right = read(&path).unwrap();
        let spoiled = |bytes: &[u8]| {
            std::fs::write(&path, bytes).unwrap();
            match read(&path) {
                // Blanks that fill the header up may differ.
                Ok(found) => assert_eq!((found.state, found.tensors), (state.clone(), right.tensors.clone())),
                Err(error) => assert!(matches!(error, CheckpointError::Damaged(_)), "{error}"),
            }
        };
        for bit in 0..whole.len() * 8 {
            let mut bytes = whole.clone();
            bytes[bit / 8] ^= 1 << (bit % 8);
            spoiled(&bytes);
        }
        (0..whole.len()).for_each(|length| {
            std::fs::write(&path, &whole[..length]).unwrap();
            assert!(read(&path).is_err(), "{length} bytes");
        });
    }
}
