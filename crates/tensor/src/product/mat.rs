//! A matrix to read: any block of rows and columns, plain or transposed.

use std::ops::Range;

/// A view of a matrix.
#[derive(Clone, Copy, Debug)]
pub struct Mat<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Mat<'a> {
    /// `data`, row after row.
    pub fn new(data: &'a [f32], rows: usize, columns: usize) -> Mat<'a> {
        Mat::strided(data, rows, columns, columns)
    }

    /// `data`, row after row, where the rows begin `stride` numbers apart.
    pub fn strided(data: &'a [f32], rows: usize, columns: usize, stride: usize) -> Mat<'a> {
        assert!(columns <= stride || rows <= 1, "rows of {columns} numbers that lie {stride} apart");
        let needed = if rows == 0 { 0 } else { (rows - 1) * stride + columns };
        assert!(data.len() >= needed, "{} numbers for a matrix of {rows} × {columns}", data.len());
        Mat { data, rows, columns, row_stride: stride, column_stride: 1 }
    }

    /// How many rows it has.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// How many columns it has.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Rows for columns.
    pub fn transposed(self) -> Mat<'a> {
        Mat {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }

    /// Some of the columns.
    pub fn column_block(self, range: Range<usize>) -> Mat<'a> {
        assert!(range.end <= self.columns, "columns {range:?} of {}", self.columns);
        let columns = range.len();
        let start = if columns == 0 || self.rows == 0 { 0 } else { range.start * self.column_stride };
        Mat { data: &self.data[start..], columns, ..self }
    }

    /// Some of the rows.
    pub fn row_block(self, range: Range<usize>) -> Mat<'a> {
        self.transposed().column_block(range).transposed()
    }

    /// The number in row `i` and column `j`.
    #[inline(always)]
    pub fn at(&self, i: usize, j: usize) -> f32 {
        self.data[i * self.row_stride + j * self.column_stride]
    }

    /// The numbers of row `i`, where they lie side by side.
    #[inline(always)]
    pub(crate) fn row(&self, i: usize) -> &'a [f32] {
        debug_assert_eq!(self.column_stride, 1);
        &self.data[i * self.row_stride..][..self.columns]
    }

    /// The numbers from row `i` and column `j` on.
    #[inline(always)]
    pub(super) fn from(&self, i: usize, j: usize) -> &'a [f32] {
        &self.data[i * self.row_stride + j * self.column_stride..]
    }

    pub(super) fn strides(&self) -> (usize, usize) {
        (self.row_stride, self.column_stride)
    }
}
