//! Eight lanes at a time, and the choice of instructions at run time.

use super::avx2::{self, Avx2};
use super::{Lane, Portable};
use std::iter::StepBy;
use std::ops::Range;
use std::sync::OnceLock;

/// How many numbers a [`Vector`] holds, on every machine: so that sums are formed in the same order everywhere.
pub const LANES: usize = 8;

/// [`LANES`] numbers side by side.
///
/// # Error of the elementary functions
///
/// Measured over all of `f32`, in units in the last place of the exact result (`tests/engine/lane.rs` holds them):
///
/// | function | bound | outside of it |
/// |---|---|---|
/// | `exp` | 2 ulp | results below the smallest normal number: within one smallest subnormal number |
/// | `tanh` | 8 ulp for \|x\| ≥ 1e-36 | nearer to zero: less than 3e-43 off |
/// | `sigmoid` | 4 ulp for x ≥ −87 | below: less than 2e-38 off |
///
/// Infinities give the limits, that of `tanh` within 2 ulp; NaN gives NaN.
pub trait Vector: Lane {
    /// The first `LANES` numbers of `from`; where there are fewer, zeros behind them.
    fn load(from: &[f32]) -> Self;
    /// Writes to the first `LANES` places of `to`, or to all of it where it is shorter.
    fn store(self, to: &mut [f32]);
    /// # Safety
    /// `from` must be valid for reading `LANES` numbers.
    unsafe fn load_raw(from: *const f32) -> Self;
    /// # Safety
    /// `to` must be valid for writing `LANES` numbers.
    unsafe fn store_raw(self, to: *mut f32);
    /// Reads numbers that other threads may write at the same time; some may be from before, some from after that.
    ///
    /// # Safety
    /// `from` must be valid for reading `LANES` numbers, and aligned for one. Others may write there by
    /// [`Vector::store_shared`] or atomically, not otherwise.
    unsafe fn load_shared(from: *const f32) -> Self;
    /// Writes numbers that other threads may read or write at the same time.
    ///
    /// # Safety
    /// `to` must be valid for writing `LANES` numbers, and aligned for one. Others may read and write there by
    /// [`Vector::load_shared`] and [`Vector::store_shared`] or atomically, not otherwise.
    unsafe fn store_shared(self, to: *mut f32);
    /// Asks for the cache line of an address that is soon to be read. Any address will do, and nothing is read.
    #[inline(always)]
    fn fetch(_address: *const f32) {}
    /// The same for one that is read later: it goes to the second cache and pushes nothing out of the first.
    #[inline(always)]
    fn fetch_for_later(_address: *const f32) {}
    /// The square root.
    fn sqrt(self) -> Self;
    /// `self / other`.
    fn div(self, other: Self) -> Self;
    /// The numbers as an array.
    fn array(self) -> [f32; LANES];
    /// Rows as columns: number `j` of vector `i` becomes number `i` of vector `j`.
    fn transpose(rows: [Self; LANES]) -> [Self; LANES];

    /// The sum of the numbers, always formed in the same order.
    #[inline(always)]
    fn sum(self) -> f32 {
        let [a, b, c, d, e, f, g, h] = self.array();
        ((a + e) + (c + g)) + ((b + f) + (d + h))
    }

    /// The largest of the numbers.
    #[inline(always)]
    fn largest(self) -> f32 {
        self.array().into_iter().fold(f32::NEG_INFINITY, f32::max)
    }
}

/// Where the full vectors of a range begin, and what is left over. A loop over the first is known to have nothing but full ones, so that
/// it needs no questions about their lengths.
#[inline(always)]
pub(crate) fn in_vectors(range: Range<usize>) -> (StepBy<Range<usize>>, Range<usize>) {
    let full = range.end - range.len() % LANES;
    ((range.start..full).step_by(LANES), full..range.end)
}

/// `e^x` from multiplications and additions alone, the same steps on every machine.
///
/// With `n = round(x / ln 2)` and `r = x − n·ln 2` (ln 2 in two parts, so that `r` is exact enough),
/// `e^x = 2^n · e^r`, where `e^r` is a polynomial on `[−ln 2 / 2, ln 2 / 2]`. The factor `2^n` is applied in two
/// halves, because it can lie outside of `f32` where the result does not.
pub(super) struct ExpSteps;

impl ExpSteps {
    /// Above this, the result is infinite; below the other, zero.
    pub(super) const RANGE: (f32, f32) = (-104.0, 89.0);
    pub(super) const LN_2: (f32, f32) = (0.693_359_375, -2.121_944_4e-4);
    /// From the highest power down; the two lowest are 1.
    pub(super) const POLYNOMIAL: [f32; 6] =
        [1.987_569_2e-4, 1.398_2e-3, 8.333_452e-3, 4.166_579_6e-2, 1.666_666_5e-1, 5.000_000_1e-1];
}

/// `tanh x = x · p(x²) / q(x²)`, a rational function that holds on `[−LIMIT, LIMIT]`; beyond it the result is ±1.
pub(super) struct TanhSteps;

impl TanhSteps {
    pub(super) const LIMIT: f32 = 7.905_311;
    pub(super) const NUMERATOR: [f32; 7] = [
        -2.760_768_5e-16,
        2.000_188e-13,
        -8.604_672e-11,
        5.122_297e-8,
        1.485_722_3e-5,
        6.372_619_4e-4,
        4.893_524_6e-3,
    ];
    pub(super) const DENOMINATOR: [f32; 4] = [1.198_258_4e-6, 1.185_347e-4, 2.268_434_6e-3, 4.893_525e-3];
}

/// Work that is written over a [`Vector`] and compiled once for each set of instructions.
///
/// `run` must be `#[inline(always)]`: only then is its body compiled with the instructions of its caller.
pub trait Kernel {
    /// What comes out.
    type Output;
    /// Does the work.
    fn run<V: Vector>(self) -> Self::Output;
}

/// The set of instructions in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Isa {
    /// Plain Rust, which the compiler may vectorise for the lowest machine of the target.
    Portable,
    /// 256-bit vectors with fused multiply-add, on x86-64.
    Avx2,
}

impl Isa {
    /// The best set of instructions that this machine has.
    pub fn detect() -> Isa {
        static BEST: OnceLock<Isa> = OnceLock::new();
        *BEST.get_or_init(|| if avx2::available() { Isa::Avx2 } else { Isa::Portable })
    }

    /// Runs `kernel` with these instructions.
    #[inline]
    pub fn run<K: Kernel>(self, kernel: K) -> K::Output {
        match self {
            Isa::Portable => kernel.run::<Portable>(),
            Isa::Avx2 => {
                assert!(avx2::available(), "this machine has no AVX2 with FMA");
                // SAFETY: the machine has the instructions, as just checked.
                unsafe { avx2::run::<Avx2, K>(kernel) }
            }
        }
    }
}
