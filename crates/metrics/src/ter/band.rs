//! The edit distance near the diagonal, as sacreBLEU has it: of long sentences only words of about the same place are compared.

use std::ops::Range;

/// Words to either side of the diagonal that are looked at.
const BEAM: usize = 25;

/// More than any distance.
const FAR: u32 = u32::MAX / 2;

/// What happened to a word on the way from the hypothesis to the reference.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edit {
    Keep,
    Replace,
    /// A word of the hypothesis that the reference does not have.
    Delete,
    /// A word of the reference that the hypothesis does not have.
    Insert,
}

/// A row of the table of distances: what the first words of a hypothesis cost, for each number of the reference's words. Outside
/// of the band all is far.
#[derive(Clone, Debug, Default)]
struct Row {
    first: usize,
    costs: Vec<u32>,
}

impl Row {
    fn at(&self, column: usize) -> u32 {
        self.costs.get(column.wrapping_sub(self.first)).copied().unwrap_or(FAR)
    }
}

/// Distances of hypotheses of one length from a reference.
pub(super) struct Band<'a> {
    reference: &'a [u32],
    /// The columns of each row.
    columns: Vec<Range<usize>>,
    /// The table of the hypothesis that [`Band::set`] got: a row for each number of its words.
    rows: Vec<Row>,
    /// Two rows of another hypothesis.
    scratch: [Row; 2],
}

impl<'a> Band<'a> {
    pub(super) fn new(reference: &'a [u32], length: usize) -> Band<'a> {
        let ratio = if length == 0 { 1.0 } else { reference.len() as f64 / length as f64 };
        // Where the lengths differ so much that neighboring rows would not touch, the band is wider.
        let beam =
            if (BEAM as f64) < ratio / 2.0 { (ratio / 2.0 + BEAM as f64).ceil() as usize } else { BEAM };
        let all = reference.len() + 1;
        let columns = |row: usize| {
            let diagonal = (row as f64 * ratio).floor() as usize;
            let end = if row == length { all } else { all.min(diagonal + beam) };
            diagonal.saturating_sub(beam)..end
        };
        let first = Row { first: 0, costs: (0..all as u32).collect() };
        Band {
            reference,
            columns: (0..=length).map(columns).collect(),
            rows: [vec![first], vec![Row::default(); length]].concat(),
            scratch: Default::default(),
        }
    }

    /// Fills the table for a hypothesis; returns its distance.
    pub(super) fn set(&mut self, hypothesis: &[u32]) -> u32 {
        for (index, &word) in hypothesis.iter().enumerate() {
            let (before, after) = self.rows.split_at_mut(index + 1);
            next_row(&before[index], word, self.reference, self.columns[index + 1].clone(), &mut after[0]);
        }
        self.rows[hypothesis.len()].at(self.reference.len())
    }

    /// The distance of a hypothesis that begins with the same words, as many as `same`, as the one that was set.
    pub(super) fn distance(&mut self, hypothesis: &[u32], same: usize) -> u32 {
        let [row, next] = &mut self.scratch;
        row.first = self.rows[same].first;
        row.costs.clone_from(&self.rows[same].costs);
        for (index, &word) in hypothesis.iter().enumerate().skip(same) {
            next_row(row, word, self.reference, self.columns[index + 1].clone(), next);
            std::mem::swap(row, next);
        }
        row.at(self.reference.len())
    }

    /// The edits that turn the hypothesis that was set into the reference, from its start to its end.
    ///
    /// Where several ways cost the same, keeping and replacing come first, then deleting, then inserting.
    pub(super) fn edits(&self, hypothesis: &[u32]) -> Vec<Edit> {
        let (mut row, mut column) = (hypothesis.len(), self.reference.len());
        let mut edits = Vec::with_capacity(row + column);
        while row > 0 || column > 0 {
            let cost = self.rows[row].at(column);
            let same = row > 0 && column > 0 && hypothesis[row - 1] == self.reference[column - 1];
            let edit = if row == 0 {
                Edit::Insert
            } else if column == 0 {
                Edit::Delete
            } else if cost == self.rows[row - 1].at(column - 1) + u32::from(!same) {
                if same { Edit::Keep } else { Edit::Replace }
            } else if cost == self.rows[row - 1].at(column) + 1 {
                Edit::Delete
            } else {
                Edit::Insert
            };
            row -= usize::from(edit != Edit::Insert);
            column -= usize::from(edit != Edit::Delete);
            edits.push(edit);
        }
        edits.reverse();
        edits
    }
}

/// The row after `before`, with one more word of the hypothesis.
fn next_row(before: &Row, word: u32, reference: &[u32], columns: Range<usize>, row: &mut Row) {
    row.first = columns.start;
    row.costs.clear();
    let (mut left, mut corner) = (FAR, before.at(columns.start.wrapping_sub(1)));
    for column in columns {
        let above = before.at(column);
        let diagonal = match column {
            0 => FAR,
            _ => corner + u32::from(word != reference[column - 1]),
        };
        left = diagonal.min(above + 1).min(left + 1).min(FAR);
        row.costs.push(left);
        corner = above;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// a b c → b x: a is deleted, c replaced.
    #[test]
    fn edits_by_hand() {
        let mut band = Band::new(&[2, 9], 3);
        assert_eq!(band.set(&[1, 2, 3]), 2);
        assert_eq!(band.edits(&[1, 2, 3]), [Edit::Delete, Edit::Keep, Edit::Replace]);
        assert_eq!(band.distance(&[1, 2, 9], 2), 1);
        assert_eq!(band.distance(&[2, 9, 1], 0), 1);
        assert_eq!(band.distance(&[1, 2, 3], 3), 2, "nothing of the table was lost");
    }

    #[test]
    fn an_empty_hypothesis_is_inserted() {
        let mut band = Band::new(&[1, 2], 0);
        assert_eq!(band.set(&[]), 2);
        assert_eq!(band.edits(&[]), [Edit::Insert, Edit::Insert]);
    }

    #[test]
    fn lengths_that_differ_much_still_meet() {
        let long: Vec<u32> = (0..3000).collect();
        assert_eq!(Band::new(&long, 1).set(&[2000]), 2999);
        assert_eq!(Band::new(&long, 2).set(&[1400, 2240]), 2998);
        assert_eq!(Band::new(&[7], 3000).set(&long), 2999);
    }

    /// A word that is far from its place is not found.
    #[test]
    fn the_band_is_narrow() {
        let reference: Vec<u32> = (0..100).collect();
        let hypothesis: Vec<u32> = (50..100).chain(0..50).collect();
        assert_eq!(Band::new(&reference, 100).set(&hypothesis), 100);
    }
}
