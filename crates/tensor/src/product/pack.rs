//! Operands in the order in which the kernel reads them.
//!
//! The right operand becomes panels of [`PANEL`] columns, each stored row after row; the left one becomes strips of
//! [`STRIP`] rows, each stored column after column. What is missing at the edges is zero.

use super::kernel::STRIP;
use super::mat::Mat;
use crate::device::Device;
use crate::lane::{Isa, Kernel, LANES, Vector};
use crate::memory::Buffer;
use std::ops::Range;

/// Columns of a panel: two vectors.
pub(crate) const PANEL: usize = 16;

/// How many columns ahead are asked for while one is packed.
const COLUMNS_AHEAD: usize = 8;

/// Numbers from the beginning of a packed strip to that of the next one. With some between them, places of the same column do not
/// push each other out of the cache.
pub(super) const fn strip_size(depth: usize) -> usize {
    STRIP * depth + 16
}

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
            pack_panels(cpu.isa, b, 0..depth, own, numbers);
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
        self.view().panel(panel, ks)
    }

    pub(super) fn view(&self) -> PackedView<'_> {
        PackedView { depth: self.depth, columns: self.columns, numbers: self.data.numbers() }
    }
}

/// A packed right operand, wherever its panels lie.
#[derive(Clone, Copy)]
pub(super) struct PackedView<'a> {
    pub(super) depth: usize,
    pub(super) columns: usize,
    pub(super) numbers: &'a [f32],
}

impl<'a> PackedView<'a> {
    /// Some rows of a panel.
    pub(super) fn panel(&self, panel: usize, ks: Range<usize>) -> &'a [f32] {
        let start = panel * PANEL * self.depth;
        &self.numbers[start + ks.start * PANEL..start + ks.end * PANEL]
    }
}

/// The numbers of a packed right operand of so many rows and columns.
pub(crate) fn packed_length(depth: usize, columns: usize) -> usize {
    columns.div_ceil(PANEL) * PANEL * depth
}

/// Packs the panels `panels` of the rows `ks` of `b`.
pub(super) fn pack_panels(isa: Isa, b: Mat, ks: Range<usize>, panels: Range<usize>, out: &mut [f32]) {
    isa.run(PackPanels { b, ks, panels, out });
}

struct PackPanels<'a> {
    b: Mat<'a>,
    ks: Range<usize>,
    panels: Range<usize>,
    out: &'a mut [f32],
}

impl Kernel for PackPanels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let PackPanels { b, ks, panels, out } = self;
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
                side_by_side::<V, PANEL>(out, from, width, column_stride, row_stride);
            }
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

/// Packs `count` lines that lie `line_stride` apart side by side: one number of each, mostly of all `FULL` lines, then the next
/// of each.
#[inline(always)]
fn side_by_side<V: Vector, const FULL: usize>(
    out: &mut [f32],
    from: &[f32],
    count: usize,
    line_stride: usize,
    stride: usize,
) {
    let length = out.len() / FULL;
    if count == FULL && stride == 1 {
        interleave::<V, FULL>(out, std::array::from_fn(|i| &from[i * line_stride..][..length]));
    } else {
        for i in 0..count {
            let line = from[i * line_stride..].iter().step_by(stride);
            out[i..].iter_mut().step_by(FULL).zip(line).for_each(|(out, &x)| *out = x);
        }
    }
}

/// The same for lines whose numbers are neighbors, in squares of eight numbers of eight lines.
#[inline(always)]
fn interleave<V: Vector, const FULL: usize>(out: &mut [f32], lines: [&[f32]; FULL]) {
    let (length, mut done) = (out.len() / FULL, 0);
    // Of a square that is not full, zeros are written over the numbers behind it, which come later: so one must be left.
    while done + LANES < length {
        for first in (0..FULL).step_by(LANES) {
            let square = std::array::from_fn(|i| match lines.get(first + i) {
                Some(line) => V::load(&line[done..]),
                None => V::lit(0.0),
            });
            for (k, numbers) in V::transpose(square).into_iter().enumerate() {
                numbers.store(&mut out[(done + k) * FULL + first..][..LANES]);
            }
        }
        done += LANES;
    }
    for (k, out) in out.chunks_exact_mut(FULL).enumerate().skip(done) {
        out.iter_mut().zip(lines).for_each(|(out, line)| *out = line[k]);
    }
}

/// Packs the rows `rows` of the columns `ks` of `a`.
pub(super) fn pack_strips(isa: Isa, a: Mat, rows: Range<usize>, ks: Range<usize>, out: &mut [f32]) {
    isa.run(PackStrips { a, rows, ks, out });
}

struct PackStrips<'a> {
    a: Mat<'a>,
    rows: Range<usize>,
    ks: Range<usize>,
    out: &'a mut [f32],
}

impl Kernel for PackStrips<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let PackStrips { a, rows, ks, out } = self;
        let (row_stride, column_stride) = a.strides();
        let (depth, from) = (ks.len(), a.from(rows.start, ks.start));
        let (full, left_over) = (rows.len() / STRIP, rows.len() % STRIP);
        if left_over > 0 {
            out[full * strip_size(depth)..][..STRIP * depth].fill(0.0);
        }
        if row_stride == 1 {
            // Each column is read once, from beginning to end: columns that lie a power of two apart push each other out of the
            // cache. They are too short for the machine to foresee the next ones.
            for k in 0..depth {
                let column = &from[k * column_stride..][..rows.len()];
                let later = column.as_ptr().wrapping_add(COLUMNS_AHEAD * column_stride);
                (0..rows.len()).step_by(PANEL).for_each(|row| V::fetch(later.wrapping_add(row)));
                for (strip, numbers) in column.chunks(STRIP).enumerate() {
                    copy::<STRIP>(&mut out[strip * strip_size(depth) + k * STRIP..], numbers, numbers.len());
                }
            }
        } else {
            let strips = out.chunks_exact_mut(strip_size(depth)).take(rows.len().div_ceil(STRIP));
            for (strip, out) in strips.enumerate() {
                let out = &mut out[..STRIP * depth];
                let height = if strip < full { STRIP } else { left_over };
                let from = &from[strip * STRIP * row_stride..];
                side_by_side::<V, STRIP>(out, from, height, row_stride, column_stride);
            }
        }
    }
}
