//! Which examples are computed together, and in which order.
//!
//! Sequences of about the same length share a batch, since a batch takes as many steps as its longest sequence. A batch
//! holds as many examples as a budget of tokens allows, so that each is about the same amount of work, whether of many
//! short sentences or of few long ones.

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Lengths that differ by less than this count as equal: examples of one bucket are shuffled among each other. Wider
/// buckets mix better, narrower ones leave less idle at the ends of sequences.
const BUCKET: usize = 4;

/// The batches of a data set, epoch after epoch.
///
/// Each epoch has every example exactly once, in an order that depends on the seed and the number of the epoch only. So
/// a run that was stopped goes on where it was, from a [`Position`].
///
/// ```
/// use couplet_data::{Batches, Position};
///
/// // Source and target lengths of five examples; at most 20 tokens a batch.
/// let batches = Batches::new(&[(3, 4), (9, 9), (4, 4), (30, 28), (10, 8)], 20, 42);
/// let epoch = batches.epoch(0);
/// assert_eq!(epoch.iter().flatten().count(), 5);
///
/// let all: Vec<_> = batches.starting_at(Position::default()).take(10).collect();
/// let rest: Vec<_> = batches.starting_at(all[3].next).take(6).collect();
/// assert_eq!(all[4..], rest);
/// ```
#[derive(Clone, Debug)]
pub struct Batches {
    lengths: Vec<(usize, usize)>,
    budget_tokens: usize,
    seed: u64,
}

/// A place between two batches: the next one is number `index` of its epoch. Both count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// How many epochs are complete.
    pub epoch: u64,
    /// How many batches of the running epoch are done.
    pub index: usize,
}

/// A batch on the way through the epochs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Where this batch is.
    pub position: Position,
    /// Where to go on after it.
    pub next: Position,
    /// The examples, as indices into the lengths that were given.
    pub examples: Vec<u32>,
}

impl Batches {
    /// Batches of examples that have these source and target lengths. The tokens of both sides, padding not counted, stay
    /// within the budget; an example that is longer makes a batch of its own.
    ///
    /// # Panics
    ///
    /// If there are 2³² examples or more.
    pub fn new(lengths: &[(usize, usize)], budget_tokens: usize, seed: u64) -> Batches {
        assert!(u32::try_from(lengths.len()).is_ok(), "{} examples are too many", lengths.len());
        Batches { lengths: lengths.to_vec(), budget_tokens, seed }
    }

    /// All batches of an epoch, in order. An example is given by its index in the lengths.
    pub fn epoch(&self, epoch: u64) -> Vec<Vec<u32>> {
        let mut random = Random::with(self.seed, epoch);
        let mut order: Vec<u32> = (0..self.lengths.len() as u32).collect();
        random.shuffle(&mut order);
        // The sort is stable: within a bucket, the order stays random.
        order.sort_by_key(|&example| {
            let (source, target) = self.lengths[example as usize];
            (source / BUCKET, target / BUCKET)
        });
        let mut batches = fill(&order, &self.lengths, self.budget_tokens);
        random.shuffle(&mut batches);
        batches
    }

    /// The batches from a position on, without end. There are none if there are no examples.
    pub fn starting_at(&self, position: Position) -> impl Iterator<Item = Stop> {
        let epochs = (position.epoch..).take_while(|_| !self.lengths.is_empty());
        epochs.flat_map(move |epoch| {
            let batches = self.epoch(epoch);
            let last = batches.len() - 1;
            let done = if epoch == position.epoch { position.index } else { 0 };
            batches.into_iter().enumerate().skip(done).map(move |(index, examples)| {
                let position = Position { epoch, index };
                let next = if index < last {
                    Position { epoch, index: index + 1 }
                } else {
                    Position { epoch: epoch + 1, index: 0 }
                };
                Stop { position, next, examples }
            })
        })
    }
}

/// Batches of examples by length, the longest first, always the same: for translating and evaluating. An example is given
/// by its index in the lengths, so that the results can be put back in order. Where there is no target yet, its length
/// is what is expected, or 0.
///
/// ```
/// use couplet_data::in_order;
///
/// assert_eq!(in_order(&[(2, 0), (7, 0), (3, 0)], 8), [vec![1], vec![2, 0]]);
/// ```
pub fn in_order(lengths: &[(usize, usize)], budget_tokens: usize) -> Vec<Vec<u32>> {
    assert!(u32::try_from(lengths.len()).is_ok(), "{} examples are too many", lengths.len());
    let mut order: Vec<u32> = (0..lengths.len() as u32).collect();
    // Stable again: equal lengths stay in the order they came in.
    order.sort_by_key(|&example| std::cmp::Reverse(lengths[example as usize]));
    fill(&order, lengths, budget_tokens)
}

