//! How sure a score is, and whether two systems differ: by drawing lines again.
//!
//! Lines are drawn with the random numbers that sacreBLEU uses: with the same seed, intervals and p-values are its own.

use crate::metric::{Metric, Statistics};
use crate::random::Random;

/// The seed that sacreBLEU takes if nothing else is asked for.
pub const DEFAULT_SEED: u64 = 12345;

/// Draws as many lines as there are, some of them several times and others not at all, again and again: the scores of such
/// corpora say how much a score depends on the lines that happened to be chosen.
///
/// Koehn, [*Statistical Significance Tests for Machine Translation Evaluation*](https://aclanthology.org/W04-3250/).
///
/// ```
/// use couplet_metrics::{Bootstrap, ExactMatch, Interval, Statistics};
///
/// let exact = ExactMatch::default();
/// let statistics = Statistics::of(&exact, &["a", "b", "x", "d"], &["a", "b", "c", "d"]);
/// let interval = Interval::of(&Bootstrap::default().scores(&exact, &statistics));
/// assert!(interval.low < 75.0 && 75.0 < interval.high);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bootstrap {
    /// How many times the corpus is drawn.
    pub resamples: usize,
    /// Which random numbers are used.
    pub seed: u64,
}

impl Default for Bootstrap {
    fn default() -> Bootstrap {
        Bootstrap { resamples: 1000, seed: DEFAULT_SEED }
    }
}

impl Bootstrap {
    /// The score of each resample. Of all systems that have translated the same lines, the same lines are drawn.
    pub fn scores(&self, metric: &(impl Metric + ?Sized), statistics: &Statistics) -> Vec<f64> {
        let mut random = Random::new(self.seed);
        let lines = statistics.lines();
        let mut times = vec![0_u32; lines];
        let mut score = || {
            times.fill(0);
            for _ in 0..lines {
                times[random.below(lines as u32) as usize] += 1;
            }
            let mut sums = vec![0.0; statistics.width()];
            for (line, &times) in times.iter().enumerate().filter(|(_, times)| **times > 0) {
                statistics.add(line, f64::from(times), &mut sums);
            }
            metric.score(&sums)
        };
        (0..self.resamples).map(|_| score()).collect()
    }
}

/// Where the scores of resamples lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// Their mean.
    pub mean: f64,
    /// One in forty lies below.
    pub low: f64,
    /// One in forty lies above: between the two are 95 %.
    pub high: f64,
}

impl Interval {
    /// The interval of the scores of all resamples.
    ///
    /// # Panics
    ///
    /// If there are none.
    pub fn of(scores: &[f64]) -> Interval {
        assert!(!scores.is_empty(), "an interval of no scores");
        let mut sorted = scores.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let outside = sorted.len() / 40;
        Interval { mean: mean(&sorted), low: sorted[outside], high: sorted[sorted.len() - 1 - outside] }
    }

    /// What sacreBLEU writes behind ±.
    pub fn half_width(&self) -> f64 {
        0.5 * (self.high - self.low)
    }
}

/// How likely two systems that are equally good would differ by as much as these do, or more, by the scores of their
/// [resamples](Bootstrap::scores). `difference` is that of the scores of the whole corpus.
///
/// # Panics
///
/// If there are not as many scores of one system as of the other.
pub fn paired_bootstrap(difference: f64, baseline: &[f64], system: &[f64]) -> f64 {
    assert_eq!(baseline.len(), system.len(), "as many resamples of both systems");
    let differences: Vec<f64> = baseline.iter().zip(system).map(|(a, b)| (a - b).abs()).collect();
    let mean = mean(&differences);
    p_value(differences.iter().map(|one| one - mean), difference.abs())
}

