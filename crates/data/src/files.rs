//! Files that are there as a whole or not at all.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// A file that gets its name when it is complete: whatever happens before, what was there under that name stays.
///
/// It is written beside its place under a name of its own, and synced and renamed at the end. Where the end is not reached,
/// what was written is removed.
#[derive(Debug)]
pub struct WholeFile {
    writer: BufWriter<File>,
    path: PathBuf,
    beside: PathBuf,
    finished: bool,
}

impl WholeFile {
    /// Begins a file.
    pub fn create(path: &Path) -> io::Result<WholeFile> {
        let mut beside = path.as_os_str().to_owned();
        beside.push(".partial");
        let beside = PathBuf::from(beside);
        let writer = BufWriter::new(File::create(&beside)?);
        Ok(WholeFile { writer, path: path.to_owned(), beside, finished: false })
    }

    /// Completes it.
    pub fn finish(mut self) -> io::Result<()> {
        self.writer.flush()?;
        self.writer.get_ref().sync_all()?;
        fs::rename(&self.beside, &self.path)?;
        self.finished = true;
        sync_folder_of(&self.path)
    }
}

impl Write for WholeFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.writer.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.writer.flush()
    }
}

impl Drop for WholeFile {
    fn drop(&mut self) {
        if !self.finished {
            // What is left is of no use; that it cannot be removed is not worth a second error.
            let _ = fs::remove_file(&self.beside);
        }
    }
}

/// A new name is safe from a loss of power when its folder is. Other systems than Unix cannot open a folder, and need not.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

/// Writes a file as a whole or not at all.
pub fn write_whole(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = WholeFile::create(path)?;
    file.write_all(bytes)?;
    file.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_old_file_stays_until_the_new_one_is_complete() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        write_whole(&path, b"old").unwrap();
        let mut file = WholeFile::create(&path).unwrap();
        file.write_all(b"new").unwrap();
        file.flush().unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"old");
        drop(file);
        assert_eq!(
            fs::read_dir(folder.path()).unwrap().count(),
            1,
            "nothing is left of what was not finished"
        );

        write_whole(&path, b"new").unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"new");
    }
}
