//! Which examples are computed together, and in which order.
//!
//! Sequences of about the same length share a batch, since a batch takes as many steps as its longest sequence. A batch
//! holds as many examples as a budget of tokens allows, so that each is about the same amount of work, whether of many
//! short sentences or of few long ones.

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::random::Random;

/// Sources whose lengths differ by less than this count as equally long; targets are sorted by their exact length among them.
/// Wider buckets mix better, narrower ones leave less idle at the ends of sequences: with 2, a batch of 4,000 tokens that
/// were filled up to a rectangle would be padding by less than 5 % on Multi30k and Tatoeba, with 4 by 7 to 9 %.
const SOURCE_BUCKET: u32 = 2;

/// The batches of a data set, epoch after epoch.
///
/// Each epoch has every example exactly once (or as often as the [weights](Batches::weighted) say), in an order that depends
/// on the seed and the number of the epoch only. So a run that was stopped goes on where it was, from a [`Position`].
///
/// ```
/// use couplet_data::{Batches, Position};
///
/// // Source and target lengths of five examples; at most 20 tokens a batch.
/// let batches = Batches::new(vec![(3, 4), (9, 9), (4, 4), (30, 28), (10, 8)], 20, 42);
/// let epoch = batches.epoch(0);
/// assert_eq!(epoch.iter().flatten().count(), 5);
///
/// let all: Vec<_> = batches.starting_at(Position::default()).take(10).collect();
/// let rest: Vec<_> = batches.starting_at(all[3].next).take(6).collect();
/// assert_eq!(all[4..], rest);
/// ```
///
/// An example takes eight bytes, and twenty while an epoch is put in order: 200 MB for ten million.
#[derive(Clone, Debug)]
pub struct Batches {
    /// Shared, so that a clone costs nothing.
    lengths: Arc<Vec<(u32, u32)>>,
    weights: Vec<Weight>,
    budget_tokens: usize,
    seed: u64,
}

/// How often the examples of one corpus come up in an epoch, where several corpora stand one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Weight {
    /// How many examples the corpus has.
    pub examples: u32,
    /// How often each comes up on average: the whole part always, the rest by a draw.
    pub weight: f64,
}

impl Weight {
    /// How often an example comes up in an epoch. It depends on nothing but these.
    pub fn times(weight: f64, seed: u64, epoch: u64, number: u32) -> usize {
        let of_epoch = Random::with(seed, epoch).next_u64();
        let draw = Random::with(of_epoch, u64::from(number)).next_u64();
        // 53 bits are what a number between 0 and 1 has room for.
        let once_more = ((draw >> 11) as f64) < weight.fract() * (1u64 << 53) as f64;
        weight.trunc() as usize + usize::from(once_more)
    }
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
pub struct Stop<E = u32> {
    /// Where this batch is.
    pub position: Position,
    /// Where to go on after it.
    pub next: Position,
    /// The examples, or their numbers.
    pub examples: Vec<E>,
}

/// The batches of one epoch, in order. An example is given by its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Epoch {
    order: Vec<u32>,
    /// The places of `order` that each batch takes.
    batches: Vec<Range<usize>>,
}

impl Epoch {
    /// How many batches there are.
    pub fn len(&self) -> usize {
        self.batches.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.batches.is_empty()
    }

    /// The examples of a batch.
    pub fn batch(&self, index: usize) -> &[u32] {
        &self.order[self.batches[index].clone()]
    }

    /// All batches.
    pub fn iter(&self) -> impl Iterator<Item = &[u32]> {
        (0..self.len()).map(|index| self.batch(index))
    }
}

impl Batches {
    /// Batches of examples that have these source and target lengths. The tokens of both sides, padding not counted, stay
    /// within the budget; an example that is longer makes a batch of its own.
    ///
    /// # Panics
    ///
    /// If there are 2³² examples or more.
    pub fn new(lengths: Vec<(u32, u32)>, budget_tokens: usize, seed: u64) -> Batches {
        assert!(u32::try_from(lengths.len()).is_ok(), "{} examples are too many", lengths.len());
        Batches { lengths: Arc::new(lengths), weights: Vec::new(), budget_tokens, seed }
    }

