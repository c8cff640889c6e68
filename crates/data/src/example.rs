//! One example as ids, and where examples come from.

use crate::DataError;

/// A source and its target as ids, without special tokens. A text with a label has the label's number as its target.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Example {
    /// Its place among all examples, counted from 0.
    pub number: u32,
    /// What the model reads.
    pub source: Vec<u32>,
    /// What it should write.
    pub target: Vec<u32>,
    /// The tokens of the source as those of the target, for a model that copies ([`SourceWords`](crate::SourceWords)); else none.
    pub copied: Vec<u32>,
}

impl Example {
    /// How many ids each side has.
    pub fn lengths(&self) -> (u32, u32) {
        (self.source.len() as u32, self.target.len() as u32)
    }
}

/// Examples that are asked for by their numbers, wherever they lie.
pub trait Fetch: std::fmt::Debug + Send + Sync {
    /// How many there are.
    fn count(&self) -> usize;

    /// How many ids each side of every example has.
    fn lengths(&self) -> Result<Vec<(u32, u32)>, DataError>;

    /// Some of them, in the order of these numbers, all below [`count`](Fetch::count).
    fn fetch(&self, numbers: &[u32]) -> Result<Vec<Example>, DataError>;
}

/// Adds a pair to a checksum of pairs. The places of the cuts count, and how ids are stored does not.
pub fn add_to_checksum(sum: u32, source: &[u32], target: &[u32]) -> u32 {
    [source, target].into_iter().fold(sum, |sum, ids| {
        let sum = crc32c::crc32c_append(sum, &(ids.len() as u64).to_le_bytes());
        let bytes: Vec<u8> = ids.iter().flat_map(|id| id.to_le_bytes()).collect();
        crc32c::crc32c_append(sum, &bytes)
    })
}
