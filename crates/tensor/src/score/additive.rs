use super::Score;
use crate::lane::Lane;

/// The additive score `vᵀ tanh(q + k)`, where `q = U s` and `k = V h`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Additive;

impl Score for Additive {
    const VECTOR: bool = true;

    #[inline(always)]
    fn term<L: Lane>(query: L, key: L, vector: L) -> L {
        vector * (query + key).tanh()
    }

    #[inline(always)]
    fn term_back<L: Lane>(query: L, key: L, vector: L, gradient: L) -> [L; 3] {
        let squashed = (query + key).tanh();
        let inner = gradient * vector * (L::lit(1.0) - squashed * squashed);
        [inner, inner, gradient * squashed]
    }
}
