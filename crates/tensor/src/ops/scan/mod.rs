//! A recurrent decoder with attention, over whole target sequences.
//!
//! At each step, with `x_i` the embedded token before and `c_0` zero or given:
//!
//! 1. the first layer takes `[x_i; c_{i-1}]` as input, each other layer the one below it: `s_i`
//! 2. the query: `q_i = W_query·s_i` of the last layer, or `s_i` itself
//! 3. [attention](crate::ops::attention): `c_i = Σ_j softmax_j(score(q_i, k_j))·v_j`
//!
//! | | shape |
//! |---|---|
//! | `x` | packed target rows × inputs |
//! | `W_input` of the first layer | gates·hidden × (inputs + width of the values) |
//! | `W_query` | columns of the keys × hidden, or none |
//! | states, contexts | packed target rows × hidden, × width |
//! | weights | packed target rows × heads·source steps |
//!
//! Every step may have attention modifiers ([`ModifierWeights`]): a window around a position, or the coverage by all earlier steps.
//!
//! The step takes the context of the step before, computed from the state before: so it is also the order in which the
//! context is computed first and enters the state, where `c_0` is the context of the first state.
//!
//! [`Scan::sequence`] equals a loop over [`Scan::step`], [`Scan::sequence_by_steps`], for every cell and score. Where the gates
//! of a layer are [normalized](crate::ops::GateNorm) or attention has modifiers, it is that loop.
//! [`Scan::advance`] is one step of it, for a search, in which several rows may continue the same row.

mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
pub mod reference;

use super::recurrent::check_start;
use super::time_loop::Saved as SavedLayer;
use super::{
    AnyCell, AnyScore, LayerWeights, Memory, ModifierWeights, add, attend_focused, cell_step, concat_columns,
    concat_rows, gather_rows, linear, row_block,
};
use crate::device::on_device;
use crate::layout::{Direction, SequenceLayout};
use crate::profile;
use crate::tape::{Gradients, Var, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// The layers inside the loop, and the attention of the last one.
#[derive(Clone, Debug)]
pub struct Scan {
    /// Of all layers.
    pub cell: AnyCell,
    /// How well the query fits a key.
    pub score: AnyScore,
    /// From the first to the last.
    pub layers: Vec<LayerWeights>,
    /// heads·depth × hidden; without it, the state is the query
    pub query: Option<Var>,
    /// 1 × heads·depth, for scores that have a vector
    pub vector: Option<Var>,
    /// The modifiers of the attention.
    pub focus: ModifierWeights,
}

/// The state of a decoder between two steps.
#[derive(Clone, Debug)]
pub struct ScanState {
    /// The state of each layer, part by part.
    pub layers: Vec<Vec<Var>>,
    /// The context that enters the next step.
    pub context: Var,
    /// The sum of all weights so far, where attention depends on it and there are any.
    pub covered: Option<Var>,
    /// The step of the target that each row takes next.
    pub steps: Vec<u32>,
}

/// What a scan returns, for every row of the target.
#[derive(Clone, Debug)]
pub struct ScanOutput {
    /// The output of the last layer.
    pub states: Var,
    /// The attention context.
    pub contexts: Var,
    /// The weights of the source's steps.
    pub weights: Var,
}

/// The inputs of a scan. They are borrowed: a search takes many single steps.
#[derive(Clone, Copy)]
struct ScanInputs<'a> {
    scan: &'a Scan,
    x: &'a Var,
    layout: &'a SequenceLayout,
    start: &'a ScanState,
    memory: &'a Memory,
}

impl<'a> ScanInputs<'a> {
    fn check(self) {
        let ScanInputs { scan, x, layout, start, memory } = self;
        let (batch, hidden, (_, width)) = (layout.batch(), scan.hidden(), memory.columns());
        assert_eq!(x.rows(), layout.total(), "x is {:?} for {} packed rows", x.shape(), layout.total());
        for (i, layer) in scan.layers.iter().enumerate() {
            assert_eq!(layer.hidden(), hidden, "the units of layer {i} and of layer 0");
            layer.check(scan.cell, if i == 0 { x.columns() + width } else { hidden });
        }
        assert_eq!(start.layers.len(), scan.layers.len(), "first states of all layers");
        start.layers.iter().for_each(|layer| check_start(scan.cell, layer, batch, hidden));
        assert_eq!(start.context.shape(), (batch, width), "the first context");
        let depth = scan.query.as_ref().map_or(hidden, Var::rows);
        scan.query.iter().for_each(|query| assert_eq!(query.columns(), hidden, "W_query of {hidden} units"));
        memory.check(scan.score, batch, depth, scan.vector.as_ref());
    }

    /// All variables that may get gradients.
    fn vars(self) -> Vec<&'a Var> {
        let ScanInputs { scan, x, start, memory, .. } = self;
        [x, &start.context]
            .into_iter()
            .chain(memory.vars())
            .chain(scan.layers.iter().flat_map(LayerWeights::all))
            .chain(&scan.query)
            .chain(&scan.vector)
            .chain(start.layers.iter().flatten())
            .collect()
    }
}