/// How likely two systems that are equally good would differ by as much as these do, or more: in each trial, a coin for each
/// line says whether the systems swap their translations of it.
///
/// Riezler and Maxwell, [*On Some Pitfalls in Automatic Evaluation and Significance Testing for
/// MT*](https://aclanthology.org/W05-0908/).
///
/// # Panics
///
/// If one system has more lines than the other.
pub fn paired_randomization(
    metric: &(impl Metric + ?Sized),
    baseline: &Statistics,
    system: &Statistics,
    trials: usize,
    seed: u64,
) -> f64 {
    assert_eq!(baseline.lines(), system.lines(), "as many lines of both systems");
    let difference = (metric.score(&baseline.sums()) - metric.score(&system.sums())).abs();
    let mut random = Random::new(seed);
    let mut coins = random.coins();
    let mut trial = || {
        let mut sums = [vec![0.0; baseline.width()], vec![0.0; baseline.width()]];
        for (line, stays) in (0..baseline.lines()).zip(&mut coins) {
            let [first, second] = &mut sums;
            let (own, others) = if stays { (first, second) } else { (second, first) };
            baseline.add(line, 1.0, own);
            system.add(line, 1.0, others);
        }
        let [first, second] = sums.map(|sums| metric.score(&sums));
        (first - second).abs()
    };
    p_value((0..trials).map(|_| trial()), difference)
}

/// The share of differences that are larger than the one found; one is added on both sides, so that it is never zero.
fn p_value(differences: impl ExactSizeIterator<Item = f64>, found: f64) -> f64 {
    let all = differences.len();
    let larger = differences.filter(|&difference| difference > found).count();
    (larger + 1) as f64 / (all + 1) as f64
}

fn mean(numbers: &[f64]) -> f64 {
    numbers.iter().sum::<f64>() / numbers.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accuracy::ExactMatch;

    /// So many right lines, then so many wrong ones.
    fn statistics(right: usize, wrong: usize) -> Statistics {
        let counts = |right: f64| vec![right, 1.0];
        let lines = std::iter::repeat_n(counts(1.0), right).chain(std::iter::repeat_n(counts(0.0), wrong));
        Statistics::from_counts(&ExactMatch::default(), lines)
    }

    /// Of 100 scores from 1 to 100, two lie outside on either side: 100/40, rounded down.
    #[test]
    fn an_interval_by_hand() {
        let scores: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        let interval = Interval::of(&scores);
        assert_eq!(interval, Interval { mean: 50.5, low: 3.0, high: 98.0 });
        assert_eq!(interval.half_width(), 47.5);
    }

    /// The share of right lines among n is binomial: a standard deviation of √(0.25/400) = 2.5 %, of which 1.96 to either side.
    #[test]
    fn an_interval_is_as_wide_as_it_should_be() {
        let metric = ExactMatch::default();
        let scores = Bootstrap::default().scores(&metric, &statistics(200, 200));
        let interval = Interval::of(&scores);
        assert!((interval.mean - 50.0).abs() < 0.5, "{interval:?}");
        assert!((interval.half_width() - 4.9).abs() < 0.5, "{interval:?}");
    }

    #[test]
    fn a_seed_fixes_everything() {
        let metric = ExactMatch::default();
        let of = |seed| Bootstrap { resamples: 50, seed }.scores(&metric, &statistics(20, 20));
        assert_eq!(of(1), of(1));
        assert_ne!(of(1), of(2));
    }

    /// Differences 1, 3, 2, 2 have the mean 2; less it, they are −1, 1, 0, 0, of which one is larger than 0.5: (1 + 1)/(4 + 1).
    #[test]
    fn paired_bootstrap_by_hand() {
        let p = paired_bootstrap(-0.5, &[1.0, 2.0, 3.0, 4.0], &[2.0, 5.0, 1.0, 2.0]);
        assert_eq!(p, 0.4);
    }

    #[test]
    fn randomization_tells_a_better_system_from_another() {
        let metric = ExactMatch::default();
        let p =
            |first: &Statistics, second: &Statistics| paired_randomization(&metric, first, second, 500, 1);
        let right_in = |lines: std::ops::Range<usize>| {
            let counts = move |line| vec![f64::from(u8::from(lines.contains(&line))), 1.0];
            Statistics::from_counts(&metric, (0..400).map(counts))
        };
        assert_eq!(p(&right_in(0..100), &right_in(0..200)), 1.0 / 501.0);
        // Ten lines for the one, eleven for the other: coins do that all the time.
        assert!(p(&right_in(0..100), &right_in(10..111)) > 0.5);
        // As in sacreBLEU: no trial differs by more than nothing.
        assert_eq!(p(&right_in(0..100), &right_in(0..100)), 1.0 / 501.0);
    }
}
