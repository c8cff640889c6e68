//! Numbers that several workers use at the same time, each in its own part.

use crate::product::Mat;
use std::marker::PhantomData;
use std::ops::Range;

/// A slice of which several workers write different parts.
#[derive(Clone, Copy)]
pub(crate) struct SharedSlice<'a> {
    start: *mut f32,
    length: usize,
    lifetime: PhantomData<&'a mut [f32]>,
}

// SAFETY: every access is unsafe and asks its caller to keep the parts of different threads apart.
unsafe impl Send for SharedSlice<'_> {}
// SAFETY: as above.
unsafe impl Sync for SharedSlice<'_> {}

impl<'a> SharedSlice<'a> {
    pub(crate) fn new(slice: &'a mut [f32]) -> Self {
        SharedSlice { start: slice.as_mut_ptr(), length: slice.len(), lifetime: PhantomData }
    }

    #[inline(always)]
    fn check(&self, &Range { start, end }: &Range<usize>) {
        if start > end || end > self.length {
            outside(start..end, self.length);
        }
    }

    /// # Safety
    /// While the part is in use, no other reference into the same range may be in use on any thread.
    #[inline(always)]
    pub(crate) unsafe fn get_mut(&self, range: Range<usize>) -> &'a mut [f32] {
        self.check(&range);
        // SAFETY: the range lies inside the slice; the caller keeps others away from it.
        unsafe { std::slice::from_raw_parts_mut(self.start.add(range.start), range.len()) }
    }

    /// # Safety
    /// While the part is in use, nobody may write to the same range.
    #[inline(always)]
    pub(crate) unsafe fn get(&self, range: Range<usize>) -> &'a [f32] {
        self.check(&range);
        // SAFETY: the range lies inside the slice; the caller keeps writers away from it.
        unsafe { std::slice::from_raw_parts(self.start.add(range.start), range.len()) }
    }
}

/// A call of its own: what a message is made of must lie in memory, and would be written there at every check.
#[cold]
#[inline(never)]
fn outside(range: Range<usize>, length: usize) -> ! {
    panic!("range {range:?} of a slice of {length} numbers")
}

/// A place in a shared slice from which rows go on at a fixed distance.
#[derive(Clone, Copy)]
pub(crate) struct Grid<'a> {
    slice: SharedSlice<'a>,
    offset: usize,
    stride: usize,
}

impl<'a> Grid<'a> {
    pub(crate) fn new(slice: SharedSlice<'a>, offset: usize, stride: usize) -> Self {
        Grid { slice, offset, stride }
    }

    /// All of a slice, in rows of `stride` numbers.
    pub(crate) fn over(slice: &'a mut [f32], stride: usize) -> Self {
        Grid::new(SharedSlice::new(slice), 0, stride)
    }

    /// All of a slice, in rows of `stride` numbers, to be read only.
    pub(crate) fn reading(slice: &'a [f32], stride: usize) -> Self {
        // Nobody calls `row_mut` or `pointer` on it to write: it is only handed to readers.
        let slice =
            SharedSlice { start: slice.as_ptr().cast_mut(), length: slice.len(), lifetime: PhantomData };
        Grid::new(slice, 0, stride)
    }

    /// The place `row` rows down and `column` columns to the right.
    #[inline(always)]
    pub(crate) fn at(self, row: usize, column: usize) -> Self {
        Grid { offset: self.offset + row * self.stride + column, ..self }
    }

    pub(crate) fn stride(&self) -> usize {
        self.stride
    }

    /// A pointer to `rows` rows of `width` numbers, which the slice is checked to hold.
    #[inline(always)]
    pub(crate) fn pointer(self, rows: usize, width: usize) -> *mut f32 {
        let length = (rows - 1) * self.stride + width;
        self.slice.check(&(self.offset..self.offset + length));
        // SAFETY: the range lies inside the slice.
        unsafe { self.slice.start.add(self.offset) }
    }

    /// Some columns of a row.
    ///
    /// # Safety
    /// While they are in use, nobody may write to them.
    #[inline(always)]
    pub(crate) unsafe fn row(self, row: usize, columns: Range<usize>) -> &'a [f32] {
        let start = self.offset + row * self.stride;
        // SAFETY: handed on.
        unsafe { self.slice.get(start + columns.start..start + columns.end) }
    }

    /// Some columns of a row, to be written.
    ///
    /// # Safety
    /// While they are in use, nobody else may use them. The grid must not be one that was made for [reading](Grid::reading).
    #[inline(always)]
    pub(crate) unsafe fn row_mut(self, row: usize, columns: Range<usize>) -> &'a mut [f32] {
        let start = self.offset + row * self.stride;
        // SAFETY: handed on.
        unsafe { self.slice.get_mut(start + columns.start..start + columns.end) }
    }

    /// `rows` rows of `columns` numbers as a matrix. Of the numbers between them nothing is read.
    ///
    /// # Safety
    /// While it is in use, nobody may write to any of it, the numbers between the rows included.
    pub(crate) unsafe fn mat(self, rows: usize, columns: usize) -> Mat<'a> {
        let length = if rows == 0 { 0 } else { (rows - 1) * self.stride + columns };
        // SAFETY: handed on.
        let numbers = unsafe { self.slice.get(self.offset..self.offset + length) };
        Mat::strided(numbers, rows, columns, self.stride)
    }
}
