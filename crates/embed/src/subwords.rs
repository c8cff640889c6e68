//! Vectors of parts of words, so that a word which was never seen has a vector too.
//!
//! A word is put between `<` and `>`, and all runs of some characters are its *n-grams*: of `<cat>`, with three characters,
//! `<ca`, `cat` and `at>`. There are too many different ones for a vector each, so they share a fixed number of buckets by
//! a hash; characters, hash and buckets are fastText's.

use std::collections::HashMap;
use std::io::{BufRead, Read, Write};
use std::path::{Path, PathBuf};

use couplet_data::{DataError, WholeFile, open_unpacked};

use crate::EmbedError;

/// Which parts of a word have vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subwords {
    /// Characters of the shortest part.
    pub min: usize,
    /// Characters of the longest part.
    pub max: usize,
    /// Vectors for all parts together. Only those that a word of the vocabulary uses take memory.
    pub buckets: u32,
}

impl Default for Subwords {
    fn default() -> Self {
        Subwords { min: 3, max: 6, buckets: 2_000_000 }
    }
}

impl Subwords {
    /// The buckets of a word's parts.
    pub(crate) fn buckets_of(&self, word: &str) -> Vec<u32> {
        let whole = format!("<{word}>");
        let ends: Vec<usize> = whole.char_indices().map(|(at, _)| at).chain([whole.len()]).collect();
        let mut buckets = Vec::new();
        for first in 0..ends.len() - 1 {
            for length in self.min..=self.max {
                let Some(&end) = ends.get(first + length) else { break };
                // The marks alone say nothing.
                let is_mark = length == 1 && (first == 0 || end == whole.len());
                if !is_mark {
                    buckets.push(hash(&whole.as_bytes()[ends[first]..end]) % self.buckets);
                }
            }
        }
        buckets
    }
}

/// FNV-1a of 32 bits, with bytes taken as signed numbers, as fastText does on most machines.
fn hash(bytes: &[u8]) -> u32 {
    bytes.iter().fold(2_166_136_261, |hash, &byte| (hash ^ byte as i8 as u32).wrapping_mul(16_777_619))
}

/// The vectors of the parts of words.
#[derive(Clone, Debug, PartialEq)]
pub struct Ngrams {
    subwords: Subwords,
    dimension: usize,
    row_of: HashMap<u32, usize>,
    rows: Vec<f32>,
}

const MAGIC: &str = "couplet-ngrams";

impl Ngrams {
    pub(crate) fn new(subwords: Subwords, dimension: usize, buckets: &[u32], rows: Vec<f32>) -> Ngrams {
        assert_eq!(rows.len(), buckets.len() * dimension, "a row of {dimension} for each bucket");
        let row_of = buckets.iter().enumerate().map(|(row, &bucket)| (bucket, row)).collect();
        Ngrams { subwords, dimension, row_of, rows }
    }

    /// How many numbers a vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// A vector for a word that has none of its own: the mean of its parts that some other word has too.
    pub fn vector(&self, word: &str) -> Option<Vec<f32>> {
        let buckets = self.subwords.buckets_of(word);
        let rows: Vec<usize> = buckets.iter().filter_map(|bucket| self.row_of.get(bucket).copied()).collect();
        let mut sum = vec![0.0; self.dimension];
        for &row in &rows {
            let numbers = &self.rows[row * self.dimension..(row + 1) * self.dimension];
            sum.iter_mut().zip(numbers).for_each(|(sum, number)| *sum += number);
        }
        sum.iter_mut().for_each(|number| *number /= rows.len() as f32);
        (!rows.is_empty()).then_some(sum)
    }

    /// The file of a file of vectors' n-grams: beside it, with `.ngrams` behind its name.
    pub fn beside(vectors: &Path) -> PathBuf {
        let mut name = vectors.as_os_str().to_owned();
        name.push(".ngrams");
        name.into()
    }

    /// Writes a file: a line of numbers, then each bucket and its vector as bytes, the lowest first.
    pub fn write(&self, path: &Path) -> Result<(), EmbedError> {
        let Subwords { min, max, buckets } = self.subwords;
        let mut order: Vec<(u32, usize)> = self.row_of.iter().map(|(&bucket, &row)| (bucket, row)).collect();
        order.sort_unstable();
        let written = WholeFile::create(path).and_then(|mut file| {
            writeln!(file, "{MAGIC} {min} {max} {buckets} {} {}", order.len(), self.dimension)?;
            for (bucket, row) in order {
                file.write_all(&bucket.to_le_bytes())?;
                for number in &self.rows[row * self.dimension..(row + 1) * self.dimension] {
                    file.write_all(&number.to_le_bytes())?;
                }
            }
            file.finish()
        });
        written.map_err(|source| DataError::Unwritable { path: path.to_owned(), source }.into())
    }

