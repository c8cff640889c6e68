//! A cell's mathematics over the rows and units of one time step.

use crate::cell::{Cell, MAX_PARTS, MAX_SLOTS, slots};
use crate::lane::{Isa, Kernel, LANES, Vector, in_vectors};
use crate::shared::Grid;
use std::marker::PhantomData;
use std::ops::Range;

/// The parts of a state, each from the row of place 0 on.
pub(crate) type Parts<'a> = [Option<Grid<'a>>; MAX_PARTS];

/// Which rows and units a worker handles, and where the step's gates and states are.
pub(crate) struct Units<'a> {
    pub(crate) rows: usize,
    pub(crate) units: Range<usize>,
    pub(crate) hidden: usize,
    /// Gates, slot after slot in each row.
    pub(crate) slots: Grid<'a>,
    /// The state before the step; zero where there is none.
    pub(crate) before: Parts<'a>,
    pub(crate) after: Parts<'a>,
}

impl Units<'_> {
    #[inline(always)]
    fn slot(&self, slot: usize, units: &Range<usize>) -> Range<usize> {
        slot * self.hidden + units.start..slot * self.hidden + units.end
    }

    /// # Safety
    /// Nobody may write to these units of the slots.
    #[inline(always)]
    unsafe fn load_slots<C: Cell, V: Vector>(&self, row: usize, units: &Range<usize>) -> [V; MAX_SLOTS] {
        let mut values = [V::lit(0.0); MAX_SLOTS];
        for (slot, value) in values.iter_mut().enumerate().take(slots::<C>()) {
            // SAFETY: handed on.
            *value = unsafe { load(self.slots, row, self.slot(slot, units)) };
        }
        values
    }

    /// # Safety
    /// Nobody else may use these units of the slots.
    #[inline(always)]
    unsafe fn store_slots<C: Cell, V: Vector>(
        &self,
        row: usize,
        units: &Range<usize>,
        values: [V; MAX_SLOTS],
    ) {
        for (slot, value) in values.into_iter().enumerate().take(slots::<C>()) {
            // SAFETY: handed on.
            value.store(unsafe { self.slots.row_mut(row, self.slot(slot, units)) });
        }
    }
}

/// Some columns of a row. Those of the next row are asked for: they lie too far off for the machine to foresee them.
///
/// # Safety
/// Nobody may write to them.
#[inline(always)]
unsafe fn load<V: Vector>(from: Grid, row: usize, columns: Range<usize>) -> V {
    // SAFETY: handed on.
    let numbers = unsafe { from.row(row, columns) };
    V::fetch(numbers.as_ptr().wrapping_add(from.stride()));
    V::load(numbers)
}

/// # Safety
/// Nobody may write to these units of the parts.
#[inline(always)]
unsafe fn load_parts<C: Cell, V: Vector>(parts: &Parts, row: usize, units: &Range<usize>) -> [V; MAX_PARTS] {
    let mut values = [V::lit(0.0); MAX_PARTS];
    for (part, value) in parts.iter().zip(&mut values).take(C::STATE_TENSORS) {
        if let Some(part) = part {
            // SAFETY: handed on.
            *value = unsafe { load(*part, row, units.clone()) };
        }
    }
    values
}

/// # Safety
/// Nobody else may use these units of the parts.
#[inline(always)]
unsafe fn store_parts<C: Cell, V: Vector>(
    parts: &Parts,
    row: usize,
    units: &Range<usize>,
    values: [V; MAX_PARTS],
) {
    for (part, value) in parts.iter().zip(values).take(C::STATE_TENSORS) {
        if let Some(part) = part {
            // SAFETY: handed on.
            value.store(unsafe { part.row_mut(row, units.clone()) });
        }
    }
}

/// What is done with each vector of units.
trait EachVector {
    /// # Safety
    /// As for [`forward`] or [`backward`].
    unsafe fn at<V: Vector>(&self, row: usize, range: Range<usize>);

    /// Row by row.
    ///
    /// # Safety
    /// As for [`EachVector::at`].
    #[inline(always)]
    unsafe fn walk<V: Vector>(&self, units: &Units) {
        let (vectors, rest) = in_vectors(units.units.clone());
        for row in 0..units.rows {
            // SAFETY: handed on.
            unsafe {
                for start in vectors.clone() {
                    self.at::<V>(row, start..start + LANES);
                }
                if !rest.is_empty() {
                    self.at::<V>(row, rest.clone());
                }
            }
        }
    }
}

/// The step forward.
///
/// # Safety
/// While it runs, nobody else may use these units of the slots and of the state after the step, and nobody may write to those of
/// the state before it.
pub(super) unsafe fn forward<C: Cell>(isa: Isa, units: &Units) {
    isa.run(Forward::<C> { units, cell: PhantomData });
}

struct Forward<'a, C> {
    units: &'a Units<'a>,
    cell: PhantomData<C>,
}

impl<C: Cell> Kernel for Forward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        // SAFETY: as promised where it is run.
        unsafe { self.walk::<V>(self.units) }
    }
}

impl<C: Cell> EachVector for Forward<'_, C> {
    #[inline(always)]
    unsafe fn at<V: Vector>(&self, row: usize, range: Range<usize>) {
        let units = self.units;
        // SAFETY: handed on.
        unsafe {
            let mut slots = units.load_slots::<C, V>(row, &range);
            let mut state = load_parts::<C, V>(&units.before, row, &range);
            C::forward(&mut slots[..crate::cell::slots::<C>()], &mut state[..C::STATE_TENSORS]);
            units.store_slots::<C, V>(row, &range, slots);
            store_parts::<C, V>(&units.after, row, &range, state);
        }
    }
}

/// The step back. `running` holds the gradient that comes from later steps, and then the one that goes to earlier ones;
/// `upstream` is the gradient of the step's output.
///
/// # Safety
/// While it runs, nobody else may use these units of the slots and of `running`, and nobody may write to those of the states and of
/// `upstream`.
pub(super) unsafe fn backward<C: Cell>(isa: Isa, units: &Units, running: &Parts, upstream: Option<Grid>) {
    isa.run(Backward::<C> { units, running, upstream, cell: PhantomData });
}

struct Backward<'a, C> {
    units: &'a Units<'a>,
    running: &'a Parts<'a>,
    upstream: Option<Grid<'a>>,
    cell: PhantomData<C>,
}

impl<C: Cell> Kernel for Backward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        // SAFETY: as promised where it is run.
        unsafe { self.walk::<V>(self.units) }
    }
}

impl<C: Cell> EachVector for Backward<'_, C> {
    #[inline(always)]
    unsafe fn at<V: Vector>(&self, row: usize, range: Range<usize>) {
        let units = self.units;
        // SAFETY: handed on.
        unsafe {
            let mut slots = units.load_slots::<C, V>(row, &range);
            let before = load_parts::<C, V>(&units.before, row, &range);
            let after = load_parts::<C, V>(&units.after, row, &range);
            let mut gradient = load_parts::<C, V>(self.running, row, &range);
            if let Some(upstream) = self.upstream {
                gradient[0] = gradient[0] + load(upstream, row, range.clone());
            }
            let parts = ..C::STATE_TENSORS;
            C::backward(
                &mut slots[..crate::cell::slots::<C>()],
                &before[parts],
                &after[parts],
                &mut gradient[parts],
            );
            units.store_slots::<C, V>(row, &range, slots);
            store_parts::<C, V>(self.running, row, &range, gradient);
        }
    }
}
