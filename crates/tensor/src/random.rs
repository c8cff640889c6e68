//! Random numbers by counter: each is a function of where it is used, not of what was drawn before.

use std::collections::BTreeMap;

/// Ten rounds of Philox 4×32: four random words for a key and a counter.
///
/// The method is that of Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3" (2011).
pub fn philox(key: [u32; 2], counter: [u32; 4]) -> [u32; 4] {
    let ([mut k0, mut k1], [mut c0, mut c1, mut c2, mut c3]) = (key, counter);
    for _ in 0..10 {
        let (a, b) = (u64::from(c0) * 0xD251_1F53, u64::from(c2) * 0xCD9E_8D57);
        (c0, c1, c2, c3) = ((b >> 32) as u32 ^ c1 ^ k0, b as u32, (a >> 32) as u32 ^ c3 ^ k1, a as u32);
        k0 = k0.wrapping_add(0x9E37_79B9);
        k1 = k1.wrapping_add(0xBB67_AE85);
    }
    [c0, c1, c2, c3]
}

/// A number in `[0, 1)` from the upper 24 bits of a word.
pub fn unit(word: u32) -> f32 {
    (word >> 8) as f32 / (1 << 24) as f32
}

/// The hash of a path, such as `encoder.layers.0.dropout1`: FNV-1a of its bytes in 64 bits, and MurmurHash3's final mix, so that
/// paths that differ in their last character alone differ in all bits.
///
/// The random numbers of a parameter or of a dropout site follow from it: they stay the same whatever else a model has, and in
/// whatever order it is built. So the function never changes.
pub fn hash_path(path: &str) -> u64 {
    mix(fnv1a(path.as_bytes()))
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xCBF2_9CE4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3))
}

fn mix(mut hash: u64) -> u64 {
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    hash = (hash ^ (hash >> 33)).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    hash ^ (hash >> 33)
}

/// Paths that random numbers are drawn for, each with its stream.
#[derive(Clone, Debug, Default)]
pub(crate) struct Paths(BTreeMap<u64, String>);

impl Paths {
    /// Returns the stream of a path, which nothing else may have.
    ///
    /// # Panics
    /// If the path was claimed before, or has the hash of another one: both would draw the same numbers.
    pub(crate) fn claim(&mut self, path: &str) -> u64 {
        self.claim_as(path, hash_path(path))
    }

    fn claim_as(&mut self, path: &str, hash: u64) -> u64 {
        if let Some(other) = self.0.insert(hash, path.to_owned()) {
            panic!("paths {other:?} and {path:?} share the random stream {hash:#018x}; rename one of them");
        }
        hash
    }

    /// Iterates over paths and their streams.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, u64)> {
        self.0.iter().map(|(&stream, path)| (path.as_str(), stream))
    }
}

/// A source of numbers: a seed, and what the numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: [u32; 2],
}

impl Stream {
    /// The stream of a seed for one purpose, such as the [hash](hash_path) of a parameter's name.
    pub fn new(seed: u64, purpose: u64) -> Stream {
        let words = |x: u64| [x as u32, (x >> 32) as u32];
        let [low, high] = words(purpose);
        Stream { key: philox(words(seed), [low, high, 0, 0])[..2].try_into().expect("two words") }
    }

    /// The generator's key.
    #[cfg(feature = "cuda")]
    pub(crate) fn key(&self) -> [u32; 2] {
        self.key
    }

    /// Four words for a place.
    pub fn at(&self, place: [u32; 4]) -> [u32; 4] {
        philox(self.key, place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The first two are the known answers that the method's authors give out with it.
    #[test]
    fn known_answers() {
        assert_eq!(philox([0; 2], [0; 4]), [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]);
        assert_eq!(philox([!0; 2], [!0; 4]), [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]);
    }

    #[test]
    fn streams_of_different_purposes_differ() {
        assert_ne!(Stream::new(1, 0).at([0; 4]), Stream::new(1, 1).at([0; 4]));
        assert_ne!(Stream::new(1, 0).at([0; 4]), Stream::new(2, 0).at([0; 4]));
    }

    /// The upper half of a purpose counts, and a small one is the counter's first word.
    #[test]
    fn a_purpose_is_two_words_of_the_counter() {
        assert_eq!(Stream::new(0, 0), Stream { key: [0x6627_e8d5, 0xe169_c58d] });
        let key = philox([5, 6], [7, 8, 0, 0]);
        assert_eq!(Stream::new(5 | 6 << 32, 7 | 8 << 32), Stream { key: [key[0], key[1]] });
    }

    /// The answers that the authors of FNV-1a publish, and those of MurmurHash3's mix. The last ones were computed apart, in Python: a
    /// change of the hash would change every run.
    #[test]
    fn known_hashes() {
        assert_eq!(fnv1a(b""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(b"foobar"), 0x8594_4171_f739_67e8);
        assert_eq!([mix(0), mix(1)], [0, 0xb456_bcfc_34c2_cb2c]);
        assert_eq!(hash_path("a"), mix(0xaf63_dc4c_8601_ec8c));
        assert_eq!(hash_path("encoder.embedding.weight"), 0x42f5_e3c7_c155_436a);
    }

    #[test]
    fn a_path_is_claimed_with_its_hash() {
        let mut paths = Paths::default();
        assert_eq!(paths.claim("b"), hash_path("b"));
        paths.claim("a");
        let mut claimed: Vec<_> = paths.iter().collect();
        claimed.sort_unstable();
        assert_eq!(claimed, [("a", hash_path("a")), ("b", hash_path("b"))]);
    }

    /// A hash so weak that two paths share one: both are named.
    #[test]
    #[should_panic(
        expected = "paths \"encoder.a\" and \"encoder.b\" share the random stream 0x0000000000000007"
    )]
    fn two_paths_of_one_hash_are_named() {
        let mut paths = Paths::default();
        paths.claim_as("encoder.a", 7);
        paths.claim_as("encoder.b", 7);
    }

    #[test]
    #[should_panic(expected = "paths \"encoder.dropout\" and \"encoder.dropout\" share")]
    fn a_path_is_claimed_once() {
        let mut paths = Paths::default();
        (0..2).for_each(|_| _ = paths.claim("encoder.dropout"));
    }

    #[test]
    fn units_fill_the_interval() {
        assert_eq!(unit(0), 0.0);
        assert!(unit(u32::MAX) < 1.0);
    }
}
