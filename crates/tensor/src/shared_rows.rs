//! Rows of numbers that several threads change at the same time, without locks.
//!
//! A thread may see one part of a row before and another part after somebody else's change, and of two changes at the same moment
//! one may be lost. To what learns by many small steps that does no harm (Niu et al., *Hogwild!*, 2011). Nor is it undefined
//! behavior: rows are only read and written by [`Vector::load_shared`] and [`Vector::store_shared`], which may meet others of
//! their kind, and every number that is read is one that somebody wrote.

use crate::aligned_buffer::AlignedBuffer;
use crate::lane::{LANES, Vector};
use std::array::from_fn;
use std::fmt;

/// Numbers of a cache line. A row begins where a line does: it lies in as few lines as it can, and shares none with another row.
const LINE: usize = 16;

/// A matrix whose rows all threads may change.
///
/// Slices that are read into rows or written from them are [as long](SharedRows::width) as a row with the zeros behind it. Methods
/// are written over a [`Vector`], for use within a [`Kernel`](crate::lane::Kernel).
pub struct SharedRows {
    /// What `start` points to; from the beginning on, nobody looks at it by any other way.
    _numbers: AlignedBuffer,
    start: *mut f32,
    rows: usize,
    width: usize,
    stride: usize,
}

// SAFETY: the numbers belong to nobody else, and all that methods do with them may be done by several threads at once.
unsafe impl Send for SharedRows {}
// SAFETY: as above.
unsafe impl Sync for SharedRows {}

impl fmt::Debug for SharedRows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SharedRows({} × {})", self.rows, self.width)
    }
}

/// Calls a function that is compiled for each number of rows from none to [`LANES`].
macro_rules! for_each_count {
    ($count:expr, $self:ident.$function:ident::<$vector:ident>($($argument:expr),*)) => {
        match $count {
            0 => $self.$function::<$vector, 0>($($argument),*),
            1 => $self.$function::<$vector, 1>($($argument),*),
            2 => $self.$function::<$vector, 2>($($argument),*),
            3 => $self.$function::<$vector, 3>($($argument),*),
            4 => $self.$function::<$vector, 4>($($argument),*),
            5 => $self.$function::<$vector, 5>($($argument),*),
            6 => $self.$function::<$vector, 6>($($argument),*),
            7 => $self.$function::<$vector, 7>($($argument),*),
            8 => $self.$function::<$vector, 8>($($argument),*),
            count => panic!("{count} rows at once; {LANES} is the most"),
        }
    };
}

impl SharedRows {
    /// So many rows of so many zeros.
    pub fn zeros(rows: usize, length: usize) -> SharedRows {
        let (width, stride) = (length.next_multiple_of(LANES), length.next_multiple_of(LINE));
        let mut numbers = AlignedBuffer::new(rows * stride);
        let start = numbers.as_mut_slice().as_mut_ptr();
        SharedRows { _numbers: numbers, start, rows, width, stride }
    }

    /// How many numbers a slice must have that is used with a row: those of the row, and behind them zeros to fill a vector.
    pub fn width(&self) -> usize {
        self.width
    }

    /// Where a row begins.
    #[inline(always)]
    fn place(&self, row: u32) -> *mut f32 {
        assert!((row as usize) < self.rows, "row {row} of {}", self.rows);
        // SAFETY: the row is one of those that there are.
        unsafe { self.start.add(row as usize * self.stride) }
    }

    #[inline(always)]
    fn check(&self, numbers: &[f32]) {
        assert_eq!(numbers.len(), self.width, "numbers of a slice and of a row");
    }

    /// Asks for a row that will be used soon, so that the memory's delays for several rows pass at the same time.
    #[inline(always)]
    pub fn fetch<V: Vector>(&self, row: u32) {
        let place = self.place(row);
        for at in (0..self.width).step_by(LINE) {
            V::fetch(place.wrapping_add(at));
        }
    }

    /// `to ← row`.
    #[inline(always)]
    pub fn read<V: Vector>(&self, row: u32, to: &mut [f32]) {
        self.check(to);
        let row = self.place(row);
        for at in (0..self.width).step_by(LANES) {
            // SAFETY: row and slice have a width of numbers each, which are whole vectors.
            unsafe { V::load_shared(row.add(at)).store_raw(to.as_mut_ptr().add(at)) };
        }
    }

