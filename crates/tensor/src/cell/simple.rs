use super::Cell;
use crate::lane::Lane;

/// The simple recurrent cell: `h' = tanh(·)`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Simple;

impl Cell for Simple {
    const GATES: usize = 1;

    #[inline(always)]
    fn forward<L: Lane>(slots: &mut [L], state: &mut [L]) {
        slots[0] = slots[0].tanh();
        state[0] = slots[0];
    }

    #[inline(always)]
    fn backward<L: Lane>(slots: &mut [L], _before: &[L], _after: &[L], gradient: &mut [L]) {
        let h = slots[0];
        slots[0] = gradient[0] * (L::lit(1.0) - h * h);
        gradient[0] = L::lit(0.0);
    }
}
