//! The innermost loops: a few rows times two vectors of columns, held in registers.

use super::mat::Mat;
use super::pack::{PANEL, Packed, PackedView, strip_size};
use super::{DEPTH, Update};
use crate::lane::{Isa, Kernel, LANES, Vector};
use crate::shared::Grid;
use std::ops::Range;

/// Rows of a strip: with two vectors of columns, twelve sums, two vectors of `b` and one of `a` fill the registers of AVX2.
pub(crate) const STRIP: usize = 6;
/// Up to this many rows, blocks are half as deep.
const SHALLOW_ROWS: usize = 32;
/// Panels that a single row runs over at once, so that enough independent sums are under way.
const ROW_PANELS: usize = 4;

/// `a · b` for the panels `panels` of a packed `b`, `a` read in place; the target is that of the whole product.
///
/// # Safety
/// While it runs, nobody else may use the columns of `panels` in the target's rows.
pub(crate) unsafe fn multiply_panels(
    isa: Isa,
    target: Grid,
    a: Mat,
    b: &Packed,
    panels: Range<usize>,
    update: Update,
) {
    let (rows, depth) = (a.rows(), a.columns());
    assert_eq!(depth, b.depth(), "a product of {rows} × {depth} and {} × {}", b.depth(), b.columns());
    if rows == 0 || depth == 0 {
        assert!(
            depth > 0 || rows == 0 || update == Update::Add,
            "a product over nothing has nothing to write"
        );
        return;
    }
    isa.run(Panels { target, a, b: b.view(), panels, add: update == Update::Add });
}

/// `a · b` for all of a packed `b`, by one thread.
pub(super) fn multiply_view(isa: Isa, target: Grid, a: Mat, b: PackedView, update: Update) {
    let panels = 0..b.columns.div_ceil(PANEL);
    isa.run(Panels { target, a, b, panels, add: update == Update::Add });
}

struct Panels<'a> {
    target: Grid<'a>,
    a: Mat<'a>,
    b: PackedView<'a>,
    panels: Range<usize>,
    add: bool,
}

impl Kernel for Panels<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Panels { target, a, b, mut panels, add } = self;
        let (row_stride, k_stride) = a.strides();
        let (rows, depth) = (a.rows(), a.columns());
        let left = a.from(0, 0).as_ptr();
        let strips = rows.div_ceil(STRIP);
        // Few rows of `a` then fit the first cache beside the panel.
        let block_depth = if rows <= SHALLOW_ROWS { DEPTH / 2 } else { DEPTH };
        if rows == 1 {
            while panels.len() >= ROW_PANELS && (panels.start + ROW_PANELS) * PANEL <= b.columns {
                let out = target.at(0, panels.start * PANEL).pointer(1, ROW_PANELS * PANEL);
                let right = std::array::from_fn(|i| b.panel(panels.start + i, 0..depth).as_ptr());
                // SAFETY: `Mat` and `Packed` hold `depth` numbers and rows, `out` was checked, and it is ours alone.
                unsafe { row::<V>(depth, left, k_stride, right, out, add) };
                panels.start += ROW_PANELS;
            }
        }
        for panel in panels {
            let width = PANEL.min(b.columns - panel * PANEL);
            for start in (0..depth).step_by(block_depth) {
                let ks = start..(start + block_depth).min(depth);
                let right = b.panel(panel, ks.clone()).as_ptr();
                let add = add || start > 0;
                let shape =
                    Strip { depth: ks.len(), row_stride, k_stride, out_stride: target.stride(), width, add };
                let mut top = 0;
                for strip in 0..strips {
                    fetch_share::<V>(right.wrapping_add(ks.len() * PANEL), ks.len(), strip, strips);
                    let height = (rows - top).div_ceil(strips - strip);
                    let out = target.at(top, panel * PANEL).pointer(height, width);
                    let left = a.from(top, start).as_ptr();
                    // SAFETY: `a` has `height` rows from `top` on and the columns `ks`, the panel has the rows `ks`, and
                    // `out` was checked and is ours alone.
                    unsafe { strip_of::<V>(height, &shape, left, right, out) };
                    top += height;
                }
            }
        }
    }
}

/// Asks for a share of a panel's next `rows`, while others are multiplied: a weight seldom fits the caches.
#[inline(always)]
fn fetch_share<V: Vector>(panel: *const f32, rows: usize, share: usize, shares: usize) {
    for row in share * rows / shares..(share + 1) * rows / shares {
        V::fetch_for_later(panel.wrapping_add(row * PANEL));
    }
}

/// The sizes of a block of packed strips times a packed panel.
#[derive(Clone, Copy)]
pub(super) struct Block {
    pub(super) rows: usize,
    /// Columns of the panel that the target has.
    pub(super) width: usize,
    pub(super) depth: usize,
    /// Whether the product is added to what is there.
    pub(super) add: bool,
}

/// A block of packed strips times one packed panel.
///
/// # Safety
/// While it runs, nobody else may use the target's rows and columns of the block.
pub(super) unsafe fn multiply_block(isa: Isa, target: Grid, block: Block, left: &[f32], right: &[f32]) {
    let Block { rows, depth, .. } = block;
    assert!(left.len() >= rows.div_ceil(STRIP) * strip_size(depth) && right.len() >= PANEL * depth);
    isa.run(Strips { target, block, left, right });
}

struct Strips<'a> {
    target: Grid<'a>,
    block: Block,
    left: &'a [f32],
    right: &'a [f32],
}

