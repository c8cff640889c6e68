//! Writes a corpus pair by pair.

use std::io::Write;
use std::path::{Path, PathBuf};

use super::{Footer, HEADER_BYTES, bytes_for, header, put, record_checksum};
use crate::example::add_to_checksum;
use crate::{DataError, WholeFile};

/// A corpus file that is being written: it has its name when it is [finished](CorpusWriter::finish), and is gone when that is
/// never called. It keeps eight bytes a pair in memory, the lengths.
#[derive(Debug)]
pub struct CorpusWriter {
    file: WholeFile,
    path: PathBuf,
    id_bytes: u32,
    vocabularies: [u32; 2],
    /// Where the next record begins.
    end: u64,
    lengths: Vec<[u32; 2]>,
    contents: u32,
    left_out: u64,
    record: Vec<u8>,
}

impl CorpusWriter {
    /// Begins a file of ids from vocabularies of these sizes.
    pub fn create(path: &Path, vocabularies: [usize; 2]) -> Result<CorpusWriter, DataError> {
        let vocabularies = vocabularies.map(|size| u32::try_from(size).expect("ids are numbers of 32 bits"));
        let id_bytes = bytes_for(vocabularies[0].max(vocabularies[1]).saturating_sub(1));
        let unwritable = |source| DataError::Unwritable { path: path.into(), source };
        let mut file = WholeFile::create(path).map_err(unwritable)?;
        file.write_all(&header(id_bytes)).map_err(unwritable)?;
        Ok(CorpusWriter {
            file,
            path: path.to_owned(),
            id_bytes,
            vocabularies,
            end: HEADER_BYTES as u64,
            lengths: Vec::new(),
            contents: 0,
            left_out: 0,
            record: Vec::new(),
        })
    }

    /// Adds a pair.
    ///
    /// # Panics
    ///
    /// If an id is not in its vocabulary, or if there are 2³² pairs or more.
    pub fn push(&mut self, source: &[u32], target: &[u32]) -> Result<(), DataError> {
        let number = u32::try_from(self.lengths.len()).expect("fewer than 2³² pairs");
        self.record.clear();
        for (ids, vocabulary) in [source, target].into_iter().zip(self.vocabularies) {
            for &id in ids {
                assert!(id < vocabulary, "id {id} of a vocabulary of {vocabulary}");
                put(&mut self.record, id, self.id_bytes);
            }
        }
        let sum = record_checksum(number, &self.record);
        self.record.extend(sum.to_le_bytes());
        self.file.write_all(&self.record).map_err(unwritable(&self.path))?;
        self.end += self.record.len() as u64;
        self.lengths.push([source.len() as u32, target.len() as u32]);
        self.contents = add_to_checksum(self.contents, source, target);
        Ok(())
    }

    /// Counts pairs that are too long to be used.
    pub fn leave_out(&mut self, pairs: usize) {
        self.left_out += pairs as u64;
    }

    /// How many pairs were added.
    pub fn pairs(&self) -> usize {
        self.lengths.len()
    }

    /// Completes the file and gives it its name.
    pub fn finish(mut self) -> Result<(), DataError> {
        let longest = self.lengths.iter().flatten().copied().max().unwrap_or(0);
        let length_bytes = bytes_for(longest);
        let mut lengths_checksum = 0;
        // In parts, so that the table is not in memory twice.
        for part in self.lengths.chunks(1 << 16) {
            self.record.clear();
            part.iter().flatten().for_each(|&length| put(&mut self.record, length, length_bytes));
            lengths_checksum = crc32c::crc32c_append(lengths_checksum, &self.record);
            self.file.write_all(&self.record).map_err(unwritable(&self.path))?;
        }
        let footer = Footer {
            pairs: self.lengths.len() as u64,
            lengths_at: self.end,
            vocabularies: self.vocabularies,
            length_bytes,
            lengths_checksum,
            contents: self.contents,
            left_out: self.left_out,
        };
        let written =
            self.file.write_all(&footer.to_bytes(&header(self.id_bytes))).and_then(|()| self.file.finish());
        written.map_err(unwritable(&self.path))
    }
}

fn unwritable(path: &Path) -> impl FnOnce(std::io::Error) -> DataError {
    move |source| DataError::Unwritable { path: path.into(), source }
}
