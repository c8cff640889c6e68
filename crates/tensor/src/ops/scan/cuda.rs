//! The decoder's time loop on a GPU.

use super::{BackwardState, Saved, Scan, ScanState};
use crate::cuda::{Cuda, DeviceLayout, Factor, View};
use crate::layout::{Direction, SequenceLayout, Step};
use crate::ops::arrange::cuda::put_numbers;
use crate::ops::attention::cuda::{Attending, AttendingRows};
use crate::ops::time_loop::Saved as LayerPass;
use crate::ops::time_loop::cuda::{LayerLoop, Parts, biases, states_before, weight_and_input_gradients};
use crate::ops::{LayerWeights, Memory};
use crate::product::Update;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

/// What a layer's input inside the loop is multiplied with: the first layer's is the context, the last columns; that of the
/// others is the layer below.
fn inner_weights(layers: &[LayerWeights], outside: usize) -> Vec<Factor> {
    let of_layer = |(i, weights): (usize, &LayerWeights)| {
        let first = if i == 0 { outside } else { 0 };
        Factor::of_many(weights.input.value().view().column_block(first..weights.input.columns()))
    };
    layers.iter().enumerate().map(of_layer).collect()
}

pub(super) fn forward(
    cuda: &Cuda,
    scan: &Scan,
    x: &Tensor,
    rows: &SequenceLayout,
    start: &ScanState,
    memory: &Memory,
) -> Saved {
    let (device, total, hidden) = (x.device(), rows.total(), scan.hidden());
    let ((depth, width), steps) = (memory.columns(), memory.weight_columns());
    let mut layers: Vec<LayerPass> = scan
        .layers
        .iter()
        .map(|weights| LayerPass {
            slots: biases(cuda, scan.cell, total, weights),
            states: (0..scan.cell.parts()).map(|_| Tensor::scratch(device, total, hidden)).collect(),
        })
        .collect();
    let loops: Vec<LayerLoop> = (layers.iter_mut().zip(&scan.layers).zip(&start.layers))
        .map(|((pass, weights), start)| {
            let (slots, states) = (pass.slots.pointer_mut(), Parts::to(&mut pass.states));
            LayerLoop::new(cuda, scan.cell, weights, slots, states, Parts::of(start.iter().map(Var::value)))
        })
        .collect();
    let inner_weights = inner_weights(&scan.layers, x.columns());
    loops[0].add_input(x.view(), scan.layers[0].input.value().view().column_block(0..x.columns()));

    let mut queries = scan.query.as_ref().map(|_| Tensor::scratch(device, total, depth));
    let mut contexts = Tensor::scratch(device, total, width);
    let mut weights = Tensor::scratch(device, total, steps);
    let attending = Attending::new(cuda, scan.score, memory, scan.vector.as_ref().map(Var::value), None);
    let top = loops[loops.len() - 1].states.output();
    let query_at = queries.as_mut().map_or(top, Tensor::pointer_mut);
    let (context_at, weights_at) = (contexts.pointer_mut(), weights.pointer_mut());
    for step in rows.walk(Direction::Forward) {
        let (first, places) = (step.rows.start, step.rows.len());
        for (i, layer) in loops.iter().enumerate() {
            let input = match i {
                0 if step.carried > 0 => View::new(context_at.at(step.before * width), places, width),
                0 => View::new(start.context.value().pointer(), places, width),
                _ => View::new(loops[i - 1].states.output().at(first * hidden), places, hidden),
            };
            layer.forward(&step, Some((input, &inner_weights[i])));
        }
        let query = query_at.at(first * depth);
        if let Some(weight) = &scan.query {
            let states = View::new(top.at(first * hidden), places, hidden);
            cuda.multiply(query, depth, states, weight.value().view().transposed(), Update::Set);
        }
        let own = AttendingRows { count: places, query, weights: weights_at.at(first * steps) };
        attending.forward(own, context_at.at(first * width));
    }
    Saved { layers, queries, contexts, weights }
}

