//! Attention of many rows. Going back, each source is dealt to one worker, with all rows that read it.

use super::row::{
    Backward, Forward, RowCoverage, RowModifierGradients, RowModifiers, Source, Sources, ValuesBack, Window,
    part,
};
use super::{AnyScore, AttentionModifiers, Memory, MemorySegment};
use crate::device::Cpu;
use crate::layout::SequenceLayout;
use crate::ops::sums::column_sums;
use crate::pool::Worker;
use crate::shared::Grid;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

/// What one place of a query costs with one key, in simple operations.
const COST: usize = 16;

/// How many workers so many rows are worth.
pub(crate) fn workers(cpu: &Cpu, rows: usize, memory: Sources<'_>) -> usize {
    let (depth, width) = memory.columns();
    cpu.pool.workers_for(rows * memory.steps * (depth * COST + width))
}

/// The tensors of many rows' attention.
#[derive(Clone, Copy)]
pub(crate) struct Attending<'a> {
    pub(crate) score: AnyScore,
    pub(crate) query: Grid<'a>,
    pub(crate) vector: &'a [f32],
    pub(crate) memory: Sources<'a>,
    pub(crate) focus: ModifierRows<'a>,
    pub(crate) weights: Grid<'a>,
    pub(crate) context: Grid<'a>,
}

/// The tensors of many rows' [`AttentionModifiers`].
#[derive(Clone, Copy, Default)]
pub(crate) struct ModifierRows<'a> {
    /// The places, whether they are shares of the length, and the reach.
    window: Option<(&'a Tensor, bool, usize)>,
    /// The weights so far, and what they are multiplied with.
    coverage: Option<(&'a Tensor, &'a [f32])>,
}

impl<'a> ModifierRows<'a> {
    fn new(focus: &'a AttentionModifiers) -> Self {
        let window = focus.window.as_ref();
        let coverage = focus.coverage.as_ref();
        ModifierRows {
            window: window
                .map(|window| (window.center.var().value(), window.center.is_fraction(), window.half_width)),
            coverage: coverage.map(|coverage| (coverage.so_far.value(), coverage.weight.value().data())),
        }
    }

    /// What bends the attention of a row, in a head's columns.
    fn at(&self, row: usize, head: usize, source: Source<'a>) -> RowModifiers<'a> {
        let window = |(places, share, reach): (&Tensor, bool, usize)| {
            Window::new(places.row(row)[head], share, reach, source.length())
        };
        let covered = |(so_far, weight): (&'a Tensor, &'a [f32])| RowCoverage {
            so_far: &so_far.row(row)[source.weight_columns()],
            weight: &weight[source.key_columns()],
        };
        RowModifiers { window: self.window.map(window), coverage: self.coverage.map(covered) }
    }
}

impl Attending<'_> {
    /// Context and weights of `row`, which reads what `place` reads.
    ///
    /// # Safety
    /// Nobody may write to the row's query, and nobody else may use its weights and context.
    pub(crate) unsafe fn forward(&self, cpu: &Cpu, row: usize, place: usize) {
        for (head, source) in self.memory.at(self.memory.of(place)).enumerate() {
            // SAFETY: handed on.
            let (query, weights, context) = unsafe {
                (
                    self.query.row(row, source.key_columns()),
                    self.weights.row_mut(row, source.weight_columns()),
                    self.context.row_mut(row, source.value_columns()),
                )
            };
            let vector = part(self.vector, source.key_columns());
            let bend = self.focus.at(row, head, source);
            self.score.forward(cpu.isa, Forward { query, vector, source, bend, weights, context });
        }
    }
}

/// The places that read each source.
pub(crate) struct Readers<'a> {
    of: &'a [u32],
    /// Those of the first source in their order, then those of the next.
    places: Vec<usize>,
}

impl<'a> Readers<'a> {
    pub(crate) fn new(of: &'a [u32]) -> Readers<'a> {
        let mut places: Vec<usize> = (0..of.len()).collect();
        places.sort_by_key(|&place| of[place]);
        Readers { of, places }
    }

    pub(crate) fn of(&self, source: usize) -> impl Iterator<Item = usize> {
        let first = self.places.partition_point(|&place| (self.of[place] as usize) < source);
        self.places[first..].iter().copied().take_while(move |&place| self.of[place] as usize == source)
    }
}

/// Where the gradients of many rows' attention go.
#[derive(Clone, Copy)]
pub(crate) struct AttendingBack<'a> {
    /// rows × width: complete before a row goes back
    pub(crate) dcontext: Grid<'a>,
    pub(crate) dweights: Option<Grid<'a>>,
    pub(crate) dquery: Grid<'a>,
    pub(crate) dkeys: Grid<'a>,
    /// One row for each source, so that the sum over sources has an order.
    pub(crate) dvector: Grid<'a>,
    /// One row for each worker.
    pub(crate) denergy: Grid<'a>,
    /// Of what bends the attention: rows × heads, rows × heads·source steps, and one row for each source.
    dplace: Grid<'a>,
    dso_far: Grid<'a>,
    dcover: Grid<'a>,
}

