//! Reads pairs of a corpus in any order.

use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use memmap2::Mmap;

use super::{
    CHECKSUM_BYTES, FOOTER_BYTES, Footer, HEADER_BYTES, MAGIC, VERSION, header, numbers, record_checksum,
};
use crate::{DataError, Example, Fetch};

/// Pairs between two that have their offset in memory: the lengths of so many are added up to find one.
const STRIDE: usize = 256;

/// A corpus file, opened and found to be one; pairs are checked as they are read.
///
/// ```
/// use couplet_data::{CorpusFile, CorpusWriter, Fetch};
///
/// # let folder = tempfile::tempdir()?;
/// let path = folder.path().join("train.corpus");
/// let mut writer = CorpusWriter::create(&path, [100, 80])?;
/// writer.push(&[4, 5, 6], &[7])?;
/// writer.push(&[99], &[79, 4])?;
/// writer.finish()?;
///
/// let corpus = CorpusFile::open(&path)?;
/// assert_eq!(corpus.lengths()?, [(3, 1), (1, 2)]);
/// let found = corpus.fetch(&[1])?;
/// assert_eq!((&found[0].source[..], &found[0].target[..]), (&[99][..], &[79, 4][..]));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct CorpusFile {
    path: PathBuf,
    file: File,
    /// How long it was when it was opened.
    bytes: u64,
    id_bytes: u32,
    footer: Footer,
    /// Where every pair whose number is a multiple of [`STRIDE`] begins.
    offsets: Vec<u64>,
}

impl CorpusFile {
    /// Opens a file that [`CorpusWriter`](super::CorpusWriter) wrote.
    pub fn open(path: impl Into<PathBuf>) -> Result<CorpusFile, DataError> {
        let path = path.into();
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Err(DataError::Missing { path }),
            Err(source) => return Err(DataError::Unreadable { path, source }),
        };
        let bytes = match file.metadata() {
            Ok(metadata) if metadata.is_file() => metadata.len(),
            Ok(_) => return Err(DataError::ForeignCorpus { path }),
            Err(source) => return Err(DataError::Unreadable { path, source }),
        };
        // An empty file cannot be mapped.
        if bytes < MAGIC.len() as u64 {
            return Err(DataError::ForeignCorpus { path });
        }
        let map = map(&file).map_err(|source| DataError::Unreadable { path: path.clone(), source })?;
        let (id_bytes, footer) = ends(&path, &map)?;
        let table = table(&path, &map, &footer)?;
        let offsets = offsets(&path, table, id_bytes, &footer)?;
        Ok(CorpusFile { path, file, bytes, id_bytes, footer, offsets })
    }

    /// The file's name.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The sizes of the two vocabularies.
    pub fn vocabularies(&self) -> [usize; 2] {
        self.footer.vocabularies.map(|size| size as usize)
    }

    /// How many pairs were left out because they were too long.
    pub fn left_out(&self) -> usize {
        self.footer.left_out as usize
    }

    /// A checksum of all pairs, the same whatever they are stored in.
    pub fn checksum(&self) -> u32 {
        self.footer.contents
    }

    /// Maps the file as it was opened.
    fn map(&self) -> Result<Mmap, DataError> {
        let unreadable = |source| DataError::Unreadable { path: self.path.clone(), source };
        if self.file.metadata().map_err(unreadable)?.len() != self.bytes {
            return Err(damaged(&self.path, "it was changed while it was read"));
        }
        map(&self.file).map_err(unreadable)
    }

    fn example(&self, map: &[u8], number: u32) -> Option<Example> {
        let (id_bytes, length_bytes) = (self.id_bytes as usize, self.footer.length_bytes as usize);
        let table = &map[self.footer.lengths_at as usize..];
        let first = number as usize / STRIDE * STRIDE;
        let lengths = &table[2 * first * length_bytes..2 * (number as usize + 1) * length_bytes];
        let mut sides = numbers(lengths, self.footer.length_bytes);
        let mut offset = *self.offsets.get(number as usize / STRIDE)?;
        let mut length = || sides.next().map(|length| length as usize * id_bytes);
        for _ in first..number as usize {
            offset += (length()? + length()? + CHECKSUM_BYTES) as u64;
        }
        let (source, target) = (length()?, length()?);
        let end = usize::try_from(offset).ok()?.checked_add(source + target)?;
        let ids = map.get(end - source - target..end)?;
        let sum = map.get(end..end + CHECKSUM_BYTES)?;
        if record_checksum(number, ids).to_le_bytes() != *sum {
            return None;
        }
        let side = |bytes: &[u8]| numbers(bytes, self.id_bytes).collect();
        let (source, target) = (side(&ids[..source]), side(&ids[source..]));
        Some(Example { number, source, target, ..Example::default() })
    }
}

