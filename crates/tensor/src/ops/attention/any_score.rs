use super::row::{self, Backward, Forward};
#[cfg(feature = "cuda")]
use crate::cuda::Source;
use crate::lane::Isa;
use crate::score::Score;
use crate::type_name::short_name;
use std::fmt;

/// A type-erased [`Score`]: what the operations do with it.
///
/// Only the attention of one head of one row is compiled for each score, as one call; all else is compiled once.
///
/// ```
/// use couplet_tensor::ops::AnyScore;
/// use couplet_tensor::score::{Additive, Dot};
///
/// assert!(AnyScore::of::<Additive>().has_vector());
/// assert!(!AnyScore::of::<Dot>().has_vector());
/// ```
#[derive(Clone, Copy)]
pub struct AnyScore {
    name: fn() -> String,
    has_vector: bool,
    is_scalar: bool,
    forward: fn(Isa, Forward),
    backward: fn(Isa, Backward),
    #[cfg(feature = "cuda")]
    source: fn() -> Source<'static>,
}

impl AnyScore {
    /// Of this type.
    pub const fn of<S: Score>() -> AnyScore {
        AnyScore {
            name: short_name::<S>,
            has_vector: S::VECTOR,
            is_scalar: S::SCALAR,
            forward: row::forward::<S>,
            backward: row::backward::<S>,
            #[cfg(feature = "cuda")]
            source: super::cuda::source::<S>,
        }
    }

    /// [`Score::VECTOR`]
    pub const fn has_vector(self) -> bool {
        self.has_vector
    }

    /// [`Score::SCALAR`]
    pub const fn is_scalar(self) -> bool {
        self.is_scalar
    }

    /// The attention of a row.
    pub(crate) fn forward(self, isa: Isa, row: Forward) {
        (self.forward)(isa, row);
    }

    /// The backward pass of a row.
    pub(crate) fn backward(self, isa: Isa, row: Backward) {
        (self.backward)(isa, row);
    }

    /// Its kernels.
    #[cfg(feature = "cuda")]
    pub(crate) fn source(self) -> Source<'static> {
        (self.source)()
    }
}

impl fmt::Debug for AnyScore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&(self.name)())
    }
}
