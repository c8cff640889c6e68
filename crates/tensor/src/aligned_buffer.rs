//! Numbers in the processor's memory, where vectors and products want them.

use memmap2::MmapMut;

/// Numbers of a cache line.
const LINE: usize = 16;
/// From so many numbers on, they have pages of their own, which go back to the system at once when they are no longer needed. Of
/// smaller blocks, the heap keeps what lies between others.
const MANY: usize = (128 << 10) / size_of::<f32>();

/// Numbers that begin where a cache line begins, so that no vector lies in two of them. Many numbers lie in large pages where the
/// system has them: a product walks over so many places at once that the processor cannot remember where all small pages are.
pub(crate) enum AlignedBuffer {
    Few { numbers: Vec<f32>, start: usize, length: usize },
    Many { pages: MmapMut, length: usize },
}

impl AlignedBuffer {
    /// So many zeros.
    pub(crate) fn new(length: usize) -> AlignedBuffer {
        let pages = (length >= MANY).then(|| MmapMut::map_anon(length * size_of::<f32>()));
        if let Some(Ok(pages)) = pages {
            prefer_large(&pages);
            return AlignedBuffer::Many { pages, length };
        }
        let numbers = vec![0.0f32; length + LINE];
        let start = numbers.as_ptr().align_offset(LINE * size_of::<f32>()).min(LINE);
        AlignedBuffer::Few { numbers, start, length }
    }

    pub(crate) fn as_slice(&self) -> &[f32] {
        match self {
            AlignedBuffer::Few { numbers, start, length } => &numbers[*start..start + length],
            // SAFETY: the pages hold so many numbers; pages begin at zero bytes, which are numbers, and are aligned as such.
            AlignedBuffer::Many { pages, length } => unsafe {
                std::slice::from_raw_parts(pages.as_ptr().cast(), *length)
            },
        }
    }

    pub(crate) fn as_mut_slice(&mut self) -> &mut [f32] {
        match self {
            AlignedBuffer::Few { numbers, start, length } => &mut numbers[*start..*start + *length],
            // SAFETY: as above, and nobody else has the pages.
            AlignedBuffer::Many { pages, length } => unsafe {
                std::slice::from_raw_parts_mut(pages.as_mut_ptr().cast(), *length)
            },
        }
    }
}

/// Asks for large pages. Where there are none, small ones do as well, only slower.
fn prefer_large(pages: &MmapMut) {
    #[cfg(target_os = "linux")]
    drop(pages.advise(memmap2::Advice::HugePage));
    #[cfg(not(target_os = "linux"))]
    let _ = pages;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn they_begin_where_a_cache_line_begins_and_are_zero() {
        for length in [1, 64, 1000, MANY - 1, MANY, MANY + 3] {
            let mut numbers = AlignedBuffer::new(length);
            assert_eq!(numbers.as_slice().len(), length);
            assert_eq!(numbers.as_slice().as_ptr() as usize % 64, 0, "{length} numbers");
            assert!(numbers.as_slice().iter().all(|&x| x == 0.0), "{length} numbers");
            numbers.as_mut_slice()[length - 1] = 1.5;
            assert_eq!(numbers.as_slice()[length - 1], 1.5);
        }
    }
}
