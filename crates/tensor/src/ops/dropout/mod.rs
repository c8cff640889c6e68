//! `y = x·m / (1 − rate)`, where `m` is 0 with probability `rate` and else 1.
//!
//! The mask is a function of the seed, the update, the sequence's own number, the time step, the site and the unit, never of
//! the row in the batch: the same on every device, with any number of threads and in any order of the batch. The way back
//! makes it again instead of keeping it.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::profile;
use crate::random::Stream;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// How a layer drops out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Dropout {
    /// The probability that a number becomes zero, from 0 to below 1.
    pub rate: f32,
    /// The seed of the run.
    pub seed: u64,
    /// Which update of the run it is.
    pub update: u32,
    /// The random stream of the dropout site: the [hash](crate::random::hash_path) of its path.
    pub stream: u64,
    /// Which numbers of a sequence are dropped together.
    pub scope: DropoutScope,
}

/// Which numbers of a sequence are dropped together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DropoutScope {
    /// None: each by itself.
    Element,
    /// A unit's, in all time steps: variational dropout.
    Variational,
    /// All of them: the sequence goes past a layer, or through it.
    Sequence,
}

impl Dropout {
    fn stream(&self) -> Stream {
        // Not the numbers that the weights of a run with the same seed were drawn from.
        Stream::new(self.seed ^ 0x6472_6f70_6f75_7421, self.stream)
    }

    /// A word below it drops its number.
    fn threshold(&self) -> u32 {
        (f64::from(self.rate) * 4_294_967_296.0) as u32
    }

    /// What a number that stays is multiplied by.
    fn kept(&self) -> f32 {
        1.0 / (1.0 - self.rate)
    }

    /// What four neighboring units of a sequence's step are multiplied by.
    fn factors(&self, stream: &Stream, example: u32, step: u32, four: u32) -> [f32; 4] {
        let draw = |step, four| stream.at([self.update, example, step, four]);
        let words = match self.scope {
            DropoutScope::Element => draw(step, four),
            DropoutScope::Variational => draw(u32::MAX, four),
            DropoutScope::Sequence => [draw(u32::MAX, u32::MAX)[0]; 4],
        };
        let (threshold, kept) = (self.threshold(), self.kept());
        words.map(|word| if word < threshold { 0.0 } else { kept })
    }
}

/// Dropout inside of another operation: how, and how the rows are packed.
#[derive(Clone, Debug)]
pub struct DropoutMask {
    /// How.
    pub how: Dropout,
    /// The packed rows.
    pub rows: Arc<SequenceLayout>,
}

impl DropoutMask {
    /// Where anything is dropped at all, of so many rows.
    pub(crate) fn any(dropped: Option<&DropoutMask>, rows: usize) -> Option<DropoutMask> {
        let dropped = dropped?;
        assert_eq!(rows, dropped.rows.total(), "{rows} rows for {} packed ones", dropped.rows.total());
        assert!((0.0..1.0).contains(&dropped.how.rate), "a dropout rate of {}", dropped.how.rate);
        (dropped.how.rate > 0.0).then(|| dropped.clone())
    }

    /// Drops numbers of a row.
    pub(crate) fn apply_row(&self, row: usize, numbers: &mut [f32]) {
        self.apply_part(row, 0, numbers);
    }

    /// Drops numbers of a row from a column on, which is a multiple of four.
    pub(crate) fn apply_part(&self, row: usize, first: usize, numbers: &mut [f32]) {
        debug_assert!(first.is_multiple_of(4), "one random number is for four columns");
        let (place, step) = self.rows.locate(row);
        let (stream, example) = (self.how.stream(), self.rows.examples()[place]);
        for (four, numbers) in (first as u32 / 4..).zip(numbers.chunks_mut(4)) {
            let factors = self.how.factors(&stream, example, step as u32, four);
            numbers.iter_mut().zip(factors).for_each(|(x, factor)| *x *= factor);
        }
    }
}

/// Drops numbers of `x`, the rows of packed sequences; see the [module](self).
pub fn dropout(x: &Var, rows: &Arc<SequenceLayout>, how: Dropout) -> Var {
    assert_eq!(x.rows(), rows.total(), "x is {:?} for {} packed rows", x.shape(), rows.total());
    assert!((0.0..1.0).contains(&how.rate), "a dropout rate of {}", how.rate);
    if how.rate == 0.0 {
        return x.clone();
    }
    let _span = profile::span("dropout", x.device());
    let apply = move |x: &Tensor, rows: &SequenceLayout| on_device!(x.device(), cpu => cpu::apply(cpu, x, rows, how), cuda => cuda::apply(cuda, x, rows, how));
    let y = apply(x.value(), rows);
    let (x, rows) = (x.clone(), Arc::clone(rows));
    let [y] = record(&[&x.clone()], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        gradients.add(&x, apply(&dy, &rows));
    });
    y
}
