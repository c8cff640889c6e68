use super::Cell;
use crate::lane::Lane;

/// Gated recurrent unit, as PyTorch has it: the reset gate acts on the state's share of the candidate, its bias included.
///
/// ```text
/// r = σ(·)   z = σ(·)
/// n = tanh(x's share + r ⊙ h's share)
/// h' = (1 − z) ⊙ n + z ⊙ h
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct Gru;

impl Cell for Gru {
    const GATES: usize = 3;
    const SPLIT_GATES: usize = 1;

    #[inline(always)]
    fn forward<L: Lane>(slots: &mut [L], state: &mut [L]) {
        let (r, z) = (slots[0].sigmoid(), slots[1].sigmoid());
        let of_state = slots[3];
        let n = r.mul_add(of_state, slots[2]).tanh();
        slots.copy_from_slice(&[r, z, n, of_state]);
        state[0] = z.mul_add(state[0] - n, n);
    }

    #[inline(always)]
    fn backward<L: Lane>(slots: &mut [L], before: &[L], _after: &[L], gradient: &mut [L]) {
        let one = L::lit(1.0);
        let &mut [r, z, n, of_state] = slots else { unreachable!("a GRU has four slots") };
        let dh = gradient[0];
        let dn = dh * (one - z) * (one - n * n);
        slots.copy_from_slice(&[
            dn * of_state * r * (one - r),
            dh * (before[0] - n) * z * (one - z),
            dn,
            dn * r,
        ]);
        gradient[0] = dh * z;
    }
}
