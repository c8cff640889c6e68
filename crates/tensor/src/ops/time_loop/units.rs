//! A cell's mathematics over the rows and units of one time step.

use crate::cell::{Cell, MAX_PARTS, MAX_SLOTS, slots};
use crate::lane::{Kernel, LANES, Vector};
use crate::shared::Grid;
use std::marker::PhantomData;
use std::ops::Range;

/// The parts of a state, each from the row of place 0 on.
pub(crate) type Parts<'a> = [Option<Grid<'a>>; MAX_PARTS];

/// Which rows and units a worker handles, and where the step's gates and states are.
pub(crate) struct Units<'a, C> {
    pub(crate) rows: usize,
    pub(crate) units: Range<usize>,
    pub(crate) hidden: usize,
    /// Gates, slot after slot in each row.
    pub(crate) slots: Grid<'a>,
    /// The state before the step; zero where there is none.
    pub(crate) before: Parts<'a>,
    pub(crate) after: Parts<'a>,
    pub(crate) cell: PhantomData<C>,
}

impl<C: Cell> Units<'_, C> {
    #[inline(always)]
    fn chunks(&self) -> impl Iterator<Item = (usize, Range<usize>)> + use<C> {
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
    unsafe fn load_slots<V: Vector>(&self, row: usize, units: &Range<usize>) -> [V; MAX_SLOTS] {
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
    unsafe fn store_slots<V: Vector>(&self, row: usize, units: &Range<usize>, values: [V; MAX_SLOTS]) {
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
pub(crate) struct Forward<'a, C>(Units<'a, C>);

impl<'a, C> Forward<'a, C> {
    /// # Safety
    /// While it runs, nobody else may use these units of the slots and of the state after the step, and nobody may write to
    /// those of the state before it.
    pub(crate) unsafe fn new(units: Units<'a, C>) -> Self {
        Forward(units)
    }
}

impl<C: Cell> Kernel for Forward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let units = &self.0;
        for (row, range) in units.chunks() {
            // SAFETY: as promised when it was made.
            unsafe {
                let mut slots = units.load_slots::<V>(row, &range);
                let mut state = load_parts::<V>(&units.before, row, &range);
                C::forward(&mut slots[..crate::cell::slots::<C>()], &mut state[..C::PARTS]);
                units.store_slots(row, &range, slots);
                store_parts(&units.after, row, &range, state);
            }
        }
    }
}

/// The step back.
pub(crate) struct Backward<'a, C> {
    units: Units<'a, C>,
    /// The gradient that comes from later steps, and then the one that goes to earlier ones.
    running: Parts<'a>,
    /// The gradient of the step's output.
    upstream: Option<Grid<'a>>,
}

impl<'a, C> Backward<'a, C> {
    /// # Safety
    /// While it runs, nobody else may use these units of the slots and of `running`, and nobody may write to those of the states
    /// and of `upstream`.
    pub(crate) unsafe fn new(units: Units<'a, C>, running: Parts<'a>, upstream: Option<Grid<'a>>) -> Self {
        Backward { units, running, upstream }
    }
}

impl<C: Cell> Kernel for Backward<'_, C> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let units = &self.units;
        for (row, range) in units.chunks() {
            // SAFETY: as promised when it was made.
            unsafe {
                let mut slots = units.load_slots::<V>(row, &range);
                let before = load_parts::<V>(&units.before, row, &range);
                let after = load_parts::<V>(&units.after, row, &range);
                let mut gradient = load_parts::<V>(&self.running, row, &range);
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
                units.store_slots(row, &range, slots);
                store_parts(&self.running, row, &range, gradient);
            }
        }
    }
}
