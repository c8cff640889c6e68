//! AVX2 with FMA.

#[cfg(target_arch = "x86_64")]
pub(super) use x86::{Avx2, available, run};

#[cfg(not(target_arch = "x86_64"))]
pub use elsewhere::{Avx2, available, run};

/// On other machines nothing is available, and the types exist so that callers need no conditions.
#[cfg(not(target_arch = "x86_64"))]
mod elsewhere {
    use super::super::{Kernel, Portable, Vector};

    pub type Avx2 = Portable;

    pub fn available() -> bool {
        false
    }

    /// # Safety
    /// None is needed here.
    pub unsafe fn run<V: Vector, K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<V>()
    }
}

// Every intrinsic below needs AVX2 or FMA. A value of type `Avx2` is only made inside `run`, which may only be called
// where both are available; that is the reason for each `unsafe` block without one of its own.
#[cfg(target_arch = "x86_64")]
#[allow(clippy::undocumented_unsafe_blocks, reason = "one reason for all, given above")]
mod x86 {
    use super::super::vector::{ExpSteps, TanhSteps};
    use super::super::{Kernel, LANES, Lane, Vector};
    use std::arch::asm;
    #[allow(clippy::wildcard_imports, reason = "the intrinsics carry their module in their names")]
    use std::arch::x86_64::*;
    use std::ops::{Add, Mul, Neg, Sub};

    pub(crate) fn available() -> bool {
        is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma")
    }

    /// # Safety
    /// [`available`] must hold.
    #[target_feature(enable = "avx2,fma")]
    pub(crate) unsafe fn run<V: Vector, K: Kernel>(kernel: K) -> K::Output {
        kernel.run::<V>()
    }

    #[derive(Clone, Copy)]
    pub(crate) struct Avx2(__m256);

    impl Add for Avx2 {
        type Output = Self;
        #[inline(always)]
        fn add(self, other: Self) -> Self {
            Avx2(unsafe { _mm256_add_ps(self.0, other.0) })
        }
    }

    impl Sub for Avx2 {
        type Output = Self;
        #[inline(always)]
        fn sub(self, other: Self) -> Self {
            Avx2(unsafe { _mm256_sub_ps(self.0, other.0) })
        }
    }

    impl Mul for Avx2 {
        type Output = Self;
        #[inline(always)]
        fn mul(self, other: Self) -> Self {
            Avx2(unsafe { _mm256_mul_ps(self.0, other.0) })
        }
    }

    impl Neg for Avx2 {
        type Output = Self;
        #[inline(always)]
        fn neg(self) -> Self {
            Avx2(unsafe { _mm256_xor_ps(self.0, _mm256_set1_ps(-0.0)) })
        }
    }

    impl Avx2 {
        /// `self` kept between `low` and `high`; NaN stays NaN, since the instructions return their second operand then.
        #[inline(always)]
        fn clamp(self, low: f32, high: f32) -> Self {
            Avx2(unsafe { _mm256_max_ps(_mm256_set1_ps(low), _mm256_min_ps(_mm256_set1_ps(high), self.0)) })
        }

        /// `2^n` for whole numbers between −126 and 127.
        #[inline(always)]
        fn power_of_two(n: __m256i) -> Self {
            let biased = unsafe { _mm256_add_epi32(n, _mm256_set1_epi32(127)) };
            Avx2(unsafe { _mm256_castsi256_ps(_mm256_slli_epi32::<23>(biased)) })
        }

        #[inline(always)]
        fn polynomial(self, coefficients: &[f32]) -> Self {
            coefficients[1..]
                .iter()
                .fold(Self::lit(coefficients[0]), |sum, &c| sum.mul_add(self, Self::lit(c)))
        }
    }

    impl Lane for Avx2 {
        #[inline(always)]
        fn lit(x: f32) -> Self {
            Avx2(unsafe { _mm256_set1_ps(x) })
        }

        #[inline(always)]
        fn mul_add(self, b: Self, c: Self) -> Self {
            Avx2(unsafe { _mm256_fmadd_ps(self.0, b.0, c.0) })
        }

        #[inline(always)]
        fn max(self, other: Self) -> Self {
            Avx2(unsafe { _mm256_max_ps(self.0, other.0) })
        }

        #[inline(always)]
        fn positive(self) -> Self {
            let mask = unsafe { _mm256_cmp_ps::<_CMP_GT_OQ>(self.0, _mm256_setzero_ps()) };
            Avx2(unsafe { _mm256_and_ps(mask, _mm256_set1_ps(1.0)) })
        }

        #[inline(always)]
        fn exp(self) -> Self {
            let x = self.clamp(ExpSteps::RANGE.0, ExpSteps::RANGE.1);
            let scaled = x * Self::lit(std::f32::consts::LOG2_E);
            let n = unsafe { _mm256_round_ps::<{ _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC }>(scaled.0) };
            let n_negated = -Avx2(n);
            let r = n_negated.mul_add(Self::lit(ExpSteps::LN_2.0), x);
            let r = n_negated.mul_add(Self::lit(ExpSteps::LN_2.1), r);
            let y = r.polynomial(&ExpSteps::POLYNOMIAL).mul_add(r * r, r + Self::lit(1.0));
            let whole = unsafe { _mm256_cvtps_epi32(n) };
            let half = unsafe { _mm256_srai_epi32::<1>(whole) };
            let rest = unsafe { _mm256_sub_epi32(whole, half) };
            y * Self::power_of_two(half) * Self::power_of_two(rest)
        }

