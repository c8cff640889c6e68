use super::Score;
use crate::lane::Lane;

/// The inner product `qᵀ k`. With `q = W s` and `k = h` it is the multiplicative score.
#[derive(Clone, Copy, Debug, Default)]
pub struct Dot;

impl Score for Dot {
    const VECTOR: bool = false;

    #[inline(always)]
    fn term<L: Lane>(query: L, key: L, _vector: L) -> L {
        query * key
    }

    #[inline(always)]
    fn term_back<L: Lane>(query: L, key: L, _vector: L, gradient: L) -> [L; 3] {
        [gradient * key, gradient * query, L::lit(0.0)]
    }
}
