//! The longest output that a search allows by default: what the training data had, with room to spare.

use serde::{Deserialize, Serialize};

/// Tokens that an output may have in any case.
const SPARE_TOKENS: usize = 10;
/// An output may be so many times as long as those of the training data.
const SPARE_FACTOR: usize = 2;

/// Target lengths in the training data, in tokens without the one that ends a target.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TargetLengths {
    /// The longest target.
    pub longest: usize,
    /// The largest number of target tokens for a token of the source.
    pub largest_ratio: f64,
}

/// Lengths of data that nothing is known of: a limit of `10 + 2 · source tokens`.
impl Default for TargetLengths {
    fn default() -> Self {
        TargetLengths { longest: 0, largest_ratio: 1.0 }
    }
}

impl TargetLengths {
    /// The lengths of pairs, each given as the tokens of its source and of its target.
    pub fn of_pairs(pairs: impl IntoIterator<Item = (u32, u32)>) -> TargetLengths {
        let none = TargetLengths { longest: 0, largest_ratio: 0.0 };
        let pairs = pairs.into_iter().filter(|&(source, _)| source > 0);
        pairs.fold(none, |lengths, (source, target)| {
            let pair = TargetLengths {
                longest: target as usize,
                largest_ratio: f64::from(target) / f64::from(source),
            };
            lengths.max(pair)
        })
    }

    /// Bounds on the lengths of pairs that have at most so many tokens on each side.
    pub fn at_most(tokens: usize) -> TargetLengths {
        TargetLengths { longest: tokens, largest_ratio: tokens as f64 }
    }

    /// The larger of both, of each length.
    #[must_use]
    pub fn max(self, other: TargetLengths) -> TargetLengths {
        TargetLengths {
            longest: self.longest.max(other.longest),
            largest_ratio: self.largest_ratio.max(other.largest_ratio),
        }
    }

    /// The maximum length of an output for a source of `source` tokens:
    ///
    /// ```text
    /// 10 + 2 · min(max(longest, source), largest_ratio · source)
    /// ```
    ///
    /// No target of the training data is longer than half of it. A source that is longer than all targets of the training data may have
    /// an output of twice its own length.
    pub fn limit(&self, source: usize) -> usize {
        let by_ratio = (self.largest_ratio * source as f64).ceil() as usize;
        SPARE_TOKENS + SPARE_FACTOR * self.longest.max(source).min(by_ratio)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Targets of 6 and 9 tokens for sources of 2 and 6: the longest is 9, the largest ratio 6 / 2 = 3.
    ///
    /// A source of 1 has a limit of 10 + 2 · min(9, 3) = 16, one of 4 that of 10 + 2 · min(9, 12) = 28, and one of 20, which is longer
    /// than any target, that of 10 + 2 · min(20, 60) = 50.
    #[test]
    fn limits_by_hand() {
        let lengths = TargetLengths::of_pairs([(2, 6), (6, 9), (0, 70)]);
        assert_eq!(lengths, TargetLengths { longest: 9, largest_ratio: 3.0 });
        assert_eq!([1, 4, 20].map(|source| lengths.limit(source)), [16, 28, 50]);
        let other = TargetLengths { longest: 4, largest_ratio: 5.0 };
        assert_eq!(lengths.max(other), TargetLengths { longest: 9, largest_ratio: 5.0 });
    }

    /// Summaries of a tenth of their sources: one of 105 tokens may have 10 + 2 · min(105, ⌈10.5⌉) = 32.
    #[test]
    fn short_targets_have_low_limits() {
        let lengths = TargetLengths::of_pairs([(100, 10), (50, 5)]);
        assert_eq!(lengths.limit(105), 32);
    }

    /// Where nothing is known: 10 + 2 · source tokens. Where only a bound is: 10 + 2 · max(bound, source).
    #[test]
    fn limits_without_lengths_by_hand() {
        assert_eq!([0, 3, 40].map(|source| TargetLengths::default().limit(source)), [10, 16, 90]);
        assert_eq!([1, 30, 50].map(|source| TargetLengths::at_most(40).limit(source)), [90, 90, 110]);
    }

    proptest! {
        /// Every training target fits with its end, whatever the other pairs; so it does if only a bound is known.
        #[test]
        fn no_training_target_is_truncated(pairs in prop::collection::vec((1u32..200, 0u32..200), 1..20)) {
            let lengths = TargetLengths::of_pairs(pairs.iter().copied());
            for (source, target) in pairs {
                prop_assert!(lengths.limit(source as usize) > target as usize);
                prop_assert!(TargetLengths::at_most(200).limit(source as usize) > target as usize);
            }
        }
    }
}
