//! Numbers that pointwise mathematics is written over.
//!
//! A cell or a score is written once, over [`Lane`]. With `f64` it is the reference and can be differentiated numerically,
//! with a [`Vector`] it handles eight units at a time on the CPU, and with a symbol it writes the source of a GPU's kernel.

mod avx2;
mod portable;
#[cfg(feature = "cuda")]
pub(crate) mod source;
mod vector;

use std::ops::{Add, Mul, Neg, Sub};

pub use portable::Portable;
pub(crate) use vector::in_vectors;
pub use vector::{Isa, Kernel, LANES, Vector};

/// One number, or several side by side, on which the mathematics of a cell or a score is carried out.
pub trait Lane:
    Copy + Add<Output = Self> + Sub<Output = Self> + Mul<Output = Self> + Neg<Output = Self>
{
    /// The constant `x` in every place.
    fn lit(x: f32) -> Self;
    /// `self · b + c`, rounded once where the machine can.
    fn mul_add(self, b: Self, c: Self) -> Self;
    /// The larger of the two.
    fn max(self, other: Self) -> Self;
    /// 1 where it is above zero, else 0.
    fn positive(self) -> Self;
    /// `e^x`.
    fn exp(self) -> Self;
    /// The hyperbolic tangent.
    fn tanh(self) -> Self;
    /// `1 / (1 + e^-x)`.
    fn sigmoid(self) -> Self;
}

macro_rules! scalar_lane {
    ($float:ty) => {
        impl Lane for $float {
            #[inline(always)]
            fn lit(x: f32) -> Self {
                <$float>::from(x)
            }
            #[inline(always)]
            fn mul_add(self, b: Self, c: Self) -> Self {
                self * b + c
            }
            #[inline(always)]
            fn max(self, other: Self) -> Self {
                <$float>::max(self, other)
            }
            #[inline(always)]
            fn positive(self) -> Self {
                <$float>::from(u8::from(self > 0.0))
            }
            #[inline(always)]
            fn exp(self) -> Self {
                <$float>::exp(self)
            }
            #[inline(always)]
            fn tanh(self) -> Self {
                <$float>::tanh(self)
            }
            #[inline(always)]
            fn sigmoid(self) -> Self {
                1.0 / (1.0 + <$float>::exp(-self))
            }
        }
    };
}
scalar_lane!(f32);
scalar_lane!(f64);
