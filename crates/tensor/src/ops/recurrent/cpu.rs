use super::LayerWeights;
use crate::device::Cpu;
use crate::layout::{Direction, SequenceLayout};
use crate::ops::AnyCell;
use crate::ops::time_loop::Saved;
use crate::ops::time_loop::cpu::{
    LayerLoop, biases, gate_packs, loop_workers, parts, parts_to_read, states_before, weight_gradients,
};
use crate::pool::Worker;
use crate::product::{PANEL, Right, Update, multiply_into};
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

pub(super) fn forward(
    cpu: &Cpu,
    cell: AnyCell,
    x: &Tensor,
    rows: &SequenceLayout,
    direction: Direction,
    weights: &LayerWeights,
    start: Option<&[&Tensor]>,
) -> Saved {
    let (device, hidden) = (x.device(), weights.hidden());
    let mut slots = biases(cpu, cell, device, rows.total(), weights);
    let stride = slots.columns();
    let right = Right::Plain(weights.input.value().mat().transposed());
    multiply_into(device, slots.data_mut(), stride, x.mat(), right, Update::Add);

    let mut states: Vec<Tensor> =
        (0..cell.parts()).map(|_| Tensor::scratch(device, rows.total(), hidden)).collect();
    let packs = gate_packs(cell, &weights.state, 0..hidden, true);
    let layer = LayerLoop {
        cell,
        isa: cpu.isa,
        hidden,
        slots: slots.grid_mut(),
        states: parts(&mut states),
        start: start.map(|start| parts_to_read(start.iter().copied())),
        packs: &packs,
    };
    cpu.pool.run(loop_workers(cpu, rows, hidden, cell.gates()), |worker: &Worker| {
        for step in rows.walk(direction) {
            for units in worker.deal_blocks(hidden, PANEL) {
                // SAFETY: units are dealt out once, and the barrier completes the step before.
                unsafe { layer.forward(&step, &units) };
            }
            worker.barrier();
        }
    });
    Saved { slots, states }
}

/// Each sequence's last state, part by part.
pub(super) fn last(
    states: &[Tensor],
    rows: &SequenceLayout,
    direction: Direction,
    start: Option<&[&Tensor]>,
) -> Vec<Tensor> {
    let last_of = |(part, states): (usize, &Tensor)| {
        let hidden = states.columns();
        let mut last = Tensor::zeros(states.device(), rows.batch(), hidden);
        for (place, last) in last.data_mut().chunks_exact_mut(hidden.max(1)).enumerate() {
            match (rows.length(place), direction) {
                (0, _) => start.iter().for_each(|start| last.copy_from_slice(start[part].row(place))),
                (_, Direction::Backward) => last.copy_from_slice(states.row(rows.row(place, 0))),
                (steps, Direction::Forward) => last.copy_from_slice(states.row(rows.row(place, steps - 1))),
            }
        }
        last
    };
    states.iter().enumerate().map(last_of).collect()
}

#[allow(clippy::too_many_arguments, reason = "all that the forward pass had, and its results")]
pub(super) fn backward(
    cpu: &Cpu,
    cell: AnyCell,
    gradients: &mut Gradients,
    pass: Saved,
    (of_states, running): (Option<&Tensor>, &mut [Tensor]),
    x: &Var,
    rows: &SequenceLayout,
    direction: Direction,
    weights: &LayerWeights,
    start: Option<&[Var]>,
) {
    let (device, hidden) = (x.device(), weights.hidden());
    let Saved { mut slots, states } = pass;

    let packs = gate_packs(cell, &weights.state, 0..hidden, false);
    let layer = LayerLoop {
        cell,
        isa: cpu.isa,
        hidden,
        slots: slots.grid_mut(),
        states: parts_to_read(&states),
        start: start.map(|start| parts_to_read(start.iter().map(Var::value))),
        packs: &packs,
    };
    let of_states = of_states.map(Tensor::grid);
    let moving = parts(running);
    cpu.pool.run(loop_workers(cpu, rows, hidden, cell.gates()), |worker: &Worker| {
        let mut behind = None;
        for step in rows.walk(direction).rev() {
            for units in worker.deal_blocks(hidden, PANEL) {
                // SAFETY: units are dealt out once; the barrier completes the gates' gradients of the step behind.
                unsafe { layer.backward(&step, behind.as_ref(), &units, &moving, of_states) };
            }
            worker.barrier();
            behind = Some(step);
        }
        for units in worker.deal_blocks(hidden, PANEL) {
            // SAFETY: as above.
            unsafe { layer.backward_to_state(behind.as_ref(), &units, &moving) };
        }
    });

    let before = states_before(&states[0], rows, direction, start.map(|start| start[0].value()));
    weight_gradients(cpu, cell, gradients, &slots, &[x.value()], &before, weights);
    gradients.write(x, |dx, update| {
        let gates = slots.mat().column_block(0..cell.gates() * hidden);
        multiply_into(device, dx, x.columns(), gates, Right::Plain(weights.input.value().mat()), update);
    });
}
