//! Attention scores: how well a query fits a key.
//!
//! Like a cell, a score is pointwise mathematics only: the energy of a key is the sum of one term for each element of query
//! and key. Projections of states to queries and keys are matrix products outside of it. The operations take it as an
//! [`AnyScore`]. A new score is one file like [`additive`](Additive)'s, and an entry of `all`.

mod additive;
mod dot;
mod linear;

pub use additive::Additive;
pub use dot::Dot;
pub use linear::Linear;

use crate::activation::for_all_activations;
use crate::lane::Lane;
use crate::ops::AnyScore;

/// Every score of this crate: kernels and self-tests are derived from this list.
pub(crate) fn all() -> Vec<AnyScore> {
    let linear = for_all_activations!(A => AnyScore::of::<Linear<A>>());
    [AnyScore::of::<Additive>(), AnyScore::of::<Dot>()].into_iter().chain(linear).collect()
}

/// The pointwise mathematics of an attention score: `energy = Σ term(query, key, vector)`.
pub trait Score: Copy + Send + Sync + 'static {
    /// Whether the score has a parameter vector; without one, `vector` is zero.
    const VECTOR: bool;
    /// Whether query and key are meant to be scalars, one for each head; else they have any number of columns.
    const SCALAR: bool = false;

    /// One term of the energy.
    fn term<L: Lane>(query: L, key: L, vector: L) -> L;

    /// The gradients of query, key and vector, from that of the energy.
    fn term_back<L: Lane>(query: L, key: L, vector: L, gradient: L) -> [L; 3];
}
