//! The tree of the hierarchical softmax: frequent words have short paths.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// A binary tree whose leaves are words and whose inner nodes have a vector each. The path of a word from the root is the
/// inner nodes it passes, and at each the turn it takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Huffman {
    starts: Vec<usize>,
    steps: Vec<Step>,
}

/// An inner node, and whether the path goes on to its second child.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Step {
    pub(crate) node: u32,
    pub(crate) second: bool,
}

impl Huffman {
    /// Joins the two rarest trees until one is left. Of equal ones, that which was there first is taken first, so that the tree is
    /// the same everywhere.
    pub(crate) fn new(counts: &[u64]) -> Huffman {
        let words = counts.len();
        let mut heap: BinaryHeap<Reverse<(u64, usize)>> =
            counts.iter().enumerate().map(|(word, &count)| Reverse((count, word))).collect();
        // Of each tree but the last: the inner node above it, and which child it is.
        let mut above = vec![Step { node: 0, second: false }; (2 * words).saturating_sub(1)];
        for tree in words..(2 * words).saturating_sub(1) {
            let node = (tree - words) as u32;
            let mut total = 0;
            for second in [false, true] {
                let Reverse((count, child)) = heap.pop().expect("two trees are left before each join");
                total += count;
                above[child] = Step { node, second };
            }
            heap.push(Reverse((total, tree)));
        }
        let root = (2 * words).saturating_sub(2);
        let (mut starts, mut steps) = (vec![0], Vec::new());
        for word in 0..words {
            let from = steps.len();
            let mut tree = word;
            while tree != root {
                steps.push(above[tree]);
                tree = words + above[tree].node as usize;
            }
            steps[from..].reverse();
            starts.push(steps.len());
        }
        Huffman { starts, steps }
    }

    /// The path of a word, from the root.
    pub(crate) fn path(&self, word: usize) -> &[Step] {
        &self.steps[self.starts[word]..self.starts[word + 1]]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Counts 5, 2, 1, 1: words 2 and 3 make node 0 of count 2; word 1, which was there before it, and node 0 make node 1 of
    /// count 4; node 1 and word 0 make node 2, the root.
    #[test]
    fn by_hand() {
        let tree = Huffman::new(&[5, 2, 1, 1]);
        let path = |word| -> Vec<(u32, bool)> {
            tree.path(word).iter().map(|step| (step.node, step.second)).collect()
        };
        assert_eq!(path(0), [(2, true)]);
        assert_eq!(path(1), [(2, false), (1, false)]);
        assert_eq!(path(2), [(2, false), (1, true), (0, false)]);
        assert_eq!(path(3), [(2, false), (1, true), (0, true)]);
        assert!(Huffman::new(&[7]).path(0).is_empty());
    }

    proptest! {
        /// The chances of all turns add up to one (Kraft's equation), and a rarer word's path is never shorter.
        #[test]
        fn paths_make_a_tree(mut counts in prop::collection::vec(1..1000_u64, 1..60)) {
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let tree = Huffman::new(&counts);
            let lengths: Vec<usize> = (0..counts.len()).map(|word| tree.path(word).len()).collect();
            for pair in 1..counts.len() {
                prop_assert!(counts[pair - 1] == counts[pair] || lengths[pair - 1] <= lengths[pair]);
            }
            let sum: f64 = lengths.iter().map(|&length| 0.5_f64.powi(length as i32)).sum();
            prop_assert_eq!(sum, 1.0);
        }
    }
}
