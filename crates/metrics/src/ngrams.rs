//! Sequences of n neighbors, n-grams, of words and of characters.

/// For each n from 1 to `orders`: how many n-grams of the hypothesis are found in a reference, each at most as often as the
/// reference that has most of it.
///
/// All places of all sequences are sorted by what follows there. Places that share their next n symbols, that is, have the same
/// n-gram, are neighbors then, for all n at once: one walk counts them.
pub(crate) fn matches(hypothesis: &[u32], references: &[&[u32]], orders: usize) -> Vec<usize> {
    let sides = 1 + references.len();
    let mut places: Vec<(&[u32], usize)> = Vec::new();
    for (side, sequence) in [&hypothesis].into_iter().chain(references).enumerate() {
        places.extend((0..sequence.len()).map(|at| (&sequence[at..sequence.len().min(at + orders)], side)));
    }
    places.sort_unstable_by(|a, b| a.0.cmp(b.0));

    let mut groups = Groups { sides, counts: vec![0; orders * sides], matches: vec![0; orders] };
    let mut before: &[u32] = &[];
    for (here, side) in places {
        let shared = before.iter().zip(here).take_while(|(a, b)| a == b).count();
        groups.close(shared..before.len());
        for order in 0..here.len() {
            groups.counts[order * sides + side] += 1;
        }
        before = here;
    }
    groups.close(0..before.len());
    groups.matches
}

/// The n-gram that stands at the current place, for each n: how often each side has it.
struct Groups {
    sides: usize,
    counts: Vec<usize>,
    matches: Vec<usize>,
}

impl Groups {
    /// The n-grams of these orders do not go on.
    fn close(&mut self, orders: std::ops::Range<usize>) {
        for order in orders {
            let group = &mut self.counts[order * self.sides..][..self.sides];
            let allowed = group[1..].iter().copied().max().unwrap_or(0);
            self.matches[order] += group[0].min(allowed);
            group.fill(0);
        }
    }
}

/// How many n-grams of each order from 1 to `orders` a sequence of `length` has.
pub(crate) fn totals(length: usize, orders: usize) -> impl Iterator<Item = usize> {
    (0..orders).map(move |shorter| length.saturating_sub(shorter))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    /// 1 2 1 2 3: the reference 1 2 3 has one of each 1 and 2, so 3 of 5 are found; 1 2 once and 2 3; 1 2 3.
    #[test]
    fn a_sequence_by_hand() {
        assert_eq!(matches(&[1, 2, 1, 2, 3], &[&[1, 2, 3]], 4), [3, 2, 1, 0]);
        assert_eq!(totals(5, 4).collect::<Vec<_>>(), [5, 4, 3, 2]);
        assert_eq!(totals(2, 4).collect::<Vec<_>>(), [2, 1, 0, 0]);
    }

    #[test]
    fn of_several_references_the_highest_count_holds() {
        assert_eq!(matches(&[1, 1, 1], &[&[1, 1], &[1, 2, 1]], 2), [2, 1]);
        assert_eq!(matches(&[1, 1, 1], &[&[], &[]], 2), [0, 0]);
        assert_eq!(matches(&[], &[&[1]], 2), [0, 0]);
    }

    fn counted(sequence: &[u32], order: usize) -> HashMap<&[u32], usize> {
        let mut counts = HashMap::new();
        sequence.windows(order).for_each(|ngram| *counts.entry(ngram).or_default() += 1);
        counts
    }

    proptest! {
        /// Beside counting in a table, which says what is meant.
        #[test]
        fn as_many_as_a_table_finds(
            hypothesis in prop::collection::vec(0_u32..3, 0..12),
            references in prop::collection::vec(prop::collection::vec(0_u32..3, 0..12), 1..4),
        ) {
            let references: Vec<&[u32]> = references.iter().map(Vec::as_slice).collect();
            let wanted: Vec<usize> = (1..=5).map(|order| {
                let allowed: Vec<_> = references.iter().map(|reference| counted(reference, order)).collect();
                let found = |ngram: &[u32]| allowed.iter().map(|counts| counts.get(ngram).copied().unwrap_or(0)).max();
                counted(&hypothesis, order).iter().map(|(ngram, &times)| times.min(found(ngram).unwrap())).sum()
            }).collect();
            prop_assert_eq!(matches(&hypothesis, &references, 5), wanted);
        }
    }
}
