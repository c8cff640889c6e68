//! Operands in the order in which the kernel reads them.
//!
//! The right operand becomes panels of [`PANEL`] columns, each stored row after row; the left one becomes strips of
//! [`STRIP`] rows, each stored column after column. What is missing at the edges is zero.

use super::kernel::STRIP;
use super::mat::Mat;
use crate::device::Device;
use crate::memory::Buffer;
use std::ops::Range;

/// Columns of a panel: two vectors.
pub(crate) const PANEL: usize = 16;

/// A right operand, packed as a whole, for a matrix that is used again.
pub(crate) struct Packed {
    depth: usize,
    columns: usize,
    data: Buffer,
}

impl Packed {
    pub(crate) fn new(device: &Device, b: Mat) -> Packed {
        let (depth, columns) = (b.rows(), b.columns());
        let panels = columns.div_ceil(PANEL);
        let mut data = Buffer::new(device, panels * PANEL * depth);
        let cpu = device.expect_cpu();
        let numbers = &mut data.numbers_mut()[..panels * PANEL * depth];
        cpu.pool.split_rows(panels, numbers.len(), [numbers], |own, [numbers]| {
            pack_panels(b, 0..depth, own, numbers);
        });
        Packed { depth, columns, data }
    }

    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn panels(&self) -> usize {
        self.columns.div_ceil(PANEL)
    }

    /// Some rows of a panel.
    pub(crate) fn panel(&self, panel: usize, ks: Range<usize>) -> &[f32] {
        let start = panel * PANEL * self.depth;
        &self.data.numbers()[start + ks.start * PANEL..start + ks.end * PANEL]
    }
}

/// Packs the panels `panels` of the rows `ks` of `b`.
pub(super) fn pack_panels(b: Mat, ks: Range<usize>, panels: Range<usize>, out: &mut [f32]) {
    if ks.is_empty() {
        return;
    }
    let (row_stride, column_stride) = b.strides();
    for (panel, out) in panels.zip(out.chunks_exact_mut(PANEL * ks.len())) {
        let first = panel * PANEL;
        let width = PANEL.min(b.columns() - first);
        if width < PANEL {
            out.fill(0.0);
        }
        let from = b.from(ks.start, first);
        if column_stride == 1 {
            for (k, out) in out.chunks_exact_mut(PANEL).enumerate() {
                copy::<PANEL>(out, &from[k * row_stride..], width);
            }
        } else {
            interleave::<PANEL>(out, from, width, column_stride, row_stride);
        }
    }
}

/// Copies the first `count` numbers, mostly all `FULL` of them: of a known length, that is a few instructions and no call.
#[inline(always)]
fn copy<const FULL: usize>(to: &mut [f32], from: &[f32], count: usize) {
    match (to.first_chunk_mut::<FULL>(), from.first_chunk::<FULL>()) {
        (Some(to), Some(from)) if count == FULL => *to = *from,
        _ => to[..count].copy_from_slice(&from[..count]),
    }
}

/// Packs lines that lie `line_stride` apart side by side: one number of each, mostly of all `FULL` lines, then the next of each.
/// Where the numbers of a line are neighbours, the lines are read and the packed ones written from beginning to end.
#[inline(always)]
fn interleave<const FULL: usize>(
    out: &mut [f32],
    from: &[f32],
    count: usize,
    line_stride: usize,
    stride: usize,
) {
    let length = out.len() / FULL;
    if count == FULL && stride == 1 {
        let lines: [&[f32]; FULL] = std::array::from_fn(|i| &from[i * line_stride..][..length]);
        for (k, out) in out.chunks_exact_mut(FULL).enumerate() {
            for (out, line) in out.iter_mut().zip(lines) {
                *out = line[k];
            }
        }
    } else {
        for i in 0..count {
            let line = from[i * line_stride..].iter().step_by(stride);
            out[i..].iter_mut().step_by(FULL).zip(line).for_each(|(out, &x)| *out = x);
        }
    }
}

/// Packs the rows `rows` of the columns `ks` of `a`.
pub(super) fn pack_strips(a: Mat, rows: Range<usize>, ks: Range<usize>, out: &mut [f32]) {
    let (row_stride, column_stride) = a.strides();
    let (depth, from) = (ks.len(), a.from(rows.start, ks.start));
    let (full, left_over) = (rows.len() / STRIP, rows.len() % STRIP);
    if left_over > 0 {
        out[full * STRIP * depth..][..STRIP * depth].fill(0.0);
    }
    if row_stride == 1 {
        // Each column is read once, from beginning to end: columns that lie a power of two apart push each other out of the cache.
        for k in 0..depth {
            let column = &from[k * column_stride..][..rows.len()];
            for (strip, numbers) in column.chunks(STRIP).enumerate() {
                copy::<STRIP>(&mut out[(strip * depth + k) * STRIP..], numbers, numbers.len());
            }
        }
    } else {
        for (strip, out) in out.chunks_exact_mut(STRIP * depth).take(rows.len().div_ceil(STRIP)).enumerate() {
            let height = if strip < full { STRIP } else { left_over };
            interleave::<STRIP>(out, &from[strip * STRIP * row_stride..], height, row_stride, column_stride);
        }
    }
}
