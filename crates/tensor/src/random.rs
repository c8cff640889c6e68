//! Random numbers by counter: each is a function of where it is used, not of what was drawn before.

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

/// A source of numbers: a seed, and what the numbers are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    key: [u32; 2],
}

impl Stream {
    /// The stream of a seed for one purpose, such as a layer's dropout or a parameter's first values.
    pub fn new(seed: u64, purpose: u32) -> Stream {
        Stream {
            key: philox([seed as u32, (seed >> 32) as u32], [purpose, 0, 0, 0])[..2]
                .try_into()
                .expect("two words"),
        }
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

    #[test]
    fn units_fill_the_interval() {
        assert_eq!(unit(0), 0.0);
        assert!(unit(u32::MAX) < 1.0);
    }
}