    /// With examples that come up more or less often than once. An example that no weight is given for has the weight 1.
    ///
    /// ```
    /// use couplet_data::{Batches, Weight};
    ///
    /// // Two examples three times each, and four of which about two come up in an epoch.
    /// let weights = [Weight { examples: 2, weight: 3.0 }, Weight { examples: 4, weight: 0.5 }];
    /// let batches = Batches::new(vec![(5, 5); 6], 20, 42).weighted(&weights);
    /// let epoch = batches.epoch(0);
    /// assert_eq!(epoch.iter().flatten().filter(|&&example| example < 2).count(), 6);
    /// ```
    #[must_use]
    pub fn weighted(self, weights: &[Weight]) -> Batches {
        Batches { weights: weights.to_vec(), ..self }
    }

    /// All batches of an epoch.
    pub fn epoch(&self, epoch: u64) -> Epoch {
        let mut random = Random::with(self.seed, epoch);
        let mut keyed: Vec<u64> = Vec::with_capacity(self.lengths.len());
        let numbers = (0..self.lengths.len() as u32).zip(self.lengths.iter());
        keyed.extend(numbers.map(|(number, &lengths)| u64::from(place(lengths)) << 32 | u64::from(number)));
        if self.weights.iter().any(|corpus| corpus.weight != 1.0) {
            keyed = self.repeated(&keyed, epoch);
        }
        random.shuffle(&mut keyed);
        // The sort is stable: among equal lengths, the order stays random.
        keyed.sort_by_key(|key| key >> 32);
        let order: Vec<u32> = keyed.into_iter().map(|key| key as u32).collect();
        let mut batches = fill(&order, |example| self.tokens(example), self.budget_tokens);
        random.shuffle(&mut batches);
        Epoch { order, batches }
    }

    /// The examples as often as their weights say.
    fn repeated(&self, keyed: &[u64], epoch: u64) -> Vec<u64> {
        let weights = self
            .weights
            .iter()
            .flat_map(|corpus| std::iter::repeat_n(corpus.weight, corpus.examples as usize));
        let weights = weights.chain(std::iter::repeat(1.0));
        let times =
            |(&key, weight)| std::iter::repeat_n(key, Weight::times(weight, self.seed, epoch, key as u32));
        keyed.iter().zip(weights).flat_map(times).collect()
    }

    fn tokens(&self, example: u32) -> usize {
        let (source, target) = self.lengths[example as usize];
        source as usize + target as usize
    }

    /// The share of an epoch that would be padding if every batch were filled up to a rectangle on each side: from 0 to 1.
    /// Couplet's engine packs sequences, and computes none of it.
    pub fn padding(&self, epoch: u64) -> f64 {
        let (mut tokens, mut places) = (0, 0);
        for batch in self.epoch(epoch).iter() {
            let longest = |side: fn(&(u32, u32)) -> u32| {
                batch.iter().map(|&example| side(&self.lengths[example as usize]) as usize).max().unwrap_or(0)
            };
            places += batch.len() * (longest(|lengths| lengths.0) + longest(|lengths| lengths.1));
            tokens += batch.iter().map(|&example| self.tokens(example)).sum::<usize>();
        }
        if places == 0 { 0.0 } else { 1.0 - tokens as f64 / places as f64 }
    }

    /// The batches from a position on, without end. There are none if there are no examples.
    pub fn starting_at(&self, position: Position) -> impl Iterator<Item = Stop> + use<> {
        let batches = self.clone();
        let epochs = (position.epoch..).map(move |number| (number, batches.epoch(number)));
        let mut empty = 0;
        // With small weights an epoch may have nothing in it; with none, all are like that.
        let epochs = epochs.take_while(move |(_, epoch)| {
            empty = if epoch.is_empty() { empty + 1 } else { 0 };
            empty < MOST_EMPTY
        });
        epochs.flat_map(move |(number, epoch)| {
            let done = if number == position.epoch { position.index } else { 0 };
            (done..epoch.len()).map(move |index| {
                let position = Position { epoch: number, index };
                let next = if index + 1 < epoch.len() {
                    Position { epoch: number, index: index + 1 }
                } else {
                    Position { epoch: number + 1, index: 0 }
                };
                Stop { position, next, examples: epoch.batch(index).to_vec() }
            })
        })
    }
}

/// After so many epochs in a row without an example, there will be none.
const MOST_EMPTY: u32 = 1000;

