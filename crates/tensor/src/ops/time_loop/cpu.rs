//! Time loops on the CPU: all workers walk through the steps together. The units of a step are dealt out among them: for
//! those it got, a worker computes the gates' products and the cell. What it needs of the others is the whole output of the step
//! before, hence one barrier per step.

use super::units::{Parts, Units};
use super::{AnyCell, LayerSteps};
use crate::device::{Cpu, Device};
use crate::lane::Isa;
use crate::layout::{Direction, SequenceLayout, Step};
use crate::ops::LayerWeights;
use crate::ops::linear::fill_rows;
use crate::ops::sums::column_sums;
use crate::product::{Mat, PANEL, Packed, Right, Update, multiply_into, multiply_panels};
use crate::shared::Grid;
use crate::tape::{Gradients, Var};
use crate::tensor::{Block, Tensor};
use std::ops::Range;
use std::sync::Arc;

/// Gates with nothing but their biases: `rows` × slots·hidden.
pub(crate) fn biases(
    cpu: &Cpu,
    cell: AnyCell,
    device: &Device,
    rows: usize,
    weights: &LayerWeights,
) -> Tensor {
    let (hidden, width) = (weights.hidden(), cell.slots() * weights.hidden());
    let mut row = Tensor::zeros(device, 1, width);
    row.data_mut()[..cell.gates() * hidden].copy_from_slice(weights.bias.value().data());
    if let Some(bias) = &weights.state_bias {
        row.data_mut()[cell.gates() * hidden..].copy_from_slice(bias.value().data());
    }
    let mut gates = Tensor::scratch(device, rows, width);
    fill_rows(cpu, gates.data_mut(), width, row.data());
    gates
}

/// The blocks of a gate weight's columns, one for each gate, packed for products with states (`transposed`) or gradients.
pub(crate) fn gate_packs(
    cell: AnyCell,
    weight: &Var,
    columns: Range<usize>,
    transposed: bool,
) -> Vec<Arc<Packed>> {
    let hidden = weight.rows() / cell.gates();
    let block =
        |gate| Block { rows: gate * hidden..(gate + 1) * hidden, columns: columns.clone(), transposed };
    (0..cell.gates()).map(|gate| weight.packed(block(gate))).collect()
}

/// Adds `a`'s term to the units `units` of all gates.
///
/// # Safety
/// No other thread may use these units of the gates' rows.
pub(crate) unsafe fn add_to_gates(
    isa: Isa,
    gates: Grid,
    a: Mat,
    packs: &[Arc<Packed>],
    units: &Range<usize>,
    slot: impl Fn(usize) -> usize,
) {
    for (gate, packed) in packs.iter().enumerate() {
        let target = gates.at(0, slot(gate) * packed.columns());
        // SAFETY: the panels hold just these units.
        unsafe { multiply_panels(isa, target, a, packed, panels(units), Update::Add) };
    }
}

/// The backward pass of [`add_to_gates`]: `target += Σ gates' gradients · weight`, for the columns `columns`.
///
/// # Safety
/// No thread may write to the gates, and no other thread may use these columns of the target.
pub(crate) unsafe fn add_from_gates(
    isa: Isa,
    target: Grid,
    gates: Grid,
    rows: usize,
    packs: &[Arc<Packed>],
    columns: &Range<usize>,
    slot: impl Fn(usize) -> usize,
) {
    if rows == 0 {
        return;
    }
    for (gate, packed) in packs.iter().enumerate() {
        let hidden = packed.depth();
        // SAFETY: no thread writes to the gates.
        let a = unsafe { gates.at(0, slot(gate) * hidden).mat(rows, hidden) };
        // SAFETY: the panels hold just these columns.
        unsafe { multiply_panels(isa, target, a, packed, panels(columns), Update::Add) };
    }
}

/// The panels of a worker's columns, which begin at a panel's edge.
pub(crate) fn panels(columns: &Range<usize>) -> Range<usize> {
    columns.start / PANEL..columns.end.div_ceil(PANEL)
}

