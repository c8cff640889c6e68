use super::last_states;
use crate::attention::{Attention, ScoreKind};
use crate::cell::Cell;
use crate::config::AttentionConfig;
use crate::layer::RecurrentLayer;
use crate::pass::Pass;
use couplet_tensor::ops::{Memory, MemorySegment, Recurrent, cell_step, concat_rows, gather_rows, row_block};
use couplet_tensor::{Direction, Params, SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// A recurrent layer that remembers by looking back: what it sees of its own states so far takes the place of the state before.
///
/// With `c_0 = 0`, of the simple cell in each step,
///
/// 1. `h_j = tanh(A·[x_j; c_{j-1}] + b)`, where `A` is `weight_ih` beside `weight_hh`;
/// 2. `c_j = Σ_{i ≤ j} softmax_i(s(h_j, h_i))·h_i`, by any score `s`.
///
/// Any other cell reads `c_{j-1}` where it would read `h_{j-1}`; an LSTM's memory goes on from step to step as it does without.
///
/// It is a loop on the tape: step `j` looks at `j` states, so time and memory grow with the square of the length.
#[derive(Clone, Debug)]
pub struct SelfAttendingLayer {
    layer: RecurrentLayer,
    attention: Attention,
}

impl SelfAttendingLayer {
    /// Adds the parameters of the layer, as [`RecurrentLayer::new`] names them, and `encoder.intra_attention_SUFFIX.key.weight` and so
    /// on for scores that have any.
    pub fn new(
        params: &mut Params,
        suffix: &str,
        cell: Cell,
        score: ScoreKind,
        inputs: usize,
        hidden: usize,
    ) -> Self {
        let layer = RecurrentLayer::new(params, "encoder", suffix, cell, inputs, hidden);
        let config = AttentionConfig { score: score.into(), size: hidden, ..AttentionConfig::default() };
        let attention =
            Attention::named(params, &format!("encoder.intra_attention_{suffix}"), &config, hidden, hidden);
        SelfAttendingLayer { layer, attention: attention.expect("a score") }
    }

    /// Goes over packed sequences.
    pub fn forward(
        &self,
        pass: &Pass,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        direction: Direction,
    ) -> Recurrent {
        match direction {
            Direction::Forward => self.read(pass, x, rows),
            Direction::Backward => {
                let turned = turned(rows);
                let read = self.read(pass, &gather_rows(x, &turned), rows);
                Recurrent { states: gather_rows(&read.states, &turned), last: read.last }
            }
        }
    }

    fn read(&self, pass: &Pass, x: &Var, rows: &Arc<SequenceLayout>) -> Recurrent {
        let (cell, weights) = (self.layer.cell(), self.layer.weights(pass));
        let of_input = weights.of_input(x); // [rows, gates·hidden]
        let zeros = |rows| Var::constant(Tensor::zeros(x.device(), rows, weights.hidden()));
        // What a step goes on from: the context, and what else the cell's state has.
        let mut before: Vec<Var> = (0..cell.parts()).map(|_| zeros(rows.batch())).collect();
        // All states so far and their keys, packed as the sequences would be that end with the step.
        let (mut states, mut keys) = (zeros(0), None);
        let mut walked: Vec<Vec<Var>> = Vec::new();
        for (step, of_step) in rows.walk(Direction::Forward).enumerate() {
            let places = of_step.rows.len();
            let running: Vec<Var> = before.iter().map(|part| row_block(part, 0..places)).collect();
            let of_state = weights.of_state(&running[0]); // [places, gates·hidden]
            let of_input = row_block(&of_input, of_step.rows);
            let after = cell_step(cell, &of_input, &of_state, weights.state_bias.as_ref(), &running);
            states = concat_rows(&[&states, &after[0]]);
            keys = self.attention.has_keys().then(|| {
                let own = self.attention.keys(pass, &after[0]); // [places, keys' width]
                keys.as_ref().map_or_else(|| own.clone(), |keys| concat_rows(&[keys, &own]))
            });
            let segment = MemorySegment {
                keys: keys.clone().unwrap_or_else(|| states.clone()),
                values: states.clone(),
                layout: until(rows, step + 1),
            };
            let memory = Memory::new(segment, 1, (0..places as u32).collect());
            let [context, _] = self.attention.forward(pass, &after[0], &[], &memory); // [places, hidden]
            before = std::iter::once(context).chain(after.iter().skip(1).cloned()).collect();
            walked.push(after);
        }
        let last = (0..cell.parts()).map(|part| {
            let of_steps: Vec<&Var> = walked.iter().map(|parts| &parts[part]).collect();
            let all = if of_steps.is_empty() { zeros(0) } else { concat_rows(&of_steps) };
            last_states(&all, rows, Direction::Forward)
        });
        Recurrent { last: last.collect(), states }
    }
}

/// The first `steps` steps of all sequences: the same rows, as far as they go.
fn until(rows: &SequenceLayout, steps: usize) -> Arc<SequenceLayout> {
    let lengths: Vec<usize> = (0..rows.batch()).map(|place| rows.length(place).min(steps)).collect();
    Arc::new(SequenceLayout::new(&lengths))
}

/// For each row that of the same sequence as far from its end as the row is from its beginning.
fn turned(rows: &SequenceLayout) -> Vec<u32> {
    let mirrored = |(place, step): (usize, usize)| rows.row(place, rows.length(place) - 1 - step) as u32;
    rows.places().map(mirrored).collect()
}
