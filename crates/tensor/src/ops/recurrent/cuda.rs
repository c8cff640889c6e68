use super::LayerWeights;
use crate::cuda::{Cuda, DeviceLayout};
use crate::layout::{Direction, SequenceLayout, Step};
use crate::ops::AnyCell;
use crate::ops::time_loop::Saved;
use crate::ops::time_loop::cuda::{LayerLoop, Parts, biases, states_before, weight_and_input_gradients};
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

pub(super) fn forward(
    cuda: &Cuda,
    cell: AnyCell,
    x: &Tensor,
    rows: &SequenceLayout,
    direction: Direction,
    weights: &LayerWeights,
    start: Option<&[&Tensor]>,
) -> Saved {
    let mut slots = biases(cuda, cell, rows.total(), weights);
    let mut states: Vec<Tensor> =
        (0..cell.parts()).map(|_| Tensor::scratch(x.device(), rows.total(), weights.hidden())).collect();
    let start = Parts::of(start.into_iter().flatten().copied());
    let layer = LayerLoop::new(cuda, cell, weights, slots.pointer_mut(), Parts::to(&mut states), start);
    layer.add_input(x.view(), weights.input.value().view());
    for step in rows.walk(direction) {
        layer.forward(&step, None);
    }
    Saved { slots, states }
}

#[allow(clippy::too_many_arguments, reason = "all that the forward pass had, and its results")]
pub(super) fn backward(
    cuda: &Cuda,
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
    let Saved { mut slots, states } = pass;

    let first = Parts::of(start.into_iter().flatten().map(Var::value));
    let layer = LayerLoop::new(cuda, cell, weights, slots.pointer_mut(), Parts::of(&states), first);
    let of_states = of_states.map(Tensor::pointer);
    let moving = Parts::to(running);
    let steps: Vec<Step> = rows.walk(direction).collect();
    for (i, step) in steps.iter().enumerate().rev() {
        layer.backward(step, steps.get(i + 1), &moving, of_states, None);
    }
    layer.backward_to_start(&steps, &moving);

    let packed = DeviceLayout::new(x.device(), rows);
    let before = states_before(cuda, &states[0], &packed, direction, start.map(|start| start[0].value()));
    weight_and_input_gradients(cuda, cell, gradients, &slots, (Some(x), None), &before, weights);
}
