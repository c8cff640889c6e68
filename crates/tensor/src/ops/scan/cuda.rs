//! The decoder's time loop on a GPU.

use super::{RunningGradients, Saved, ScanInputs};
use crate::cuda::{Cuda, DeviceLayout, Factor, Pointer, View};
use crate::layout::{Direction, Step};
use crate::ops::LayerWeights;
use crate::ops::arrange::cuda::put_numbers;
use crate::ops::attention::AttendedRows;
use crate::ops::attention::cuda::{Attending, AttendingGradients, AttendingRows};
use crate::ops::time_loop::cuda::{LayerLoop, Parts, biases, states_before};
use crate::ops::time_loop::{LayerSteps, Saved as SavedLayer};
use crate::product::Update;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

/// The weights of each layer's input inside the loop: the first layer's is the context, the last columns; that of the others is
/// the layer below.
fn inner_weights(layers: &[LayerWeights], outside: usize) -> Vec<Factor> {
    let of_layer = |(i, weights): (usize, &LayerWeights)| {
        let first = if i == 0 { outside } else { 0 };
        Factor::of_many(weights.input.value().view().column_block(first..weights.input.columns()))
    };
    layers.iter().enumerate().map(of_layer).collect()
}

/// All layers before the loop: the gates with the biases, the states not yet written.
fn layers_before_loop(cuda: &Cuda, inputs: ScanInputs) -> Vec<SavedLayer> {
    let ScanInputs { scan, x, layout, .. } = inputs;
    let state = || Tensor::scratch(x.device(), layout.total(), scan.hidden());
    let layer = |weights: &LayerWeights| SavedLayer {
        slots: biases(cuda, scan.cell, layout.total(), weights),
        states: (0..scan.cell.parts()).map(|_| state()).collect(),
    };
    scan.layers.iter().map(layer).collect()
}

/// The loops of all layers; `states_of` gives the pointers to a layer's states, to be written or to be read only.
fn layer_loops<'a>(
    cuda: &'a Cuda,
    inputs: ScanInputs,
    layers: &mut [SavedLayer],
    states_of: impl Fn(&mut [Tensor]) -> Parts,
) -> Vec<LayerLoop<'a>> {
    let ScanInputs { scan, start, .. } = inputs;
    (layers.iter_mut().zip(&scan.layers).zip(&start.layers))
        .map(|((layer, weights), start)| {
            let (slots, states) = (layer.slots.pointer_mut(), states_of(&mut layer.states));
            LayerLoop::new(cuda, scan.cell, weights, slots, states, Parts::of(start.iter().map(Var::value)))
        })
        .collect()
}

/// The forward loop, with pointers to the first row of what it writes.
struct ForwardLoop<'a> {
    cuda: &'a Cuda,
    inputs: ScanInputs<'a>,
    layers: Vec<LayerLoop<'a>>,
    inner_weights: Vec<Factor>,
    attending: Attending<'a>,
    /// The outputs of the last layer where they are the queries.
    queries: Pointer,
    contexts: Pointer,
    weights: Pointer,
}

impl ForwardLoop<'_> {
    /// Every layer, then the query, then attention.
    fn step(&self, step: &Step) {
        let (first, count) = (step.rows.start, step.rows.len());
        self.step_layers(step);
        let own = AttendingRows {
            count,
            query: self.step_query(step),
            weights: self.weights.at(first * self.inputs.memory.weight_columns()),
        };
        self.attending.forward(own, self.contexts.at(first * self.inputs.memory.columns().1));
    }

    fn step_layers(&self, step: &Step) {
        let ScanInputs { scan, start, memory, .. } = self.inputs;
        let (rows, hidden, (_, width)) = (step.rows.len(), scan.hidden(), memory.columns());
        for (i, layer) in self.layers.iter().enumerate() {
            let input = match i {
                0 if step.carried > 0 => View::new(self.contexts.at(step.before * width), rows, width),
                0 => View::new(start.context.value().pointer(), rows, width),
                _ => View::new(self.layers[i - 1].states.output().at(step.rows.start * hidden), rows, hidden),
            };
            layer.forward(step, Some((input, &self.inner_weights[i])));
        }
    }

    /// Projects the states to queries where there is a `W_query`; returns the pointer to the queries.
    fn step_query(&self, step: &Step) -> Pointer {
        let ScanInputs { scan, memory, .. } = self.inputs;
        let (first, hidden, (key_columns, _)) = (step.rows.start, scan.hidden(), memory.columns());
        let query = self.queries.at(first * key_columns);
        if let Some(weight) = &scan.query {
            let top = self.layers[self.layers.len() - 1].states.output();
            let states = View::new(top.at(first * hidden), step.rows.len(), hidden);
            self.cuda.multiply(query, key_columns, states, weight.value().view().transposed(), Update::Set);
        }
        query
    }
}