#[allow(clippy::too_many_arguments, reason = "all that the forward pass had, and its results")]
pub(super) fn backward(
    cuda: &Cuda,
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
    let ((depth, width), steps) = (memory.columns(), memory.weight_columns());
    let BackwardState { of_states, of_weights, dcontexts, running, dcontext_start } = moving;
    let mut dqueries = Tensor::scratch(device, rows.total(), depth);
    let mut denergies = Tensor::scratch(device, rows.total(), steps);

    let loops: Vec<LayerLoop> = (layers.iter_mut().zip(&scan.layers).zip(&start.layers))
        .map(|((pass, weights), start)| {
            let (slots, states) = (pass.slots.pointer_mut(), Parts::of(&pass.states));
            LayerLoop::new(cuda, scan.cell, weights, slots, states, Parts::of(start.iter().map(Var::value)))
        })
        .collect();
    let moving: Vec<Parts> = running.iter_mut().map(|layer| Parts::to(layer)).collect();
    let top = loops.len() - 1;
    let attending = Attending::new(cuda, scan.score, memory, scan.vector.as_ref().map(Var::value), None);
    let query_at = queries.as_ref().map_or(loops[top].states.output(), Tensor::pointer);
    let (dcontext_at, first_dcontext) = (dcontexts.pointer_mut(), dcontext_start.pointer_mut());
    let (dquery_at, denergy_at) = (dqueries.pointer_mut(), denergies.pointer_mut());
    let (of_states, of_weights) =
        (of_states.as_ref().map(Tensor::pointer), of_weights.as_ref().map(Tensor::pointer));

    let inner_weights = inner_weights(&scan.layers, x.columns());
    let query_weight = scan.query.as_ref().map(|weight| Factor::of_many(weight.value().view()));
    let walk: Vec<Step> = rows.walk(Direction::Forward).collect();
    for (at, step) in walk.iter().enumerate().rev() {
        let (first, places) = (step.rows.start, step.rows.len());
        let dquery = dquery_at.at(first * depth);
        let own = AttendingRows {
            count: places,
            query: query_at.at(first * depth),
            weights: weights.pointer().at(first * steps),
        };
        let dweights = of_weights.map(|pointer| pointer.at(first * steps));
        let dcontext = dcontext_at.at(first * width);
        attending.backward(own, dcontext, dweights, denergy_at.at(first * steps), dquery);
        if scan.query.is_none() {
            put_numbers(cuda, moving[top].output(), dquery, places * hidden, Update::Add);
        }
        for (i, layer) in loops.iter().enumerate().rev() {
            let above = if i == top {
                query_weight.as_ref().map(|weight| (View::new(dquery, places, depth), weight))
            } else {
                Some((loops[i + 1].gates(step, places), &inner_weights[i + 1]))
            };
            layer.backward(step, walk.get(at + 1), &moving[i], of_states.filter(|_| i == top), above);
        }
        let to_context = if step.carried > 0 { dcontext_at.at(step.before * width) } else { first_dcontext };
        let gates = loops[0].gates(step, places);
        cuda.multiply(to_context, width, gates, inner_weights[0].clone(), Update::Add);
    }
    loops.iter().zip(&moving).for_each(|(layer, moving)| layer.backward_to_start(&walk, moving));

    let packed = DeviceLayout::new(device, rows);
    let before = |states: &Tensor, start: &Var| {
        states_before(cuda, states, &packed, Direction::Forward, Some(start.value()))
    };
    for (i, (weights, layer)) in scan.layers.iter().zip(&layers).enumerate() {
        let state = before(&layer.states[0], &start.layers[i][0]);
        let context = (i == 0).then(|| before(&contexts, &start.context));
        let inputs = match &context {
            Some(context) => (Some(x), Some(context)),
            None => (None, Some(&layers[i - 1].states[0])),
        };
        weight_and_input_gradients(cuda, scan.cell, gradients, &layer.slots, inputs, &state, weights);
    }
    if let Some(query) = &scan.query {
        gradients.write_cuda(query, |dw, update| {
            cuda.multiply(dw, hidden, dqueries.view().transposed(), layers[top].states[0].view(), update);
        });
    }
    let vector = scan.vector.as_ref();
    attending.memory_gradients(gradients, rows, query_at, vector, &denergies, (&weights, dcontexts));
}
