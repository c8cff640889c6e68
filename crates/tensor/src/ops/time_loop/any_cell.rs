use super::units::{self, Parts, Units};
use crate::cell::{self, Cell};
#[cfg(feature = "cuda")]
use crate::cuda::Source;
use crate::lane::Isa;
use crate::shared::Grid;
use crate::type_name::short_name;
use std::fmt;

/// A [`Cell`] whose type is forgotten: its sizes, and what the operations do with it.
///
/// The operations that drive a cell are loops around matrix products, and are compiled once for all cells. What is compiled for
/// each is the mathematics of all units of some rows, behind one call.
///
/// ```
/// use couplet_tensor::cell::Lstm;
/// use couplet_tensor::ops::AnyCell;
///
/// let lstm = AnyCell::of::<Lstm>();
/// assert_eq!((lstm.gates(), lstm.parts()), (4, 2));
/// assert_eq!(format!("{lstm:?}"), "Lstm");
/// ```
#[derive(Clone, Copy)]
pub struct AnyCell {
    name: fn() -> String,
    gates: usize,
    apart: usize,
    parts: usize,
    slots: usize,
    forward: unsafe fn(Isa, &Units),
    backward: unsafe fn(Isa, &Units, &Parts, Option<Grid>),
    #[cfg(feature = "cuda")]
    source: fn() -> Source<'static>,
}

impl AnyCell {
    /// Of this type.
    pub const fn of<C: Cell>() -> AnyCell {
        AnyCell {
            name: short_name::<C>,
            gates: C::GATES,
            apart: C::SPLIT_GATES,
            parts: C::STATE_TENSORS,
            slots: cell::slots::<C>(),
            forward: units::forward::<C>,
            backward: units::backward::<C>,
            #[cfg(feature = "cuda")]
            source: super::cuda::source::<C>,
        }
    }

    /// [`Cell::GATES`]
    pub const fn gates(self) -> usize {
        self.gates
    }

    /// [`Cell::SPLIT_GATES`]
    pub const fn apart(self) -> usize {
        self.apart
    }

    /// [`Cell::STATE_TENSORS`]
    pub const fn parts(self) -> usize {
        self.parts
    }

    /// How many slots it has.
    pub(crate) fn slots(self) -> usize {
        self.slots
    }

    /// The slot that gets the state's share of a gate.
    pub(crate) fn state_slot(self, gate: usize) -> usize {
        if gate < self.gates - self.apart { gate } else { gate + self.apart }
    }

    /// The step forward.
    ///
    /// # Safety
    /// As for [`units::forward`].
    pub(crate) unsafe fn forward(self, isa: Isa, units: &Units) {
        // SAFETY: handed on.
        unsafe { (self.forward)(isa, units) }
    }

    /// The step back.
    ///
    /// # Safety
    /// As for [`units::backward`].
    pub(crate) unsafe fn backward(self, isa: Isa, units: &Units, running: &Parts, upstream: Option<Grid>) {
        // SAFETY: handed on.
        unsafe { (self.backward)(isa, units, running, upstream) }
    }

    /// Its kernels.
    #[cfg(feature = "cuda")]
    pub(crate) fn source(self) -> Source<'static> {
        (self.source)()
    }
}

impl fmt::Debug for AnyCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.name)())
    }
}
