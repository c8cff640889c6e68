//! A cell's mathematics over the rows and units of one time step.

use crate::cell::{Cell, MAX_PARTS, MAX_SLOTS, slots};
use crate::lane::{Isa, Kernel, LANES, Vector};
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
    fn chunks(&self) -> impl Iterator<Item = (usize, Range<usize>)> + use<> {
        let units = self.units.clone();
        (0..self.rows).flat_map(move |row| {
            let end = units.end;
            units.clone().step_by(LANES).map(move |start| (row, start..(start + LANES).min(end)))
        })
    }

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
            *value = V::load(unsafe { self.slots.row(row, self.slot(slot, units)) });
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

/// # Safety
/// Nobody may write to these units of the parts.
#[inline(always)]
unsafe fn load_parts<V: Vector>(parts: &Parts, row: usize, units: &Range<usize>) -> [V; MAX_PARTS] {
    let mut values = [V::lit(0.0); MAX_PARTS];
    for (part, value) in parts.iter().zip(&mut values) {
        if let Some(part) = part {
            // SAFETY: handed on.
            *value = V::load(unsafe { part.row(row, units.clone()) });
        }
    }
    values
}

/// # Safety
/// Nobody else may use these units of the parts.
#[inline(always)]
unsafe fn store_parts<V: Vector>(parts: &Parts, row: usize, units: &Range<usize>, values: [V; MAX_PARTS]) {
    for (part, value) in parts.iter().zip(values) {
        if let Some(part) = part {
            // SAFETY: handed on.
            value.store(unsafe { part.row_mut(row, units.clone()) });
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
        let units = self.units;
        for (row, range) in units.chunks() {
            // SAFETY: as promised where it is run.
            unsafe {
                let mut slots = units.load_slots::<C, V>(row, &range);
                let mut state = load_parts::<V>(&units.before, row, &range);
                C::forward(&mut slots[..crate::cell::slots::<C>()], &mut state[..C::PARTS]);
                units.store_slots::<C, V>(row, &range, slots);
                store_parts(&units.after, row, &range, state);
            }
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
        let units = self.units;
        for (row, range) in units.chunks() {
            // SAFETY: as promised where it is run.
            unsafe {
                let mut slots = units.load_slots::<C, V>(row, &range);
                let before = load_parts::<V>(&units.before, row, &range);
                let after = load_parts::<V>(&units.after, row, &range);
                let mut gradient = load_parts::<V>(self.running, row, &range);
                if let Some(upstream) = self.upstream {
                    gradient[0] = gradient[0] + V::load(upstream.row(row, range.clone()));
                }
                let parts = ..C::PARTS;
                C::backward(
                    &mut slots[..crate::cell::slots::<C>()],
                    &before[parts],
                    &after[parts],
                    &mut gradient[parts],
                );
                units.store_slots::<C, V>(row, &range, slots);
                store_parts(self.running, row, &range, gradient);
            }
        }
    }
}