pub(super) fn forward(cuda: &Cuda, inputs: ScanInputs) -> Saved {
    let ScanInputs { scan, x, layout, memory, .. } = inputs;
    let (device, total, (key_columns, width)) = (x.device(), layout.total(), memory.columns());
    let mut layers = layers_before_loop(cuda, inputs);
    let mut queries = scan.query.as_ref().map(|_| Tensor::scratch(device, total, key_columns));
    let mut contexts = Tensor::scratch(device, total, width);
    let mut weights = Tensor::scratch(device, total, memory.weight_columns());

    let loops = layer_loops(cuda, inputs, &mut layers, Parts::to);
    let x_weight = scan.layers[0].input.value().view().column_block(0..x.columns());
    loops[0].add_input(x.value().view(), x_weight);
    let top = loops[loops.len() - 1].states.output();
    let time_loop = ForwardLoop {
        cuda,
        inputs,
        layers: loops,
        inner_weights: inner_weights(&scan.layers, x.columns()),
        attending: Attending::new(cuda, scan.score, memory, scan.vector.as_ref(), None),
        queries: queries.as_mut().map_or(top, Tensor::pointer_mut),
        contexts: contexts.pointer_mut(),
        weights: weights.pointer_mut(),
    };
    layout.walk(Direction::Forward).for_each(|step| time_loop.step(&step));
    Saved { layers, queries, contexts, weights }
}

/// The backward loop, with pointers to the first row of what it reads and writes.
struct BackwardLoop<'a> {
    cuda: &'a Cuda,
    inputs: ScanInputs<'a>,
    layers: Vec<LayerLoop<'a>>,
    inner_weights: Vec<Factor>,
    query_weight: Option<Factor>,
    attending: Attending<'a>,
    queries: Pointer,
    weights: Pointer,
    gradients: AttendingGradients,
    /// From outside, for the outputs of the last layer.
    dstates: Option<Pointer>,
    dcontext_start: Pointer,
    /// The gradients of each layer's state, carried from step to step.
    running: Vec<Parts>,
}

impl BackwardLoop<'_> {
    /// Attention, then the layers from the last to the first, then the context before the step. `next` is the step after this one.
    fn step(&self, step: &Step, next: Option<&Step>) {
        let (rows, (_, width)) = (step.rows.len(), self.inputs.memory.columns());
        let gradients = self.attention_gradients(step);
        self.step_attention(step, gradients);
        self.step_layers(step, next, gradients.dquery);
        let dcontext = if step.carried > 0 {
            self.gradients.dcontext.at(step.before * width)
        } else {
            self.dcontext_start
        };
        let gates = self.layers[0].gates(step, rows);
        self.cuda.multiply(dcontext, width, gates, self.inner_weights[0].clone(), Update::Add);
    }

    /// Those of a step's rows.
    fn attention_gradients(&self, step: &Step) -> AttendingGradients {
        let (first, memory) = (step.rows.start, self.inputs.memory);
        let ((key_columns, width), steps) = (memory.columns(), memory.weight_columns());
        let AttendingGradients { dcontext, dweights, denergies, dquery } = self.gradients;
        AttendingGradients {
            dcontext: dcontext.at(first * width),
            dweights: dweights.map(|pointer| pointer.at(first * steps)),
            denergies: denergies.at(first * steps),
            dquery: dquery.at(first * key_columns),
        }
    }

    fn step_attention(&self, step: &Step, gradients: AttendingGradients) {
        let (first, memory) = (step.rows.start, self.inputs.memory);
        let own = AttendingRows {
            count: step.rows.len(),
            query: self.queries.at(first * memory.columns().0),
            weights: self.weights.at(first * memory.weight_columns()),
        };
        self.attending.backward(own, gradients);
    }

    fn step_layers(&self, step: &Step, next: Option<&Step>, dquery: Pointer) {
        let ScanInputs { scan, memory, .. } = self.inputs;
        let (rows, top, (key_columns, _)) = (step.rows.len(), self.layers.len() - 1, memory.columns());
        if scan.query.is_none() {
            put_numbers(self.cuda, self.running[top].output(), dquery, rows * scan.hidden(), Update::Add);
        }
        for (i, layer) in self.layers.iter().enumerate().rev() {
            let above = if i == top {
                self.query_weight.as_ref().map(|weight| (View::new(dquery, rows, key_columns), weight))
            } else {
                Some((self.layers[i + 1].gates(step, rows), &self.inner_weights[i + 1]))
            };
            layer.backward(step, next, &self.running[i], self.dstates.filter(|_| i == top), above);
        }
    }
}

