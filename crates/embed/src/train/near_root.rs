//! The nodes near the root of the tree. Nearly every prediction passes them, so that threads which shared their vectors would spend the time
//! waiting for each other: each thread has copies of its own, and now and then adds to the shared vectors what its copies have moved by.

use couplet_tensor::SharedRows;
use couplet_tensor::lane::Vector;

/// How many nodes are near the root: few enough to stay in the fastest cache. Of the nodes behind them, each is on few paths.
pub(super) const NODES: usize = 32;

/// After so many predictions copies are brought together. The more often, the less threads learn past each other.
const EVERY: u32 = 64;

/// One thread's copies of the vectors of some nodes, of which the first has the number `first`.
pub(super) struct Copies {
    first: u32,
    /// What the thread learns into.
    pub(super) rows: SharedRows,
    /// What was there when they were last brought together.
    before: Vec<f32>,
    /// What was shared then.
    shared: Vec<f32>,
    since: u32,
}

impl Copies {
    /// Copies of nodes whose vectors are still zero.
    pub(super) fn new(first: u32, nodes: usize, dimension: usize) -> Copies {
        let rows = SharedRows::zeros(nodes, dimension);
        let width = rows.width();
        Copies { first, rows, before: vec![0.0; nodes * width], shared: vec![0.0; width], since: 0 }
    }

    /// Brings them together with those of the other threads when it is time.
    #[inline(always)]
    pub(super) fn count<V: Vector>(&mut self, outputs: &SharedRows) {
        self.since += 1;
        if self.since == EVERY {
            self.share::<V>(outputs);
        }
    }

    /// `shared ← shared + copy − before`, and then all three are that.
    #[inline(always)]
    pub(super) fn share<V: Vector>(&mut self, outputs: &SharedRows) {
        self.since = 0;
        let (rows, shared) = (&self.rows, &mut self.shared);
        for (before, copy) in self.before.chunks_exact_mut(rows.width()).zip(0..) {
            outputs.read::<V>(self.first + copy, shared);
            before.iter_mut().zip(&*shared).for_each(|(before, shared)| *before = shared - *before);
            rows.add_to::<V>(copy, before);
            outputs.write::<V>(self.first + copy, before);
            rows.write::<V>(copy, before);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use couplet_tensor::lane::Portable;

    /// Node 3 of 5 is the second of two that are near the root. It was (1, 1), the one thread has moved it by (2, 0), the other by (0, 4).
    #[test]
    fn what_threads_learned_is_added_up() {
        let outputs = SharedRows::zeros(5, 2);
        outputs.add::<Portable>(3, &[1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        let mut threads = [Copies::new(2, 2, 2), Copies::new(2, 2, 2)];
        threads.iter_mut().for_each(|copies| copies.share::<Portable>(&outputs));
        for (copies, moved) in threads.iter().zip([[2.0, 0.0], [0.0, 4.0]]) {
            copies.rows.add::<Portable>(1, &[moved[0], moved[1], 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
        }
        let [one, other] = &mut threads;
        one.share::<Portable>(&outputs);
        for _ in 0..EVERY {
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
