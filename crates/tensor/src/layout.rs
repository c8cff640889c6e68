//! Sequences of different lengths without padding.

use std::ops::Range;

/// How the time steps of a batch of sequences lie in the rows of a tensor.
///
/// The sequences are ordered longest first. The rows of step 0 come first, one for each sequence that has a step 0, then
/// those of step 1, and so on: the sequences that are still running at a step are always a prefix of the batch.
///
/// ```
/// use couplet_tensor::SequenceLayout;
///
/// let layout = SequenceLayout::new(&[2, 3, 1]); // sequences a, b, c
/// assert_eq!(layout.sorted_indices(), [1, 0, 2]); // b a c
/// // row:  0  1  2 | 3  4 | 5
/// //       b0 a0 c0| b1 a1| b2
/// assert_eq!(layout.step(1), 3..5);
/// assert_eq!(layout.row(0, 2), 5); // b's third step
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SequenceLayout {
    step_offsets: Vec<u32>,
    lengths: Vec<u32>,
    sorted_indices: Vec<u32>,
    examples: Vec<u32>,
}

impl SequenceLayout {
    /// Packs sequences of these lengths. A sequence may be empty.
    pub fn new(lengths: &[usize]) -> SequenceLayout {
        let examples: Vec<u32> = (0..lengths.len() as u32).collect();
        SequenceLayout::with_examples(lengths, &examples)
    }

    /// As [`SequenceLayout::new`], with a number for each sequence that stays the same in every batch: dropout depends on it.
    pub fn with_examples(lengths: &[usize], examples: &[u32]) -> SequenceLayout {
        assert_eq!(lengths.len(), examples.len(), "a number for each sequence");
        let mut sorted_indices: Vec<u32> = (0..lengths.len() as u32).collect();
        sorted_indices.sort_by_key(|&i| std::cmp::Reverse(lengths[i as usize]));
        let sorted: Vec<u32> = sorted_indices.iter().map(|&i| lengths[i as usize] as u32).collect();
        let mut step_offsets = vec![0];
        let mut running = sorted.len();
        for step in 0..sorted.first().copied().unwrap_or(0) {
            while sorted[running - 1] <= step {
                running -= 1;
            }
            step_offsets.push(step_offsets[step as usize] + running as u32);
        }
        let examples = sorted_indices.iter().map(|&i| examples[i as usize]).collect();
        SequenceLayout { step_offsets, lengths: sorted, sorted_indices, examples }
    }

    /// How many sequences there are.
    pub fn batch(&self) -> usize {
        self.lengths.len()
    }

    /// How many steps the longest sequence has.
    pub fn steps(&self) -> usize {
        self.step_offsets.len() - 1
    }

    /// How many rows there are in all.
    pub fn total(&self) -> usize {
        self.step_offsets[self.steps()] as usize
    }

    /// The rows of a step.
    pub fn step(&self, step: usize) -> Range<usize> {
        self.step_offsets[step] as usize..self.step_offsets[step + 1] as usize
    }

    /// How many sequences are running at a step; none are beyond the last one.
    pub fn running(&self, step: usize) -> usize {
        if step < self.steps() { self.step(step).len() } else { 0 }
    }

    /// The length of the sequence at a place in the batch, longest first.
    pub fn length(&self, place: usize) -> usize {
        self.lengths[place] as usize
    }

    /// The row of a sequence's step.
    pub fn row(&self, place: usize, step: usize) -> usize {
        debug_assert!(step < self.length(place));
        self.step_offsets[step] as usize + place
    }

    /// The place and the step of a row.
    pub fn locate(&self, row: usize) -> (usize, usize) {
        let step = self.step_offsets.partition_point(|&start| start as usize <= row) - 1;
        (row - self.step_offsets[step] as usize, step)
    }

    /// Which of the given sequences is at each place.
    pub fn sorted_indices(&self) -> &[u32] {
        &self.sorted_indices
    }

