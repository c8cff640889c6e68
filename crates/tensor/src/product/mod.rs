//! Matrix products: one door for all of them.
//!
//! `out = a · b`, or `out += a · b`. Either operand may be transposed or a block of columns ([`Mat`]); a right operand that
//! is used again, such as a weight, can be packed once.
//!
//! Every number of the result is one chain of multiply-adds over `k` in order, which starts at zero or at what was there.
//! So the result depends neither on how the work is cut into blocks and shared among threads, nor on which of the paths
//! below is taken, nor on which other rows are in the matrix: a sentence gives the same bits alone and in any batch.

mod kernel;
mod mat;
mod pack;
pub mod reference;

pub(crate) use kernel::multiply_panels;
pub use mat::Mat;
pub(crate) use pack::{PANEL, Packed, packed_length};

use crate::device::{Cpu, Device};
use crate::lane::Isa;
use crate::memory::Buffer;
use crate::shared::{Grid, SharedSlice};
use kernel::{Block, STRIP, multiply_block, multiply_view};
use pack::{PackedView, pack_panels, pack_strips, strip_size};
use std::ops::Range;

/// Depth of a block: a panel of `b` this deep fills half of the first cache.
const DEPTH: usize = 256;
/// Rows of a block: so many rows of `a`, [`DEPTH`] deep, fill a quarter of the second cache.
const HEIGHT: usize = 120;
/// Numbers of `b` that are packed before they are multiplied: a share of the last cache.
const PACKED: usize = 1 << 20;
/// Up to this many rows, `a` is read in place instead of being packed.
pub(crate) const FEW_ROWS: usize = 96;

/// How deep a `b` of so many panels is packed at once: in whole blocks.
fn packed_depth(panels: usize) -> usize {
    (PACKED / (panels * PANEL * DEPTH)).max(1) * DEPTH
}

/// About so many rows, and a few at least, that products cut into whole blocks.
pub(crate) fn rows_of_blocks(rows: usize) -> usize {
    (rows / HEIGHT).clamp(1, 8) * HEIGHT
}

/// Whether what is computed overwrites what is there or is added to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Update {
    /// `out = a · b`
    Set,
    /// `out += a · b`
    Add,
}

impl Update {
    /// Sets or adds numbers.
    pub(crate) fn apply(self, to: &mut [f32], from: &[f32]) {
        match self {
            Update::Set => to.copy_from_slice(from),
            Update::Add => to.iter_mut().zip(from).for_each(|(to, x)| *to += x),
        }
    }
}

/// The right operand.
#[derive(Clone, Copy)]
pub(crate) enum Right<'a> {
    Plain(Mat<'a>),
    Packed(&'a Packed),
}

impl Right<'_> {
    fn shape(&self) -> (usize, usize) {
        match self {
            Right::Plain(mat) => (mat.rows(), mat.columns()),
            Right::Packed(packed) => (packed.depth(), packed.columns()),
        }
    }
}

/// `out = a · b` or `out += a · b` on the processor; `out` is row-major.
///
/// ```
/// use couplet_tensor::{Device, Mat, Update, multiply};
///
/// let a = [1.0, 2.0, 3.0, 4.0]; // 2 × 2
/// let b = [5.0, 6.0]; // 1 × 2
/// let mut out = [0.0; 2];
/// multiply(&Device::cpu(), &mut out, Mat::new(&a, 2, 2), Mat::new(&b, 1, 2).transposed(), Update::Set);
/// assert_eq!(out, [17.0, 39.0]); // 1·5 + 2·6, 3·5 + 4·6
/// ```
pub fn multiply(device: &Device, out: &mut [f32], a: Mat, b: Mat, update: Update) {
    let stride = b.columns();
    multiply_into(device, out, stride, a, Right::Plain(b), update);
}

/// As [`multiply`], where the rows of `out` lie `stride` numbers apart.
pub(crate) fn multiply_into(
    device: &Device,
    out: &mut [f32],
    stride: usize,
    a: Mat,
    b: Right,
    update: Update,
) {
    multiply_around(device, out, stride, a, b, ProductFusion { update, ..ProductFusion::default() });
}

/// What is made of whole sums: the row, the column of the first of them, and the numbers from there on.
pub(crate) type FusionFn<'a> = dyn Fn(usize, usize, &mut [f32]) + Sync + 'a;