/// Where lengths stand among all lengths: by source, and by target within a bucket of sources, upwards in one and downwards in
/// the next, so that a batch that reaches from one into the other does not mix the longest targets with the shortest.
fn place((source, target): (u32, u32)) -> u32 {
    let most = u32::from(u16::MAX);
    let (bucket, target) = ((source / SOURCE_BUCKET).min(most), target.min(most));
    bucket << 16 | if bucket % 2 == 0 { target } else { most - target }
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
    let tokens = |example: u32| {
        let (source, target) = lengths[example as usize];
        source + target
    };
    let batches = fill(&order, tokens, budget_tokens);
    batches.into_iter().map(|places| order[places].to_vec()).collect()
}

/// Cuts an order of examples into batches, each as long as the budget allows.
fn fill(order: &[u32], tokens: impl Fn(u32) -> usize, budget_tokens: usize) -> Vec<Range<usize>> {
    let mut batches: Vec<Range<usize>> = Vec::new();
    let mut room = 0;
    for (place, &example) in order.iter().enumerate() {
        // Even an empty sequence is work; without this, a batch could hold any number of them.
        let tokens = tokens(example).max(1);
        match batches.last_mut() {
            Some(batch) if tokens <= room => {
                batch.end += 1;
                room -= tokens;
            }
            _ => {
                batches.push(place..place + 1);
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
        let tokens = [30, 4, 10, 4, 5, 9];
        let batches = fill(&[1, 3, 4, 5, 2, 0], |example| tokens[example as usize], 10);
        assert_eq!(batches, [0..2, 2..3, 3..4, 4..5, 5..6]);
    }

    /// Sources of 4 and 5 make one bucket, an even one, whose targets go up; those of 6 make the next, whose targets go down.
    #[test]
    fn targets_go_up_and_down_by_turns() {
        let mut lengths = [(6, 2), (5, 7), (4, 9), (6, 8), (5, 3)];
        lengths.sort_by_key(|&lengths| place(lengths));
        assert_eq!(lengths, [(5, 3), (5, 7), (4, 9), (6, 8), (6, 2)]);
    }

    /// Two batches: 2 + 2 and 3 + 2 tokens in a rectangle of 2 × (3 + 2), and 5 + 5 alone. 1 place of 20 is empty.
    #[test]
    fn padding_by_hand() {
        let batches = Batches::new(vec![(2, 2), (3, 2), (5, 5)], 10, 1);
        assert_eq!(batches.epoch(0).len(), 2);
        assert!((batches.padding(0) - 1.0 / 20.0).abs() < 1e-12, "{}", batches.padding(0));
        assert_eq!(Batches::new(Vec::new(), 10, 1).padding(0), 0.0);
    }

    #[test]
    fn examples_of_one_length_are_mixed_between_epochs() {
        let batches = Batches::new(vec![(5, 5); 100], 100, 1);
        let (first, second) = (batches.epoch(0), batches.epoch(1));
        assert_eq!((first.len(), second.len()), (10, 10));
        let sorted = |batch: &[u32]| {
            let mut batch = batch.to_vec();
            batch.sort_unstable();
            batch
        };
        assert_ne!(sorted(first.batch(0)), sorted(second.batch(0)));
    }

    #[test]
    fn short_and_long_are_apart_but_in_no_order() {
        let lengths: Vec<_> = (0..400).map(|n| (n % 40, n % 40)).collect();
        let epoch = Batches::new(lengths, 200, 1).epoch(0);
        let longest: Vec<_> = epoch.iter().map(|b| b.iter().map(|&n| n % 40).max().unwrap()).collect();
        for (batch, longest) in epoch.iter().zip(&longest) {
            // A batch may reach from one bucket into the next.
            assert!(batch.iter().all(|&n| longest - n % 40 < 2 * SOURCE_BUCKET + 4), "{batch:?}");
        }
        assert!(!longest.is_sorted() && !longest.is_sorted_by(|a, b| a >= b));
    }

    #[test]
    fn no_examples_make_no_batches() {
        let none = Batches::new(Vec::new(), 100, 1);
        assert!(none.epoch(0).is_empty());
        assert!(none.starting_at(Position::default()).next().is_none());
        assert!(in_order(&[], 100).is_empty());
        let never = Batches::new(vec![(5, 5)], 100, 1).weighted(&[Weight { examples: 1, weight: 0.0 }]);
        assert!(never.starting_at(Position::default()).next().is_none());
    }

    #[test]
    fn a_position_behind_the_end_means_the_next_epoch() {
        let batches = Batches::new(vec![(5, 5); 10], 10, 1);
        let stop = batches.starting_at(Position { epoch: 3, index: 10 }).next().unwrap();
        assert_eq!(stop.position, Position { epoch: 4, index: 0 });
        assert_eq!(stop.examples, batches.epoch(4).batch(0));
    }

    #[test]
    fn lines_without_tokens_do_not_make_one_huge_batch() {
        assert_eq!(in_order(&[(0, 0); 10], 4).len(), 3);
    }

    /// Of 1,000 examples of weight 2.25, each comes up twice or three times, and 250 of them three times: give or take 14, one standard
    /// deviation. Which ones changes from epoch to epoch.
    #[test]
    fn a_weight_is_how_often_an_example_comes_up() {
        let weights = [Weight { examples: 1000, weight: 2.25 }, Weight { examples: 1000, weight: 0.5 }];
        let batches = Batches::new(vec![(5, 5); 2100], 1000, 7).weighted(&weights);
        let counts = |epoch| {
            let mut counts = vec![0; 2100];
            batches.epoch(epoch).iter().flatten().for_each(|&example| counts[example as usize] += 1);
            counts
        };
        let (first, second) = (counts(0), counts(1));
        assert!(first[..1000].iter().all(|count| [2, 3].contains(count)));
        assert!(first[1000..2000].iter().all(|count| [0, 1].contains(count)));
        assert!(first[2000..].iter().all(|&count| count == 1), "those that no weight is given for");
        let more = |counts: &[i32]| counts[..1000].iter().filter(|&&count| count == 3).count();
        assert!((190..310).contains(&more(&first)), "{}", more(&first));
        assert_ne!(first, second);
        assert_eq!(first, counts(0));
    }

    fn lengths() -> impl Strategy<Value = Vec<(u32, u32)>> {
        prop::collection::vec((0u32..60, 0u32..60), 0..200)
    }

    fn wide(lengths: &[(u32, u32)]) -> Vec<(usize, usize)> {
        lengths.iter().map(|&(source, target)| (source as usize, target as usize)).collect()
    }

    fn all_batches(lengths: &[(u32, u32)], budget: usize, seed: u64, epoch: u64) -> Vec<Vec<u32>> {
        Batches::new(lengths.to_vec(), budget, seed).epoch(epoch).iter().map(<[u32]>::to_vec).collect()
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
            prop_assert_eq!(&examples_of(&all_batches(&lengths, budget, seed, epoch)), &all);
            prop_assert_eq!(&examples_of(&in_order(&wide(&lengths), budget)), &all);
        }

        #[test]
        fn the_budget_is_kept(lengths in lengths(), budget in 0usize..300, seed: u64) {
            let epoch = all_batches(&lengths, budget, seed, 0);
            for batch in epoch.into_iter().chain(in_order(&wide(&lengths), budget)) {
                let tokens: u32 = batch.iter().map(|&n| lengths[n as usize]).map(|(s, t)| s + t).sum();
                prop_assert!(tokens as usize <= budget || batch.len() == 1, "{batch:?} has {tokens} tokens");
                prop_assert!(!batch.is_empty());
            }
        }

        #[test]
        fn seed_and_epoch_decide(lengths in lengths(), seed: u64, epoch: u64) {
            prop_assert_eq!(all_batches(&lengths, 100, seed, epoch), all_batches(&lengths, 100, seed, epoch));
        }

        #[test]
        fn one_can_go_on_from_anywhere(
            lengths in prop::collection::vec((1u32..20, 1u32..20), 1..40),
            seed: u64,
            skipped in 0usize..60,
            weight in 0.5f64..3.0,
        ) {
            let weights = [Weight { examples: lengths.len() as u32 / 2, weight }];
            let batches = Batches::new(lengths, 60, seed).weighted(&weights);
            let all: Vec<Stop> = batches.starting_at(Position::default()).take(skipped + 20).collect();
            let rest: Vec<Stop> = batches.starting_at(all[skipped].position).take(20).collect();
            prop_assert_eq!(&all[skipped..], &rest[..]);
            for stop in &all {
                let epoch = batches.epoch(stop.position.epoch);
                prop_assert_eq!(&stop.examples, epoch.batch(stop.position.index));
            }
        }
    }
}
