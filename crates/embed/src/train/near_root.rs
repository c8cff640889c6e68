//! The nodes near the root of the tree. Nearly every prediction passes them, so that threads which shared their vectors would spend the time
//! waiting for each other: each thread has copies of its own, and now and then adds to the shared vectors what its copies have moved by.

use couplet_tensor::SharedRows;
use couplet_tensor::lane::Vector;

/// How many nodes are near the root at most: few enough to stay in the fastest cache. Of the nodes behind them, each is on few paths.
const NODES: usize = 32;

/// After so many predictions of all threads together, copies are brought together. The more there are, the more do threads learn past each
/// other: four times as many cost an eighth of the right analogies, eight times as many half of them.
const TOGETHER: usize = 128;

/// The nodes that each thread has copies of: the last ones, as the root has the last number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NearRoot {
    /// The number of the first one.
    pub(super) first: u32,
    nodes: usize,
    /// After so many predictions a thread brings its copies together with the shared ones.
    every: usize,
}

impl NearRoot {
    /// Those of a tree with so many nodes. One thread needs no copies; the more threads there are, the fewer nodes are worth one.
    pub(super) fn new(nodes: usize, threads: usize) -> NearRoot {
        let every = (TOGETHER / threads).max(1);
        let near = if threads > 1 { nodes.min(NODES).min(every) } else { 0 };
        NearRoot { first: (nodes - near) as u32, nodes: near, every }
    }
}

/// One thread's copies of the vectors of these nodes.
pub(super) struct Copies {
    of: NearRoot,
    /// What the thread learns into.
    pub(super) rows: SharedRows,
    /// What was there when they were last brought together.
    before: Vec<f32>,
    /// Room for a row of the shared ones.
    shared: Vec<f32>,
    /// How many predictions there were since.
    since: usize,
}

impl Copies {
    /// Copies of vectors that are still zero.
    pub(super) fn new(of: NearRoot, dimension: usize) -> Copies {
        let rows = SharedRows::zeros(of.nodes, dimension);
        let width = rows.width();
        Copies { of, rows, before: vec![0.0; of.nodes * width], shared: vec![0.0; width], since: 0 }
    }

    /// Brings them together with those of the other threads when it is time.
    #[inline(always)]
    pub(super) fn count<V: Vector>(&mut self, outputs: &SharedRows) {
        self.since += 1;
        if self.since == self.of.every {
            self.share::<V>(outputs);
        }
    }

    /// `shared ← shared + copy − before`, and then all three are that.
    #[inline(always)]
    pub(super) fn share<V: Vector>(&mut self, outputs: &SharedRows) {
        self.since = 0;
        let (rows, shared) = (&self.rows, &mut self.shared);
        for (before, copy) in self.before.chunks_exact_mut(rows.width()).zip(0..) {
            outputs.read::<V>(self.of.first + copy, shared);
            before.iter_mut().zip(&*shared).for_each(|(before, shared)| *before = shared - *before);
            rows.add_to::<V>(copy, before);
            outputs.write::<V>(self.of.first + copy, before);
            rows.write::<V>(copy, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_tensor::lane::Portable;

    /// 1000 nodes, the root being 999.
    #[test]
    fn more_threads_have_fewer_copies() {
        let with = |threads| NearRoot::new(1000, threads);
        assert_eq!((with(1).first, with(1).nodes), (1000, 0));
        assert_eq!(with(2), NearRoot { first: 968, nodes: 32, every: 64 });
        assert_eq!(with(16), NearRoot { first: 992, nodes: 8, every: 8 });
        assert_eq!(with(1000), NearRoot { first: 999, nodes: 1, every: 1 });
        assert_eq!(NearRoot::new(5, 2), NearRoot { first: 0, nodes: 5, every: 64 });
    }

    /// Node 3 of 5 is the second of two that are near the root. It was (1, 1), the one thread has moved it by (2, 0), the other by (0, 4).
    #[test]
    fn what_threads_learned_is_added_up() {
        let outputs = SharedRows::zeros(5, 2);
        outputs.add::<Portable>(3, &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let near_root = NearRoot { first: 2, nodes: 2, every: 3 };
        let mut threads = [(); 2].map(|()| Copies::new(near_root, 2));
        threads.iter_mut().for_each(|copies| copies.share::<Portable>(&outputs));
        for (copies, moved) in threads.iter().zip([[2.0, 0.0], [0.0, 4.0]]) {
            copies.rows.add::<Portable>(1, &[moved[0], moved[1], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        }
        let [one, other] = &mut threads;
        one.share::<Portable>(&outputs);
        for _ in 0..3 {
            other.count::<Portable>(&outputs);
        }
        one.share::<Portable>(&outputs);
        for (rows, row) in [(&outputs, 3), (&one.rows, 1), (&other.rows, 1)] {
            let mut read = [7.0; 8];
            rows.read::<Portable>(row, &mut read);
            assert_eq!(read, [3.0, 5.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        }
    }
}