/// What a product begins with, and what is made of it: both while the numbers are in a cache.
#[derive(Clone, Copy)]
pub(crate) struct ProductFusion<'a> {
    pub(crate) update: Update,
    /// A row that every row of the product is added to, in the place of what is there.
    pub(crate) first: Option<&'a [f32]>,
    /// What is made of its rows, part by part, when they are whole.
    pub(crate) last: Option<&'a FusionFn<'a>>,
}

impl Default for ProductFusion<'_> {
    fn default() -> Self {
        ProductFusion { update: Update::Set, first: None, last: None }
    }
}

impl ProductFusion<'_> {
    /// Whether products are added to what is there once [`ProductFusion::begin`] was called.
    fn adds(&self) -> bool {
        self.first.is_some() || self.update == Update::Add
    }

    /// # Safety
    /// Nobody else may use these columns of the target's rows.
    unsafe fn begin(&self, target: Grid, rows: Range<usize>, columns: Range<usize>) {
        let Some(first) = self.first else { return };
        for row in rows {
            // SAFETY: handed on.
            unsafe { target.row_mut(row, columns.clone()) }.copy_from_slice(&first[columns.clone()]);
        }
    }

    /// # Safety
    /// As for [`ProductFusion::begin`].
    unsafe fn end(&self, target: Grid, rows: Range<usize>, columns: Range<usize>) {
        let Some(last) = self.last else { return };
        for row in rows {
            // SAFETY: handed on.
            last(row, columns.start, unsafe { target.row_mut(row, columns.clone()) });
        }
    }
}

/// As [`multiply_into`], and more.
pub(crate) fn multiply_around(
    device: &Device,
    out: &mut [f32],
    stride: usize,
    a: Mat,
    b: Right,
    around: ProductFusion,
) {
    let (m, k) = (a.rows(), a.columns());
    let (depth, n) = b.shape();
    assert_eq!(k, depth, "a product of {m} × {k} and {depth} × {n}");
    assert!(stride >= n, "rows of {n} numbers that lie {stride} apart");
    if m == 0 || n == 0 {
        return;
    }
    assert!(out.len() >= (m - 1) * stride + n, "{} numbers for a product of {m} × {n}", out.len());
    assert!(around.first.is_none_or(|first| first.len() == n), "a first row of {n} numbers");
    let cpu = device.expect_cpu();
    if k == 0 && !around.adds() {
        out.chunks_mut(stride).take(m).for_each(|row| row[..n].fill(0.0));
    }
    let target = Grid::new(SharedSlice::new(out), 0, stride);
    match b {
        // SAFETY: nobody else uses `out`.
        _ if k == 0 => unsafe {
            around.begin(target, 0..m, 0..n);
            around.end(target, 0..m, 0..n);
        },
        Right::Packed(packed) if m <= FEW_ROWS => few_rows(cpu, target, a, packed, around),
        _ => blocks(device, cpu, target, a, b, around),
    }
}

/// As [`multiply`], by the calling thread alone, for operands that fit the first cache. `room` holds the packed `b`: as many numbers
/// as [`packed_length`] says.
pub(crate) fn multiply_small(isa: Isa, out: &mut [f32], a: Mat, b: Mat, room: &mut [f32], update: Update) {
    let (rows, depth, columns) = (a.rows(), a.columns(), b.columns());
    assert_eq!(depth, b.rows(), "a product of {rows} × {depth} and {} × {columns}", b.rows());
    assert!(depth > 0, "a product over nothing has nothing to write");
    assert!(out.len() >= rows * columns, "{} numbers for a product of {rows} × {columns}", out.len());
    if rows == 0 || columns == 0 {
        return;
    }
    let room = &mut room[..packed_length(depth, columns)];
    pack_panels(isa, b, 0..depth, 0..columns.div_ceil(PANEL), room);
    let target = Grid::new(SharedSlice::new(out), 0, columns);
    multiply_view(isa, target, a, PackedView { depth, columns, numbers: room }, update);
}

/// `b` is packed and `a` has so few rows that reading it in place is best: the workers share the columns.
fn few_rows(cpu: &Cpu, target: Grid, a: Mat, b: &Packed, around: ProductFusion) {
    let update = if around.adds() { Update::Add } else { Update::Set };
    let workers = cpu.pool.workers_for(a.rows() * a.columns() * b.columns() / PANEL);
    cpu.pool.run(workers, |worker| {
        for panels in worker.deal_blocks(b.panels(), 1) {
            let columns = panels.start * PANEL..(panels.end * PANEL).min(b.columns());
            // SAFETY: the workers write different columns, and nobody else uses `out`.
            unsafe {
                around.begin(target, 0..a.rows(), columns.clone());
                multiply_panels(cpu.isa, target, a, b, panels, update);
                around.end(target, 0..a.rows(), columns);
            }
        }
    });
}