pub(super) fn backward(
    cuda: &Cuda,
    gradients: &mut Gradients,
    inputs: ScanInputs,
    saved: Saved,
    state: &mut RunningGradients,
) {
    let ScanInputs { scan, x, layout, memory, .. } = inputs;
    let Saved { mut layers, queries, contexts, weights } = saved;
    let (device, total, hidden) = (x.device(), layout.total(), scan.hidden());
    let RunningGradients { dstates, dweights, dcontexts, running, dcontext_start } = state;
    let mut dqueries = Tensor::scratch(device, total, memory.columns().0);
    let mut denergies = Tensor::scratch(device, total, memory.weight_columns());

    let loops = layer_loops(cuda, inputs, &mut layers, |states| Parts::of(&*states));
    let top = loops[loops.len() - 1].states.output();
    let time_loop = BackwardLoop {
        cuda,
        inputs,
        layers: loops,
        inner_weights: inner_weights(&scan.layers, x.columns()),
        query_weight: scan.query.as_ref().map(|weight| Factor::of_many(weight.value().view())),
        attending: Attending::new(cuda, scan.score, memory, scan.vector.as_ref(), None),
        queries: queries.as_ref().map_or(top, Tensor::pointer),
        weights: weights.pointer(),
        gradients: AttendingGradients {
            dcontext: dcontexts.pointer_mut(),
            dweights: dweights.as_ref().map(Tensor::pointer),
            denergies: denergies.pointer_mut(),
            dquery: dqueries.pointer_mut(),
        },
        dstates: dstates.as_ref().map(Tensor::pointer),
        dcontext_start: dcontext_start.pointer_mut(),
        running: running.iter_mut().map(|layer| Parts::to(layer)).collect(),
    };
    let walk: Vec<Step> = layout.walk(Direction::Forward).collect();
    for (at, step) in walk.iter().enumerate().rev() {
        time_loop.step(step, walk.get(at + 1));
    }
    let BackwardLoop { layers: loops, attending, queries, running, .. } = time_loop;
    loops.iter().zip(&running).for_each(|(layer, running)| layer.backward_to_start(&walk, running));

    layer_gradients(cuda, gradients, inputs, &layers, &contexts);
    if let Some(query) = &scan.query {
        let states = &layers[layers.len() - 1].states[0];
        gradients.write_cuda(query, |dw, update| {
            cuda.multiply(dw, hidden, dqueries.view().transposed(), states.view(), update);
        });
    }
    let attended =
        AttendedRows { layout, vector: scan.vector.as_ref(), weights: &weights, dcontext: dcontexts };
    attending.memory_gradients(gradients, queries, &denergies, &attended);
}

/// The gradients of the layers' weights and of `x`, each over all steps at once.
fn layer_gradients(
    cuda: &Cuda,
    gradients: &mut Gradients,
    inputs: ScanInputs,
    layers: &[SavedLayer],
    contexts: &Tensor,
) {
    let ScanInputs { scan, x, layout, start, .. } = inputs;
    let layout = DeviceLayout::new(x.device(), layout);
    let before = |states: &Tensor, start: &Var| {
        states_before(cuda, states, &layout, Direction::Forward, Some(start.value()))
    };
    for (i, (weights, layer)) in scan.layers.iter().zip(layers).enumerate() {
        let states_before = &before(&layer.states[0], &start.layers[i][0]);
        let steps = LayerSteps { cell: scan.cell, weights, dgates: &layer.slots, states_before };
        if i == 0 {
            let contexts_before = before(contexts, &start.context);
            steps.weight_and_input_gradients(cuda, gradients, Some(x), Some(&contexts_before));
        } else {
            let below = &layers[i - 1].states[0];
            steps.weight_and_input_gradients(cuda, gradients, None, Some(below));
        }
    }
}
