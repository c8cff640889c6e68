//! The two loops that all the time is spent in, over as many lanes as the processor has.

use pulp::Simd;

/// Independent sums, so that one addition need not wait for the one before.
const SUMS: usize = 4;

/// The inner product of two vectors of one length.
#[inline(always)]
pub(crate) fn dot<S: Simd>(simd: S, a: &[f32], b: &[f32]) -> f32 {
    let ((a, a_rest), (b, b_rest)) = (S::as_simd_f32s(a), S::as_simd_f32s(b));
    let ((a, a_few), (b, b_few)) = (a.as_chunks::<SUMS>(), b.as_chunks::<SUMS>());
    let mut sums = [simd.splat_f32s(0.0); SUMS];
    for (a, b) in a.iter().zip(b) {
        for i in 0..SUMS {
            sums[i] = simd.mul_add_e_f32s(a[i], b[i], sums[i]);
        }
    }
    for (&a, &b) in a_few.iter().zip(b_few) {
        sums[0] = simd.mul_add_e_f32s(a, b, sums[0]);
    }
    let [first, second, third, fourth] = sums;
    let sum = simd.add_f32s(simd.add_f32s(first, second), simd.add_f32s(third, fourth));
    let rest: f32 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    simd.reduce_sum_f32s(sum) + rest
}

/// `y ← y + scale · x`.
#[inline(always)]
pub(crate) fn add_scaled<S: Simd>(simd: S, scale: f32, x: &[f32], y: &mut [f32]) {
    let ((x, x_rest), (y, y_rest)) = (S::as_simd_f32s(x), S::as_mut_simd_f32s(y));
    let scales = simd.splat_f32s(scale);
    for (&x, y) in x.iter().zip(y) {
        *y = simd.mul_add_e_f32s(scales, x, *y);
    }
    for (x, y) in x_rest.iter().zip(y_rest) {
        *y += scale * x;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pulp::{Arch, WithSimd};

    struct Both<'a>(&'a [f32], &'a mut [f32]);

    impl WithSimd for Both<'_> {
        type Output = f32;

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) -> f32 {
            let product = dot(simd, self.0, self.1);
            add_scaled(simd, 2.0, self.0, self.1);
            product
        }
    }

    /// Whole numbers, whose sums are exact in any order, for lengths with every kind of rest.
    #[test]
    fn all_numbers_take_part() {
        for length in 0..100_usize {
            let x: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let mut y: Vec<f32> = (0..length).map(|i| (i % 7) as f32).collect();
            let expected: usize = (0..length).map(|i| i * (i % 7)).sum();
            assert_eq!(Arch::new().dispatch(Both(&x, &mut y)), expected as f32);
            assert!(y.iter().enumerate().all(|(i, &y)| y == (i % 7 + 2 * i) as f32), "{y:?}");
        }
    }
}