impl Fetch for CorpusFile {
    fn count(&self) -> usize {
        self.footer.pairs as usize
    }

    fn lengths(&self) -> Result<Vec<(u32, u32)>, DataError> {
        let map = self.map()?;
        let table = table(&self.path, &map, &self.footer)?;
        let mut sides = numbers(table, self.footer.length_bytes);
        let mut lengths = Vec::with_capacity(self.count());
        lengths.extend(std::iter::from_fn(|| Some((sides.next()?, sides.next()?))));
        Ok(lengths)
    }

    fn fetch(&self, numbers: &[u32]) -> Result<Vec<Example>, DataError> {
        let map = self.map()?;
        let example = |&number: &u32| {
            assert!((number as usize) < self.count(), "pair {number} of {}", self.count());
            let wrong = || damaged(&self.path, &format!("the checksum of pair {number} is wrong"));
            self.example(&map, number).ok_or_else(wrong)
        };
        numbers.iter().map(example).collect()
    }
}

fn damaged(path: &Path, reason: &str) -> DataError {
    DataError::DamagedCorpus { path: path.into(), reason: reason.to_owned() }
}

fn map(file: &File) -> std::io::Result<Mmap> {
    // SAFETY: The map is read-only and copied from at once, and no reference into it outlives a call. Another program that
    // writes to the file meanwhile can change bytes, which the checksums then find; one that cuts the file within the
    // moment that it is mapped ends the process. Files are written beside their place and renamed, so that couplet itself
    // never changes one that is in use.
    unsafe { Mmap::map(file) }
}

/// What header and footer say: the bytes of an id, and the footer.
fn ends(path: &Path, map: &[u8]) -> Result<(u32, Footer), DataError> {
    if !map.starts_with(MAGIC) {
        return Err(DataError::ForeignCorpus { path: path.into() });
    }
    if map.len() < HEADER_BYTES + FOOTER_BYTES {
        return Err(damaged(path, "its end is missing"));
    }
    let mut after_name = numbers(&map[MAGIC.len()..HEADER_BYTES], 4);
    let version = after_name.next().unwrap_or(0);
    if version != VERSION {
        return Err(DataError::CorpusVersion { path: path.into(), version, known: VERSION });
    }
    let id_bytes = after_name.next().unwrap_or(0);
    let footer = map.last_chunk().and_then(|footer| Footer::read(&map[..HEADER_BYTES], footer));
    match footer {
        Some(footer) if [2, 4].contains(&id_bytes) && map[..HEADER_BYTES] == header(id_bytes) => {
            Ok((id_bytes, footer))
        }
        _ => Err(damaged(path, "its end is missing, or the first or the last bytes are wrong")),
    }
}

/// The bytes of all lengths, which are what was written.
fn table<'a>(path: &Path, map: &'a [u8], footer: &Footer) -> Result<&'a [u8], DataError> {
    let wrong = || damaged(path, "the lengths of its pairs are wrong");
    let start = usize::try_from(footer.lengths_at).map_err(|_| wrong())?;
    let table = map.get(start..map.len() - FOOTER_BYTES).ok_or_else(wrong)?;
    let bytes = 2 * u128::from(footer.pairs) * u128::from(footer.length_bytes);
    let fits = [2, 4].contains(&footer.length_bytes) && table.len() as u128 == bytes;
    if !fits || crc32c::crc32c(table) != footer.lengths_checksum {
        return Err(wrong());
    }
    Ok(table)
}

/// Where every [`STRIDE`]th pair begins. The last record must end where the lengths begin.
fn offsets(path: &Path, table: &[u8], id_bytes: u32, footer: &Footer) -> Result<Vec<u64>, DataError> {
    let mut offsets = Vec::with_capacity(table.len().div_ceil(2 * footer.length_bytes as usize * STRIDE));
    let mut at = HEADER_BYTES as u64;
    for pairs in table.chunks(2 * footer.length_bytes as usize * STRIDE) {
        offsets.push(at);
        let count = (pairs.len() / (2 * footer.length_bytes as usize)) as u64;
        let ids: u64 = numbers(pairs, footer.length_bytes).map(u64::from).sum();
        at += ids * u64::from(id_bytes) + count * CHECKSUM_BYTES as u64;
    }
    if at != footer.lengths_at {
        return Err(damaged(path, "its pairs are not as long as it says"));
    }
    Ok(offsets)
}
