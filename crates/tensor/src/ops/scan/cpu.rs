//! The decoder's time loop on the CPU.
//!
//! As in a recurrent layer, the workers walk through the steps together, and the units of every layer are dealt out among them;
//! so are the sources of the attention. There is a barrier before a worker needs what another has computed.

use super::{Parents, RunningGradients, Saved, Scan, ScanInputs, ScanState, is_identity};
use crate::device::Cpu;
use crate::lane::Isa;
use crate::layout::{Direction, Step};
use crate::ops::attention::cpu::{
    Attending, AttendingBack, ModifierRows, Readers, Sums, memory_gradients, vector_data,
};
use crate::ops::attention::row::Sources;
use crate::ops::attention::{AttendedRows, AttentionModifiers};
use crate::ops::embedding::take_rows;
use crate::ops::linear::multiply_weight;
use crate::ops::time_loop::cpu::{
    LayerLoop, add_from_gates, add_to_gates, biases, gate_packs, loop_workers, panels, parts, parts_to_read,
    states_before,
};
use crate::ops::time_loop::units::Parts;
use crate::ops::time_loop::{LayerSteps, Saved as SavedLayer};
use crate::ops::{AnyCell, LayerWeights};
use crate::pool::Worker;
use crate::product::{Mat, PANEL, Packed, ProductFusion, Right, Update, multiply_into, multiply_panels};
use crate::shared::Grid;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::Arc;

/// The packed weights of a layer that the loop needs: those of its input inside the loop, and those of its state. Empty where
/// the product is in the gates already.
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

/// The context that enters a step, or its gradient.
fn context_before<'a>(step: &Step, contexts: Grid<'a>, start: Grid<'a>) -> Grid<'a> {
    if step.carried > 0 { contexts.at(step.before, 0) } else { start }
}

/// What a state adds to the gates of all layers, biases included: state rows × slots·hidden for each.
fn state_terms(cpu: &Cpu, scan: &Scan, state: &ScanState, packs: &[Packs]) -> Vec<Tensor> {
    let (context, hidden) = (state.context.value().mat(), scan.hidden());
    let states: Vec<Mat> = state.layers.iter().map(|parts| parts[0].value().mat()).collect();
    let rows = context.rows();
    let of_layer = |weights| biases(cpu, scan.cell, state.context.device(), rows, weights);
    let mut terms: Vec<Tensor> = scan.layers.iter().map(of_layer).collect();
    let grids: Vec<Grid> = terms.iter_mut().map(Tensor::grid_mut).collect();
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
    terms
}

/// Gates before the loop, and the packed weights that the loop needs. The gates hold the biases and, where parents are given, all
/// that the parents' states add, computed once for each parent.
fn gates_and_packs(cpu: &Cpu, inputs: ScanInputs, parents: Option<Parents>) -> (Vec<Tensor>, Vec<Packs>) {
    let ScanInputs { scan, x, layout, .. } = inputs;
    let packs = layer_packs(scan.cell, &scan.layers, x.columns(), true);
    let Some(Parents { state, of }) = parents else {
        let of_layer = |weights| biases(cpu, scan.cell, x.device(), layout.total(), weights);
        return (scan.layers.iter().map(of_layer).collect(), packs);
    };
    let terms = state_terms(cpu, scan, state, &packs);
    let per_row =
        |terms: Tensor| if is_identity(of, terms.rows()) { terms } else { take_rows(cpu, &terms, of) };
    let gates = terms.into_iter().map(per_row).collect();
    let left = packs.into_iter().enumerate();
    let left =
        left.map(|(i, packs)| Packs { input: if i == 0 { vec![] } else { packs.input }, state: vec![] });
    (gates, left.collect())
}

/// All layers before the loop: the gates of the first one with the product of `x`, the states not yet written.
fn layers_before_loop(inputs: ScanInputs, gates: Vec<Tensor>) -> Vec<SavedLayer> {
    let ScanInputs { scan, x, layout, .. } = inputs;
    let state = || Tensor::scratch(x.device(), layout.total(), scan.hidden());
    let layer = |slots| SavedLayer { slots, states: (0..scan.cell.parts()).map(|_| state()).collect() };
    let mut layers: Vec<SavedLayer> = gates.into_iter().map(layer).collect();
    let columns = layers[0].slots.columns();
    multiply_weight(
        layers[0].slots.data_mut(),
        columns,
        x.value(),
        scan.layers[0].input.value(),
        0..x.columns(),
        ProductFusion { update: Update::Add, ..ProductFusion::default() },
    );
    layers
}

