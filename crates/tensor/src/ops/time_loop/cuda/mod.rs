//! Time loops on a GPU: the CPU walks through the steps and enqueues, for each, the products and the cell.

mod cell;

pub(crate) use cell::{CellKernels, Parts, StepRows, source};

use crate::cuda::{Cuda, DeviceLayout, Factor, Launch, Pointer, Source, View};
use crate::layout::{Direction, Step};
use crate::ops::arrange::cuda::{Place, fill_rows};
use crate::ops::sums::cuda::column_sums;
use crate::ops::time_loop::LayerSteps;
use crate::ops::{AnyCell, LayerWeights};
use crate::product::Update;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;
use cell::Product;
use std::ops::Range;

pub(crate) const ROWS: Source = Source::plain("rows", include_str!("../rows.cu"));

/// Gates with nothing but their biases: `rows` × slots·hidden.
pub(crate) fn biases(cuda: &Cuda, cell: AnyCell, rows: usize, weights: &LayerWeights) -> Tensor {
    let (device, hidden, stride) = (weights.bias.device(), weights.hidden(), cell.slots() * weights.hidden());
    let mut gates = Tensor::scratch(device, rows, stride);
    let pointer = gates.pointer_mut();
    fill_rows(cuda, Place { pointer, stride }, weights.bias.value(), rows);
    if cell.apart() > 0 {
        let zeros = Tensor::zeros(device, 1, cell.apart() * hidden);
        let bias = weights.state_bias.as_ref().map_or(&zeros, Var::value);
        fill_rows(cuda, Place { pointer: pointer.at(cell.gates() * hidden), stride }, bias, rows);
    }
    gates
}

/// Up to this many multiplications, a step is one kernel, products and cell together. Above it, cuBLAS is faster by more than a
/// launch takes.
const FUSED: usize = 200_000_000;

/// One layer of a time loop.
pub(crate) struct LayerLoop<'a> {
    cuda: &'a Cuda,
    kernels: CellKernels<'a>,
    hidden: usize,
    /// Columns of the gates' rows, and of the gates.
    stride: usize,
    gates: usize,
    slots: Pointer,
    pub(crate) states: Parts,
    /// Null where the first states are zero.
    start: Parts,
    /// gates·hidden × hidden
    weight: View,
    /// The same in two: of the gates whose input's and state's terms are added, and of those that are apart.
    shares: [StateShare; 2],
}

/// The rows of the state's weight whose products go to the gates from a column on.
struct StateShare {
    weight: Factor,
    column: usize,
}

