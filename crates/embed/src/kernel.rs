//! The loop that a search for neighbors spends its time in.

use couplet_tensor::lane::{LANES, Vector};

/// Independent sums, so that one addition need not wait for the one before.
const SUMS: usize = 4;

/// The inner product of two vectors of one length.
#[inline(always)]
pub(crate) fn dot<V: Vector>(a: &[f32], b: &[f32]) -> f32 {
    let mut sums = [V::lit(0.0); SUMS];
    let many = SUMS * LANES;
    for (a, b) in a.chunks_exact(many).zip(b.chunks_exact(many)) {
        for (i, sum) in sums.iter_mut().enumerate() {
            *sum = V::load(&a[i * LANES..]).mul_add(V::load(&b[i * LANES..]), *sum);
        }
    }
    let rest = a.len() - a.len() % many;
    for (a, b) in a[rest..].chunks(LANES).zip(b[rest..].chunks(LANES)) {
        sums[0] = V::load(a).mul_add(V::load(b), sums[0]);
    }
    let [first, second, third, fourth] = sums;
    ((first + second) + (third + fourth)).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_tensor::Isa;
    use couplet_tensor::lane::Kernel;

    struct Dot<'a>(&'a [f32], &'a [f32]);

    impl Kernel for Dot<'_> {
        type Output = f32;

        #[inline(always)]
        fn run<V: Vector>(self) -> f32 {
            dot::<V>(self.0, self.1)
        }
    }

    /// Whole numbers, whose sums are exact in any order, for lengths with every kind of rest.
    #[test]
    fn all_numbers_take_part() {
        for length in 0..100_usize {
            let x: Vec<f32> = (0..length).map(|i| i as f32).collect();
            let y: Vec<f32> = (0..length).map(|i| (i % 7) as f32).collect();
            let expected: usize = (0..length).map(|i| i * (i % 7)).sum();
            assert_eq!(Isa::detect().run(Dot(&x, &y)), expected as f32);
        }
    }
}