/// What the workers share while they walk forward through the steps.
struct ForwardLoop<'a> {
    isa: Isa,
    layers: Vec<LayerLoop<'a>>,
    packs: &'a [Packs],
    query_product: Option<QueryProduct<'a>>,
    attending: Attending<'a>,
    first_context: Grid<'a>,
}

/// The queries that are projected from the states, and `W_query`.
struct QueryProduct<'a> {
    queries: Grid<'a>,
    weight: &'a Packed,
}

impl ForwardLoop<'_> {
    /// A worker's part of a step: every layer, then the query, then attention.
    ///
    /// # Safety
    /// All workers must take all steps in order, and no other thread may use the tensors of the loop.
    unsafe fn step(&self, cpu: &Cpu, worker: &Worker, step: &Step) {
        for layer in 0..self.layers.len() {
            // SAFETY: forwarded to the caller.
            unsafe { self.layer(worker, step, layer) };
            worker.barrier();
        }
        if let Some(query_product) = &self.query_product {
            // SAFETY: forwarded to the caller; the barrier completes the states.
            unsafe { self.project(worker, step, query_product) };
            worker.barrier();
        }
        for row in worker.deal_blocks(step.rows.len(), 1).flatten() {
            // SAFETY: rows are dealt out once, and the barrier completes the queries.
            unsafe { self.attending.forward(cpu, step.rows.start + row, row) };
        }
        worker.barrier();
    }

    /// A layer's gates and cell, for the units of a worker.
    ///
    /// # Safety
    /// The context before the step and the layer below must be complete, and no other thread may use the units dealt to this worker.
    unsafe fn layer(&self, worker: &Worker, step: &Step, index: usize) {
        let (layer, first, rows) = (&self.layers[index], step.rows.start, step.rows.len());
        let input = match index {
            0 => context_before(step, self.attending.context, self.first_context),
            _ => self.layers[index - 1].output().at(first, 0),
        };
        // The context is as wide as the values, the layer below as this one.
        let width = if index == 0 { self.attending.memory.columns().1 } else { layer.hidden };
        // SAFETY: the input is complete.
        let input = unsafe { input.mat(rows, width) };
        let gates = layer.slots.at(first, 0);
        for units in worker.deal_blocks(layer.hidden, PANEL) {
            // SAFETY: units are dealt out once, and what they are computed from is complete.
            unsafe {
                add_to_gates(self.isa, gates, input, &self.packs[index].input, &units, |gate| gate);
                layer.forward(step, &units);
            }
        }
    }

    /// The queries of a step, some columns for each worker.
    ///
    /// # Safety
    /// The step's states must be complete, and no other thread may use the columns dealt to this worker.
    unsafe fn project(&self, worker: &Worker, step: &Step, query_product: &QueryProduct) {
        let QueryProduct { queries, weight } = query_product;
        let (first, top) = (step.rows.start, &self.layers[self.layers.len() - 1]);
        // SAFETY: the states are complete.
        let states = unsafe { top.output().at(first, 0).mat(step.rows.len(), top.hidden) };
        for panels in worker.deal_blocks(weight.panels(), 1) {
            // SAFETY: panels are dealt out once.
            unsafe { multiply_panels(self.isa, queries.at(first, 0), states, weight, panels, Update::Set) };
        }
    }
}

pub(super) fn forward(cpu: &Cpu, inputs: ScanInputs, parents: Option<Parents>) -> Saved {
    let ScanInputs { scan, x, layout, start, memory } = inputs;
    let (device, total, hidden) = (x.device(), layout.total(), scan.hidden());
    let (key_columns, width) = memory.columns();
    let (gates, packs) = gates_and_packs(cpu, inputs, parents);
    let mut layers = layers_before_loop(inputs, gates);
    let mut queries = scan.query.as_ref().map(|_| Tensor::scratch(device, total, key_columns));
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
    let query_grid = queries.as_mut().map(Tensor::grid_mut);
    let attending = Attending {
        score: scan.score,
        query: query_grid.unwrap_or(loops[loops.len() - 1].output()),
        vector: vector_data(scan.vector.as_ref()),
        memory: Sources::new(memory, &segments),
        modifiers: ModifierRows::default(),
        weights: weights.grid_mut(),
        context: contexts.grid_mut(),
    };
    let time_loop = ForwardLoop {
        isa: cpu.isa,
        layers: loops,
        packs: &packs,
        query_product: query_grid
            .zip(query_pack.as_deref())
            .map(|(queries, weight)| QueryProduct { queries, weight }),
        attending,
        first_context: start.context.value().grid(),
    };
    cpu.pool.run(loop_workers(cpu, layout, hidden, scan.cell.gates()), |worker: &Worker| {
        for step in layout.walk(Direction::Forward) {
            // SAFETY: every worker of the pool takes all steps, and the tensors belong to this function.
            unsafe { time_loop.step(cpu, worker, &step) };
        }
    });
    Saved { layers, queries, contexts, weights }
}

