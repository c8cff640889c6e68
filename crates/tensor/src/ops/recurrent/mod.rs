//! A recurrent layer over packed sequences, in either direction.
//!
//! At each step, for every gate: `gate = W_input·x_t + W_state·h_{t-1} + bias`, then the [cell](AnyCell)'s mathematics. In the
//! backward direction, `t-1` is the next step, and every sequence starts at its own last step.
//!
//! | | shape |
//! |---|---|
//! | `x` | packed rows × inputs |
//! | `W_input` | gates·hidden × inputs |
//! | `W_state` | gates·hidden × hidden |
//! | `bias` | 1 × gates·hidden |
//! | `state_bias` | 1 × apart·hidden, for the gates whose two terms are [apart](AnyCell::apart), or none |
//! | `start`, `last` | batch × hidden for each part of the state; zero where no start is given |
//! | `states` | packed rows × hidden |
//!
//! In the backward pass, the step's products with `W_state` run step by step; the gradients of the weights are one product each over all
//! steps.
//!
//! With a [`GateNorm`], both terms are normalized before they are added: `gate = LN(W_input·x_t) + LN(W_state·h_{t-1}) + bias`. The
//! layer is then the loop over single steps, [`by_steps`], with the input's term normalized for all rows at once.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::layout::{Direction, SequenceLayout};
use crate::ops::{AnyCell, add, cell_step, concat_rows, gather_rows, layer_norm, linear, row_block};
use crate::profile;
use crate::tape::{Var, record_all};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The weights of one recurrent layer, named as PyTorch names them without `_l0`: `weight_ih`, `weight_hh`, `bias_ih`.
#[derive(Clone, Debug)]
pub struct LayerWeights {
    /// `weight_ih`: gates·hidden × inputs
    pub input: Var,
    /// `weight_hh`: gates·hidden × hidden
    pub state: Var,
    /// `bias_ih`: 1 × gates·hidden
    pub bias: Var,
    /// The last rows of `bias_hh`, for the gates whose two terms are apart: 1 × apart·hidden
    pub state_bias: Option<Var>,
    /// Layer normalization of the gates, or none.
    pub norm: Option<GateNorm>,
}

/// Layer normalization in a recurrent layer, after Ba et al. (2016): the input's and the state's term of the gates, each by
/// itself and over all gates of a row.
#[derive(Clone, Debug)]
pub struct GateNorm {
    /// Of `W_input·x`.
    pub input: Norm,
    /// Of `W_state·h`.
    pub state: Norm,
}

/// Gain and bias of a normalized row.
#[derive(Clone, Debug)]
pub struct Norm {
    /// 1 × gates·hidden
    pub gain: Var,
    /// 1 × gates·hidden
    pub bias: Var,
}

impl LayerWeights {
    /// The number of units of the layer.
    pub fn hidden(&self) -> usize {
        self.state.columns()
    }

    pub(crate) fn all(&self) -> impl Iterator<Item = &Var> {
        [&self.input, &self.state, &self.bias].into_iter().chain(&self.state_bias)
    }

    /// The input's term of the gates, bias included: rows × gates·hidden.
    pub fn of_input(&self, x: &Var) -> Var {
        let Some(GateNorm { input: norm, .. }) = &self.norm else {
            return linear(x, &self.input, Some(&self.bias));
        };
        // Both biases are added after the norm; their sum is one row.
        layer_norm(&linear(x, &self.input, None), &norm.gain, &add(&norm.bias, &self.bias))
    }

    /// The state's term of the gates: rows × gates·hidden.
    pub fn of_state(&self, h: &Var) -> Var {
        let term = linear(h, &self.state, None);
        match &self.norm {
            Some(GateNorm { state: norm, .. }) => layer_norm(&term, &norm.gain, &norm.bias),
            None => term,
        }
    }