impl<'a> LayerLoop<'a> {
    pub(crate) fn new(
        cuda: &'a Cuda,
        cell: AnyCell,
        weights: &LayerWeights,
        slots_at: Pointer,
        states: Parts,
        start: Parts,
    ) -> LayerLoop<'a> {
        let (hidden, weight) = (weights.hidden(), weights.state.value().view());
        let (gates, shared) = (cell.gates() * hidden, (cell.gates() - cell.apart()) * hidden);
        let share = |rows: Range<usize>, column| StateShare {
            weight: Factor::of_many(weight.row_block(rows)),
            column,
        };
        LayerLoop {
            cuda,
            kernels: CellKernels::new(cuda, cell),
            hidden,
            stride: cell.slots() * hidden,
            gates,
            slots: slots_at,
            states,
            start,
            weight,
            shares: [share(0..shared, 0), share(shared..gates, gates)],
        }
    }

    /// Adds `a`'s term of the gates to those of all rows: `a · weightᵀ`.
    pub(crate) fn add_input(&self, a: View, weight: View) {
        self.cuda.multiply(self.slots, self.stride, a, weight.transposed(), Update::Add);
    }

    /// The gates of a step's first rows, in the columns of the input.
    pub(crate) fn gates(&self, step: &Step, rows: usize) -> View {
        View::strided(self.slots.at(step.rows.start * self.stride), rows, self.gates, self.stride)
    }

    /// The weight of the state, share by share: gates that are apart have slots of their own.
    fn state_shares(&self) -> impl Iterator<Item = &StateShare> {
        self.shares.iter().filter(|share| share.weight.view().rows > 0)
    }

    /// The outputs before a step, in up to two runs: of the rows that continue the step before, and of those whose first step it is.
    fn states_before(&self, step: &Step) -> impl Iterator<Item = (usize, View)> {
        let begun = self.start.at(step.carried * self.hidden).output();
        let runs = [
            (0, step.carried, self.states.output().at(step.before * self.hidden)),
            (step.carried, step.rows.len() - step.carried, begun),
        ];
        let hidden = self.hidden;
        (runs.into_iter())
            .filter(|&(_, rows, pointer)| rows > 0 && pointer != Pointer::NULL)
            .map(move |(first, rows, pointer)| (first, View::new(pointer, rows, hidden)))
    }

    fn rows(&self, step: &Step) -> StepRows {
        StepRows {
            slots: self.slots.at(step.rows.start * self.stride),
            before: self.states.at(step.before * self.hidden),
            start: self.start,
            after: self.states.at(step.rows.start * self.hidden),
            carried: step.carried as u32,
            rows: step.rows.len() as u32,
            hidden: self.hidden as u32,
        }
    }

    /// Whether a step is one kernel: with a product of this depth in addition to that of the state.
    fn is_fused(&self, step: &Step, depth: usize) -> bool {
        self.cuda.has_tensor_cores()
            && !self.cuda.all_are_large()
            && step.rows.len() * self.gates * (self.hidden + depth) <= FUSED
    }

    /// A step: the terms of the state and of an input inside the loop, then the cell. The input comes with its weight.
    pub(crate) fn forward(&self, step: &Step, input: Option<(View, &Factor)>) {
        let own = self.rows(step);
        if self.is_fused(step, input.map_or(0, |(a, _)| a.columns)) {
            let input = input.map(|(a, weight)| Product::new(a, weight.view(), 0, false));
            let states = self.states_before(step).map(|(first, a)| Product::new(a, self.weight, first, true));
            self.kernels.step_forward(&own, &input.into_iter().chain(states).collect());
            return;
        }
        if let Some((a, weight)) = input {
            self.cuda.multiply(own.slots, self.stride, a, weight.transposed(), Update::Add);
        }
        for (first, a) in self.states_before(step) {
            let a = Factor::from(a);
            for StateShare { weight, column } in self.state_shares() {
                let gates = own.slots.at(first * self.stride + column);
                self.cuda.multiply(gates, self.stride, a.clone(), weight.transposed(), Update::Add);
            }
        }
        self.kernels.forward(&own);
    }

    /// A backward step: replaces the gates by their gradients. The gradient of the output is the sum of what `running` holds, what
    /// comes from outside, from the gates of the next step, and from the other product with the output: a gradient `above`, with the
    /// weight.
    pub(crate) fn backward(
        &self,
        step: &Step,
        next: Option<&Step>,
        running: &Parts,
        upstream: Option<Pointer>,
        above: Option<(View, &Factor)>,
    ) {
        let own = self.rows(step);
        let upstream = upstream.map(|pointer| pointer.at(step.rows.start * self.hidden));
        let from_next = next.into_iter().flat_map(|next| self.state_gradients(next, 0..next.carried));
        let products = above.into_iter().chain(from_next);
        if self.is_fused(step, above.map_or(0, |(a, _)| a.columns)) {
            let products = products.map(|(a, weight)| Product::new(a, weight.view(), 0, false)).collect();
            self.kernels.step_backward(&own, running, upstream, &products);
            return;
        }
        for (a, weight) in products {
            self.cuda.multiply(running.output(), self.hidden, a, weight.clone(), Update::Add);
        }
        self.kernels.backward(&own, running, upstream);
    }

    /// The gradients of some rows' gates, and the weights through which they reach the state before the step.
    fn state_gradients(&self, step: &Step, rows: Range<usize>) -> impl Iterator<Item = (View, &Factor)> {
        let first = self.slots.at((step.rows.start + rows.start) * self.stride);
        self.state_shares().map(move |StateShare { weight, column }| {
            (View::strided(first.at(*column), rows.len(), weight.view().rows, self.stride), weight)
        })
    }

    /// The end of the backward pass: adds what the first state of each row gets through its first step's gates to `running`.
    pub(crate) fn backward_to_start(&self, steps: &[Step], running: &Parts) {
        if self.start.output() == Pointer::NULL {
            return;
        }
        for step in steps {
            let to = running.output().at(step.carried * self.hidden);
            for (gates, weight) in self.state_gradients(step, step.carried..step.rows.len()) {
                self.cuda.multiply(to, self.hidden, gates, weight.clone(), Update::Add);
            }
        }
    }
}

