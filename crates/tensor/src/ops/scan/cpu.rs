//! The decoder's time loop on the processor.
//!
//! As in a recurrent layer, the workers walk through the steps together, and the units of every layer are dealt out among them;
//! so are the sources of the attention. A barrier stands wherever one needs what another has computed.

use super::{BackwardState, Parents, Saved, Scan, ScanState, is_identity};
use crate::device::Cpu;
use crate::layout::{Direction, SequenceLayout, Step};
use crate::ops::attention::AttentionModifiers;
use crate::ops::attention::cpu::{Attending, ModifierRows, Readers, Sums, memory_gradients};
use crate::ops::attention::row::Sources;
use crate::ops::embedding::take_rows;
use crate::ops::linear::multiply_weight;
use crate::ops::time_loop::Saved as LayerPass;
use crate::ops::time_loop::cpu::{
    LayerLoop, add_from_gates, add_to_gates, biases, gate_packs, loop_workers, panels, parts, parts_to_read,
    states_before, weight_gradients,
};
use crate::ops::{AnyCell, LayerWeights, Memory};
use crate::pool::Worker;
use crate::product::{Mat, PANEL, Packed, ProductFusion, Right, Update, multiply_into, multiply_panels};
use crate::shared::Grid;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::Arc;

/// The packed weights that the loop needs of each layer: those of its input inside the loop, and those of its state. None are there
/// where what they are multiplied with is in the gates already.
struct Packs {
    input: Vec<Arc<Packed>>,
    state: Vec<Arc<Packed>>,
}

/// The first layer's input inside the loop is the context, the last columns; that of the others is the layer below.
fn layer_packs(cell: AnyCell, layers: &[LayerWeights], outside: usize, transposed: bool) -> Vec<Packs> {
    let pack = |(i, layer): (usize, &LayerWeights)| {
        let first = if i == 0 { outside } else { 0 };
        Packs {
            input: gate_packs(cell, &layer.input, first..layer.input.columns(), transposed),
            state: gate_packs(cell, &layer.state, 0..layer.hidden(), transposed),
        }
    };
    layers.iter().enumerate().map(pack).collect()
}

/// Where the context that enters a step is.
fn context_before<'a>(step: &Step, contexts: Grid<'a>, start: Grid<'a>) -> Grid<'a> {
    if step.carried > 0 { contexts.at(step.before, 0) } else { start }
}

/// What a state adds to the gates of all layers, biases included: state rows × slots·hidden for each.
fn shares_of_state(cpu: &Cpu, scan: &Scan, state: &ScanState, packs: &[Packs]) -> Vec<Tensor> {
    let (context, hidden) = (state.context.value().mat(), scan.hidden());
    let states: Vec<Mat> = state.layers.iter().map(|parts| parts[0].value().mat()).collect();
    let rows = context.rows();
    let of_layer = |weights| biases(cpu, scan.cell, state.context.device(), rows, weights);
    let mut shares: Vec<Tensor> = scan.layers.iter().map(of_layer).collect();
    let grids: Vec<Grid> = shares.iter_mut().map(Tensor::grid_mut).collect();
    let workers = cpu.pool.workers_for(rows * hidden * hidden * scan.cell.gates() / PANEL);
    let cell = scan.cell;
    cpu.pool.run(workers, |worker: &Worker| {
        for (i, (gates, packs)) in grids.iter().zip(packs).enumerate() {
            for units in worker.deal_blocks(hidden, PANEL) {
                // SAFETY: units are dealt out once.
                unsafe {
                    if i == 0 {
                        add_to_gates(cpu.isa, *gates, context, &packs.input, &units, |gate| gate);
                    }
                    let slot = |gate| cell.state_slot(gate);
                    add_to_gates(cpu.isa, *gates, states[i], &packs.state, &units, slot);
                }
            }
            worker.barrier();
        }
    });
    shares
}

/// Gates before the loop, and the packed weights that the loop needs: with nothing but biases in them, or with all that the
/// parents' states add, once for each parent.
fn gates_and_packs(
    cpu: &Cpu,
    scan: &Scan,
    rows: usize,
    outside: usize,
    parents: Option<Parents>,
) -> (Vec<Tensor>, Vec<Packs>) {
    let packs = layer_packs(scan.cell, &scan.layers, outside, true);
    let Some(Parents { state, of }) = parents else {
        let device = scan.layers[0].input.device();
        let of_layer = |weights| biases(cpu, scan.cell, device, rows, weights);
        return (scan.layers.iter().map(of_layer).collect(), packs);
    };
    let shares = shares_of_state(cpu, scan, state, &packs);
    let of_rows =
        |shares: Tensor| if is_identity(of, shares.rows()) { shares } else { take_rows(cpu, &shares, of) };
    let gates = shares.into_iter().map(of_rows).collect();
    let left = packs.into_iter().enumerate();
    let left =
        left.map(|(i, packs)| Packs { input: if i == 0 { vec![] } else { packs.input }, state: vec![] });
    (gates, left.collect())
}