/// Cuts an order of examples into batches, each as long as the budget allows.
fn fill(order: &[u32], lengths: &[(usize, usize)], budget_tokens: usize) -> Vec<Vec<u32>> {
    let mut batches: Vec<Vec<u32>> = Vec::new();
    let mut room = 0;
    for &example in order {
        let (source, target) = lengths[example as usize];
        // Even an empty sequence is work; without this, a batch could hold any number of them.
        let tokens = (source + target).max(1);
        match batches.last_mut() {
            Some(batch) if tokens <= room => {
                batch.push(example);
                room -= tokens;
            }
            _ => {
                batches.push(vec![example]);
                room = budget_tokens.saturating_sub(tokens);
            }
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Six examples of 4, 4, 5, 9, 10 and 30 tokens, at most 10 a batch. By length: 4 + 4 | 5 | 9 | 10 | 30.
    #[test]
    fn a_budget_by_hand() {
        let lengths = [(15, 15), (2, 2), (5, 5), (2, 2), (3, 2), (4, 5)];
        let batches = fill(&[1, 3, 4, 5, 2, 0], &lengths, 10);
        assert_eq!(batches, [vec![1, 3], vec![4], vec![5], vec![2], vec![0]]);
    }

    #[test]
    fn examples_of_one_length_are_mixed_between_epochs() {
        let batches = Batches::new(&[(5, 5); 100], 100, 1);
        let (first, second) = (batches.epoch(0), batches.epoch(1));
        assert_eq!((first.len(), second.len()), (10, 10));
        let sorted = |batch: &[u32]| {
            let mut batch = batch.to_vec();
            batch.sort_unstable();
            batch
        };
        assert_ne!(sorted(&first[0]), sorted(&second[0]));
    }

    #[test]
    fn short_and_long_are_apart_but_in_no_order() {
        let lengths: Vec<_> = (0..400).map(|n| (n % 40, n % 40)).collect();
        let epoch = Batches::new(&lengths, 200, 1).epoch(0);
        let longest: Vec<_> = epoch.iter().map(|b| b.iter().map(|&n| n % 40).max().unwrap()).collect();
        for (batch, longest) in epoch.iter().zip(&longest) {
            // A batch may reach from one bucket into the next.
            assert!(batch.iter().all(|&n| longest - n % 40 < 2 * BUCKET as u32 + 4), "{batch:?}");
        }
        assert!(!longest.is_sorted() && !longest.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn no_examples_make_no_batches() {
        let none = Batches::new(&[], 100, 1);
        assert!(none.epoch(0).is_empty());
        assert!(none.starting_at(Position::default()).next().is_none());
        assert!(in_order(&[], 100).is_empty());
    }

    #[test]
    fn a_position_behind_the_end_means_the_next_epoch() {
        let batches = Batches::new(&[(5, 5); 10], 10, 1);
        let stop = batches.starting_at(Position { epoch: 3, index: 10 }).next().unwrap();
        assert_eq!(stop.position, Position { epoch: 4, index: 0 });
        assert_eq!(stop.examples, batches.epoch(4)[0]);
    }

    #[test]
    fn lines_without_tokens_do_not_make_one_huge_batch() {
        assert_eq!(in_order(&[(0, 0); 10], 4).len(), 3);
    }

    fn lengths() -> impl Strategy<Value = Vec<(usize, usize)>> {
        prop::collection::vec((0usize..60, 0usize..60), 0..200)
    }

    fn examples_of(batches: &[Vec<u32>]) -> Vec<u32> {
        let mut examples: Vec<u32> = batches.concat();
        examples.sort_unstable();
        examples
    }

    proptest! {
        #[test]
        fn every_example_once(lengths in lengths(), budget in 0usize..300, seed: u64, epoch: u64) {
            let all: Vec<u32> = (0..lengths.len() as u32).collect();
            prop_assert_eq!(&examples_of(&Batches::new(&lengths, budget, seed).epoch(epoch)), &all);
            prop_assert_eq!(&examples_of(&in_order(&lengths, budget)), &all);
        }

        #[test]
        fn the_budget_is_kept(lengths in lengths(), budget in 0usize..300, seed: u64) {
            let epoch = Batches::new(&lengths, budget, seed).epoch(0);
            for batch in epoch.into_iter().chain(in_order(&lengths, budget)) {
                let tokens: usize = batch.iter().map(|&n| lengths[n as usize]).map(|(s, t)| s + t).sum();
                prop_assert!(tokens <= budget || batch.len() == 1, "{batch:?} has {tokens} tokens");
                prop_assert!(!batch.is_empty());
            }
        }

        #[test]
        fn seed_and_epoch_decide(lengths in lengths(), seed: u64, epoch: u64) {
            let batches = Batches::new(&lengths, 100, seed);
            prop_assert_eq!(batches.epoch(epoch), Batches::new(&lengths, 100, seed).epoch(epoch));
        }

        #[test]
        fn one_can_go_on_from_anywhere(
            lengths in prop::collection::vec((1usize..20, 1usize..20), 1..40),
            seed: u64,
            skipped in 0usize..60,
        ) {
            let batches = Batches::new(&lengths, 60, seed);
            let all: Vec<Stop> = batches.starting_at(Position::default()).take(skipped + 20).collect();
            let rest: Vec<Stop> = batches.starting_at(all[skipped].position).take(20).collect();
            prop_assert_eq!(&all[skipped..], &rest[..]);
            for stop in &all {
                let epoch = batches.epoch(stop.position.epoch);
                prop_assert_eq!(&stop.examples, &epoch[stop.position.index]);
            }
        }
    }
}