impl AttendingBack<'_> {
    /// # Safety
    /// Nobody may write to the row's gradients of context and weights, nobody else may use its query's, and no other worker may
    /// be at work on the source that `place` reads.
    pub(crate) unsafe fn backward(
        &self,
        cpu: &Cpu,
        worker: &Worker,
        forward: &Attending,
        row: usize,
        place: usize,
    ) {
        let Attending { score, memory, focus, .. } = *forward;
        let at = memory.of(place);
        for (head, source) in memory.at(at).enumerate() {
            let windowed = if focus.window.is_some() { head..head + 1 } else { 0..0 };
            let covered = |columns| if focus.coverage.is_some() { columns } else { 0..0 };
            let (keys, values, steps) =
                (source.key_columns(), source.value_columns(), source.weight_columns());
            // SAFETY: handed on.
            unsafe {
                let row = Backward {
                    query: forward.query.row(row, keys.clone()),
                    vector: part(forward.vector, keys.clone()),
                    source,
                    bend: focus.at(row, head, source),
                    weights: forward.weights.row(row, steps.clone()),
                    dcontext: self.dcontext.row(row, values),
                    dweights: self.dweights.map(|grid| grid.row(row, steps.clone())),
                    denergy: self.denergy.row_mut(worker.index, 0..memory.steps),
                    dquery: self.dquery.row_mut(row, keys.clone()),
                    dkeys: self.dkeys,
                    dvector: self.dvector.row_mut(at, if score.has_vector() { keys.clone() } else { 0..0 }),
                    dbend: RowModifierGradients {
                        dplace: self.dplace.row_mut(row, windowed),
                        dso_far: self.dso_far.row_mut(row, covered(steps)),
                        dweight: self.dcover.row_mut(at, covered(keys)),
                    },
                };
                score.backward(cpu.isa, row);
            }
        }
    }
}

/// The gradients that grow while rows go back.
pub(crate) struct Sums {
    pub(crate) dquery: Tensor,
    pub(crate) dkeys: Tensor,
    pub(crate) dvector: Tensor,
    pub(crate) denergy: Tensor,
    dplace: Tensor,
    dso_far: Tensor,
    dcover: Tensor,
}

impl Sums {
    pub(crate) fn new(
        cpu: &Cpu,
        score: AnyScore,
        rows: usize,
        memory: &Memory,
        focus: &AttentionModifiers,
    ) -> Sums {
        let MemorySegment { keys, layout, .. } = memory.segment();
        let (device, depth, batch) = (keys.device(), keys.columns(), layout.batch());
        let covered = |columns| if focus.coverage.is_some() { columns } else { 0 };
        Sums {
            dquery: Tensor::scratch(device, rows, depth),
            dkeys: Tensor::zeros(device, layout.total(), depth),
            dvector: Tensor::zeros(device, batch, if score.has_vector() { depth } else { 0 }),
            denergy: Tensor::scratch(device, cpu.pool.threads(), layout.steps()),
            dplace: Tensor::zeros(device, rows, focus.window.as_ref().map_or(0, |_| memory.heads)),
            dso_far: Tensor::scratch(device, rows, covered(memory.weight_columns())),
            dcover: Tensor::zeros(device, batch, covered(depth)),
        }
    }

    pub(crate) fn grids<'a>(
        &'a mut self,
        dcontext: Grid<'a>,
        dweights: Option<&'a Tensor>,
    ) -> AttendingBack<'a> {
        AttendingBack {
            dcontext,
            dweights: dweights.map(Tensor::grid),
            dquery: self.dquery.grid_mut(),
            dkeys: self.dkeys.grid_mut(),
            dvector: self.dvector.grid_mut(),
            denergy: self.denergy.grid_mut(),
            dplace: self.dplace.grid_mut(),
            dso_far: self.dso_far.grid_mut(),
            dcover: self.dcover.grid_mut(),
        }
    }
}

