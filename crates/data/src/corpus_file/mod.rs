//! A file of pairs as ids: what `couplet prepare` makes of text, for runs that start at once.
//!
//! # Layout
//!
//! All numbers are little-endian.
//!
//! | part | what it holds |
//! |---|---|
//! | header, 24 bytes | the name of the format, its version, the bytes of an id: 2 where both vocabularies allow it, else 4 |
//! | records | for each pair the ids of the source, those of the target, and a checksum |
//! | lengths | for each pair how many ids each side has, as two numbers of 2 or 4 bytes |
//! | footer, 48 bytes | counts, checksums of the lengths and of all pairs, a checksum of header and footer |
//!
//! Where a pair lies follows from the lengths of those before it, so that no offsets are stored. The footer is at the end
//! because a writer does not know before how much will come; what was cut off has none.
//!
//! # Damage
//!
//! Reading all of a large file at each start would take as long as the start should be short. What is needed at once, and
//! read as a whole in any case, is checked at once: header, footer, and the lengths, from which batches are made. Each pair
//! has a checksum of its own, over its number and its ids, which is compared *whenever* the pair is read: it costs less than
//! copying the ids, no list of checked places has to be kept, and a disk that fails in the middle of a run is found, too.
//! Since the number is part of it, ids from a wrong place are not taken for those of the right one.
//!
//! # Memory
//!
//! The file is mapped into memory for as long as one batch is read. Pages that a process has mapped count as its memory, and
//! in a random order that would soon be the whole file; mapped for one batch, it is a few megabytes. What stays in memory
//! is one offset for every 256 pairs.

mod reader;
mod writer;

#[cfg(test)]
mod tests;

pub use reader::CorpusFile;
pub use writer::CorpusWriter;

/// What every file begins with.
const MAGIC: &[u8; 16] = b"couplet corpus\r\n";
/// Goes up whenever an older reader would not understand the file.
const VERSION: u32 = 1;
const HEADER_BYTES: usize = 24;
const FOOTER_BYTES: usize = 48;
const CHECKSUM_BYTES: usize = 4;

/// The footer without its own checksum, which covers the header, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Footer {
    pairs: u64,
    /// Where the lengths begin.
    lengths_at: u64,
    /// The size of the vocabulary of each side.
    vocabularies: [u32; 2],
    /// The bytes of a length: 2 or 4.
    length_bytes: u32,
    lengths_checksum: u32,
    /// That of all pairs, as [`crate::add_to_checksum`] makes it.
    contents: u32,
    /// Pairs that were left out because they are too long.
    left_out: u64,
}

impl Footer {
    fn to_bytes(self, header: &[u8]) -> [u8; FOOTER_BYTES] {
        let mut bytes = Vec::with_capacity(FOOTER_BYTES);
        bytes.extend(self.pairs.to_le_bytes());
        bytes.extend(self.lengths_at.to_le_bytes());
        self.vocabularies.iter().for_each(|size| bytes.extend(size.to_le_bytes()));
        bytes.extend(self.length_bytes.to_le_bytes());
        bytes.extend(self.lengths_checksum.to_le_bytes());
        bytes.extend(self.contents.to_le_bytes());
        bytes.extend(self.left_out.to_le_bytes());
        let sum = crc32c::crc32c_append(crc32c::crc32c(header), &bytes);
        bytes.extend(sum.to_le_bytes());
        bytes.try_into().expect("the fields above have that many bytes")
    }

    /// None if the checksum is another one.
    fn read(header: &[u8], bytes: &[u8; FOOTER_BYTES]) -> Option<Footer> {
        let u32_at = |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
        let u64_at = |at: usize| u64::from(u32_at(at)) | u64::from(u32_at(at + 4)) << 32;
        let footer = Footer {
            pairs: u64_at(0),
            lengths_at: u64_at(8),
            vocabularies: [u32_at(16), u32_at(20)],
            length_bytes: u32_at(24),
            lengths_checksum: u32_at(28),
            contents: u32_at(32),
            left_out: u64_at(36),
        };
        (footer.to_bytes(header) == *bytes).then_some(footer)
    }
}

fn header(id_bytes: u32) -> [u8; HEADER_BYTES] {
    let mut bytes = [0; HEADER_BYTES];
    bytes[..16].copy_from_slice(MAGIC);
    bytes[16..20].copy_from_slice(&VERSION.to_le_bytes());
    bytes[20..].copy_from_slice(&id_bytes.to_le_bytes());
    bytes
}

/// The fewest bytes for numbers up to this one.
fn bytes_for(largest: u32) -> u32 {
    if largest <= u32::from(u16::MAX) { 2 } else { 4 }
}

/// Appends a number in so many bytes.
fn put(bytes: &mut Vec<u8>, number: u32, width: u32) {
    bytes.extend_from_slice(&number.to_le_bytes()[..width as usize]);
}

/// The numbers of so many bytes each.
fn numbers(bytes: &[u8], width: u32) -> impl Iterator<Item = u32> + '_ {
    bytes.chunks_exact(width as usize).map(|chunk| match *chunk {
        [a, b] => u32::from(u16::from_le_bytes([a, b])),
        [a, b, c, d] => u32::from_le_bytes([a, b, c, d]),
        _ => unreachable!("numbers have 2 or 4 bytes"),
    })
}

/// The checksum of a record. With its number, so that one at a wrong place is a wrong one.
fn record_checksum(number: u32, ids: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&number.to_le_bytes()), ids)
}
