//! Sums that several operations need, always formed in the same order.

#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::pool::Worker;
use crate::product::{Mat, Update};
use crate::shared::SharedSlice;

/// The sums of the columns of a row-major matrix, rows added from the first to the last.
pub(crate) fn column_sums(cpu: &Cpu, a: Mat, out: &mut [f32], update: Update) {
    sum_columns(cpu, a, out, update, |_, columns, sums| {
        sums.iter_mut().zip(columns).for_each(|(sum, x)| *sum += x);
    });
}

/// The sums of the columns of `a ⊙ b`, rows added from the first to the last.
pub(crate) fn column_sums_of_product(cpu: &Cpu, a: Mat, b: Mat, out: &mut [f32], update: Update) {
    assert_eq!((a.rows(), a.columns()), (b.rows(), b.columns()));
    sum_columns(cpu, a, out, update, |(row, first), columns, sums| {
        let b = &b.row(row)[first..];
        sums.iter_mut().zip(columns).zip(b).for_each(|((sum, a), b)| *sum += a * b);
    });
}

/// Walks over the rows of a row-major matrix; `add` gets the row, the first of its columns, their numbers and their sums.
fn sum_columns(
    cpu: &Cpu,
    a: Mat,
    out: &mut [f32],
    update: Update,
    add: impl Fn((usize, usize), &[f32], &mut [f32]) + Sync,
) {
    assert_eq!(a.columns(), out.len());
    if update == Update::Set {
        out.fill(0.0);
    }
    if a.rows() == 0 {
        return;
    }
    let columns = out.len();
    let shared = SharedSlice::new(out);
    cpu.pool.run(cpu.pool.workers_for(a.rows() * columns), |worker: &Worker| {
        let share = worker.share(columns, 2 * LANES);
        // SAFETY: the workers' columns do not overlap.
        let out = unsafe { shared.get_mut(share.clone()) };
        let (first, a) = (share.start, a.column_block(share));
        for row in 0..a.rows() {
            add((row, first), a.row(row), out);
        }
    });
}

/// `Σ aᵢ·bᵢ`, in four sums that need not wait for each other.
#[inline(always)]
pub(crate) fn dot<V: Vector>(a: &[f32], b: &[f32]) -> f32 {
    const WIDE: usize = 4 * LANES;
    let mut sums = [V::lit(0.0); 4];
    let (mut a, mut b) = (a.chunks_exact(WIDE), b.chunks_exact(WIDE));
    for (a, b) in (&mut a).zip(&mut b) {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = V::load(&a[i * LANES..]).mul_add(V::load(&b[i * LANES..]), *sum);
        }
    }
    let rest = a.remainder().chunks(LANES).zip(b.remainder().chunks(LANES));
    sums[0] = rest.fold(sums[0], |sum, (a, b)| V::load(a).mul_add(V::load(b), sum));
    ((sums[0] + sums[1]) + (sums[2] + sums[3])).sum()
}

/// `out = Σ wᵢ·rowᵢ`, the rows added in order. Each row is walked through from its beginning to its end, so that the processor sees
/// what comes next; four at a time, so that the sums are not fetched and stored for each.
#[inline(always)]
pub(crate) fn weighted_rows<'a, V: Vector>(
    out: &mut [f32],
    mut terms: impl Iterator<Item = (f32, &'a [f32])>,
) {
    const NONE: (f32, &[f32]) = (0.0, &[]);
    out.fill(0.0);
    loop {
        let mut four = [NONE; 4];
        let count = four.iter_mut().zip(&mut terms).map(|(place, term)| *place = term).count();
        if count < four.len() {
            four[..count].iter().for_each(|term| add_rows::<V, 1>(out, [*term]));
            return;
        }
        add_rows::<V, 4>(out, four);
    }
}

/// `out += Σ wᵢ·rowᵢ`
#[inline(always)]
fn add_rows<V: Vector, const ROWS: usize>(out: &mut [f32], terms: [(f32, &[f32]); ROWS]) {
    let rows = terms.map(|(_, row)| &row[..out.len()]);
    let weights = terms.map(|(weight, _)| V::lit(weight));
    for start in (0..out.len()).step_by(LANES) {
        let range = start..(start + LANES).min(out.len());
        // A loop, since the body of a closure may be compiled without the vector's instructions.
        let mut sum = V::load(&out[range.clone()]);
        for i in 0..ROWS {
            sum = weights[i].mul_add(V::load(&rows[i][range.clone()]), sum);
        }
        sum.store(&mut out[range]);
    }
}

/// `out = e^(xᵢ − largest)` in place, and their sum.
#[inline(always)]
pub(crate) fn exp_sum<V: Vector>(x: &mut [f32], largest: f32) -> f32 {
    let mut sums = V::lit(0.0);
    for chunk in x.chunks_mut(LANES) {
        (V::load(chunk) - V::lit(largest)).exp().store(chunk);
        sums = sums + V::load(chunk);
    }
    sums.sum()
}

/// The largest of some numbers; −∞ of none.
#[inline(always)]
pub(crate) fn largest<V: Vector>(x: &[f32]) -> f32 {
    let chunks = x.chunks_exact(LANES);
    let rest = chunks.remainder().iter().copied().fold(f32::NEG_INFINITY, f32::max);
    chunks.fold(V::lit(f32::NEG_INFINITY), |max, chunk| max.max(V::load(chunk))).largest().max(rest)
}

/// `x = softmax(x)` in place. Of no numbers there is nothing to write.
#[inline(always)]
pub(crate) fn softmax_row<V: Vector>(x: &mut [f32]) {
    let largest = largest::<V>(x);
    let inverse = 1.0 / exp_sum::<V>(x, largest);
    x.iter_mut().for_each(|x| *x *= inverse);
}

/// From softmax's result `a` and its gradient, that of its input: `aᵢ·(daᵢ − Σⱼ aⱼ·daⱼ)`, in place of `da`.
#[inline(always)]
pub(crate) fn softmax_row_back<V: Vector>(a: &[f32], da: &mut [f32]) {
    let inner = dot::<V>(a, da);
    da.iter_mut().zip(a).for_each(|(da, a)| *da = a * (*da - inner));
}

/// `out += w·x`.
pub(crate) struct AddScaled<'a> {
    pub out: &'a mut [f32],
    pub x: &'a [f32],
    pub weight: f32,
}

impl Kernel for AddScaled<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        add_rows::<V, 1>(self.out, [(self.weight, self.x)]);
    }
}