        #[inline(always)]
        fn tanh(self) -> Self {
            let x = self.clamp(-TanhSteps::LIMIT, TanhSteps::LIMIT);
            let square = x * x;
            let numerator = x * square.polynomial(&TanhSteps::NUMERATOR);
            numerator.div(square.polynomial(&TanhSteps::DENOMINATOR))
        }

        #[inline(always)]
        fn sigmoid(self) -> Self {
            let one = Self::lit(1.0);
            one.div(one + (-self).exp())
        }
    }

    // Rust has no access of a whole vector that may meet another thread's, and makes no vectors of atomic numbers. To the
    // compiler, what these two instructions do might be an atomic access of each number: the processor reads and writes a
    // number that lies within a cache line as a whole.

    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn load_shared(from: *const f32) -> __m256 {
        let numbers;
        unsafe {
            asm!("vmovups {numbers}, [{from}]", numbers = lateout(ymm_reg) numbers, from = in(reg) from,
                options(readonly, nostack, preserves_flags));
        }
        numbers
    }

    #[inline]
    #[target_feature(enable = "avx")]
    unsafe fn store_shared(numbers: __m256, to: *mut f32) {
        unsafe {
            asm!("vmovups [{to}], {numbers}", numbers = in(ymm_reg) numbers, to = in(reg) to,
                options(nostack, preserves_flags));
        }
    }

    impl Vector for Avx2 {
        #[inline(always)]
        fn load(from: &[f32]) -> Self {
            if from.len() >= LANES {
                return unsafe { Self::load_raw(from.as_ptr()) };
            }
            let mut padded = [0.0; LANES];
            padded[..from.len()].copy_from_slice(from);
            unsafe { Self::load_raw(padded.as_ptr()) }
        }

        #[inline(always)]
        fn store(self, to: &mut [f32]) {
            if to.len() >= LANES {
                return unsafe { self.store_raw(to.as_mut_ptr()) };
            }
            let length = to.len();
            to.copy_from_slice(&self.array()[..length]);
        }

        #[inline(always)]
        fn fetch(address: *const f32) {
            unsafe { _mm_prefetch::<_MM_HINT_T0>(address.cast()) };
        }

        #[inline(always)]
        fn fetch_for_later(address: *const f32) {
            unsafe { _mm_prefetch::<_MM_HINT_T1>(address.cast()) };
        }

        #[inline(always)]
        unsafe fn load_raw(from: *const f32) -> Self {
            Avx2(unsafe { _mm256_loadu_ps(from) })
        }

        #[inline(always)]
        unsafe fn store_raw(self, to: *mut f32) {
            unsafe { _mm256_storeu_ps(to, self.0) }
        }

        #[inline(always)]
        unsafe fn load_shared(from: *const f32) -> Self {
            Avx2(unsafe { load_shared(from) })
        }

        #[inline(always)]
        unsafe fn store_shared(self, to: *mut f32) {
            unsafe { store_shared(self.0, to) }
        }

        #[inline(always)]
        fn sqrt(self) -> Self {
            Avx2(unsafe { _mm256_sqrt_ps(self.0) })
        }

        #[inline(always)]
        fn div(self, other: Self) -> Self {
            Avx2(unsafe { _mm256_div_ps(self.0, other.0) })
        }

        #[inline(always)]
        fn array(self) -> [f32; LANES] {
            let mut array = [0.0; LANES];
            unsafe { self.store_raw(array.as_mut_ptr()) };
            array
        }

        /// In three rounds, each of which pairs vectors: numbers, then pairs of them, then halves change places.
        #[inline(always)]
        fn transpose(rows: [Self; LANES]) -> [Self; LANES] {
            let [a, b, c, d, e, f, g, h] = rows.map(|row| row.0);
            unsafe {
                let numbers = |a, b| [_mm256_unpacklo_ps(a, b), _mm256_unpackhi_ps(a, b)];
                let ([ab, ab2], [cd, cd2]) = (numbers(a, b), numbers(c, d));
                let ([ef, ef2], [gh, gh2]) = (numbers(e, f), numbers(g, h));
                let pairs = |a, b| [_mm256_shuffle_ps::<0x44>(a, b), _mm256_shuffle_ps::<0xee>(a, b)];
                let ([p, q], [r, s]) = (pairs(ab, cd), pairs(ab2, cd2));
                let ([t, u], [v, w]) = (pairs(ef, gh), pairs(ef2, gh2));
                let low = |a, b| Avx2(_mm256_permute2f128_ps::<0x20>(a, b));
                let high = |a, b| Avx2(_mm256_permute2f128_ps::<0x31>(a, b));
                let (first, second) = ([p, q, r, s], [t, u, v, w]);
                std::array::from_fn(|i| match i {
                    0..4 => low(first[i], second[i]),
                    _ => high(first[i - 4], second[i - 4]),
                })
            }
        }
    }
}
