//! One comparison at a time writes what all comparisons of a folder share.

use crate::error::CompareError;
use std::fs::File;
use std::path::Path;

/// Waits until no other comparison writes report or passages into a folder. It is this one's until the lock is dropped, however the
/// process ends.
pub fn lock(out: &Path) -> Result<File, CompareError> {
    let path = out.join(".lock");
    let file = File::create(&path).map_err(CompareError::io(&path))?;
    file.lock().map_err(CompareError::io(&path))?;
    Ok(file)
}
