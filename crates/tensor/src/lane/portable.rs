//! Eight lanes in plain Rust.

use super::vector::{ExpSteps, TanhSteps};
use super::{LANES, Lane, Vector};
use std::array::from_fn;
use std::ops::{Add, Mul, Neg, Sub};
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

/// Eight numbers in an array.
#[derive(Clone, Copy, Debug)]
pub struct Portable([f32; LANES]);

impl Portable {
    #[inline(always)]
    fn map(self, f: impl Fn(f32) -> f32) -> Self {
        Portable(from_fn(|i| f(self.0[i])))
    }

    #[inline(always)]
    fn zip(self, other: Self, f: impl Fn(f32, f32) -> f32) -> Self {
        Portable(from_fn(|i| f(self.0[i], other.0[i])))
    }
}

impl Add for Portable {
    type Output = Self;
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        self.zip(other, |a, b| a + b)
    }
}

impl Sub for Portable {
    type Output = Self;
    #[inline(always)]
    fn sub(self, other: Self) -> Self {
        self.zip(other, |a, b| a - b)
    }
}

impl Mul for Portable {
    type Output = Self;
    #[inline(always)]
    fn mul(self, other: Self) -> Self {
        self.zip(other, |a, b| a * b)
    }
}

impl Neg for Portable {
    type Output = Self;
    #[inline(always)]
    fn neg(self) -> Self {
        self.map(|a| -a)
    }
}

#[inline(always)]
fn polynomial(x: f32, coefficients: &[f32]) -> f32 {
    coefficients[1..].iter().fold(coefficients[0], |sum, c| sum * x + c)
}

/// `2^n` for whole numbers between −126 and 127.
#[inline(always)]
fn power_of_two(n: i32) -> f32 {
    f32::from_bits(((n + 127) << 23) as u32)
}

#[inline(always)]
fn exp(x: f32) -> f32 {
    // `clamp` keeps NaN; the conversion to a whole number then gives 0, and NaN stays in `y`.
    let x = x.clamp(ExpSteps::RANGE.0, ExpSteps::RANGE.1);
    let n = (x * std::f32::consts::LOG2_E).round_ties_even();
    let r = (x - n * ExpSteps::LN_2.0) - n * ExpSteps::LN_2.1;
    let y = polynomial(r, &ExpSteps::POLYNOMIAL) * (r * r) + (r + 1.0);
    let whole = n as i32;
    let half = whole >> 1;
    y * power_of_two(half) * power_of_two(whole - half)
}

#[inline(always)]
fn tanh(x: f32) -> f32 {
    let x = x.clamp(-TanhSteps::LIMIT, TanhSteps::LIMIT);
    let square = x * x;
    x * polynomial(square, &TanhSteps::NUMERATOR) / polynomial(square, &TanhSteps::DENOMINATOR)
}

impl Lane for Portable {
    #[inline(always)]
    fn lit(x: f32) -> Self {
        Portable([x; LANES])
    }

    #[inline(always)]
    fn mul_add(self, b: Self, c: Self) -> Self {
        // Not `f32::mul_add`, which is a slow call on machines without the instruction.
        self * b + c
    }

    #[inline(always)]
    fn max(self, other: Self) -> Self {
        self.zip(other, f32::max)
    }

    #[inline(always)]
    fn positive(self) -> Self {
        self.map(|x| f32::from(u8::from(x > 0.0)))
    }

    #[inline(always)]
    fn exp(self) -> Self {
        self.map(exp)
    }

    #[inline(always)]
    fn tanh(self) -> Self {
        self.map(tanh)
    }

    #[inline(always)]
    fn sigmoid(self) -> Self {
        self.map(|x| 1.0 / (1.0 + exp(-x)))
    }
}

impl Vector for Portable {
    #[inline(always)]
    fn load(from: &[f32]) -> Self {
        if let Some(full) = from.first_chunk() {
            return Portable(*full);
        }
        let mut padded = [0.0; LANES];
        padded[..from.len()].copy_from_slice(from);
        Portable(padded)
    }

    #[inline(always)]
    fn store(self, to: &mut [f32]) {
        let length = to.len().min(LANES);
        to[..length].copy_from_slice(&self.0[..length]);
    }

    #[inline(always)]
    unsafe fn load_raw(from: *const f32) -> Self {
        // SAFETY: the caller vouches for `LANES` numbers; an array of f32 needs no more alignment than f32.
        Portable(unsafe { from.cast::<[f32; LANES]>().read() })
    }

    #[inline(always)]
    unsafe fn store_raw(self, to: *mut f32) {
        // SAFETY: as in `load_raw`.
        unsafe { to.cast::<[f32; LANES]>().write(self.0) }
    }

    #[inline(always)]
    unsafe fn load_shared(from: *const f32) -> Self {
        Portable(from_fn(|i| {
            // SAFETY: the caller vouches for `LANES` numbers, which an atomic number is as large as and aligned as.
            let cell = unsafe { AtomicU32::from_ptr(from.add(i).cast_mut().cast()) };
            f32::from_bits(cell.load(Relaxed))
        }))
    }

    #[inline(always)]
    unsafe fn store_shared(self, to: *mut f32) {
        for (i, x) in self.0.into_iter().enumerate() {
            // SAFETY: as in `load_shared`.
            unsafe { AtomicU32::from_ptr(to.add(i).cast()) }.store(x.to_bits(), Relaxed);
        }
    }

    #[inline(always)]
    fn sqrt(self) -> Self {
        self.map(f32::sqrt)
    }

    #[inline(always)]
    fn div(self, other: Self) -> Self {
        self.zip(other, |a, b| a / b)
    }

    #[inline(always)]
    fn array(self) -> [f32; LANES] {
        self.0
    }

    #[inline(always)]
    fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
        from_fn(|j| Portable(rows.map(|row| row.0[j])))
    }
}