impl Kernel for Strips<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Strips { target, block, left, right } = self;
        let Block { rows, width, depth, add } = block;
        let shape = Strip { depth, row_stride: 1, k_stride: STRIP, out_stride: target.stride(), width, add };
        for top in (0..rows).step_by(STRIP) {
            let height = STRIP.min(rows - top);
            let out = target.at(top, 0).pointer(height, width);
            let left = left[top / STRIP * strip_size(depth)..].as_ptr();
            // SAFETY: the packed operands are as long as the assertion above says, `out` was checked and is ours alone.
            unsafe { strip_of::<V>(height, &shape, left, right.as_ptr(), out) };
        }
    }
}

/// The sizes of a strip's product.
struct Strip {
    depth: usize,
    row_stride: usize,
    k_stride: usize,
    out_stride: usize,
    width: usize,
    add: bool,
}

/// # Safety
/// As for [`strip`].
#[inline(always)]
unsafe fn strip_of<V: Vector>(height: usize, shape: &Strip, a: *const f32, b: *const f32, out: *mut f32) {
    // SAFETY: handed on.
    unsafe {
        match height {
            1 => strip::<V, 1>(shape, a, b, out),
            2 => strip::<V, 2>(shape, a, b, out),
            3 => strip::<V, 3>(shape, a, b, out),
            4 => strip::<V, 4>(shape, a, b, out),
            5 => strip::<V, 5>(shape, a, b, out),
            _ => strip::<V, STRIP>(shape, a, b, out),
        }
    }
}

/// `ROWS` rows of `a` times one panel.
///
/// # Safety
/// `a` must hold `ROWS` rows and `depth` columns at its strides, `b` `depth` rows of a panel, and `out` `ROWS` rows of
/// `width` numbers that nobody else uses.
#[inline(always)]
unsafe fn strip<V: Vector, const ROWS: usize>(shape: &Strip, a: *const f32, b: *const f32, out: *mut f32) {
    let Strip { depth, row_stride, k_stride, out_stride, width, add } = *shape;
    let mut sums = [[V::lit(0.0); 2]; ROWS];
    // SAFETY: each access is inside what the caller promised.
    unsafe {
        if add {
            for (i, sums) in sums.iter_mut().enumerate() {
                *sums = load_row(out.add(i * out_stride), width);
            }
        }
        let (mut a, mut b) = (a, b);
        for _ in 0..depth {
            let right = [V::load_raw(b), V::load_raw(b.add(LANES))];
            for (i, sums) in sums.iter_mut().enumerate() {
                let left = V::lit(*a.add(i * row_stride));
                sums[0] = left.mul_add(right[0], sums[0]);
                sums[1] = left.mul_add(right[1], sums[1]);
            }
            // The last step may leave the operand's memory, which only a wrapping offset may do.
            a = a.wrapping_add(k_stride);
            b = b.wrapping_add(PANEL);
        }
        for (i, sums) in sums.into_iter().enumerate() {
            store_row(sums, out.add(i * out_stride), width);
        }
    }
}

/// # Safety
/// `from` must be valid for reading `width` numbers.
#[inline(always)]
unsafe fn load_row<V: Vector>(from: *const f32, width: usize) -> [V; 2] {
    // SAFETY: a full row is read in place, a shorter one through a copy of its length.
    unsafe {
        if width == PANEL {
            return [V::load_raw(from), V::load_raw(from.add(LANES))];
        }
        let mut padded = [0.0f32; PANEL];
        std::ptr::copy_nonoverlapping(from, padded.as_mut_ptr(), width);
        [V::load(&padded[..LANES]), V::load(&padded[LANES..])]
    }
}

/// # Safety
/// `to` must be valid for writing `width` numbers.
#[inline(always)]
unsafe fn store_row<V: Vector>(row: [V; 2], to: *mut f32, width: usize) {
    // SAFETY: a full row is written in place, a shorter one through a copy of its length.
    unsafe {
        if width == PANEL {
            row[0].store_raw(to);
            row[1].store_raw(to.add(LANES));
            return;
        }
        let mut padded = [0.0f32; PANEL];
        row[0].store(&mut padded[..LANES]);
        row[1].store(&mut padded[LANES..]);
        std::ptr::copy_nonoverlapping(padded.as_ptr(), to, width);
    }
}

/// One row of `a` times several full panels.
///
/// # Safety
/// `a` must hold `depth` numbers at its stride, each of `b` `depth` rows of a panel, and `out` as many full panels' width
/// that nobody else uses.
#[inline(always)]
unsafe fn row<V: Vector>(
    depth: usize,
    a: *const f32,
    k_stride: usize,
    b: [*const f32; ROW_PANELS],
    out: *mut f32,
    add: bool,
) {
    let mut sums = [[V::lit(0.0); 2]; ROW_PANELS];
    // SAFETY: each access is inside what the caller promised.
    unsafe {
        if add {
            for (i, sums) in sums.iter_mut().enumerate() {
                *sums = load_row(out.add(i * PANEL), PANEL);
            }
        }
        for k in 0..depth {
            let left = V::lit(*a.add(k * k_stride));
            for (sums, b) in sums.iter_mut().zip(b) {
                sums[0] = left.mul_add(V::load_raw(b.add(k * PANEL)), sums[0]);
                sums[1] = left.mul_add(V::load_raw(b.add(k * PANEL + LANES)), sums[1]);
            }
        }
        for (i, sums) in sums.into_iter().enumerate() {
            store_row(sums, out.add(i * PANEL), PANEL);
        }
    }
}