/// The number of workers for a time loop over layers of `hidden` units.
pub(crate) fn loop_workers(cpu: &Cpu, rows: &SequenceLayout, hidden: usize, gates: usize) -> usize {
    // What matters is the work between two barriers: the rows of an average step.
    let rows = rows.total().checked_div(rows.steps()).unwrap_or(0);
    cpu.pool.workers_for(rows * hidden * hidden * gates / PANEL).min(hidden.div_ceil(PANEL))
}

/// Grids over the parts of a state.
pub(crate) fn parts<'a>(tensors: &'a mut [Tensor]) -> Parts<'a> {
    let mut grids = Parts::default();
    for (grid, tensor) in grids.iter_mut().zip(tensors) {
        *grid = Some(tensor.grid_mut());
    }
    grids
}

/// Grids over the parts of a read-only state.
pub(crate) fn parts_to_read<'a>(tensors: impl IntoIterator<Item = &'a Tensor>) -> Parts<'a> {
    let mut grids = Parts::default();
    for (grid, tensor) in grids.iter_mut().zip(tensors) {
        *grid = Some(tensor.grid());
    }
    grids
}

pub(crate) fn at<'a>(parts: &Parts<'a>, row: usize) -> Parts<'a> {
    parts.map(|part| part.map(|part| part.at(row, 0)))
}

/// A step's rows in up to two runs: those that continue the step before, and those whose first step it is. Each run has its rows,
/// counted from the step's first, and the state before it.
pub(crate) fn runs<'a>(
    step: &Step,
    states: &Parts<'a>,
    start: Option<&Parts<'a>>,
) -> [(Range<usize>, Parts<'a>); 2] {
    let begun = start.map_or(Parts::default(), |start| at(start, step.carried));
    [(0..step.carried, at(states, step.before)), (step.carried..step.rows.len(), begun)]
}

/// One layer of a time loop: the state's term of the gates, then the cell.
pub(crate) struct LayerLoop<'a> {
    pub(crate) cell: AnyCell,
    pub(crate) isa: Isa,
    pub(crate) hidden: usize,
    pub(crate) slots: Grid<'a>,
    pub(crate) states: Parts<'a>,
    pub(crate) start: Option<Parts<'a>>,
    pub(crate) packs: &'a [Arc<Packed>],
}

impl<'a> LayerLoop<'a> {
    /// The outputs of all steps.
    pub(crate) fn output(&self) -> Grid<'a> {
        self.states[0].expect("every state has an output")
    }

    /// The step for the units of a worker.
    ///
    /// # Safety
    /// The state before the step must be complete, and no other thread may use these units of the step's gates and states.
    pub(crate) unsafe fn forward(&self, step: &Step, units: &Range<usize>) {
        for (places, before) in runs(step, &self.states, self.start.as_ref()) {
            if places.is_empty() {
                continue;
            }
            let slots = self.slots.at(step.rows.start + places.start, 0);
            if let Some(before) = before[0] {
                // SAFETY: the state before the step is complete, and the units are ours.
                unsafe {
                    let a = before.mat(places.len(), self.hidden);
                    add_to_gates(self.isa, slots, a, self.packs, units, |gate| self.cell.state_slot(gate));
                }
            }
            let after = at(&self.states, step.rows.start + places.start);
            let (rows, units, hidden) = (places.len(), units.clone(), self.hidden);
            let units = Units { rows, units, hidden, slots, before, after };
            // SAFETY: the units are ours, and the state before the step is complete.
            unsafe { self.cell.forward(self.isa, &units) };
        }
    }

    /// The cell's backward step, which replaces the gates by their gradients. First, the gates of the step after it, `next`, add
    /// to the gradient of its state.
    ///
    /// # Safety
    /// The gradients of the gates of the next step must be complete, and no other thread may use these units of the step's gates
    /// and of the running gradient.
    pub(crate) unsafe fn backward(
        &self,
        step: &Step,
        next: Option<&Step>,
        units: &Range<usize>,
        running: &Parts,
        upstream: Option<Grid>,
    ) {
        // SAFETY: forwarded to the caller.
        unsafe { self.backward_to_state(next, units, running) };
        for (places, before) in runs(step, &self.states, self.start.as_ref()) {
            let first = step.rows.start + places.start;
            let units = Units {
                rows: places.len(),
                units: units.clone(),
                hidden: self.hidden,
                slots: self.slots.at(first, 0),
                before,
                after: at(&self.states, first),
            };
            let (running, upstream) = (at(running, places.start), upstream.map(|grid| grid.at(first, 0)));
            // SAFETY: the units are ours, and the states are no longer written.
            unsafe { self.cell.backward(self.isa, &units, &running, upstream) };
        }
    }

    /// The backward pass of the gates to the state before the step, if there is a step: adds to the running gradient of `h`.
    ///
    /// # Safety
    /// The gradients of the step's gates must be complete, and no other thread may use these units of `running`.
    pub(crate) unsafe fn backward_to_state(
        &self,
        step: Option<&Step>,
        units: &Range<usize>,
        running: &Parts,
    ) {
        let (Some(step), Some(running)) = (step, running[0]) else { return };
        let rows = if self.start.is_some() { step.rows.len() } else { step.carried };
        let gates = self.slots.at(step.rows.start, 0);
        // SAFETY: forwarded to the caller.
        unsafe {
            add_from_gates(self.isa, running, gates, rows, self.packs, units, |gate| {
                self.cell.state_slot(gate)
            });
        }
    }
}