pub(super) fn forward(
    cpu: &Cpu,
    scan: &Scan,
    x: &Tensor,
    rows: &SequenceLayout,
    start: &ScanState,
    memory: &Memory,
    parents: Option<Parents>,
) -> Saved {
    let (device, total, hidden) = (x.device(), rows.total(), scan.hidden());
    let (depth, width) = memory.columns();
    let (gates, packs) = gates_and_packs(cpu, scan, total, x.columns(), parents);
    let of_layer = |slots| LayerPass {
        slots,
        states: (0..scan.cell.parts()).map(|_| Tensor::scratch(device, total, hidden)).collect(),
    };
    let mut layers: Vec<LayerPass> = gates.into_iter().map(of_layer).collect();
    let columns = layers[0].slots.columns();
    multiply_weight(
        layers[0].slots.data_mut(),
        columns,
        x,
        scan.layers[0].input.value(),
        0..x.columns(),
        ProductFusion { update: Update::Add, ..ProductFusion::default() },
    );

    let mut queries = scan.query.as_ref().map(|_| Tensor::scratch(device, total, depth));
    let query_pack = scan.query.as_ref().map(|query| query.packed_whole(true));
    let mut contexts = Tensor::scratch(device, total, width);
    let mut weights = Tensor::scratch(device, total, memory.weight_columns());
    let loops: Vec<LayerLoop> = layers
        .iter_mut()
        .zip(&packs)
        .zip(&start.layers)
        .map(|((layer, packs), start)| LayerLoop {
            cell: scan.cell,
            isa: cpu.isa,
            hidden,
            slots: layer.slots.grid_mut(),
            states: parts(&mut layer.states),
            start: Some(parts_to_read(start.iter().map(Var::value))),
            packs: &packs.state,
        })
        .collect();
    let segments = memory.views();
    let output = |layer: usize| loops[layer].states[0].expect("every state has an output");
    let top = output(loops.len() - 1);
    let query_grid = queries.as_mut().map(Tensor::grid_mut);
    let attending = Attending {
        score: scan.score,
        query: query_grid.unwrap_or(top),
        vector: scan.vector.as_ref().map_or(&[], |vector| vector.value().data()),
        memory: Sources::new(memory, &segments),
        focus: ModifierRows::default(),
        weights: weights.grid_mut(),
        context: contexts.grid_mut(),
    };
    let first_context = start.context.value().grid();

    cpu.pool.run(loop_workers(cpu, rows, hidden, scan.cell.gates()), |worker: &Worker| {
        for step in rows.walk(Direction::Forward) {
            let (first, places) = (step.rows.start, step.rows.len());
            // SAFETY: units of gates, states and queries and the rows of the attention are dealt out once; what was computed by
            // others was complete at the barrier before.
            unsafe {
                for (i, layer) in loops.iter().enumerate() {
                    let input = match i {
                        0 => context_before(&step, attending.context, first_context).mat(places, width),
                        _ => output(i - 1).at(first, 0).mat(places, hidden),
                    };
                    let gates = layer.slots.at(first, 0);
                    for units in worker.deal_blocks(hidden, PANEL) {
                        add_to_gates(cpu.isa, gates, input, &packs[i].input, &units, |gate| gate);
                        layer.forward(&step, &units);
                    }
                    worker.barrier();
                }
                if let (Some(queries), Some(pack)) = (query_grid, &query_pack) {
                    let states = top.at(first, 0).mat(places, hidden);
                    for panels in worker.deal_blocks(pack.panels(), 1) {
                        multiply_panels(cpu.isa, queries.at(first, 0), states, pack, panels, Update::Set);
                    }
                    worker.barrier();
                }
                for place in worker.deal_blocks(places, 1).flatten() {
                    attending.forward(cpu, first + place, place);
                }
                worker.barrier();
            }
        }
    });
    Saved { layers, queries, contexts, weights }
}