/// Row by row the state before the step: that of the step before, the start's, or zero.
pub(crate) fn states_before(
    cuda: &Cuda,
    states: &Tensor,
    rows: &DeviceLayout,
    direction: Direction,
    start: Option<&Tensor>,
) -> Tensor {
    let (total, width) = states.shape();
    let mut before = Tensor::scratch(states.device(), total, width);
    let arguments = [
        before.pointer_mut().into(),
        states.pointer().into(),
        start.map(Tensor::pointer).into(),
        rows.starts().into(),
        rows.lengths().into(),
        rows.steps.into(),
        total.into(),
        width.into(),
        (direction == Direction::Backward).into(),
    ];
    if total * width > 0 {
        // SAFETY: a state for each packed row, and a start for each sequence.
        unsafe { cuda.launch(cuda.kernel(&ROWS, "states_before"), Launch::over(total * width), &arguments) };
    }
    before
}

impl LayerSteps<'_> {
    /// The gradients of the layer's weights, each over all steps at once, and of the input `x`. `inner` is what the last columns of
    /// `W_input` were multiplied by, where the first ones were by `x`.
    pub(crate) fn weight_and_input_gradients(
        &self,
        cuda: &Cuda,
        gradients: &mut Gradients,
        x: Option<&Var>,
        inner: Option<&Tensor>,
    ) {
        let LayerSteps { cell, weights, dgates, states_before } = *self;
        let hidden = weights.hidden();
        let (all, shared) = (cell.gates() * hidden, (cell.gates() - cell.apart()) * hidden);
        let block = |columns: Range<usize>| dgates.view().column_block(columns);
        let of_input = Factor::from(block(0..all));
        let of_state = if shared == all { of_input.clone() } else { block(0..shared).into() };
        let inner_column = x.map_or(0, Var::columns);
        gradients.write_cuda(&weights.input, |dw, update| {
            let stride = weights.input.columns();
            for (column, input) in [(0, x.map(Var::value)), (inner_column, inner)] {
                if let Some(input) = input {
                    cuda.multiply(dw.at(column), stride, of_input.transposed(), input.view(), update);
                }
            }
        });
        if let Some(x) = x {
            gradients.write_cuda(x, |dx, update| {
                let weight = weights.input.value().view().column_block(0..inner_column);
                cuda.multiply(dx, x.columns(), of_input.clone(), weight, update);
            });
        }
        gradients.write_cuda(&weights.state, |dw, update| {
            let before = Factor::from(states_before.view());
            cuda.multiply(dw, hidden, of_state.transposed(), before.clone(), update);
            let apart = block(all..dgates.columns()).transposed();
            cuda.multiply(dw.at(shared * hidden), hidden, apart, before, update);
        });
        gradients.write_cuda(&weights.bias, |db, update| column_sums(cuda, block(0..all), db, update));
        if let Some(bias) = &weights.state_bias {
            gradients.write_cuda(bias, |db, update| {
                column_sums(cuda, block(all..dgates.columns()), db, update);
            });
        }
    }
}
