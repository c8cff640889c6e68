//! The mean of several models, which is often a little better than each.

use crate::checkpoint::{WEIGHTS, shapes};
use crate::error::{TrainError, write_error};
use crate::store::weights_of;
use couplet_data::write_whole;
use couplet_nn::weights;
use couplet_search::{Folder, FolderError};
use couplet_tensor::{Device, Params, Tensor};
use std::fs;
use std::path::{Path, PathBuf};
use thiserror::Error;

/// Why models cannot be averaged.
#[derive(Debug, Error)]
pub enum AverageError {
    /// A model folder cannot be used.
    #[error(transparent)]
    Folder(#[from] FolderError),
    /// A checkpoint cannot be used, or the result cannot be written.
    #[error(transparent)]
    File(#[from] TrainError),
    /// A model that has not the weights of the others.
    #[error("{}: its weights are not those of {}", path.display(), first.display())]
    Unlike {
        /// The model.
        path: PathBuf,
        /// The first of all.
        first: PathBuf,
    },
}

impl AverageError {
    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            AverageError::Folder(error) => error.hint(),
            AverageError::File(error) => error.hint(),
            AverageError::Unlike { .. } => Some(
                "average checkpoints of one run, or models with the same config and tokenizers".to_owned(),
            ),
        }
    }
}

/// Writes a model folder with the mean of some weights: model folders, or checkpoints, which lie in one.
///
/// # Panics
///
/// If there are none.
pub fn average(models: &[PathBuf], out: &Folder) -> Result<(), AverageError> {
    let first = folder_of(&models[0]);
    let mut params = first.params(&Device::cpu())?;
    let needed = shapes(&params, WEIGHTS);
    let mut sums = vec![0.0f64; params.flat().columns()];
    for model in models {
        let row = if model.is_file() {
            let mut checkpoint = weights_of(model)?;
            checkpoint.difference(&needed).is_none().then(|| checkpoint.take_row(&params, WEIGHTS))
        } else {
            let other = Folder::new(model).params(&Device::cpu())?;
            (shapes(&other, WEIGHTS) == needed).then(|| other.flat())
        };
        let unlike = || AverageError::Unlike { path: model.clone(), first: models[0].clone() };
        let row = row.ok_or_else(unlike)?.to_vec();
        sums.iter_mut().zip(row).for_each(|(sum, number)| *sum += f64::from(number));
    }
    let mean: Vec<f32> = sums.iter().map(|sum| (sum / models.len() as f64) as f32).collect();
    params.set_flat(&Tensor::new(params.device(), 1, mean.len(), &mean));
    Ok(write_model(&first, &params, out)?)
}

/// The folder that a model or a checkpoint lies in.
fn folder_of(model: &Path) -> Folder {
    let above = || model.parent().and_then(Path::parent).unwrap_or(Path::new(""));
    Folder::new(if model.is_file() { above() } else { model })
}

/// The files of a folder with other weights; the config comes last, as in a run.
fn write_model(from: &Folder, params: &Params, out: &Folder) -> Result<(), TrainError> {
    if out.config().exists() {
        return Err(TrainError::Occupied { path: out.path().to_owned() });
    }
    fs::create_dir_all(out.path()).map_err(write_error(out.path()))?;
    let path = out.weights();
    write_whole(&path, &weights::to_bytes(params)?).map_err(write_error(&path))?;
    let files: [fn(&Folder) -> PathBuf; 6] = [
        Folder::source_tokenizer,
        Folder::target_tokenizer,
        Folder::labels,
        Folder::features,
        Folder::manifest,
        Folder::config,
    ];
    for file in files {
        let (source, path) = (file(from), file(out));
        if source.exists() {
            let bytes =
                fs::read(&source).map_err(|error| TrainError::Read { path: source, source: error })?;
            write_whole(&path, &bytes).map_err(write_error(&path))?;
        }
    }
    Ok(())
}
