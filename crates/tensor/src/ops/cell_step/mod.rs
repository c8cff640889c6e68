//! One step of a [cell](AnyCell), from the input's and the state's term of its gates.
//!
//! | | shape |
//! |---|---|
//! | `of_input` | rows × gates·hidden: `W_input·x + bias` |
//! | `of_state` | rows × gates·hidden: `W_state·h` |
//! | `state_bias` | 1 × apart·hidden, or none |
//! | `before`, result | rows × hidden for each part of the state |
//!
//! With it any recurrence can be written as a loop.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;

use crate::device::on_device;
use crate::ops::AnyCell;
use crate::ops::sums::column_sums;
use crate::profile;
use crate::tape::{Var, record_all};
use crate::tensor::Tensor;

/// The gradients of a step's inputs.
struct Back {
    of_input: Tensor,
    of_state: Tensor,
    before: Vec<Tensor>,
    /// Those of the slots, from which that of the state's bias is summed.
    slots: Tensor,
}

/// The inputs of a step.
#[derive(Clone, Copy)]
struct StepInputs<'a> {
    cell: AnyCell,
    of_input: &'a Var,
    of_state: &'a Var,
    state_bias: Option<&'a Var>,
    before: &'a [Var],
}

impl<'a> StepInputs<'a> {
    /// Panics where the shapes do not fit.
    fn check(self) {
        let StepInputs { cell, of_input, of_state, state_bias, before } = self;
        let (rows, hidden) = self.shape();
        assert_eq!(before.len(), cell.parts(), "parts of the state");
        before.iter().for_each(|part| assert_eq!(part.shape(), (rows, hidden), "a part of the state"));
        let gates = (rows, cell.gates() * hidden);
        assert_eq!((of_input.shape(), of_state.shape()), (gates, gates), "gates of {rows} × {hidden} units");
        let apart = (1, cell.apart() * hidden);
        state_bias.iter().for_each(|bias| assert_eq!(bias.shape(), apart, "the state's bias"));
    }

    /// Rows and units.
    fn shape(self) -> (usize, usize) {
        self.before[0].shape()
    }

    /// All variables that may get gradients.
    fn vars(self) -> Vec<&'a Var> {
        [self.of_input, self.of_state].into_iter().chain(self.state_bias).chain(self.before).collect()
    }
}

/// One step of a cell; see the [module](self).
pub fn cell_step(
    cell: AnyCell,
    of_input: &Var,
    of_state: &Var,
    state_bias: Option<&Var>,
    before: &[Var],
) -> Vec<Var> {
    let _span = profile::span("cell_step", of_input.device());
    let inputs = StepInputs { cell, of_input, of_state, state_bias, before };
    inputs.check();
    let (rows, hidden) = inputs.shape();
    let (after, slots) = on_device!(of_input.device(),
        cpu => cpu::forward(cpu, inputs),
        cuda => cuda::forward(cuda, inputs));
    record_all(&inputs.vars(), after.clone(), {
        let (of_input, of_state) = (of_input.clone(), of_state.clone());
        let (state_bias, before) = (state_bias.cloned(), before.to_vec());
        move |gradients, upstream| {
            let zeros = || Tensor::zeros(of_input.device(), rows, hidden);
            let running = upstream.into_iter().map(|part| part.unwrap_or_else(zeros)).collect();
            let back = on_device!(of_input.device(),
                cpu => cpu::backward(cpu, cell, slots, running, &before, &after),
                cuda => cuda::backward(cuda, cell, slots, running, &before, &after));
            gradients.add(&of_input, back.of_input);
            gradients.add(&of_state, back.of_state);
            if let Some(bias) = &state_bias {
                let apart = back.slots.columns() - bias.columns()..back.slots.columns();
                on_device!(bias.device(),
                cpu => gradients.write(bias, |db, update| {
                    column_sums(cpu, back.slots.mat().column_block(apart), db, update);
                }),
                cuda => gradients.write_cuda(bias, |db, update| {
                    crate::ops::sums::cuda::column_sums(cuda, back.slots.view().column_block(apart), db, update);
                }));
            }
            before.iter().zip(back.before).for_each(|(part, gradient)| gradients.add(part, gradient));
        }
    })
}