/// What the workers share while they walk backward through the steps.
struct BackwardLoop<'a> {
    isa: Isa,
    layers: Vec<LayerLoop<'a>>,
    packs: &'a [Packs],
    /// `W_query`; none where the states are the queries.
    query_pack: Option<&'a Packed>,
    attending: Attending<'a>,
    gradients: AttendingBack<'a>,
    /// From outside, for the outputs of the last layer.
    dstates: Option<Grid<'a>>,
    dcontext_start: Grid<'a>,
    /// The gradients of each layer's state, carried from step to step.
    running: Vec<Parts<'a>>,
    readers: Readers<'a>,
    sources: usize,
}

impl BackwardLoop<'_> {
    /// A worker's part of a step: attention, then the layers from the last to the first, then the context before the step.
    ///
    /// # Safety
    /// All workers must take all steps in reverse order, and no other thread may use the tensors of the loop. `next` is the step after
    /// this one, whose gates' gradients are complete.
    unsafe fn step(&self, cpu: &Cpu, worker: &Worker, step: &Step, next: Option<&Step>) {
        let (first, rows) = (step.rows.start, step.rows.len());
        for source in worker.deal(self.sources) {
            for row in self.readers.of(source).take_while(|&row| row < rows) {
                // SAFETY: sources are dealt out once, each with all rows that attend to it.
                unsafe { self.gradients.backward(cpu, worker, &self.attending, first + row, row) };
            }
        }
        worker.barrier();
        for layer in (0..self.layers.len()).rev() {
            // SAFETY: forwarded to the caller; the barrier completes the queries' gradients and the layer above.
            unsafe { self.layer(worker, step, next, layer) };
            worker.barrier();
        }
        let dcontext = context_before(step, self.gradients.dcontext, self.dcontext_start);
        for columns in worker.deal_blocks(self.attending.memory.columns().1, PANEL) {
            // SAFETY: columns are dealt out once, and the barrier completes the first layer's gates.
            unsafe { self.add_from_layer(0, step, dcontext, &columns) };
        }
        worker.barrier();
    }

    /// A layer's cell, for the units of a worker: adds to the gradient of its output what comes from the query or the layer above,
    /// and replaces the gates by their gradients.
    ///
    /// # Safety
    /// The gradients of the query, of the layer above and of the gates of the next step must be complete, and no other thread may use
    /// the units dealt to this worker.
    unsafe fn layer(&self, worker: &Worker, step: &Step, next: Option<&Step>, index: usize) {
        let (layer, rows) = (&self.layers[index], step.rows.len());
        let dquery = self.gradients.dquery.at(step.rows.start, 0);
        let is_last = index + 1 == self.layers.len();
        let doutput = self.running[index][0].expect("every state has an output");
        for units in worker.deal_blocks(layer.hidden, PANEL) {
            // SAFETY: units are dealt out once, and what is read is complete.
            unsafe {
                match self.query_pack {
                    _ if !is_last => self.add_from_layer(index + 1, step, doutput, &units),
                    Some(pack) => {
                        let dquery = dquery.mat(rows, self.attending.memory.columns().0);
                        multiply_panels(self.isa, doutput, dquery, pack, panels(&units), Update::Add);
                    }
                    None => add_rows(doutput, dquery, rows, &units),
                }
                let upstream = if is_last { self.dstates } else { None };
                layer.backward(step, next, &units, &self.running[index], upstream);
            }
        }
    }

    /// Adds to some columns of `to` what comes from the gates of the layer whose input they are.
    ///
    /// # Safety
    /// The gradients of the layer's gates must be complete, and no other thread may use these columns.
    unsafe fn add_from_layer(&self, index: usize, step: &Step, to: Grid, columns: &Range<usize>) {
        let gates = self.layers[index].slots.at(step.rows.start, 0);
        let packs = &self.packs[index].input;
        // SAFETY: forwarded to the caller.
        unsafe { add_from_gates(self.isa, to, gates, step.rows.len(), packs, columns, |gate| gate) };
    }

    /// A worker's part of the gradients of the first states, after all steps.
    ///
    /// # Safety
    /// The gates' gradients of the first step must be complete, and no other thread may use the tensors of the loop.
    unsafe fn to_start(&self, worker: &Worker, first: Option<&Step>) {
        for (layer, running) in self.layers.iter().zip(&self.running) {
            for units in worker.deal_blocks(layer.hidden, PANEL) {
                // SAFETY: units are dealt out once; the layers do not depend on each other here.
                unsafe { layer.backward_to_state(first, &units, running) };
            }
            worker.barrier();
        }
    }
}