/// The general case: blocks of `a` and `b` are packed to fit the caches, and tiles of `out` are dealt out to the workers.
fn blocks(device: &Device, cpu: &Cpu, target: Grid, a: Mat, b: Right, around: ProductFusion) {
    let (m, k, n) = (a.rows(), a.columns(), b.shape().1);
    let workers = cpu.pool.workers_for(m * n * k / PANEL);
    let panels = n.div_ceil(PANEL);
    let depth = match b {
        Right::Plain(_) => packed_depth(panels).min(k),
        Right::Packed(_) => k,
    };
    let mut right = match b {
        Right::Plain(_) => Some(Buffer::new(device, panels * PANEL * depth)),
        Right::Packed(_) => None,
    };
    let right = right.as_mut().map(|buffer| SharedSlice::new(buffer.numbers_mut()));
    let tiles = Tiles::new(workers, m, panels);
    // A packed `b` is a weight, which may lie far off: with more rows in a block, a search goes through it once.
    let height = if right.is_none() { 2 * HEIGHT } else { HEIGHT };
    let left_size = tiles.height.min(height).div_ceil(STRIP) * strip_size(DEPTH.min(k));
    let mut left = Buffer::new(device, workers * left_size);
    let left = SharedSlice::new(left.numbers_mut());

    cpu.pool.run(workers, |worker| {
        let left_start = worker.index * left_size;
        for start in (0..k).step_by(depth) {
            let ks = start..(start + depth).min(k);
            if let (Right::Plain(b), Some(right)) = (b, right) {
                for own in worker.deal_blocks(panels, 1) {
                    let range = own.start * PANEL * ks.len()..own.end * PANEL * ks.len();
                    // SAFETY: each panel is packed by one worker, and none is read before the barrier.
                    pack_panels(cpu.isa, b, ks.clone(), own, unsafe { right.get_mut(range) });
                }
                worker.barrier();
            }
            let panel = |panel: usize, inner: &Range<usize>| match (b, right) {
                (Right::Packed(b), _) => b.panel(panel, inner.clone()),
                (Right::Plain(_), Some(right)) => {
                    let first = panel * ks.len() + (inner.start - ks.start);
                    // SAFETY: nobody writes the packed panels between the two barriers.
                    unsafe { right.get(first * PANEL..(first + inner.len()) * PANEL) }
                }
                (Right::Plain(_), None) => unreachable!("a plain operand has a place to be packed to"),
            };
            for tile in worker.deal(tiles.count()) {
                let (rows, columns) = tiles.at(tile);
                let (own_rows, own_columns) =
                    (rows.clone(), columns.start * PANEL..(columns.end * PANEL).min(n));
                if start == 0 {
                    // SAFETY: tiles do not overlap, and each is computed by one worker.
                    unsafe { around.begin(target, own_rows.clone(), own_columns.clone()) };
                }
                for inner in parts(ks.clone(), DEPTH) {
                    for rows in parts(rows.clone(), height) {
                        // SAFETY: each worker has a left block of its own.
                        let left = unsafe { left.get_mut(left_start..left_start + left_size) };
                        pack_strips(cpu.isa, a, rows.clone(), inner.clone(), left);
                        for at in columns.clone() {
                            let width = PANEL.min(n - at * PANEL);
                            let add = around.adds() || inner.start > 0;
                            let block = Block { rows: rows.len(), width, depth: inner.len(), add };
                            // SAFETY: tiles do not overlap, and each is computed by one worker.
                            unsafe {
                                let place = target.at(rows.start, at * PANEL);
                                multiply_block(cpu.isa, place, block, left, panel(at, &inner));
                            };
                        }
                    }
                }
                if ks.end == k {
                    // SAFETY: as above.
                    unsafe { around.end(target, own_rows, own_columns) };
                }
            }
            if ks.end < k {
                worker.barrier();
            }
        }
    });
}

/// A range in parts of so many, the last of which may have fewer.
fn parts(range: Range<usize>, size: usize) -> impl Iterator<Item = Range<usize>> {
    range.clone().step_by(size).map(move |start| start..(start + size).min(range.end))
}

