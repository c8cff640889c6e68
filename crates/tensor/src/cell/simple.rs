use super::Cell;
use crate::activation::{Activation, Tanh};
use crate::lane::Lane;
use std::marker::PhantomData;

/// The simple recurrent cell: `h' = a(·)`, where the activation `a` is `tanh` unless another one is named.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simple<A = Tanh>(PhantomData<A>);

impl<A: Activation> Cell for Simple<A> {
    const GATES: usize = 1;

    #[inline(always)]
    fn forward<L: Lane>(slots: &mut [L], state: &mut [L]) {
        slots[0] = A::value(slots[0]);
        state[0] = slots[0];
    }

    #[inline(always)]
    fn backward<L: Lane>(slots: &mut [L], _before: &[L], _after: &[L], gradient: &mut [L]) {
        slots[0] = gradient[0] * A::slope(slots[0]);
        gradient[0] = L::lit(0.0);
    }
}