/// What the backward pass needs.
struct Saved {
    layers: Vec<SavedLayer>,
    /// The projected queries; none where the states are the queries.
    queries: Option<Tensor>,
    contexts: Tensor,
    weights: Tensor,
}

impl Saved {
    /// The outputs of the last layer.
    fn states(&self) -> &Tensor {
        &self.layers[self.layers.len() - 1].states[0]
    }
}

/// The parents of the rows of a step: row `of[i]` of a state for row `i`. Several rows may have the same parent.
#[derive(Clone, Copy)]
struct Parents<'a> {
    state: &'a ScanState,
    of: &'a [u32],
}

/// The gradients of the results, and those that are carried from step to step.
struct RunningGradients {
    dstates: Option<Tensor>,
    dweights: Option<Tensor>,
    /// Those of each step's context: from outside, and from the next step.
    dcontexts: Tensor,
    /// Those of each layer's state, one tensor for each part of the state: at the end, of the first state.
    running: Vec<Vec<Tensor>>,
    /// That of the first context.
    dcontext_start: Tensor,
}

impl RunningGradients {
    /// From the gradients of states, contexts and weights.
    fn new(upstream: [Option<Tensor>; 3], layout: &SequenceLayout, start: &ScanState) -> RunningGradients {
        let [dstates, dcontexts, dweights] = upstream;
        let (device, (batch, width)) = (start.context.device(), start.context.shape());
        let zeros = |part: &Var| Tensor::zeros(device, batch, part.columns());
        RunningGradients {
            dstates,
            dweights,
            dcontexts: dcontexts.unwrap_or_else(|| Tensor::zeros(device, layout.total(), width)),
            running: start.layers.iter().map(|layer| layer.iter().map(zeros).collect()).collect(),
            dcontext_start: Tensor::zeros(device, batch, width),
        }
    }

    /// Adds the gradients of the first state.
    fn add_to_start(self, gradients: &mut Gradients, start: &ScanState) {
        let states = start.layers.iter().flatten().zip(self.running.into_iter().flatten());
        states.for_each(|(part, gradient)| gradients.add(part, gradient));
        gradients.add(&start.context, self.dcontext_start);
    }
}

impl Scan {
    /// How many units the layers have.
    pub fn hidden(&self) -> usize {
        self.layers[0].hidden()
    }

    /// Whether it is the loop over single steps.
    fn is_by_steps(&self) -> bool {
        !self.focus.is_none() || self.layers.iter().any(|layer| layer.norm.is_some())
    }

    /// The zero state for a batch.
    pub fn zero_state(&self, batch: usize, memory: &Memory) -> ScanState {
        let device = self.layers[0].input.device();
        let zeros = |columns| Var::constant(Tensor::zeros(device, batch, columns));
        let layer = || (0..self.cell.parts()).map(|_| zeros(self.hidden())).collect();
        ScanState::new(self.layers.iter().map(|_| layer()).collect(), zeros(memory.columns().1))
    }

    /// One step: `x` holds a row for each sequence. Returns the next state and the weights.
    pub fn step(&self, x: &Var, state: &ScanState, memory: &Memory) -> (ScanState, Var) {
        let mut input = concat_columns(&[x, &state.context]); // [batch, inputs + width]
        let mut layers = Vec::with_capacity(self.layers.len());
        for (weights, before) in self.layers.iter().zip(&state.layers) {
            let of_input = weights.of_input(&input); // [batch, gates·hidden]
            let of_state = weights.of_state(&before[0]); // [batch, gates·hidden]
            let after = cell_step(self.cell, &of_input, &of_state, weights.state_bias.as_ref(), before);
            input = after[0].clone(); // [batch, hidden]
            layers.push(after);
        }
        let query = self.query.as_ref().map_or_else(|| input.clone(), |query| linear(&input, query, None));
        let focus = self.focus.modifiers(&input, &state.steps, state.covered.as_ref(), memory);
        let [context, weights] = attend_focused(self.score, &query, self.vector.as_ref(), memory, &focus);
        let covered = focus.coverage.map(|coverage| add(&coverage.so_far, &weights));
        (ScanState { layers, context, covered, steps: state.next_steps() }, weights)
    }

