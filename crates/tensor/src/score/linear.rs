use super::Score;
use crate::activation::Activation;
use crate::lane::Lane;
use std::marker::PhantomData;

/// The linear score `a(pᵀs + qᵀh + r)` with any activation `a`: its query `pᵀs` and its key `qᵀh + r` are scalars.
#[derive(Clone, Copy, Debug, Default)]
pub struct Linear<A>(PhantomData<A>);

impl<A: Activation> Score for Linear<A> {
    const VECTOR: bool = false;
    const SCALAR: bool = true;

    #[inline(always)]
    fn term<L: Lane>(query: L, key: L, _vector: L) -> L {
        A::value(query + key)
    }

    #[inline(always)]
    fn term_back<L: Lane>(query: L, key: L, _vector: L, gradient: L) -> [L; 3] {
        let inner = gradient * A::slope(A::value(query + key));
        [inner, inner, L::lit(0.0)]
    }
}
