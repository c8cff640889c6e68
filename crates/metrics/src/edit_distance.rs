//! The fewest insertions, deletions and substitutions from one sequence to another.

/// How often a symbol was substituted, inserted and deleted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Edits {
    /// Symbols in place of others.
    pub(crate) substitutions: usize,
    /// Symbols that the reference does not have.
    pub(crate) insertions: usize,
    /// Symbols that only the reference has.
    pub(crate) deletions: usize,
}

impl Edits {
    /// All of them: the distance.
    pub(crate) fn total(&self) -> usize {
        self.substitutions + self.insertions + self.deletions
    }

    fn with_insertion(self) -> Edits {
        Edits { insertions: self.insertions + 1, ..self }
    }

    fn with_deletion(self) -> Edits {
        Edits { deletions: self.deletions + 1, ..self }
    }

    fn with_substitution(self) -> Edits {
        Edits { substitutions: self.substitutions + 1, ..self }
    }
}

/// The fewest edits that make the reference of the hypothesis.
///
/// There may be several ways that are as short, with more substitutions or fewer. jiwer's is taken, which deletes before it
/// inserts, and inserts before it substitutes, seen from the end.
pub(crate) fn edits(reference: &[u32], hypothesis: &[u32]) -> Edits {
    let (reference, hypothesis) = without_common_ends(reference, hypothesis);
    // One row of the table for each number of the hypothesis's symbols, one column for each of the reference's.
    let mut row: Vec<Edits> =
        (0..=reference.len()).map(|deletions| Edits { deletions, ..Edits::default() }).collect();
    for &symbol in hypothesis {
        let mut corner = row[0];
        row[0] = corner.with_insertion();
        for column in 1..row.len() {
            let (above, left) = (row[column], row[column - 1]);
            let same = symbol == reference[column - 1];
            let diagonal = if same { corner } else { corner.with_substitution() };
            let fewest = diagonal.total().min(above.total() + 1).min(left.total() + 1);
            row[column] = if fewest == left.total() + 1 {
                left.with_deletion()
            } else if above.total() + 1 == corner.total() {
                above.with_insertion()
            } else {
                diagonal
            };
            corner = above;
        }
    }
    row[reference.len()]
}

/// What is left of two sequences without what both begin with and what both end with.
fn without_common_ends<'a>(first: &'a [u32], second: &'a [u32]) -> (&'a [u32], &'a [u32]) {
    let same = |(a, b): &(&u32, &u32)| a == b;
    let start = first.iter().zip(second).take_while(same).count();
    let (first, second) = (&first[start..], &second[start..]);
    let end = first.iter().rev().zip(second.iter().rev()).take_while(same).count();
    (&first[..first.len() - end], &second[..second.len() - end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn counts(reference: &str, hypothesis: &str) -> [usize; 3] {
        let symbols = |text: &str| text.chars().map(u32::from).collect::<Vec<_>>();
        let found = edits(&symbols(reference), &symbols(hypothesis));
        [found.substitutions, found.insertions, found.deletions]
    }

    #[test]
    fn edits_by_hand() {
        assert_eq!(counts("abc", "abc"), [0, 0, 0]);
        assert_eq!(counts("abc", "axc"), [1, 0, 0]);
        assert_eq!(counts("abc", "abxc"), [0, 1, 0]);
        assert_eq!(counts("abc", "ac"), [0, 0, 1]);
        assert_eq!(counts("", "ab"), [0, 2, 0]);
        assert_eq!(counts("ab", ""), [0, 0, 2]);
        // kitten → sitting: k/s, e/i, and g.
        assert_eq!(counts("kitten", "sitting"), [2, 1, 0]);
    }

    proptest! {
        #[test]
        fn what_is_inserted_one_way_is_deleted_the_other(
            first in prop::collection::vec(0_u32..4, 0..12),
            second in prop::collection::vec(0_u32..4, 0..12),
        ) {
            let (there, back) = (edits(&first, &second), edits(&second, &first));
            prop_assert_eq!(there.total(), back.total());
            prop_assert_eq!(there.total() == 0, first == second);
            prop_assert_eq!(first.len() + there.insertions, second.len() + there.deletions);
            prop_assert_eq!(second.len() + back.insertions, first.len() + back.deletions);
        }

        #[test]
        fn a_detour_is_not_shorter(
            texts in prop::collection::vec(prop::collection::vec(0_u32..4, 0..10), 3),
        ) {
            let distance = |a: usize, b: usize| edits(&texts[a], &texts[b]).total();
            prop_assert!(distance(0, 2) <= distance(0, 1) + distance(1, 2));
        }
    }
}
