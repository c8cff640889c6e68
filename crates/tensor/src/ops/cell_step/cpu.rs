use super::{Back, StepInputs};
use crate::device::Cpu;
use crate::ops::AnyCell;
use crate::ops::time_loop::cpu::{at, parts, parts_to_read};
use crate::ops::time_loop::units::Units;
use crate::pool::Worker;
use crate::tape::Var;
use crate::tensor::Tensor;

/// Cost of one unit, in simple operations.
const COST: usize = 32;

/// The state after the step, and the gates as the cell left them.
pub(super) fn forward(cpu: &Cpu, inputs: StepInputs) -> (Vec<Tensor>, Tensor) {
    let StepInputs { cell, before, .. } = inputs;
    let (of_input, of_state) = (inputs.of_input.value(), inputs.of_state.value());
    let state_bias = inputs.state_bias.map(|bias| bias.value().data());
    let ((rows, hidden), device) = (inputs.shape(), of_input.device());
    let width = cell.slots() * hidden;
    let mut gates = Tensor::scratch(device, rows, width);
    let mut after: Vec<Tensor> = (0..cell.parts()).map(|_| Tensor::scratch(device, rows, hidden)).collect();
    let grid = gates.grid_mut();
    let (before, after_parts) = (parts_to_read(before.iter().map(Var::value)), parts(&mut after));
    cpu.pool.run(cpu.pool.workers_for(rows * hidden * COST), |worker: &Worker| {
        let share = worker.share(rows, 1);
        for row in share.clone() {
            // SAFETY: the workers' rows do not overlap.
            let gates = unsafe { grid.row_mut(row, 0..width) };
            fill_gates(cell, gates, of_input.row(row), of_state.row(row), state_bias, hidden);
        }
        let units = Units {
            rows: share.len(),
            units: 0..hidden,
            hidden,
            slots: grid.at(share.start, 0),
            before: at(&before, share.start),
            after: at(&after_parts, share.start),
        };
        // SAFETY: the workers' rows do not overlap.
        unsafe { cell.forward(cpu.isa, &units) };
    });
    (after, gates)
}

/// The cell's slots of one row: the sum of both terms, or each term in a slot of its own for the gates that are apart.
fn fill_gates(
    cell: AnyCell,
    gates: &mut [f32],
    of_input: &[f32],
    of_state: &[f32],
    state_bias: Option<&[f32]>,
    hidden: usize,
) {
    let (shared, apart) = gates.split_at_mut(cell.gates() * hidden);
    shared.copy_from_slice(of_input);
    match state_bias {
        Some(bias) => apart.copy_from_slice(bias),
        None => apart.fill(0.0),
    }
    for (gate, term) in of_state.chunks_exact(hidden.max(1)).enumerate() {
        let slot = &mut gates[cell.state_slot(gate) * hidden..][..hidden];
        slot.iter_mut().zip(term).for_each(|(slot, term)| *slot += term);
    }
}

pub(super) fn backward(
    cpu: &Cpu,
    cell: AnyCell,
    mut gates: Tensor,
    mut running: Vec<Tensor>,
    before: &[Var],
    after: &[Tensor],
) -> Back {
    let (rows, hidden) = before[0].shape();
    let device = gates.device().clone();
    let units = Units {
        rows,
        units: 0..hidden,
        hidden,
        slots: gates.grid_mut(),
        before: parts_to_read(before.iter().map(Var::value)),
        after: parts_to_read(after),
    };
    // SAFETY: nobody else is at work.
    unsafe { cell.backward(cpu.isa, &units, &parts(&mut running), None) };

    let columns = cell.gates() * hidden;
    let mut of_input = Tensor::scratch(&device, rows, columns);
    let mut of_state = Tensor::scratch(&device, rows, columns);
    for row in 0..rows {
        let gates = gates.row(row);
        of_input.data_mut()[row * columns..][..columns].copy_from_slice(&gates[..columns]);
        for gate in 0..cell.gates() {
            let share = &mut of_state.data_mut()[row * columns + gate * hidden..][..hidden];
            share.copy_from_slice(&gates[cell.state_slot(gate) * hidden..][..hidden]);
        }
    }
    Back { of_input, of_state, before: running, slots: gates }
}
