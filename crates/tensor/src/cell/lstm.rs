use super::Cell;
use crate::lane::Lane;

/// Long short-term memory.
///
/// ```text
/// i = σ(·)   f = σ(·)   g = tanh(·)   o = σ(·)
/// c' = f ⊙ c + i ⊙ g
/// h' = o ⊙ tanh(c')
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Lstm;

impl Cell for Lstm {
    const GATES: usize = 4;
    const STATE_TENSORS: usize = 2;

    #[inline(always)]
    fn forward<L: Lane>(slots: &mut [L], state: &mut [L]) {
        let (i, f) = (slots[0].sigmoid(), slots[1].sigmoid());
        let (g, o) = (slots[2].tanh(), slots[3].sigmoid());
        let c = f.mul_add(state[1], i * g);
        slots.copy_from_slice(&[i, f, g, o]);
        state.copy_from_slice(&[o * c.tanh(), c]);
    }

    #[inline(always)]
    fn backward<L: Lane>(slots: &mut [L], before: &[L], after: &[L], gradient: &mut [L]) {
        let one = L::lit(1.0);
        let &mut [i, f, g, o] = slots else { unreachable!("an LSTM has four slots") };
        let squashed = after[1].tanh();
        let dh = gradient[0];
        let dc = (dh * o).mul_add(one - squashed * squashed, gradient[1]);
        slots.copy_from_slice(&[
            dc * g * i * (one - i),
            dc * before[1] * f * (one - f),
            dc * i * (one - g * g),
            dh * squashed * o * (one - o),
        ]);
        gradient.copy_from_slice(&[L::lit(0.0), dc * f]);
    }
}