    /// The place of each of the given sequences.
    pub fn unsorted_indices(&self) -> Vec<u32> {
        let mut place_of = vec![0; self.batch()];
        for (place, &sequence) in (0..).zip(&self.sorted_indices) {
            place_of[sequence as usize] = place;
        }
        place_of
    }

    /// The first row of each step, and the number of rows.
    #[cfg(feature = "cuda")]
    pub(crate) fn step_offsets(&self) -> &[u32] {
        &self.step_offsets
    }

    /// The length of the sequence at each place.
    #[cfg(feature = "cuda")]
    pub(crate) fn lengths(&self) -> &[u32] {
        &self.lengths
    }

    /// The number of the sequence at each place.
    pub fn examples(&self) -> &[u32] {
        &self.examples
    }

    /// Walks over all rows in order: place and step.
    pub fn places(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        (0..self.steps()).flat_map(|step| (0..self.running(step)).map(move |place| (place, step)))
    }

    /// The order in which a reader goes through the steps.
    pub fn walk(&self, direction: Direction) -> impl DoubleEndedIterator<Item = Step> + '_ {
        (0..self.steps()).map(move |i| {
            let step = if direction == Direction::Forward { i } else { self.steps() - 1 - i };
            let before = match direction {
                Direction::Forward => step.checked_sub(1),
                Direction::Backward => (step + 1 < self.steps()).then_some(step + 1),
            };
            let rows = self.step(step);
            // The sequences that were running before are a prefix of those that are running now, or the other way round.
            let carried = before.map_or(0, |before| self.running(before).min(rows.len()));
            Step { before: before.map_or(0, |before| self.step(before).start), carried, rows }
        })
    }
}

/// The direction in which a sequence is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the first step to the last.
    Forward,
    /// From the last step to the first.
    Backward,
}

/// One step of a walk over packed rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The rows of this step; place `i` of the batch is the `i`-th of them.
    pub rows: Range<usize>,
    /// How many of the places, from the first on, were in the step before; the others begin here.
    pub carried: usize,
    /// The row of place 0 in the step before.
    pub before: usize,
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_backward_walk_starts_each_sequence_at_its_own_end() {
        let rows = SequenceLayout::new(&[1, 3, 0, 2]);
        assert_eq!((rows.batch(), rows.steps(), rows.total()), (4, 3, 6));
        let steps: Vec<Step> = rows.walk(Direction::Backward).collect();
        assert_eq!(steps[0], Step { rows: 5..6, carried: 0, before: 0 });
        assert_eq!(steps[1], Step { rows: 3..5, carried: 1, before: 5 });
        assert_eq!(steps[2], Step { rows: 0..3, carried: 2, before: 3 });
    }

    #[test]
    fn nothing_has_no_rows() {
        for lengths in [&[][..], &[0, 0]] {
            let rows = SequenceLayout::new(lengths);
            assert_eq!((rows.batch(), rows.steps(), rows.total()), (lengths.len(), 0, 0));
        }
    }

    proptest! {
        #[test]
        fn every_step_of_every_sequence_has_one_row(lengths in prop::collection::vec(0usize..9, 0..12)) {
            let rows = SequenceLayout::new(&lengths);
            prop_assert_eq!(rows.total(), lengths.iter().sum::<usize>());
            for (row, (place, step)) in rows.places().enumerate() {
                prop_assert_eq!(rows.row(place, step), row);
                prop_assert_eq!(rows.locate(row), (place, step));
                prop_assert!(step < lengths[rows.sorted_indices()[place] as usize]);
            }
            for (sequence, place) in rows.unsorted_indices().into_iter().enumerate() {
                prop_assert_eq!(rows.sorted_indices()[place as usize] as usize, sequence);
            }
            for direction in [Direction::Forward, Direction::Backward] {
                let begun: usize = rows.walk(direction).map(|step| step.rows.len() - step.carried).sum();
                prop_assert_eq!(begun, lengths.iter().filter(|&&length| length > 0).count());
            }
        }
    }
}
