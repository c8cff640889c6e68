use super::Back;
use crate::cell::{Cell, slots, state_slot};
use crate::device::Cpu;
use crate::ops::time_loop::cpu::{at, parts, parts_to_read};
use crate::ops::time_loop::units::{Backward, Forward, Units};
use crate::pool::Worker;
use crate::tape::Var;
use crate::tensor::Tensor;
use std::marker::PhantomData;

/// What one unit costs, in simple operations.
const COST: usize = 32;

/// The state after the step, and the gates as the cell left them.
pub(super) fn forward<C: Cell>(
    cpu: &Cpu,
    of_input: &Tensor,
    of_state: &Tensor,
    state_bias: Option<&Tensor>,
    before: &[Var],
) -> (Vec<Tensor>, Tensor) {
    let (rows, hidden) = before[0].shape();
    let device = of_input.device();
    let mut gates = gates::<C>(of_input, of_state, state_bias, hidden);
    let mut after: Vec<Tensor> = (0..C::PARTS).map(|_| Tensor::scratch(device, rows, hidden)).collect();
    let grid = gates.grid_mut();
    let (before, after_parts) = (parts_to_read(before.iter().map(Var::value)), parts(&mut after));
    cpu.pool.run(cpu.pool.workers_for(rows * hidden * COST), |worker: &Worker| {
        let share = worker.share(rows, 1);
        let units = Units::<C> {
            rows: share.len(),
            units: 0..hidden,
            hidden,
            slots: grid.at(share.start, 0),
            before: at(&before, share.start),
            after: at(&after_parts, share.start),
            cell: PhantomData,
        };
        // SAFETY: the workers' rows do not overlap.
        cpu.isa.run(unsafe { Forward::new(units) });
    });
    (after, gates)
}

/// The cell's slots: shares added up, or side by side for the gates that are apart.
fn gates<C: Cell>(
    of_input: &Tensor,
    of_state: &Tensor,
    state_bias: Option<&Tensor>,
    hidden: usize,
) -> Tensor {
    let width = slots::<C>() * hidden;
    let mut gates = Tensor::zeros(of_input.device(), of_input.rows(), width);
    for (row, gates) in gates.data_mut().chunks_exact_mut(width.max(1)).enumerate() {
        gates[..C::GATES * hidden].copy_from_slice(of_input.row(row));
        if let Some(bias) = state_bias {
            gates[C::GATES * hidden..].copy_from_slice(bias.data());
        }
        for (gate, share) in of_state.row(row).chunks_exact(hidden).enumerate() {
            let slot = &mut gates[state_slot::<C>(gate) * hidden..][..hidden];
            slot.iter_mut().zip(share).for_each(|(slot, share)| *slot += share);
        }
    }
    gates
}

pub(super) fn backward<C: Cell>(
    cpu: &Cpu,
    mut gates: Tensor,
    mut running: Vec<Tensor>,
    before: &[Var],
    after: &[Tensor],
) -> Back {
    let (rows, hidden) = before[0].shape();
    let device = gates.device().clone();
    let units = Units::<C> {
        rows,
        units: 0..hidden,
        hidden,
        slots: gates.grid_mut(),
        before: parts_to_read(before.iter().map(Var::value)),
        after: parts_to_read(after),
        cell: PhantomData,
    };
    // SAFETY: nobody else is at work.
    cpu.isa.run(unsafe { Backward::new(units, parts(&mut running), None) });

    let columns = C::GATES * hidden;
    let mut of_input = Tensor::scratch(&device, rows, columns);
    let mut of_state = Tensor::scratch(&device, rows, columns);
    for row in 0..rows {
        let gates = gates.row(row);
        of_input.data_mut()[row * columns..][..columns].copy_from_slice(&gates[..columns]);
        for gate in 0..C::GATES {
            let share = &mut of_state.data_mut()[row * columns + gate * hidden..][..hidden];
            share.copy_from_slice(&gates[state_slot::<C>(gate) * hidden..][..hidden]);
        }
    }
    Back { of_input, of_state, before: running, slots: gates }
}
