//! Attention scores: how well a query fits a key.
//!
//! Like a cell, a score is pointwise mathematics only: the energy of a key is the sum of one term for each place of query
//! and key. Projections of states to queries and keys are matrix products and lie outside. The operations take it as an
//! [`AnyScore`](crate::ops::AnyScore). A new score is one file like [`additive`](Additive)'s.

mod additive;
mod dot;
mod linear;

pub use additive::Additive;
pub use dot::Dot;
pub use linear::Linear;

use crate::lane::Lane;

/// The pointwise mathematics of an attention score: `energy = Σ term(query, key, vector)`.
pub trait Score: Copy + Send + Sync + 'static {
    /// Whether the score has a parameter vector; without one, `vector` is zero.
    const VECTOR: bool;

    /// One term of the energy.
    fn term<L: Lane>(query: L, key: L, vector: L) -> L;

    /// The gradients of query, key and vector, from that of the energy.
    fn term_back<L: Lane>(query: L, key: L, vector: L, gradient: L) -> [L; 3];
}