    /// `row ← from`.
    #[inline(always)]
    pub fn write<V: Vector>(&self, row: u32, from: &[f32]) {
        self.check(from);
        let row = self.place(row);
        for at in (0..self.width).step_by(LANES) {
            // SAFETY: as in `read`.
            unsafe { V::load_raw(from.as_ptr().add(at)).store_shared(row.add(at)) };
        }
    }

    /// `to ← to + row`.
    #[inline(always)]
    pub fn add_to<V: Vector>(&self, row: u32, to: &mut [f32]) {
        self.check(to);
        let row = self.place(row);
        for at in (0..self.width).step_by(LANES) {
            // SAFETY: as in `read`.
            unsafe {
                let to = to.as_mut_ptr().add(at);
                (V::load_raw(to) + V::load_shared(row.add(at))).store_raw(to);
            }
        }
    }

    /// `row ← row + from`.
    #[inline(always)]
    pub fn add<V: Vector>(&self, row: u32, from: &[f32]) {
        self.check(from);
        let row = self.place(row);
        for at in (0..self.width).step_by(LANES) {
            // SAFETY: as in `read`.
            unsafe {
                let row = row.add(at);
                (V::load_shared(row) + V::load_raw(from.as_ptr().add(at))).store_shared(row);
            }
        }
    }

    /// The inner products of at most [`LANES`] rows with `x`, in their order; zeros behind them.
    #[inline(always)]
    pub fn products<V: Vector>(&self, rows: &[u32], x: &[f32]) -> V {
        self.check(x);
        for_each_count!(rows.len(), self.products_of::<V>(rows, x))
    }

    #[inline(always)]
    fn products_of<V: Vector, const N: usize>(&self, rows: &[u32], x: &[f32]) -> V {
        let rows: [*mut f32; N] = from_fn(|i| self.place(rows[i]));
        let mut sums = [V::lit(0.0); LANES];
        for at in (0..self.width).step_by(LANES) {
            // SAFETY: as in `read`.
            let x = unsafe { V::load_raw(x.as_ptr().add(at)) };
            for i in 0..N {
                // SAFETY: as in `read`.
                sums[i] = unsafe { V::load_shared(rows[i].add(at)) }.mul_add(x, sums[i]);
            }
        }
        let [a, b, c, d, e, f, g, h] = V::transpose(sums);
        ((a + b) + (c + d)) + ((e + f) + (g + h))
    }

    /// A step of at most [`LANES`] rows towards `x` or away from it, and what `x` would move by:
    /// `gradient ← gradient + Σ stepᵢ · rowᵢ`, and `rowᵢ ← rowᵢ + stepᵢ · x`. A row that is named twice takes both steps.
    #[inline(always)]
    pub fn step<V: Vector>(&self, rows: &[u32], steps: V, x: &[f32], gradient: &mut [f32]) {
        self.check(x);
        self.check(gradient);
        for_each_count!(rows.len(), self.step_of::<V>(rows, steps, x, gradient));
    }

