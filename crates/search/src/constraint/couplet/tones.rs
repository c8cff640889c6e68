//! The tones of characters in today's Mandarin, as level (平: the first and second tone) or oblique (仄: the third and fourth).
//!
//! The table comes from the Unihan database (`tones.py` makes it): two bits a character, one for each class in which it has a reading.
//! A character without a reading in it, or with the neutral tone only, has none.

const TABLE: &[u8] = include_bytes!("tones.bin");

/// The blocks of the table: CJK Unified Ideographs, and their Extension A.
const BLOCKS: [(u32, u32); 2] = [(0x4e00, 0x9fff), (0x3400, 0x4dbf)];

/// A class of tones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Tone {
    /// 平
    Level,
    /// 仄
    Oblique,
}

impl Tone {
    /// The other class.
    pub(super) fn opposite(self) -> Tone {
        match self {
            Tone::Level => Tone::Oblique,
            Tone::Oblique => Tone::Level,
        }
    }

    /// Whether a character can be read with it.
    pub(super) fn fits(self, character: char) -> bool {
        readings(character) & self.bit() != 0
    }

    /// The class of a character, where all its readings have the same.
    pub(super) fn of(character: char) -> Option<Tone> {
        [Tone::Level, Tone::Oblique].into_iter().find(|tone| readings(character) == tone.bit())
    }

    /// In Chinese.
    pub(super) fn character(self) -> char {
        match self {
            Tone::Level => '平',
            Tone::Oblique => '仄',
        }
    }

    fn bit(self) -> u8 {
        match self {
            Tone::Level => 1,
            Tone::Oblique => 2,
        }
    }
}

/// A bit for each class.
fn readings(character: char) -> u8 {
    let code = u32::from(character);
    let mut before = 0;
    for (first, last) in BLOCKS {
        if (first..=last).contains(&code) {
            let place = before + (code - first) as usize;
            return TABLE[place / 4] >> (place % 4 * 2) & 3;
        }
        before += (last - first + 1) as usize;
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    /// tiān, míng; yuè, shuǐ; cháng or zhǎng; the neutral de; and no Chinese character.
    #[test]
    fn tones_of_characters() {
        let of = |text: &str| text.chars().map(Tone::of).collect::<Vec<_>>();
        assert_eq!(of("天明"), [Some(Tone::Level); 2]);
        assert_eq!(of("月水"), [Some(Tone::Oblique); 2]);
        assert_eq!(of("长a，"), [None; 3]);
        assert!(Tone::Level.fits('长') && Tone::Oblique.fits('长'));
        assert!(!Tone::Level.fits('a') && !Tone::Oblique.fits('，'));
        assert!(Tone::Level.fits('㐁') || Tone::Oblique.fits('㐁'), "of the second block");
    }
}
