use super::EmbeddingScale;
use crate::builder::ModelBuilder;
use crate::config::PositionKind;
use crate::forward::ForwardPass;
use couplet_tensor::ops::{add, embedding, scale};
use couplet_tensor::{Init, Param, SequenceLayout, Tensor, Var};

/// Positions with a learned vector; a later position has the vector of the last one.
const LEARNED: usize = 1024;

/// Position encoding of token vectors.
#[derive(Clone, Debug)]
pub(crate) struct Positions {
    /// The factor of the vectors before positions are added.
    factor: Option<f32>,
    kind: PositionKind,
    learned: Option<Param>,
}

impl Positions {
    /// Adds `positions.weight` where positions are learned.
    pub(crate) fn new(
        b: &mut ModelBuilder,
        kind: PositionKind,
        scale: EmbeddingScale,
        width: usize,
    ) -> Positions {
        let learned = (kind == PositionKind::Learned)
            .then(|| b.child("positions").add("weight", LEARNED, width, Init::Uniform(0.1)));
        Positions { factor: scale.factor(width), kind, learned }
    }

    /// Adds positions to the vectors of packed sequences, which begin at position 0.
    pub(crate) fn forward(&self, fwd: &ForwardPass, x: &Var, layout: &SequenceLayout) -> Var {
        let steps = || layout.places().map(|(_, step)| step as u32).collect();
        self.add_to(fwd, x, steps)
    }

    /// Adds a position to each row, in one step of a search.
    pub(crate) fn step(&self, fwd: &ForwardPass, x: &Var, positions: &[u32]) -> Var {
        self.add_to(fwd, x, || positions.to_vec())
    }

    fn add_to(&self, fwd: &ForwardPass, x: &Var, positions: impl FnOnce() -> Vec<u32>) -> Var {
        let x = self.factor.map_or_else(|| x.clone(), |factor| scale(x, factor));
        let (table, rows) = match self.kind {
            PositionKind::None | PositionKind::Rotary => return x,
            PositionKind::Sinusoidal => sinusoidal(&x, positions()),
            PositionKind::Learned => {
                let mut positions = positions();
                positions.iter_mut().for_each(|position| *position = (*position).min(LEARNED as u32 - 1));
                (fwd.var(self.learned.expect("learned positions have a weight")), positions)
            }
        };
        add(&x, &embedding(&table, &rows))
    }
}

/// `sin(t / 10000^(2i / width))` and its cosine next to each other for every position `t` that occurs, and each position's row of that table.
fn sinusoidal(x: &Var, mut positions: Vec<u32>) -> (Var, Vec<u32>) {
    let width = x.columns();
    let mut rows: Vec<Option<u32>> = vec![None; positions.iter().max().map_or(0, |&last| last as usize + 1)];
    positions.iter().for_each(|&position| rows[position as usize] = Some(0));
    (0..).zip(rows.iter_mut().flatten()).for_each(|(row, of_position)| *of_position = row);
    let value = |position: usize, column: usize| {
        let pair = (column / 2 * 2) as f64 / width as f64;
        let angle = position as f64 / 10_000f64.powf(pair);
        (if column.is_multiple_of(2) { angle.sin() } else { angle.cos() }) as f32
    };
    let occurring = rows.iter().enumerate().filter(|(_, row)| row.is_some()).map(|(position, _)| position);
    let values: Vec<f32> =
        occurring.flat_map(|position| (0..width).map(move |column| value(position, column))).collect();
    let row_of = |position: u32| rows[position as usize].expect("it occurs");
    positions.iter_mut().for_each(|position| *position = row_of(*position));
    let table = Tensor::new(x.device(), values.len() / width.max(1), width, &values);
    (Var::constant(table), positions)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix};
    use couplet_tensor::Params;

    /// sin 1 = 0.84147, cos 1 = 0.54030, and for the second pair of four columns t/100: sin 0.01 = 0.01, cos 0.01 = 0.99995. Position 0
    /// adds (0, 1, 0, 1), position 3 adds (0.14112, −0.98999, 0.03, 0.99955).
    #[test]
    fn positions_by_hand() {
        let mut params = Params::planned();
        let mut b = ModelBuilder::new(&mut params);
        let positions = Positions::new(&mut b, PositionKind::Sinusoidal, EmbeddingScale::One, 4);
        let fwd = ForwardPass::inference(&params);
        let zeros = matrix(&[&[0.0; 4][..]; 3]);
        let expected =
            [[0.14112, -0.98999, 0.03, 0.99955], [0.0, 1.0, 0.0, 1.0], [0.84147, 0.54030, 0.01, 0.99995]];
        assert_near(&positions.step(&fwd, &zeros, &[3, 0, 1]).value().to_vec(), &expected.concat());
    }

    /// A row at a position of its own gets the bits that the position has in a sequence.
    #[test]
    fn a_step_equals_the_sequence() {
        for kind in [PositionKind::Sinusoidal, PositionKind::Learned] {
            let mut params = Params::planned();
            let mut b = ModelBuilder::new(&mut params);
            let positions = Positions::new(&mut b, kind, EmbeddingScale::SqrtWidth, 6);
            let fwd = ForwardPass::inference(&params);
            let layout = SequenceLayout::new(&[3, 1100]);
            let x = matrix(&vec![&[0.3; 6][..]; layout.total()]);
            let whole = positions.forward(&fwd, &x, &layout).value().to_vec();
            let at = [1099u32, 0, 2];
            let rows = positions.step(&fwd, &matrix(&[&[0.3; 6][..]; 3]), &at).value().to_vec();
            for (row, &position) in at.iter().enumerate() {
                let start = layout.row(0, position as usize) * 6;
                assert_eq!(rows[row * 6..][..6], whole[start..start + 6], "position {position}");
            }
        }
    }
}