    /// One step of a search, without a backward pass: row `i` continues row `from[i]` of the state. It equals [`Scan::step`] from
    /// these rows. On the CPU, what the state adds to the gates is computed once for each of its rows; where
    /// gates are normalized or attention has modifiers, it is that step itself.
    pub fn advance(&self, x: &Var, state: &ScanState, from: &[u32], memory: &Memory) -> (ScanState, Var) {
        let own = state.select(from);
        if self.is_by_steps() {
            return self.step(x, &own, memory);
        }
        let _span = profile::span("advance", x.device());
        let layout = SequenceLayout::new(&vec![1; x.rows()]);
        let inputs = ScanInputs { scan: self, x, layout: &layout, start: &own, memory };
        inputs.check();
        let saved = on_device!(x.device(),
            cpu => cpu::forward(cpu, inputs, Some(Parents { state, of: from })),
            cuda => cuda::forward(cuda, inputs));
        let after = |layer: SavedLayer| layer.states.into_iter().map(Var::constant).collect();
        let layers = saved.layers.into_iter().map(after).collect();
        let (context, steps) = (Var::constant(saved.contexts), own.next_steps());
        (ScanState { layers, context, covered: None, steps }, Var::constant(saved.weights))
    }

    /// All steps of packed targets, one after the other: what [`Scan::sequence`] must equal.
    pub fn sequence_by_steps(
        &self,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        start: &ScanState,
        memory: &Memory,
    ) -> ScanOutput {
        ScanInputs { scan: self, x, layout: rows, start, memory }.check();
        let mut state = start.clone();
        let (mut states, mut contexts, mut weights) = (Vec::new(), Vec::new(), Vec::new());
        for step in rows.walk(Direction::Forward) {
            let state_of_running = state.first(step.rows.len());
            let of_step;
            (state, of_step) = self.step(&row_block(x, step.rows), &state_of_running, memory);
            states.push(state.layers[self.layers.len() - 1][0].clone());
            contexts.push(state.context.clone());
            weights.push(of_step);
        }
        let join = |parts: &[Var], columns| {
            let none = Var::constant(Tensor::zeros(x.device(), 0, columns));
            concat_rows(&parts.iter().chain([&none]).collect::<Vec<_>>())
        };
        ScanOutput {
            states: join(&states, self.hidden()),
            contexts: join(&contexts, memory.columns().1),
            weights: join(&weights, memory.weight_columns()),
        }
    }

    /// All steps of packed targets in one operation; see the [module](self).
    pub fn sequence(
        &self,
        x: &Var,
        rows: &Arc<SequenceLayout>,
        start: &ScanState,
        memory: &Memory,
    ) -> ScanOutput {
        if self.is_by_steps() {
            return self.sequence_by_steps(x, rows, start, memory);
        }
        let _span = profile::span("scan", x.device());
        let inputs = ScanInputs { scan: self, x, layout: rows, start, memory };
        inputs.check();
        let saved = on_device!(x.device(),
            cpu => cpu::forward(cpu, inputs, None),
            cuda => cuda::forward(cuda, inputs));
        let outputs = [saved.states().clone(), saved.contexts.clone(), saved.weights.clone()];
        let [states, contexts, weights] = record(&inputs.vars(), outputs, {
            let (scan, x, layout) = (self.clone(), x.clone(), Arc::clone(rows));
            let (start, memory) = (start.clone(), memory.clone());
            move |gradients, upstream| {
                let inputs =
                    ScanInputs { scan: &scan, x: &x, layout: &layout, start: &start, memory: &memory };
                let mut state = RunningGradients::new(upstream, &layout, &start);
                on_device!(x.device(),
                    cpu => cpu::backward(cpu, gradients, inputs, saved, &mut state),
                    cuda => cuda::backward(cuda, gradients, inputs, saved, &mut state));
                state.add_to_start(gradients, &start);
            }
        });
        ScanOutput { states, contexts, weights }
    }
}

/// Whether an index is `0..rows`.
fn is_identity(index: &[u32], rows: usize) -> bool {
    index.iter().copied().eq(0..rows as u32)
}

impl ScanState {
    /// Before the first step.
    pub fn new(layers: Vec<Vec<Var>>, context: Var) -> ScanState {
        let steps = vec![0; context.rows()];
        ScanState { layers, context, covered: None, steps }
    }

    /// The steps that rows take after this one.
    fn next_steps(&self) -> Vec<u32> {
        self.steps.iter().map(|step| step + 1).collect()
    }

    /// Row `index[i]` as row `i`.
    fn select(&self, index: &[u32]) -> ScanState {
        let unchanged = is_identity(index, self.context.rows());
        let pick = |part: &Var| if unchanged { part.clone() } else { gather_rows(part, index) };
        ScanState {
            layers: self.layers.iter().map(|layer| layer.iter().map(pick).collect()).collect(),
            context: pick(&self.context),
            covered: self.covered.as_ref().map(pick),
            steps: index.iter().map(|&row| self.steps[row as usize]).collect(),
        }
    }

    /// The state of the first `rows` rows.
    fn first(&self, rows: usize) -> ScanState {
        let cut = |part: &Var| if part.rows() == rows { part.clone() } else { row_block(part, 0..rows) };
        ScanState {
            layers: self.layers.iter().map(|layer| layer.iter().map(cut).collect()).collect(),
            context: cut(&self.context),
            covered: self.covered.as_ref().map(cut),
            steps: self.steps[..rows].to_vec(),
        }
    }
}