    #[inline(always)]
    fn step_of<V: Vector, const N: usize>(&self, rows: &[u32], steps: V, x: &[f32], gradient: &mut [f32]) {
        let rows: [*mut f32; N] = from_fn(|i| self.place(rows[i]));
        let steps = steps.array();
        let steps: [V; N] = from_fn(|i| V::lit(steps[i]));
        for at in (0..self.width).step_by(LANES) {
            // SAFETY: as in `read`.
            unsafe {
                let x = V::load_raw(x.as_ptr().add(at));
                let mut sum = V::load_raw(gradient.as_ptr().add(at));
                for i in 0..N {
                    let place = rows[i].add(at);
                    let row = V::load_shared(place);
                    sum = steps[i].mul_add(row, sum);
                    steps[i].mul_add(x, row).store_shared(place);
                }
                sum.store_raw(gradient.as_mut_ptr().add(at));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lane::{Isa, Kernel};

    /// With plain Rust, and with the best instructions that the machine has.
    fn with_each_isa(kernel: impl Kernel<Output = ()> + Copy) {
        Isa::Portable.run(kernel);
        Isa::detect().run(kernel);
    }

    #[derive(Clone, Copy)]
    struct ReadWhatWasWritten;

    impl Kernel for ReadWhatWasWritten {
        type Output = ();

        fn run<V: Vector>(self) {
            let rows = SharedRows::zeros(3, 5);
            assert_eq!(rows.width(), 8);
            let written = [1.0, -2.0, 3.5, f32::MIN_POSITIVE, 5.0, 0.0, 0.0, 0.0];
            let mut read = [7.0; 8];
            rows.write::<V>(1, &written);
            rows.read::<V>(1, &mut read);
            assert_eq!(read, written);
            rows.add::<V>(1, &[1.0; 8]);
            rows.add_to::<V>(1, &mut read);
            assert_eq!(read[..3], [3.0, -3.0, 8.0]);
            rows.read::<V>(2, &mut read);
            assert_eq!(read, [0.0; 8]);
            rows.fetch::<V>(2);
        }
    }

    #[test]
    fn a_row_comes_back_as_it_was_written() {
        with_each_isa(ReadWhatWasWritten);
    }

    /// Whole numbers, whose sums are exact in any order, for every number of rows and lengths with every kind of rest.
    #[derive(Clone, Copy)]
    struct StepsOfWholeNumbers;

    impl Kernel for StepsOfWholeNumbers {
        type Output = ();

        fn run<V: Vector>(self) {
            for length in 1..40_usize {
                let shared = SharedRows::zeros(9, length);
                let number = |row: usize, i: usize| if i < length { ((row + 3) * i % 7) as f32 } else { 0.0 };
                let slice = |row| -> Vec<f32> { (0..shared.width()).map(|i| number(row, i)).collect() };
                for count in 0..=LANES {
                    (0..9).for_each(|row| shared.write::<V>(row, &slice(row as usize)));
                    let rows: Vec<u32> = (0..count as u32).rev().collect();
                    let products = shared.products::<V>(&rows, &slice(8)).array();
                    for (place, product) in products.into_iter().enumerate() {
                        let row = rows.get(place).map(|&row| row as usize);
                        let expected =
                            row.map_or(0.0, |row| (0..length).map(|i| number(row, i) * number(8, i)).sum());
                        assert_eq!(product, expected, "{count} rows of {length}");
                    }
                    let steps = [2.0, -1.0, 3.0, 0.0, 1.0, -4.0, 5.0, 1.0];
                    let mut gradient = vec![1.0; shared.width()];
                    shared.step(&rows, V::load(&steps), &slice(8), &mut gradient);
                    for i in 0..length {
                        let sum: f32 =
                            rows.iter().zip(steps).map(|(&row, step)| step * number(row as usize, i)).sum();
                        assert_eq!(gradient[i], 1.0 + sum, "{count} rows of {length}");
                    }
                    for (&row, step) in rows.iter().zip(steps) {
                        let mut read = vec![0.0; shared.width()];
                        shared.read::<V>(row, &mut read);
                        let expected =
                            (0..shared.width()).map(|i| number(row as usize, i) + step * number(8, i));
                        assert!(read.into_iter().eq(expected), "{count} rows of {length}");
                    }
                }
            }
        }
    }

    #[test]
    fn products_and_steps_by_their_definition() {
        with_each_isa(StepsOfWholeNumbers);
    }

    #[derive(Clone, Copy)]
    struct AddOnes<'a>(&'a SharedRows);

    impl Kernel for AddOnes<'_> {
        type Output = ();

        fn run<V: Vector>(self) {
            (0..1000).for_each(|_| self.0.add::<V>(0, &[1.0; 8]));
        }
    }

    /// Changes may be lost, but nothing is there that nobody wrote.
    #[test]
    fn threads_change_a_row_at_the_same_time() {
        let rows = SharedRows::zeros(1, 8);
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(|| Isa::detect().run(AddOnes(&rows)))));
        });
        let mut read = [0.0; 8];
        Isa::detect().run(Read { rows: &rows, row: 0, to: &mut read });
        assert!(read.iter().all(|&x| (1.0..=3000.0).contains(&x) && x.fract() == 0.0), "{read:?}");
    }

    struct Read<'a> {
        rows: &'a SharedRows,
        row: u32,
        to: &'a mut [f32],
    }

    impl Kernel for Read<'_> {
        type Output = ();

        fn run<V: Vector>(self) {
            self.rows.read::<V>(self.row, self.to);
        }
    }

    #[test]
    #[should_panic(expected = "row 3 of 3")]
    fn a_row_that_is_not_there() {
        Isa::detect().run(Read { rows: &SharedRows::zeros(3, 8), row: 3, to: &mut [0.0; 8] });
    }
}