    /// Panics where the shapes do not fit the cell or an input of `inputs` columns.
    pub(crate) fn check(&self, cell: AnyCell, inputs: usize) {
        let hidden = self.hidden();
        let gates = cell.gates() * hidden;
        assert_eq!(self.input.shape(), (gates, inputs), "W_input of {hidden} units, {inputs} inputs");
        assert_eq!(self.state.shape(), (gates, hidden), "W_state of {hidden} units");
        assert_eq!(self.bias.shape(), (1, gates), "bias of {hidden} units");
        if let Some(bias) = &self.state_bias {
            assert_eq!(bias.shape(), (1, cell.apart() * hidden), "state_bias of {hidden} units");
        }
        for norm in self.norm.iter().flat_map(|norm| [&norm.input, &norm.state]) {
            let shapes = [norm.gain.shape(), norm.bias.shape()];
            assert_eq!(shapes, [(1, gates); 2], "gain and bias of the norm of {hidden} units");
        }
    }
}

/// The outputs of a recurrent layer.
#[derive(Clone, Debug)]
pub struct Recurrent {
    /// The output `h` of every step.
    pub states: Var,
    /// Each sequence's state after its last step, part by part; after none, the start.
    pub last: Vec<Var>,
}

/// Panics where a start does not have a part of the right shape for each part of the cell's state.
pub(crate) fn check_start(cell: AnyCell, start: &[Var], batch: usize, hidden: usize) {
    assert_eq!(start.len(), cell.parts(), "parts of the first state");
    start.iter().for_each(|part| assert_eq!(part.shape(), (batch, hidden), "a part of the first state"));
}

/// The inputs of a recurrent layer.
#[derive(Clone, Copy)]
struct RecurrentInputs<'a> {
    cell: AnyCell,
    x: &'a Var,
    layout: &'a SequenceLayout,
    direction: Direction,
    weights: &'a LayerWeights,
    start: Option<&'a [Var]>,
}

impl<'a> RecurrentInputs<'a> {
    fn check(self) {
        let RecurrentInputs { cell, x, layout, weights, start, .. } = self;
        weights.check(cell, x.columns());
        assert_eq!(x.rows(), layout.total(), "x is {:?} for {} packed rows", x.shape(), layout.total());
        start.into_iter().for_each(|start| check_start(cell, start, layout.batch(), weights.hidden()));
    }

    /// All variables that may get gradients.
    fn vars(self) -> Vec<&'a Var> {
        let first = std::iter::once(self.x).chain(self.weights.all());
        first.chain(self.start.into_iter().flatten()).collect()
    }

    /// A part of the first state; none where it is zero.
    fn start(self, part: usize) -> Option<&'a Tensor> {
        self.start.map(|start| start[part].value())
    }
}

/// The gradients of the outputs, and those that are carried from step to step.
struct BackwardState {
    dstates: Option<Tensor>,
    /// Those of the state, one tensor for each part: at the beginning of the last state, at the end of the first.
    running: Vec<Tensor>,
}

impl BackwardState {
    /// From the gradients of the states and of each part of the last state.
    fn new(upstream: Vec<Option<Tensor>>, inputs: RecurrentInputs) -> BackwardState {
        let RecurrentInputs { x, layout, weights, .. } = inputs;
        let mut upstream = upstream.into_iter();
        let dstates = upstream.next().flatten();
        let zeros = || Tensor::zeros(x.device(), layout.batch(), weights.hidden());
        BackwardState { dstates, running: upstream.map(|last| last.unwrap_or_else(zeros)).collect() }
    }
}

