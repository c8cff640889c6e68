//! The model folder of a run that goes on: nobody else writes into it, and it is a whole model at every moment.
//!
//! `config.toml` comes last when a run begins: a folder that has one has everything else too. From then on every file is written
//! beside its place, synced and renamed.

use crate::checkpoint::{self, Checkpoint, CheckpointError, Progress};
use crate::error::{TrainError, write_error};
use couplet_data::write_whole;
use couplet_nn::weights;
use couplet_search::Folder;
use couplet_tensor::{Params, Tensor};
use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

/// What the names of checkpoints begin and end with.
const NAME: [&str; 2] = ["step-", ".safetensors"];

/// The folder of a run, locked as long as this is there, however the process ends.
#[derive(Debug)]
pub(crate) struct Store {
    folder: Folder,
    keep: usize,
    _lock: File,
}

/// What a run finds in its folder when it goes on.
pub(crate) struct Found {
    pub(crate) checkpoint: Checkpoint,
    pub(crate) path: PathBuf,
    /// Later ones that cannot be used, and why.
    pub(crate) passed_over: Vec<String>,
}

impl Store {
    /// Makes the folder where there is none, and locks it. So many checkpoints are kept.
    pub(crate) fn open(folder: Folder, keep: usize) -> Result<Store, TrainError> {
        let checkpoints = folder.checkpoints();
        fs::create_dir_all(&checkpoints).map_err(write_error(&checkpoints))?;
        let path = checkpoints.join("lock");
        let lock = File::create(&path).map_err(write_error(&path))?;
        match lock.try_lock() {
            Ok(()) => Ok(Store { folder, keep, _lock: lock }),
            Err(TryLockError::WouldBlock) => Err(TrainError::InUse { path: folder.path().to_owned() }),
            Err(TryLockError::Error(source)) => Err(TrainError::Write { path, source }),
        }
    }

    pub(crate) fn folder(&self) -> &Folder {
        &self.folder
    }

    /// Whether a run has begun here.
    pub(crate) fn holds_a_run(&self) -> bool {
        self.folder.config().exists()
    }

    /// Writes texts: those of a new run with its config last.
    pub(crate) fn write_files(&self, files: &[(PathBuf, String)]) -> Result<(), TrainError> {
        files
            .iter()
            .try_for_each(|(path, text)| write_whole(path, text.as_bytes()).map_err(write_error(path)))
    }

    /// Saves weights as the model.
    pub(crate) fn save_model(&self, params: &Params) -> Result<(), TrainError> {
        let path = self.folder.weights();
        write_whole(&path, &weights::to_bytes(params)?).map_err(write_error(&path))
    }

    /// Saves a checkpoint, and removes those that are older than the ones to keep.
    pub(crate) fn save(
        &self,
        state: &Progress,
        tensors: &BTreeMap<String, Tensor>,
    ) -> Result<(), TrainError> {
        let [start, end] = NAME;
        let path = self.folder.checkpoints().join(format!("{start}{}{end}", state.update));
        checkpoint::write(&path, state, tensors).map_err(write_error(&path))?;
        for (_, old) in self.checkpoints().into_iter().skip(self.keep) {
            fs::remove_file(&old).map_err(write_error(&old))?;
        }
        Ok(())
    }

    /// All checkpoints, the last one first.
    fn checkpoints(&self) -> Vec<(u64, PathBuf)> {
        let files = fs::read_dir(self.folder.checkpoints()).into_iter().flatten().flatten();
        let mut found: Vec<(u64, PathBuf)> =
            files.filter_map(|file| Some((update_of(&file.path())?, file.path()))).collect();
        found.sort_unstable_by(|a, b| b.cmp(a));
        found
    }

    /// The last checkpoint that is whole; none where there are none yet.
    pub(crate) fn last(&self) -> Result<Option<Found>, TrainError> {
        let mut passed_over = Vec::new();
        for (_, path) in self.checkpoints() {
            match checkpoint::read(&path) {
                Ok(checkpoint) => return Ok(Some(Found { checkpoint, path, passed_over })),
                Err(CheckpointError::Io(source)) => return Err(TrainError::Read { path, source }),
                Err(CheckpointError::Earlier) => return Err(TrainError::Earlier { path }),
                Err(error @ CheckpointError::Damaged(_)) => {
                    passed_over.push(format!("{}: {error}", path.display()));
                }
            }
        }
        match passed_over.len() {
            0 => Ok(None),
            damaged => Err(TrainError::NoCheckpoint { path: self.folder.checkpoints(), damaged }),
        }
    }
}

/// The update that a checkpoint's name gives; none for other files.
fn update_of(path: &Path) -> Option<u64> {
    let [start, end] = NAME;
    path.file_name()?.to_str()?.strip_prefix(start)?.strip_suffix(end)?.parse().ok()
}

/// A checkpoint's weights alone.
pub(crate) fn weights_of(path: &Path) -> Result<Checkpoint, TrainError> {
    let path = path.to_owned();
    checkpoint::read(&path).map(Checkpoint::into_weights).map_err(|error| match error {
        CheckpointError::Io(source) => TrainError::Read { path, source },
        CheckpointError::Damaged(message) => TrainError::Damaged { path, message },
        CheckpointError::Earlier => TrainError::Earlier { path },
    })
}
