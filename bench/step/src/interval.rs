//! How sure a median is: the interval that holds it nine times in ten.

use crate::ours::median;

/// How often an interval should hold the median of what was sampled.
const CONFIDENCE: f64 = 0.9;

/// Paired ratios, one from each round.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Paired {
    /// Round by round.
    pub(crate) ratios: Vec<f64>,
}

impl Paired {
    pub(crate) fn median(&self) -> f64 {
        median(&self.ratios)
    }

    /// One over each: the same, seen from the other side.
    pub(crate) fn inverse(&self) -> Paired {
        Paired { ratios: self.ratios.iter().map(|ratio| 1.0 / ratio).collect() }
    }

    /// Each ratio.
    pub(crate) fn each(&self) -> String {
        self.ratios.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" ")
    }

    /// The interval of the median that order statistics give, without an assumption on how ratios are distributed.
    ///
    /// The `d`-th smallest and the `d`-th largest of `n` independent ratios hold the median with probability `1 − 2·P(B < d)`, `B` binomial
    /// of `n` and ½. Between the two `d` whose probabilities lie around 90 %, it is interpolated as Hettmansperger and Sheather (1986)
    /// do. With fewer than five ratios, the smallest and the largest hold it less often; they are then the interval.
    pub(crate) fn interval(&self) -> [f64; 2] {
        let mut sorted = self.ratios.clone();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let ends = |d: usize| [sorted[d - 1], sorted[n - d]];
        let Some(d) = (1..=n / 2).rev().find(|&d| coverage(n, d) >= CONFIDENCE) else { return ends(1) };
        let [wide, narrow] = [coverage(n, d), coverage(n, d + 1)];
        let share = (wide - CONFIDENCE) / (wide - narrow);
        let (outside, inside) = (d as f64, (n - 2 * d) as f64);
        let inward = (outside + inside) * share / (outside + inside * share);
        let ([low, high], [next_low, next_high]) = (ends(d), ends(d + 1));
        [low + inward * (next_low - low), high + inward * (next_high - high)]
    }
}

/// How often the interval of so many ratios holds their median: 90 %, or less where there are too few.
pub(crate) fn confidence(ratios: usize) -> f64 {
    coverage(ratios, 1).min(CONFIDENCE)
}

/// How often the `d`-th smallest and the `d`-th largest of `n` numbers hold their distribution's median.
fn coverage(n: usize, d: usize) -> f64 {
    let outcomes = 2f64.powi(n as i32);
    let below: f64 = (0..d).map(|k| binomial(n, k) / outcomes).sum();
    1.0 - 2.0 * below
}

/// How many ways there are to choose `k` of `n`.
fn binomial(n: usize, k: usize) -> f64 {
    (0..k).map(|i| (n - i) as f64 / (i + 1) as f64).product()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(ratios: &[f64]) -> Paired {
        Paired { ratios: ratios.to_vec() }
    }

    #[track_caller]
    fn near(found: [f64; 2], expected: [f64; 2]) {
        assert!(found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 1e-5), "{found:?}");
    }

    #[test]
    fn three_ratios_reach_from_the_smallest_to_the_largest() {
        let paired = of(&[1.5, 1.4, 1.7]);
        assert_eq!(paired.median(), 1.5);
        assert_eq!(paired.interval(), [1.4, 1.7]);
        // Of three coins all fall on one side in 2 of 8 cases.
        assert_eq!(confidence(3), 0.75);
        assert_eq!(of(&[1.5]).interval(), [1.5, 1.5]);
        assert_eq!(confidence(1), 0.0);
    }

    /// The smallest and the largest of five hold the median in 30 of 32 cases, the second and the fourth in 20 of 32. 0.9 is 0.12 of the way
    /// from 0.9375 to 0.625, of which (5 − 1) · 0.12 / (1 + 3 · 0.12) = 0.48 / 1.36 inwards.
    #[test]
    fn five_ratios_by_hand() {
        let inward = 0.48 / 1.36;
        near(of(&[5.0, 1.0, 2.0, 4.0, 3.0]).interval(), [1.0 + inward, 5.0 - inward]);
        assert_eq!(confidence(5), 0.9);
        assert_eq!(of(&[1.0; 5]).interval(), [1.0, 1.0]);
    }

    /// Of ten: the second and the ninth in 1 − 22/1024 of the cases, the third and the eighth in 1 − 112/1024. 0.9 is
    /// (102.4 − 22) / 90 of the way, 8 · 0.8933 / (2 + 6 · 0.8933) = 0.97101 inwards.
    #[test]
    fn ten_ratios_by_hand() {
        let share = (102.4 - 22.0) / 90.0;
        let inward = 8.0 * share / (2.0 + 6.0 * share);
        near([inward; 2], [0.97101; 2]);
        let ratios: Vec<f64> = (1..=10).map(f64::from).collect();
        near(of(&ratios).interval(), [2.0 + inward, 9.0 - inward]);
    }

    #[test]
    fn more_rounds_make_it_narrower() {
        let spread = |n: usize| {
            let [low, high] = of(&(0..n).map(|i| i as f64 / (n - 1) as f64).collect::<Vec<_>>()).interval();
            high - low
        };
        assert!([5, 7, 10, 20, 40].windows(2).all(|pair| spread(pair[1]) < spread(pair[0])));
    }
}
