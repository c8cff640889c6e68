use super::{BackwardState, RecurrentInputs};
use crate::device::Cpu;
use crate::layout::Direction;
use crate::ops::time_loop::cpu::{
    LayerLoop, biases, gate_packs, loop_workers, parts, parts_to_read, states_before,
};
use crate::ops::time_loop::{LayerSteps, Saved};
use crate::pool::Worker;
use crate::product::{PANEL, Right, Update, multiply_into};
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

pub(super) fn forward(cpu: &Cpu, inputs: RecurrentInputs) -> Saved {
    let RecurrentInputs { cell, x, layout, direction, weights, start } = inputs;
    let (device, hidden) = (x.device(), weights.hidden());
    let mut slots = biases(cpu, cell, device, layout.total(), weights);
    let stride = slots.columns();
    let right = Right::Plain(weights.input.value().mat().transposed());
    multiply_into(device, slots.data_mut(), stride, x.value().mat(), right, Update::Add);

    let mut states: Vec<Tensor> =
        (0..cell.parts()).map(|_| Tensor::scratch(device, layout.total(), hidden)).collect();
    let packs = gate_packs(cell, &weights.state, 0..hidden, true);
    let layer = LayerLoop {
        cell,
        isa: cpu.isa,
        hidden,
        slots: slots.grid_mut(),
        states: parts(&mut states),
        start: start.map(|start| parts_to_read(start.iter().map(Var::value))),
        packs: &packs,
    };
    cpu.pool.run(loop_workers(cpu, layout, hidden, cell.gates()), |worker: &Worker| {
        for step in layout.walk(direction) {
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
pub(super) fn last(inputs: RecurrentInputs, states: &[Tensor]) -> Vec<Tensor> {
    let RecurrentInputs { layout, direction, .. } = inputs;
    let last_of = |(part, states): (usize, &Tensor)| {
        let hidden = states.columns();
        let mut last = Tensor::zeros(states.device(), layout.batch(), hidden);
        for (index, last) in last.data_mut().chunks_exact_mut(hidden.max(1)).enumerate() {
            let row = match (layout.length(index), direction) {
                (0, _) => inputs.start(part).map(|start| start.row(index)),
                (_, Direction::Backward) => Some(states.row(layout.row(index, 0))),
                (steps, Direction::Forward) => Some(states.row(layout.row(index, steps - 1))),
            };
            row.into_iter().for_each(|row| last.copy_from_slice(row));
        }
        last
    };
    states.iter().enumerate().map(last_of).collect()
}

pub(super) fn backward(
    cpu: &Cpu,
    gradients: &mut Gradients,
    inputs: RecurrentInputs,
    saved: Saved,
    state: &mut BackwardState,
) {
    let RecurrentInputs { cell, x, layout, direction, weights, start } = inputs;
    let (device, hidden) = (x.device(), weights.hidden());
    let Saved { mut slots, states } = saved;

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
    let dstates = state.dstates.as_ref().map(Tensor::grid);
    let running = parts(&mut state.running);
    cpu.pool.run(loop_workers(cpu, layout, hidden, cell.gates()), |worker: &Worker| {
        let mut next = None;
        for step in layout.walk(direction).rev() {
            for units in worker.deal_blocks(hidden, PANEL) {
                // SAFETY: units are dealt out once; the barrier completes the gates' gradients of the next step.
                unsafe { layer.backward(&step, next.as_ref(), &units, &running, dstates) };
            }
            worker.barrier();
            next = Some(step);
        }
        for units in worker.deal_blocks(hidden, PANEL) {
            // SAFETY: as above.
            unsafe { layer.backward_to_state(next.as_ref(), &units, &running) };
        }
    });

    let states_before = &states_before(&states[0], layout, direction, inputs.start(0));
    let steps = LayerSteps { cell, weights, dgates: &slots, states_before };
    steps.weight_gradients(cpu, gradients, &[x.value()]);
    gradients.write(x, |dx, update| {
        let gates = slots.mat().column_block(0..cell.gates() * hidden);
        multiply_into(device, dx, x.columns(), gates, Right::Plain(weights.input.value().mat()), update);
    });
}
