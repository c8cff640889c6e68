//! Files that are there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

/// Writes a file beside its place, syncs it and moves it there: whatever happens, the old file or the new one is there.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut beside = path.as_os_str().to_owned();
    beside.push(".partial");
    let beside = Path::new(&beside);
    let written = File::create(beside).and_then(|mut file| {
        file.write_all(bytes)?;
        file.sync_all()
    });
    let moved = written.and_then(|()| fs::rename(beside, path));
    if moved.is_err() {
        // What is left of a failed attempt is of no use; where even that fails, the first error says more.
        let _ = fs::remove_file(beside);
    }
    moved
}