/// How `out` is cut into tiles: by rows where there are enough of them, else by panels.
struct Tiles {
    rows: usize,
    panels: usize,
    height: usize,
    width: usize,
}

impl Tiles {
    fn new(workers: usize, rows: usize, panels: usize) -> Tiles {
        if rows >= workers * FEW_ROWS || rows >= panels * PANEL {
            // As many for each worker, so that none has to wait for the last one.
            let count = rows.div_ceil(HEIGHT).next_multiple_of(workers);
            let height = rows.div_ceil(count).next_multiple_of(STRIP);
            Tiles { rows, panels, height, width: panels }
        } else {
            Tiles { rows, panels, height: rows, width: panels.div_ceil(workers) }
        }
    }

    fn count(&self) -> usize {
        self.rows.div_ceil(self.height) * self.panels.div_ceil(self.width)
    }

    /// The rows and the panels of a tile.
    fn at(&self, tile: usize) -> (Range<usize>, Range<usize>) {
        let across = self.panels.div_ceil(self.width);
        let (row, panel) = (tile / across * self.height, tile % across * self.width);
        (row..(row + self.height).min(self.rows), panel..(panel + self.width).min(self.panels))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::Isa;

    /// The rows of the target lie apart, and what lies between, before and behind them must stay: with few rows and many, plain
    /// and packed, in widths that leave lanes over.
    #[test]
    fn nothing_outside_of_the_target_is_written() {
        const GUARD: f32 = -7.5;
        for (isa, threads) in [(Isa::detect(), 1), (Isa::detect(), 2), (Isa::Portable, 2)] {
            let device = Device::cpu_with_grain(threads, isa, 1);
            for (m, k, n) in [(1, 9, 64), (1, 9, 65), (5, 3, 1), (7, 33, 17), (97, 300, 31), (130, 2, 48)] {
                let (before, stride) = (5, n + 3);
                let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
                let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
                let (a, b) = (Mat::new(&a, m, k), Mat::new(&b, k, n));
                let packed = Packed::new(&device, b);
                for right in [Right::Plain(b), Right::Packed(&packed)] {
                    let mut out = vec![GUARD; before + m * stride];
                    multiply_into(&device, &mut out[before..], stride, a, right, Update::Set);
                    let wanted = reference::multiply(a, b);
                    for (place, &found) in out.iter().enumerate() {
                        let inside = place.checked_sub(before).filter(|place| place % stride < n);
                        let wanted = inside.map_or(GUARD, |at| wanted[at / stride * n + at % stride] as f32);
                        assert_eq!(found, wanted, "{m} × {k} × {n} at {place}");
                    }
                }
            }
        }
    }

    /// Of ones, a product over `k` is `k`. Begun with the column's number, then doubled and the row's number added, it is
    /// `2·(k + column) + row`, however it is cut and in as many rounds as a deep and wide one takes.
    #[test]
    fn a_product_begins_with_a_row_and_ends_once() {
        for threads in [1, 2] {
            let device = Device::cpu_with_grain(threads, Isa::detect(), 1);
            for (m, k, n) in [(1, 0, 3), (1, 9, 65), (7, 33, 17), (130, 2, 48), (2, 3, 700), (100, 600, 8200)]
            {
                let (a, b) = (vec![1.0; m * k], vec![1.0; k * n]);
                let (a, b) = (Mat::new(&a, m, k), Mat::new(&b, k, n));
                let first: Vec<f32> = (0..n).map(|column| column as f32).collect();
                let last = |row: usize, column: usize, numbers: &mut [f32]| {
                    assert!(numbers.len() + column <= n);
                    numbers.iter_mut().for_each(|x| *x = 2.0 * *x + row as f32);
                };
                let around = ProductFusion { update: Update::Set, first: Some(&first), last: Some(&last) };
                let packed = Packed::new(&device, b);
                for right in [Right::Plain(b), Right::Packed(&packed)] {
                    let mut out = vec![f32::NAN; m * n];
                    multiply_around(&device, &mut out, n, a, right, around);
                    for (place, &found) in out.iter().enumerate() {
                        let wanted = 2 * (k + place % n) + place / n;
                        assert_eq!(found, wanted as f32, "{m} × {k} × {n} at {place}");
                    }
                }
            }
        }
    }
}
