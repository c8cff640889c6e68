//! A recurrent layer that attends to its own states (LSTMN, Cheng et al. 2016): with `c_0 = 0`, of the simple cell in each step,
//!
//! 1. `h_j = tanh(A·[x_j; c_{j-1}] + b)`, where `A` is `weight_ih` next to `weight_hh`;
//! 2. `c_j = Σ_{i ≤ j} softmax_i(s(h_j, h_i))·h_i`, by any score `s`.
//!
//! Any other cell takes `c_{j-1}` in place of `h_{j-1}`; an LSTM's `c` continues from step to step as it does without attention.
//!
//! It is a loop on the tape: step `j` attends to `j` states, so time and memory grow with the square of the length.

use super::last_states;
use crate::attention::{Attention, ScoreKind};
use crate::builder::ModelBuilder;
use crate::cell::Cell;
use crate::config::AttentionConfig;
use crate::forward::ForwardPass;
use crate::layers::RecurrentLayer;
use couplet_tensor::ops::{Memory, MemorySegment, Recurrent, cell_step, concat_rows, gather_rows, row_block};
use couplet_tensor::{Direction, SequenceLayout, Tensor, Var};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub(super) struct IntraAttentionLayer {
    layer: RecurrentLayer,
    attention: Attention,
}

impl IntraAttentionLayer {
    /// Adds the parameters of the layer, as [`RecurrentLayer::new`] names them, and `intra_attention_SUFFIX.key.weight` and so on for
    /// scores that have any.
    pub(super) fn new(
        b: &mut ModelBuilder,
        suffix: &str,
        cell: Cell,
        score: ScoreKind,
        inputs: usize,
        hidden: usize,
    ) -> Self {
        let layer = RecurrentLayer::new(b, suffix, cell, inputs, hidden);
        let config = AttentionConfig { score: score.into(), size: hidden, ..AttentionConfig::default() };
        let b = b.child(format!("intra_attention_{suffix}"));
        let attention = Attention::new(b, &config, hidden, hidden).expect("a score");
        IntraAttentionLayer { layer, attention }
    }

    /// Hidden states of packed sequences.
    pub(super) fn forward(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        layout: &Arc<SequenceLayout>,
        direction: Direction,
    ) -> Recurrent {
        match direction {
            Direction::Forward => self.forward_steps(fwd, x, layout),
            Direction::Backward => {
                let reversed = reversed(layout);
                let output = self.forward_steps(fwd, &gather_rows(x, &reversed), layout);
                Recurrent { states: gather_rows(&output.states, &reversed), last: output.last }
            }
        }
    }

    fn forward_steps(&self, fwd: &ForwardPass, x: &Var, layout: &Arc<SequenceLayout>) -> Recurrent {
        let (cell, weights) = (self.layer.cell(), self.layer.weights(fwd));
        let input_term = weights.of_input(x); // [rows, gates·hidden]
        let zeros = |rows| Var::constant(Tensor::zeros(x.device(), rows, weights.hidden()));
        // What a step continues from: the context, and what else the cell's state has.
        let mut before: Vec<Var> = (0..cell.parts()).map(|_| zeros(layout.batch())).collect();
        // All states so far and their keys, packed as sequences that end with the step.
        let (mut states, mut keys) = (zeros(0), None);
        let mut steps: Vec<Vec<Var>> = Vec::new();
        for (step, of_step) in layout.walk(Direction::Forward).enumerate() {
            let running = of_step.rows.len();
            let previous: Vec<Var> = before.iter().map(|tensor| row_block(tensor, 0..running)).collect();
            let hidden_term = weights.of_state(&previous[0]); // [running, gates·hidden]
            let input_term = row_block(&input_term, of_step.rows);
            let after = cell_step(cell, &input_term, &hidden_term, weights.state_bias.as_ref(), &previous);
            states = concat_rows(&[&states, &after[0]]);
            keys = self.attention.has_keys().then(|| {
                let own = self.attention.keys(fwd, &after[0]); // [running, key width]
                keys.as_ref().map_or_else(|| own.clone(), |keys| concat_rows(&[keys, &own]))
            });
            let segment = MemorySegment {
                keys: keys.clone().unwrap_or_else(|| states.clone()),
                values: states.clone(),
                layout: until(layout, step + 1),
            };
            let memory = Memory::new(segment, 1, (0..running as u32).collect());
            let context = self.attention.forward(fwd, &after[0], &[], &memory).context; // [running, hidden]
            before = std::iter::once(context).chain(after.iter().skip(1).cloned()).collect();
            steps.push(after);
        }
        let last = (0..cell.parts()).map(|tensor| {
            let of_steps: Vec<&Var> = steps.iter().map(|step| &step[tensor]).collect();
            let all = if of_steps.is_empty() { zeros(0) } else { concat_rows(&of_steps) };
            last_states(&all, layout, Direction::Forward)
        });
        Recurrent { last: last.collect(), states }
    }
}

/// The first `steps` steps of all sequences: the same rows, as far as they go.
fn until(layout: &SequenceLayout, steps: usize) -> Arc<SequenceLayout> {
    let lengths: Vec<usize> =
        (0..layout.batch()).map(|sequence| layout.length(sequence).min(steps)).collect();
    Arc::new(SequenceLayout::new(&lengths))
}

/// For each row that of the same sequence as far from its end as the row is from its beginning.
fn reversed(layout: &SequenceLayout) -> Vec<u32> {
    let mirrored =
        |(sequence, step): (usize, usize)| layout.row(sequence, layout.length(sequence) - 1 - step) as u32;
    layout.places().map(mirrored).collect()
}
