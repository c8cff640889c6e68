use super::{BackwardState, RecurrentInputs};
use crate::cuda::{Cuda, DeviceLayout, Launch};
use crate::layout::{Direction, Step};
use crate::ops::time_loop::cuda::{LayerLoop, Parts, ROWS, biases, states_before};
use crate::ops::time_loop::{LayerSteps, Saved};
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

pub(super) fn forward(cuda: &Cuda, inputs: RecurrentInputs) -> Saved {
    let RecurrentInputs { cell, x, layout, direction, weights, start } = inputs;
    let mut slots = biases(cuda, cell, layout.total(), weights);
    let mut states: Vec<Tensor> =
        (0..cell.parts()).map(|_| Tensor::scratch(x.device(), layout.total(), weights.hidden())).collect();
    let first = Parts::of(start.into_iter().flatten().map(Var::value));
    let layer = LayerLoop::new(cuda, cell, weights, slots.pointer_mut(), Parts::to(&mut states), first);
    layer.add_input(x.value().view(), weights.input.value().view());
    for step in layout.walk(direction) {
        layer.forward(&step, None);
    }
    Saved { slots, states }
}

/// Each sequence's last state, part by part.
pub(super) fn last(cuda: &Cuda, inputs: RecurrentInputs, states: &[Tensor]) -> Vec<Tensor> {
    let device = inputs.x.device();
    let layout = DeviceLayout::new(device, inputs.layout);
    let last_of = |(part, states): (usize, &Tensor)| {
        let width = states.columns();
        let mut last = Tensor::scratch(device, layout.batch, width);
        let arguments = [
            last.pointer_mut().into(),
            states.pointer().into(),
            inputs.start(part).map(Tensor::pointer).into(),
            layout.starts().into(),
            layout.lengths().into(),
            layout.batch.into(),
            width.into(),
            (inputs.direction == Direction::Backward).into(),
        ];
        // SAFETY: a state for each packed row, and a first and a last one for each sequence.
        unsafe {
            cuda.launch(cuda.kernel(&ROWS, "last_states"), Launch::over(layout.batch * width), &arguments);
        };
        last
    };
    states.iter().enumerate().map(last_of).collect()
}

pub(super) fn backward(
    cuda: &Cuda,
    gradients: &mut Gradients,
    inputs: RecurrentInputs,
    saved: Saved,
    state: &mut BackwardState,
) {
    let RecurrentInputs { cell, x, layout, direction, weights, start } = inputs;
    let Saved { mut slots, states } = saved;

    let first = Parts::of(start.into_iter().flatten().map(Var::value));
    let layer = LayerLoop::new(cuda, cell, weights, slots.pointer_mut(), Parts::of(&states), first);
    let dstates = state.dstates.as_ref().map(Tensor::pointer);
    let running = Parts::to(&mut state.running);
    let steps: Vec<Step> = layout.walk(direction).collect();
    for (i, step) in steps.iter().enumerate().rev() {
        layer.backward(step, steps.get(i + 1), &running, dstates, None);
    }
    layer.backward_to_start(&steps, &running);

    let layout = DeviceLayout::new(x.device(), layout);
    let states_before = &states_before(cuda, &states[0], &layout, direction, inputs.start(0));
    let steps = LayerSteps { cell, weights, dgates: &slots, states_before };
    steps.weight_and_input_gradients(cuda, gradients, Some(x), None);
}