pub(super) fn forward(
    cpu: &Cpu,
    score: AnyScore,
    query: &Tensor,
    vector: Option<&Tensor>,
    memory: &Memory,
    focus: &AttentionModifiers,
) -> (Tensor, Tensor) {
    let (rows, device) = (query.rows(), query.device());
    let mut context = Tensor::scratch(device, rows, memory.columns().1);
    let mut weights = Tensor::scratch(device, rows, memory.weight_columns());
    let segments = memory.views();
    let memory = Sources::new(memory, &segments);
    let attending = Attending {
        score,
        query: query.grid(),
        vector: vector.map_or(&[], Tensor::data),
        memory,
        focus: ModifierRows::new(focus),
        weights: weights.grid_mut(),
        context: context.grid_mut(),
    };
    cpu.pool.run(workers(cpu, rows, memory), |worker: &Worker| {
        for row in worker.deal_blocks(rows, 1).flatten() {
            // SAFETY: rows are dealt out once.
            unsafe { attending.forward(cpu, row, row) };
        }
    });
    (context, weights)
}

/// The gradients of query, keys, values, vector and focus, from those of context and weights.
#[allow(clippy::too_many_arguments, reason = "all that the forward pass had, and its results")]
pub(super) fn backward(
    cpu: &Cpu,
    score: AnyScore,
    gradients: &mut Gradients,
    (dcontext, dweights): (&Tensor, Option<&Tensor>),
    weights: &Tensor,
    query: &Var,
    vector: Option<&Var>,
    memory: &Memory,
    focus: &AttentionModifiers,
) {
    let rows = query.rows();
    let mut sums = Sums::new(cpu, score, rows, memory, focus);
    let back = sums.grids(dcontext.grid(), dweights);
    let segments = memory.views();
    let attending = Attending {
        score,
        query: query.value().grid(),
        vector: vector.map_or(&[], |vector| vector.value().data()),
        memory: Sources::new(memory, &segments),
        focus: ModifierRows::new(focus),
        weights: weights.grid(),
        context: Grid::reading(&[], 0),
    };
    let (readers, batch) = (Readers::new(&memory.of[..rows]), memory.segment().layout.batch());
    cpu.pool.run(workers(cpu, rows, attending.memory), |worker: &Worker| {
        for row in worker.deal(batch).flat_map(|source| readers.of(source)) {
            // SAFETY: sources are dealt out once, each with all rows that read it.
            unsafe { back.backward(cpu, worker, &attending, row, row) };
        }
    });
    let alone = SequenceLayout::new(&vec![1; rows]);
    gradients.add(query, sums.dquery.clone());
    if let Some(window) = &focus.window {
        gradients.add(window.center.var(), sums.dplace.clone());
    }
    if let Some(coverage) = &focus.coverage {
        gradients.add(&coverage.so_far, sums.dso_far.clone());
        gradients.write(&coverage.weight, |dw, update| column_sums(cpu, sums.dcover.mat(), dw, update));
    }
    memory_gradients(cpu, gradients, sums, memory, vector, weights, dcontext, &alone);
}

/// Hands on the gradients of keys and vector, and computes that of the values: for rows that are packed as `readers`.
#[allow(clippy::too_many_arguments, reason = "the sums, what they are of, and what they are made from")]
pub(crate) fn memory_gradients(
    cpu: &Cpu,
    gradients: &mut Gradients,
    sums: Sums,
    memory: &Memory,
    vector: Option<&Var>,
    weights: &Tensor,
    dcontext: &Tensor,
    readers: &SequenceLayout,
) {
    if let Some(vector) = vector {
        gradients.write(vector, |dv, update| column_sums(cpu, sums.dvector.mat(), dv, update));
    }
    let MemorySegment { keys, values, .. } = memory.segment();
    gradients.add(keys, sums.dkeys);
    if gradients.wants(values) {
        gradients.add(values, values_gradient(cpu, memory, weights, dcontext, readers));
    }
}

fn values_gradient(
    cpu: &Cpu,
    memory: &Memory,
    weights: &Tensor,
    dcontext: &Tensor,
    readers: &SequenceLayout,
) -> Tensor {
    let MemorySegment { values, layout, .. } = memory.segment();
    let of = &memory.of[..readers.batch()];
    let (segments, batch, (total, width)) = (memory.views(), layout.batch(), values.shape());
    let memory = Sources::new(memory, &segments);
    let mut dvalues = Tensor::scratch(weights.device(), total, width);
    let grid = dvalues.grid_mut();
    let of_source = Readers::new(of);
    cpu.pool.run(workers(cpu, weights.rows(), memory), |worker: &Worker| {
        let mut rows = Vec::new();
        for place in worker.deal(batch) {
            rows.clear();
            for reader in of_source.of(place) {
                rows.extend((0..readers.length(reader)).map(|step| readers.row(reader, step)));
            }
            for source in memory.at(place) {
                let readers = rows.iter().copied();
                cpu.isa.run(ValuesBack { source, readers, weights, dcontext, dvalues: grid });
            }
        }
    });
    dvalues
}
