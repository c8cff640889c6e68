use super::{Back, StepInputs};
use crate::cuda::{Cuda, Pointer};
use crate::ops::AnyCell;
use crate::ops::arrange::cuda::{Place, fill_rows, put_block};
use crate::ops::time_loop::cuda::{CellKernels, Parts, StepRows};
use crate::product::Update;
use crate::tape::Var;
use crate::tensor::Tensor;

/// The state after the step, and the gates as the cell left them.
pub(super) fn forward(cuda: &Cuda, inputs: StepInputs) -> (Vec<Tensor>, Tensor) {
    let StepInputs { cell, before, .. } = inputs;
    let ((rows, hidden), device) = (inputs.shape(), inputs.of_input.device());
    let mut gates = gates(cuda, inputs);
    let mut after: Vec<Tensor> = (0..cell.parts()).map(|_| Tensor::scratch(device, rows, hidden)).collect();
    let own = step_rows(gates.pointer_mut(), before, Parts::to(&mut after));
    CellKernels::new(cuda, cell).forward(&own);
    (after, gates)
}

fn step_rows(slots: Pointer, before: &[Var], after: Parts) -> StepRows {
    let (rows, hidden) = (before[0].rows() as u32, before[0].columns() as u32);
    let before = Parts::of(before.iter().map(Var::value));
    StepRows { slots, before, start: before, after, carried: rows, rows, hidden }
}

/// The first column and the width of the blocks of `of_state`, and the slot of each.
fn state_blocks(cell: AnyCell, hidden: usize) -> [(usize, usize, usize); 2] {
    let (all, shared) = (cell.gates() * hidden, (cell.gates() - cell.apart()) * hidden);
    [(0, shared, 0), (shared, all - shared, all)]
}

/// The cell's slots: the sum of both terms, or each term in a slot of its own for the gates that are apart.
fn gates(cuda: &Cuda, inputs: StepInputs) -> Tensor {
    let StepInputs { cell, state_bias, .. } = inputs;
    let (of_input, of_state, (_, hidden)) =
        (inputs.of_input.value(), inputs.of_state.value(), inputs.shape());
    let (rows, columns, stride) = (of_input.rows(), of_input.columns(), cell.slots() * hidden);
    let mut gates = Tensor::zeros(of_input.device(), rows, stride);
    let pointer = gates.pointer_mut();
    let to = |column: usize| Place { pointer: pointer.at(column), stride };
    let from =
        |tensor: &Tensor, column: usize| Place { pointer: tensor.pointer().at(column), stride: columns };
    put_block(cuda, to(0), from(of_input, 0), rows, columns, Update::Set);
    if let Some(bias) = state_bias {
        fill_rows(cuda, to(columns), bias.value(), rows);
    }
    for (start, width, slot) in state_blocks(cell, hidden) {
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
    for (start, width, slot) in state_blocks(cell, hidden) {
        put_block(cuda, to(of_state.pointer_mut(), start), from(slot), rows, width, Update::Set);
    }
    Back { of_input, of_state, before: running, slots: gates }
}