#[allow(clippy::too_many_arguments, reason = "all that the forward pass had, and its results")]
pub(super) fn backward(
    cpu: &Cpu,
    gradients: &mut Gradients,
    scan: &Scan,
    pass: Saved,
    moving: &mut BackwardState,
    x: &Var,
    rows: &SequenceLayout,
    start: &ScanState,
    memory: &Memory,
) {
    let Saved { mut layers, queries, contexts, weights } = pass;
    let (device, hidden) = (x.device(), scan.hidden());
    let (depth, width) = memory.columns();
    let BackwardState { of_states, of_weights, dcontexts, running, dcontext_start } = moving;

    let packs = layer_packs(scan.cell, &scan.layers, x.columns(), false);
    let query_pack = scan.query.as_ref().map(|query| query.packed_whole(false));
    let (slots, states): (Vec<&mut Tensor>, Vec<&[Tensor]>) =
        layers.iter_mut().map(|layer| (&mut layer.slots, layer.states.as_slice())).unzip();
    let loops: Vec<LayerLoop> = slots
        .into_iter()
        .zip(&states)
        .zip(packs.iter().zip(&start.layers))
        .map(|((slots, states), (packs, start))| LayerLoop {
            cell: scan.cell,
            isa: cpu.isa,
            hidden,
            slots: slots.grid_mut(),
            states: parts_to_read(*states),
            start: Some(parts_to_read(start.iter().map(Var::value))),
            packs: &packs.state,
        })
        .collect();
    let top = states.len() - 1;
    let segments = memory.views();
    let attending = Attending {
        score: scan.score,
        query: queries.as_ref().unwrap_or(&states[top][0]).grid(),
        vector: scan.vector.as_ref().map_or(&[], |vector| vector.value().data()),
        memory: Sources::new(memory, &segments),
        focus: ModifierRows::default(),
        weights: weights.grid(),
        context: contexts.grid(),
    };
    let mut sums = Sums::new(cpu, scan.score, rows.total(), memory, &AttentionModifiers::default());
    let dcontext_grid = dcontexts.grid_mut();
    let back = sums.grids(dcontext_grid, of_weights.as_ref());
    let moving: Vec<_> = running.iter_mut().map(|layer| parts(layer)).collect();
    let output_gradient = |layer: usize| moving[layer][0].expect("every state has an output");
    let of_states = of_states.as_ref().map(Tensor::grid);
    let dcontext_start_grid = dcontext_start.grid_mut();
    let (readers, sources) = (Readers::new(&memory.of), memory.segment().layout.batch());

    cpu.pool.run(loop_workers(cpu, rows, hidden, scan.cell.gates()), |worker: &Worker| {
        let mut behind = None;
        for step in rows.walk(Direction::Forward).rev() {
            let (first, places) = (step.rows.start, step.rows.len());
            // SAFETY: as in the forward pass; sources are dealt out with all places that read them.
            unsafe {
                for source in worker.deal(sources) {
                    for place in readers.of(source).take_while(|&place| place < places) {
                        back.backward(cpu, worker, &attending, first + place, place);
                    }
                }
                worker.barrier();
                let dquery = back.dquery.at(first, 0);
                let from_gates = |layer: usize, target: Grid, columns: &Range<usize>| {
                    let gates = loops[layer].slots.at(first, 0);
                    add_from_gates(cpu.isa, target, gates, places, &packs[layer].input, columns, |gate| gate);
                };
                for (i, layer) in loops.iter().enumerate().rev() {
                    for units in worker.deal_blocks(hidden, PANEL) {
                        let to = output_gradient(i);
                        match &query_pack {
                            _ if i < top => from_gates(i + 1, to, &units),
                            Some(pack) => {
                                let dquery = dquery.mat(places, depth);
                                multiply_panels(cpu.isa, to, dquery, pack, panels(&units), Update::Add);
                            }
                            None => add_rows(to, dquery, places, &units),
                        }
                        let upstream = if i == top { of_states } else { None };
                        layer.backward(&step, behind.as_ref(), &units, &moving[i], upstream);
                    }
                    worker.barrier();
                }
                let to_context = context_before(&step, dcontext_grid, dcontext_start_grid);
                worker.deal_blocks(width, PANEL).for_each(|columns| from_gates(0, to_context, &columns));
                worker.barrier();
            }
            behind = Some(step);
        }
        for (layer, running) in loops.iter().zip(&moving) {
            for units in worker.deal_blocks(hidden, PANEL) {
                // SAFETY: as above; the layers do not depend on each other here.
                unsafe { layer.backward_to_state(behind.as_ref(), &units, running) };
            }
            worker.barrier();
        }
    });

    let mut below: Vec<&Tensor> = Vec::new();
    for (i, (weights, layer)) in scan.layers.iter().zip(&layers).enumerate() {
        let before =
            states_before(&layer.states[0], rows, Direction::Forward, Some(start.layers[i][0].value()));
        if i == 0 {
            let fed = states_before(&contexts, rows, Direction::Forward, Some(start.context.value()));
            let inputs = [x.value(), &fed];
            weight_gradients(cpu, scan.cell, gradients, &layer.slots, &inputs, &before, weights);
        } else {
            weight_gradients(cpu, scan.cell, gradients, &layer.slots, &below, &before, weights);
        }
        below = vec![&layer.states[0]];
    }
    gradients.write(x, |dx, update| {
        let weight = scan.layers[0].input.value().mat().column_block(0..x.columns());
        let gates = layers[0].slots.mat().column_block(0..scan.cell.gates() * hidden);
        multiply_into(device, dx, x.columns(), gates, Right::Plain(weight), update);
    });
    if let Some(query) = &scan.query {
        gradients.write(query, |dw, update| {
            let right = Right::Plain(layers[top].states[0].mat());
            multiply_into(device, dw, hidden, sums.dquery.mat().transposed(), right, update);
        });
    }
    memory_gradients(cpu, gradients, sums, memory, scan.vector.as_ref(), &weights, dcontexts, rows);
}

/// `to += from` in some columns of so many rows.
///
/// # Safety
/// Nobody may write to these columns of `from`, and nobody else may use those of `to`.
unsafe fn add_rows(to: Grid, from: Grid, rows: usize, columns: &Range<usize>) {
    for row in 0..rows {
        // SAFETY: handed on.
        let (to, from) = unsafe { (to.row_mut(row, columns.clone()), from.row(row, columns.clone())) };
        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    }
}