/// Row by row the state before the step: that of the step before, the start's, or zero.
pub(crate) fn states_before(
    states: &Tensor,
    rows: &SequenceLayout,
    direction: Direction,
    start: Option<&Tensor>,
) -> Tensor {
    let width = states.columns();
    let mut before = Tensor::zeros(states.device(), states.rows(), width);
    let numbers = before.data_mut();
    for step in rows.walk(direction) {
        let (carried, begun) =
            numbers[step.rows.start * width..step.rows.end * width].split_at_mut(step.carried * width);
        carried.copy_from_slice(&states.data()[step.before * width..][..carried.len()]);
        if let Some(start) = start {
            begun.copy_from_slice(&start.data()[step.carried * width..][..begun.len()]);
        }
    }
    before
}

impl LayerSteps<'_> {
    /// The gradients of the layer's weights, each over all steps at once. `inputs` are what the columns of `W_input` were
    /// multiplied by, block by block.
    pub(crate) fn weight_gradients(&self, cpu: &Cpu, gradients: &mut Gradients, inputs: &[&Tensor]) {
        let LayerSteps { cell, weights, dgates, states_before } = *self;
        let (device, hidden) = (dgates.device(), weights.hidden());
        let (all, shared) = (cell.gates() * hidden, (cell.gates() - cell.apart()) * hidden);
        let block = |columns: Range<usize>| dgates.mat().column_block(columns);
        gradients.write(&weights.input, |dw, update| {
            let stride = weights.input.columns();
            let mut column = 0;
            for input in inputs {
                let (dw, right) = (&mut dw[column..], Right::Plain(input.mat()));
                multiply_into(device, dw, stride, block(0..all).transposed(), right, update);
                column += input.columns();
            }
        });
        gradients.write(&weights.state, |dw, update| {
            let (of_shared, of_apart) = dw.split_at_mut(shared * hidden);
            for (dw, columns) in [(of_shared, 0..shared), (of_apart, all..dgates.columns())] {
                let right = Right::Plain(states_before.mat());
                multiply_into(device, dw, hidden, block(columns).transposed(), right, update);
            }
        });
        gradients.write(&weights.bias, |db, update| column_sums(cpu, block(0..all), db, update));
        if let Some(bias) = &weights.state_bias {
            gradients.write(bias, |db, update| column_sums(cpu, block(all..dgates.columns()), db, update));
        }
    }
}
