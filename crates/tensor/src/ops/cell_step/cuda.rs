use super::Back;
use crate::cuda::{Cuda, Pointer};
use crate::ops::AnyCell;
use crate::ops::arrange::cuda::{Place, fill_rows, put_block};
use crate::ops::time_loop::cuda::{CellKernels, Parts, StepRows};
use crate::product::Update;
use crate::tape::Var;
use crate::tensor::Tensor;

/// The state after the step, and the gates as the cell left them.
pub(super) fn forward(
    cuda: &Cuda,
    cell: AnyCell,
    of_input: &Tensor,
    of_state: &Tensor,
    state_bias: Option<&Tensor>,
    before: &[Var],
) -> (Vec<Tensor>, Tensor) {
    let (rows, hidden) = before[0].shape();
    let mut gates = gates(cuda, cell, of_input, of_state, state_bias, hidden);
    let mut after: Vec<Tensor> =
        (0..cell.parts()).map(|_| Tensor::scratch(of_input.device(), rows, hidden)).collect();
    let own = step_rows(gates.pointer_mut(), before, Parts::to(&mut after));
    CellKernels::new(cuda, cell).forward(&own);
    (after, gates)
}

fn step_rows(slots: Pointer, before: &[Var], after: Parts) -> StepRows {
    let (rows, hidden) = (before[0].rows() as u32, before[0].columns() as u32);
    let before = Parts::of(before.iter().map(Var::value));
    StepRows { slots, before, start: before, after, carried: rows, rows, hidden }
}

/// The shares of the gates' columns in `of_input` and `of_state`, and the slots that the state's go to.
fn state_shares(cell: AnyCell, hidden: usize) -> [(usize, usize, usize); 2] {
    let (all, shared) = (cell.gates() * hidden, (cell.gates() - cell.apart()) * hidden);
    [(0, shared, 0), (shared, all - shared, all)]
}

/// The cell's slots: shares added up, or side by side for the gates that are apart.
fn gates(
    cuda: &Cuda,
    cell: AnyCell,
    of_input: &Tensor,
    of_state: &Tensor,
    state_bias: Option<&Tensor>,
    hidden: usize,
) -> Tensor {
    let (rows, columns, stride) = (of_input.rows(), of_input.columns(), cell.slots() * hidden);
    let mut gates = Tensor::zeros(of_input.device(), rows, stride);
    let pointer = gates.pointer_mut();
    let to = |column: usize| Place { pointer: pointer.at(column), stride };
    let from =
        |tensor: &Tensor, column: usize| Place { pointer: tensor.pointer().at(column), stride: columns };
    put_block(cuda, to(0), from(of_input, 0), rows, columns, Update::Set);
    if let Some(bias) = state_bias {
        fill_rows(cuda, to(columns), bias, rows);
    }
    for (start, width, slot) in state_shares(cell, hidden) {
        put_block(cuda, to(slot), from(of_state, start), rows, width, Update::Add);
    }
    gates
}

pub(super) fn backward(
    cuda: &Cuda,
    cell: AnyCell,
    mut gates: Tensor,
    mut running: Vec<Tensor>,
    before: &[Var],
    after: &[Tensor],
) -> Back {
    let (rows, hidden) = before[0].shape();
    let device = gates.device().clone();
    let own = step_rows(gates.pointer_mut(), before, Parts::of(after));
    CellKernels::new(cuda, cell).backward(&own, &Parts::to(&mut running), None);

    let (columns, stride) = (cell.gates() * hidden, cell.slots() * hidden);
    let [mut of_input, mut of_state] = [(); 2].map(|()| Tensor::scratch(&device, rows, columns));
    let from = |column: usize| Place { pointer: gates.pointer().at(column), stride };
    let to = |pointer: Pointer, column: usize| Place { pointer: pointer.at(column), stride: columns };
    put_block(cuda, to(of_input.pointer_mut(), 0), from(0), rows, columns, Update::Set);
    for (start, width, slot) in state_shares(cell, hidden) {
        put_block(cuda, to(of_state.pointer_mut(), start), from(slot), rows, width, Update::Set);
    }
    Back { of_input, of_state, before: running, slots: gates }
}