    /// Reads what [`Ngrams::write`] wrote.
    pub fn read(path: &Path) -> Result<Ngrams, EmbedError> {
        let damaged =
            |reason: &str| EmbedError::DamagedNgrams { path: path.to_owned(), reason: reason.to_owned() };
        let unreadable = |source| EmbedError::from(DataError::Unreadable { path: path.to_owned(), source });
        let mut reader = open_unpacked(path)?;
        let mut header = Vec::new();
        reader.by_ref().take(200).read_until(b'\n', &mut header).map_err(unreadable)?;
        let header = String::from_utf8(header).unwrap_or_default();
        let numbers: Option<Vec<usize>> = header
            .strip_prefix(MAGIC)
            .and_then(|rest| rest.split_whitespace().map(|number| number.parse().ok()).collect());
        let Some(&[min, max, buckets, rows, dimension]) = numbers.as_deref() else {
            return Err(damaged("its first line is not that of a file of n-grams"));
        };
        let subwords = Subwords { min, max, buckets: u32::try_from(buckets).unwrap_or(0) };
        if min == 0 || max < min || subwords.buckets == 0 || dimension == 0 {
            return Err(damaged("its first line has numbers that cannot be"));
        }
        let mut bytes = Vec::new();
        reader.read_to_end(&mut bytes).map_err(unreadable)?;
        let entry = dimension.checked_add(1).and_then(|numbers| numbers.checked_mul(4));
        let expected = entry.and_then(|entry| entry.checked_mul(rows));
        let (Some(entry), true) = (entry, expected == Some(bytes.len())) else {
            return Err(damaged("it is shorter or longer than its first line says"));
        };
        let mut ngrams = Ngrams { subwords, dimension, row_of: HashMap::new(), rows: Vec::new() };
        for (row, entry) in bytes.chunks_exact(entry).enumerate() {
            let words = entry.as_chunks().0;
            ngrams.row_of.insert(u32::from_le_bytes(words[0]), row);
            ngrams.rows.extend(words[1..].iter().copied().map(f32::from_le_bytes));
        }
        if ngrams.row_of.len() != rows {
            return Err(damaged("a bucket is there twice"));
        }
        if !ngrams.rows.iter().all(|number| number.is_finite()) {
            return Err(damaged("a number is not finite"));
        }
        Ok(ngrams)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// FNV-1a of "a" and "foobar" are in its authors' list. é is the bytes C3 A9, which as signed numbers have all upper bits set.
    #[test]
    fn the_published_hashes() {
        assert_eq!(hash(b""), 0x811c_9dc5);
        assert_eq!(hash(b"a"), 0xe40c_292c);
        assert_eq!(hash(b"foobar"), 0xbf9c_f968);
        let signed = |hash: u32, byte: u32| (hash ^ (byte | 0xffff_ff00)).wrapping_mul(16_777_619);
        assert_eq!(hash("é".as_bytes()), signed(signed(0x811c_9dc5, 0xc3), 0xa9));
    }

    /// `<cat>` has `<ca`, `<cat`, `cat`, `cat>` and `at>` of three or four characters; `<é>` is three characters.
    #[test]
    fn parts_by_hand() {
        let subwords = Subwords { min: 3, max: 4, buckets: 1_000_000 };
        let expected = ["<ca", "<cat", "cat", "cat>", "at>"].map(|part| hash(part.as_bytes()) % 1_000_000);
        assert_eq!(subwords.buckets_of("cat"), expected);
        assert_eq!(subwords.buckets_of("é"), [hash("<é>".as_bytes()) % 1_000_000]);
        let single = Subwords { min: 1, max: 1, ..subwords };
        assert_eq!(single.buckets_of("a"), [hash(b"a") % 1_000_000]);
    }

    #[test]
    fn an_unseen_word_is_the_mean_of_its_parts() {
        let subwords = Subwords { min: 3, max: 3, buckets: 1_000_000 };
        let buckets = subwords.buckets_of("cat");
        let ngrams = Ngrams::new(subwords, 1, &buckets, vec![1.0, 2.0, 4.0]);
        // `<bat>` has `at>` with it in common, and `<cats>` has `<ca` and `cat`.
        assert_eq!(ngrams.vector("bat"), Some(vec![4.0]));
        assert_eq!(ngrams.vector("cats"), Some(vec![1.5]));
        assert_eq!(ngrams.vector("dog"), None);

        let folder = tempfile::tempdir().unwrap();
        let path = Ngrams::beside(&folder.path().join("vectors.txt"));
        ngrams.write(&path).unwrap();
        let read = Ngrams::read(&path).unwrap();
        assert_eq!(read.vector("cats"), Some(vec![1.5]));

        let whole = std::fs::read(&path).unwrap();
        for end in 0..whole.len() {
            std::fs::write(&path, &whole[..end]).unwrap();
            let error = Ngrams::read(&path).unwrap_err();
            assert!(matches!(error, EmbedError::DamagedNgrams { .. }), "{error}");
        }
    }
}
