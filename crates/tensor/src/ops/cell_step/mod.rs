//! One step of a [cell](AnyCell), from the input's and the state's share of its gates.
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

/// One step of a cell; see the [module](self).
pub fn cell_step(
    cell: AnyCell,
    of_input: &Var,
    of_state: &Var,
    state_bias: Option<&Var>,
    before: &[Var],
) -> Vec<Var> {
    let _span = profile::span("cell_step", of_input.device());
    let (rows, hidden) = before[0].shape();
    assert_eq!(before.len(), cell.parts(), "parts of the state");
    before.iter().for_each(|part| assert_eq!(part.shape(), (rows, hidden), "a part of the state"));
    let gates = (rows, cell.gates() * hidden);
    assert_eq!((of_input.shape(), of_state.shape()), (gates, gates), "gates of {rows} × {hidden} units");

    let apart = (1, cell.apart() * hidden);
    state_bias.iter().for_each(|bias| assert_eq!(bias.shape(), apart, "the state's bias"));

    let bias = state_bias.map(Var::value);
    let (after, slots) = on_device!(of_input.device(),
        cpu => cpu::forward(cpu, cell, of_input.value(), of_state.value(), bias, before),
        cuda => cuda::forward(cuda, cell, of_input.value(), of_state.value(), bias, before));
    let inputs: Vec<&Var> = [of_input, of_state].into_iter().chain(state_bias).chain(before).collect();
    record_all(&inputs, after.clone(), {
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