pub(super) fn backward(
    cpu: &Cpu,
    gradients: &mut Gradients,
    inputs: ScanInputs,
    saved: Saved,
    state: &mut RunningGradients,
) {
    let ScanInputs { scan, x, layout, start, memory } = inputs;
    let Saved { mut layers, queries, contexts, weights } = saved;
    let RunningGradients { dstates, dweights, dcontexts, running, dcontext_start } = state;

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
            hidden: scan.hidden(),
            slots: slots.grid_mut(),
            states: parts_to_read(*states),
            start: Some(parts_to_read(start.iter().map(Var::value))),
            packs: &packs.state,
        })
        .collect();
    let segments = memory.views();
    let attending = Attending {
        score: scan.score,
        query: queries.as_ref().unwrap_or(&states[states.len() - 1][0]).grid(),
        vector: vector_data(scan.vector.as_ref()),
        memory: Sources::new(memory, &segments),
        modifiers: ModifierRows::default(),
        weights: weights.grid(),
        context: contexts.grid(),
    };
    let mut sums = Sums::new(cpu, scan.score, layout.total(), memory, &AttentionModifiers::default());
    let time_loop = BackwardLoop {
        isa: cpu.isa,
        layers: loops,
        packs: &packs,
        query_pack: query_pack.as_deref(),
        attending,
        gradients: sums.grids(dcontexts.grid_mut(), dweights.as_ref()),
        dstates: dstates.as_ref().map(Tensor::grid),
        dcontext_start: dcontext_start.grid_mut(),
        running: running.iter_mut().map(|layer| parts(layer)).collect(),
        readers: Readers::new(&memory.of),
        sources: memory.segment().layout.batch(),
    };
    cpu.pool.run(loop_workers(cpu, layout, scan.hidden(), scan.cell.gates()), |worker: &Worker| {
        let mut next = None;
        for step in layout.walk(Direction::Forward).rev() {
            // SAFETY: every worker of the pool takes all steps, and the tensors belong to this function.
            unsafe { time_loop.step(cpu, worker, &step, next.as_ref()) };
            next = Some(step);
        }
        // SAFETY: as above; the last barrier completes the gates' gradients of the first step.
        unsafe { time_loop.to_start(worker, next.as_ref()) };
    });

    layer_gradients(cpu, gradients, inputs, &layers, &contexts);
    if let Some(query) = &scan.query {
        gradients.write(query, |dw, update| {
            let right = Right::Plain(layers[layers.len() - 1].states[0].mat());
            multiply_into(x.device(), dw, scan.hidden(), sums.dquery.mat().transposed(), right, update);
        });
    }
    let vector = scan.vector.as_ref();
    let attended = AttendedRows { layout, vector, weights: &weights, dcontext: dcontexts };
    memory_gradients(cpu, gradients, sums, memory, &attended);
}

/// The gradients of the layers' weights and of `x`, each over all steps at once.
fn layer_gradients(
    cpu: &Cpu,
    gradients: &mut Gradients,
    inputs: ScanInputs,
    layers: &[SavedLayer],
    contexts: &Tensor,
) {
    let ScanInputs { scan, x, layout, start, .. } = inputs;
    let before =
        |states: &Tensor, first: &Var| states_before(states, layout, Direction::Forward, Some(first.value()));
    for (i, (weights, layer)) in scan.layers.iter().zip(layers).enumerate() {
        let states_before = &before(&layer.states[0], &start.layers[i][0]);
        let steps = LayerSteps { cell: scan.cell, weights, dgates: &layer.slots, states_before };
        match i {
            0 => {
                let contexts_before = before(contexts, &start.context);
                steps.weight_gradients(cpu, gradients, &[x.value(), &contexts_before]);
            }
            _ => steps.weight_gradients(cpu, gradients, &[&layers[i - 1].states[0]]),
        }
    }
    gradients.write(x, |dx, update| {
        let weight = scan.layers[0].input.value().mat().column_block(0..x.columns());
        let gates = layers[0].slots.mat().column_block(0..scan.cell.gates() * scan.hidden());
        multiply_into(x.device(), dx, x.columns(), gates, Right::Plain(weight), update);
    });
}

/// `to += from` in some columns of the first rows.
///
/// # Safety
/// No thread may write to these columns of `from`, and no other thread may use those of `to`.
unsafe fn add_rows(to: Grid, from: Grid, rows: usize, columns: &Range<usize>) {
    for row in 0..rows {
        // SAFETY: forwarded to the caller.
        let (to, from) = unsafe { (to.row_mut(row, columns.clone()), from.row(row, columns.clone())) };
        to.iter_mut().zip(from).for_each(|(to, from)| *to += from);
    }
}