/// Runs a cell over packed sequences; see the [module](self).
pub fn recurrent(
    cell: AnyCell,
    x: &Var,
    rows: &Arc<SequenceLayout>,
    direction: Direction,
    weights: &LayerWeights,
    start: Option<&[Var]>,
) -> Recurrent {
    let inputs = RecurrentInputs { cell, x, layout: rows, direction, weights, start };
    inputs.check();
    if weights.norm.is_some() {
        return by_steps(cell, x, rows, direction, weights, start);
    }

    let _span = profile::span("recurrent", x.device());
    let saved = on_device!(x.device(),
        cpu => cpu::forward(cpu, inputs),
        cuda => cuda::forward(cuda, inputs));
    let last = on_device!(x.device(),
        _cpu => cpu::last(inputs, &saved.states),
        cuda => cuda::last(cuda, inputs, &saved.states));
    let outputs: Vec<Tensor> = std::iter::once(saved.states[0].clone()).chain(last).collect();
    let mut outputs = record_all(&inputs.vars(), outputs, {
        let (x, layout, weights, start) =
            (x.clone(), Arc::clone(rows), weights.clone(), start.map(<[Var]>::to_vec));
        move |gradients, upstream| {
            let start = start.as_deref();
            let inputs =
                RecurrentInputs { cell, x: &x, layout: &layout, direction, weights: &weights, start };
            let mut state = BackwardState::new(upstream, inputs);
            on_device!(x.device(),
                cpu => cpu::backward(cpu, gradients, inputs, saved, &mut state),
                cuda => cuda::backward(cuda, gradients, inputs, saved, &mut state));
            let first = start.into_iter().flatten();
            first.zip(state.running).for_each(|(part, gradient)| gradients.add(part, gradient));
        }
    })
    .into_iter();
    let states = outputs.next().expect("the states come first");
    Recurrent { states, last: outputs.collect() }
}

/// The same, as a loop over [`cell_step()`]: what [`recurrent()`] must equal, and what it is where the gates are normalized.
pub fn by_steps(
    cell: AnyCell,
    x: &Var,
    rows: &Arc<SequenceLayout>,
    direction: Direction,
    weights: &LayerWeights,
    start: Option<&[Var]>,
) -> Recurrent {
    weights.check(cell, x.columns());
    let zero = || Var::constant(Tensor::zeros(x.device(), rows.batch(), weights.hidden()));
    let start: Vec<Var> = start.map_or_else(|| (0..cell.parts()).map(|_| zero()).collect(), <[Var]>::to_vec);
    let of_input = weights.of_input(x); // [rows, gates·hidden]
    let mut walked: Vec<Vec<Var>> = Vec::new();
    for step in rows.walk(direction) {
        let batch = step.rows.len();
        let begin = |part: &Var| row_block(part, step.carried..batch);
        let carry = |(before, first): (&Var, &Var)| {
            concat_rows(&[&row_block(before, 0..step.carried), &begin(first)]) // [batch, hidden]
        };
        let before: Vec<Var> = match walked.last() {
            Some(before) => before.iter().zip(&start).map(carry).collect(),
            None => start.iter().map(begin).collect(),
        };
        let of_state = weights.of_state(&before[0]); // [batch, gates·hidden]
        let of_input = row_block(&of_input, step.rows);
        walked.push(cell_step(cell, &of_input, &of_state, weights.state_bias.as_ref(), &before));
    }
    let starts: Vec<usize> = rows
        .walk(direction)
        .scan(0, |sum, step| {
            let start = *sum;
            *sum += step.rows.len();
            Some(start)
        })
        .collect();
    let last_row = |index: usize| -> u32 {
        let steps = rows.length(index);
        let walked_at =
            |step: usize| if direction == Direction::Forward { step } else { rows.steps() - 1 - step };
        let row = match (steps, direction) {
            (0, _) => rows.total() + index,
            (_, Direction::Forward) => starts[walked_at(steps - 1)] + index,
            (_, Direction::Backward) => starts[walked_at(0)] + index,
        };
        row as u32
    };
    let index: Vec<u32> = (0..rows.batch()).map(last_row).collect();
    let last = (0..cell.parts()).map(|part| {
        let all: Vec<&Var> = walked.iter().map(|state| &state[part]).chain([&start[part]]).collect();
        gather_rows(&concat_rows(&all), &index)
    });
    let mut outputs: Vec<&Var> = walked.iter().map(|state| &state[0]).collect();
    if direction == Direction::Backward {
        outputs.reverse();
    }
    let none = zero();
    let none = row_block(&none, 0..0);
    outputs.push(&none);
    Recurrent { states: concat_rows(&outputs), last: last.collect() }
}
