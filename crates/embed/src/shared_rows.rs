//! A matrix that several threads change at the same time, without locks.
//!
//! Two numbers lie in one atomic word, so a thread may see one half of a row before and the other after another thread's
//! change, and of two changes at the same moment one may be lost. That does no harm here (Niu et al., *Hogwild!*, 2011): a
//! change is small, and rows are many. But it is no undefined behaviour: every number is one that somebody wrote.
//!
//! Loads and stores without ordering are plain moves, yet the compiler does not make vectors of them. So a row is copied
//! into a [`LocalRow`], all arithmetic is done there, and it is copied back.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers in an atomic word.
const PAIR: usize = 2;

/// Rows are as long as whole vectors of the widest kind, and the numbers behind the last one stay zero.
const LANES: usize = 8;

/// Atomic words in a line of the cache.
const CACHE_LINE: usize = 8;

#[derive(Debug)]
pub(crate) struct SharedRows {
    cells: Vec<AtomicU64>,
    pairs: usize,
}

/// A copy of one row.
#[derive(Clone, Debug)]
pub(crate) struct LocalRow(Vec<u64>);

impl LocalRow {
    pub(crate) fn zeros(dimension: usize) -> LocalRow {
        LocalRow(vec![0; dimension.next_multiple_of(LANES) / PAIR])
    }

    pub(crate) fn numbers(&self) -> &[f32] {
        bytemuck::cast_slice(&self.0)
    }

    pub(crate) fn numbers_mut(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(&mut self.0)
    }
}

impl SharedRows {
    pub(crate) fn zeros(rows: usize, dimension: usize) -> SharedRows {
        let pairs = dimension.next_multiple_of(LANES) / PAIR;
        SharedRows { cells: std::iter::repeat_with(AtomicU64::default).take(rows * pairs).collect(), pairs }
    }

    fn row(&self, row: usize) -> &[AtomicU64] {
        &self.cells[row * self.pairs..(row + 1) * self.pairs]
    }

    /// Asks for a row that will be loaded soon, so that the memory's delays for several rows pass at the same time.
    #[inline(always)]
    pub(crate) fn touch(&self, row: usize) {
        let sum =
            self.row(row).iter().step_by(CACHE_LINE).fold(0, |sum, cell| sum ^ cell.load(Ordering::Relaxed));
        std::hint::black_box(sum);
    }

    #[inline(always)]
    pub(crate) fn load(&self, row: usize, local: &mut LocalRow) {
        for (cell, pair) in self.row(row).iter().zip(&mut local.0) {
            *pair = cell.load(Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(crate) fn store(&self, row: usize, local: &LocalRow) {
        for (cell, &pair) in self.row(row).iter().zip(&local.0) {
            cell.store(pair, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_comes_back_as_it_was_stored() {
        let shared = SharedRows::zeros(3, 5);
        let mut row = LocalRow::zeros(5);
        assert_eq!(row.numbers().len(), 8);
        row.numbers_mut()[..5].copy_from_slice(&[1.0, -2.0, 3.5, f32::MIN_POSITIVE, 5.0]);
        shared.store(1, &row);
        let mut read = LocalRow::zeros(5);
        shared.load(1, &mut read);
        assert_eq!(read.numbers(), row.numbers());
        shared.load(2, &mut read);
        assert_eq!(read.numbers(), [0.0; 8]);
    }
}
