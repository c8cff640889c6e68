//! Attention of many rows. In the backward pass, each source is dealt to one worker, with all rows that attend to it.

use super::row::{
    Backward, Forward, RowCoverage, RowModifierGradients, RowModifiers, Source, Sources, ValuesBack, Window,
    part,
};
use super::{
    AnyScore, AttendInputs, AttendOutput, AttendUpstream, AttendedRows, AttentionModifiers, Memory,
    MemorySegment,
};
use crate::device::Cpu;
use crate::layout::SequenceLayout;
use crate::ops::sums::column_sums;
use crate::pool::Worker;
use crate::shared::Grid;
use crate::tape::{Gradients, Var};
use crate::tensor::Tensor;

/// Cost of one element of a query with one key, in simple operations.
const COST: usize = 16;

/// The number of workers for `rows` rows.
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
    pub(crate) modifiers: ModifierRows<'a>,
    pub(crate) weights: Grid<'a>,
    pub(crate) context: Grid<'a>,
}

/// The tensors of many rows' [`AttentionModifiers`].
#[derive(Clone, Copy, Default)]
pub(crate) struct ModifierRows<'a> {
    window: Option<WindowRows<'a>>,
    coverage: Option<CoverageRows<'a>>,
}

/// The tensors of a [`LocalWindow`](super::LocalWindow).
#[derive(Clone, Copy)]
struct WindowRows<'a> {
    centers: &'a Tensor,
    /// Whether centers are fractions of the source's length.
    is_fraction: bool,
    half_width: usize,
}

/// The tensors of a [`Coverage`](super::Coverage).
#[derive(Clone, Copy)]
struct CoverageRows<'a> {
    so_far: &'a Tensor,
    weight: &'a [f32],
}

/// The values of a score's vector; none for scores without one.
pub(crate) fn vector_data(vector: Option<&Var>) -> &[f32] {
    vector.map_or(&[], |vector| vector.value().data())
}

impl<'a> ModifierRows<'a> {
    fn new(modifiers: &'a AttentionModifiers) -> Self {
        ModifierRows {
            window: modifiers.window.as_ref().map(|window| WindowRows {
                centers: window.center.var().value(),
                is_fraction: window.center.is_fraction(),
                half_width: window.half_width,
            }),
            coverage: modifiers.coverage.as_ref().map(|coverage| CoverageRows {
                so_far: coverage.so_far.value(),
                weight: coverage.weight.value().data(),
            }),
        }
    }

    /// The modifiers of a row, in a head's columns.
    fn at(&self, row: usize, head: usize, source: Source<'a>) -> RowModifiers<'a> {
        let window = |WindowRows { centers, is_fraction, half_width }| {
            Window::new(centers.row(row)[head], is_fraction, half_width, source.length())
        };
        let covered = |CoverageRows { so_far, weight }: CoverageRows<'a>| RowCoverage {
            so_far: &so_far.row(row)[source.weight_columns()],
            weight: &weight[source.key_columns()],
        };
        RowModifiers { window: self.window.map(window), coverage: self.coverage.map(covered) }
    }
}

impl Attending<'_> {
    /// Context and weights of `row`, which attends to the source of `sequence`.
    ///
    /// # Safety
    /// No thread may write to the row's query, and no other thread may use its weights and context.
    pub(crate) unsafe fn forward(&self, cpu: &Cpu, row: usize, sequence: usize) {
        for (head, source) in self.memory.at(self.memory.of(sequence)).enumerate() {
            // SAFETY: forwarded to the caller.
            let (query, weights, context) = unsafe {
                (
                    self.query.row(row, source.key_columns()),
                    self.weights.row_mut(row, source.weight_columns()),
                    self.context.row_mut(row, source.value_columns()),
                )
            };
            let vector = part(self.vector, source.key_columns());
            let modifiers = self.modifiers.at(row, head, source);
            self.score.forward(cpu.isa, Forward { query, vector, source, modifiers, weights, context });
        }
    }
}

/// The readers of each source: the indices of `of` that name it.
pub(crate) struct Readers<'a> {
    of: &'a [u32],
    /// Those of the first source in their order, then those of the next.
    sorted: Vec<usize>,
}

impl<'a> Readers<'a> {
    pub(crate) fn new(of: &'a [u32]) -> Readers<'a> {
        let mut sorted: Vec<usize> = (0..of.len()).collect();
        sorted.sort_by_key(|&index| of[index]);
        Readers { of, sorted }
    }

    pub(crate) fn of(&self, source: usize) -> impl Iterator<Item = usize> {
        let first = self.sorted.partition_point(|&index| (self.of[index] as usize) < source);
        self.sorted[first..].iter().copied().take_while(move |&index| self.of[index] as usize == source)
    }
}

/// The gradients of many rows' attention.
#[derive(Clone, Copy)]
pub(crate) struct AttendingBack<'a> {
    /// rows × width: complete before the backward pass of a row
    pub(crate) dcontext: Grid<'a>,
    pub(crate) dweights: Option<Grid<'a>>,
    pub(crate) dquery: Grid<'a>,
    pub(crate) dkeys: Grid<'a>,
    /// One row for each source, so that the sum over sources has an order.
    pub(crate) dvector: Grid<'a>,
    /// One row for each worker.
    pub(crate) denergy: Grid<'a>,
    /// Of the modifiers: rows × heads, rows × heads·source steps, and one row for each source.
    dcenter: Grid<'a>,
    dso_far: Grid<'a>,
    dcover: Grid<'a>,
}

impl AttendingBack<'_> {
    /// # Safety
    /// No thread may write to the row's gradients of context and weights, no other thread may use its query's, and no other worker may
    /// be at work on the source of `sequence`.
    pub(crate) unsafe fn backward(
        &self,
        cpu: &Cpu,
        worker: &Worker,
        forward: &Attending,
        row: usize,
        sequence: usize,
    ) {
        let Attending { score, memory, modifiers, .. } = *forward;
        let at = memory.of(sequence);
        for (head, source) in memory.at(at).enumerate() {
            let windowed = if modifiers.window.is_some() { head..head + 1 } else { 0..0 };
            let covered = |columns| if modifiers.coverage.is_some() { columns } else { 0..0 };
            let (keys, values, steps) =
                (source.key_columns(), source.value_columns(), source.weight_columns());
            // SAFETY: forwarded to the caller.
            unsafe {
                let row = Backward {
                    query: forward.query.row(row, keys.clone()),
                    vector: part(forward.vector, keys.clone()),
                    source,
                    modifiers: modifiers.at(row, head, source),
                    weights: forward.weights.row(row, steps.clone()),
                    dcontext: self.dcontext.row(row, values),
                    dweights: self.dweights.map(|grid| grid.row(row, steps.clone())),
                    denergy: self.denergy.row_mut(worker.index, 0..memory.steps),
                    dquery: self.dquery.row_mut(row, keys.clone()),
                    dkeys: self.dkeys,
                    dvector: self.dvector.row_mut(at, if score.has_vector() { keys.clone() } else { 0..0 }),
                    dmodifiers: RowModifierGradients {
                        dcenter: self.dcenter.row_mut(row, windowed),
                        dso_far: self.dso_far.row_mut(row, covered(steps)),
                        dweight: self.dcover.row_mut(at, covered(keys)),
                    },
                };
                score.backward(cpu.isa, row);
            }
        }
    }
}

/// The gradients that are summed in the backward pass of the rows.
pub(crate) struct Sums {
    pub(crate) dquery: Tensor,
    pub(crate) dkeys: Tensor,
    pub(crate) dvector: Tensor,
    pub(crate) denergy: Tensor,
    dcenter: Tensor,
    dso_far: Tensor,
    dcover: Tensor,
}

impl Sums {
    pub(crate) fn new(
        cpu: &Cpu,
        score: AnyScore,
        rows: usize,
        memory: &Memory,
        modifiers: &AttentionModifiers,
    ) -> Sums {
        let MemorySegment { keys, layout, .. } = memory.segment();
        let (device, depth, batch) = (keys.device(), keys.columns(), layout.batch());
        let covered = |columns| if modifiers.coverage.is_some() { columns } else { 0 };
        Sums {
            dquery: Tensor::scratch(device, rows, depth),
            dkeys: Tensor::zeros(device, layout.total(), depth),
            dvector: Tensor::zeros(device, batch, if score.has_vector() { depth } else { 0 }),
            denergy: Tensor::scratch(device, cpu.pool.threads(), layout.steps()),
            dcenter: Tensor::zeros(device, rows, modifiers.window.as_ref().map_or(0, |_| memory.heads)),
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
            dcenter: self.dcenter.grid_mut(),
            dso_far: self.dso_far.grid_mut(),
            dcover: self.dcover.grid_mut(),
        }
    }
}

pub(super) fn forward(cpu: &Cpu, inputs: AttendInputs) -> AttendOutput {
    let AttendInputs { score, query, vector, memory, modifiers } = inputs;
    let (rows, device) = (query.rows(), query.device());
    let mut context = Tensor::scratch(device, rows, memory.columns().1);
    let mut weights = Tensor::scratch(device, rows, memory.weight_columns());
    let segments = memory.views();
    let attending = Attending {
        score,
        query: query.value().grid(),
        vector: vector_data(vector),
        memory: Sources::new(memory, &segments),
        modifiers: ModifierRows::new(modifiers),
        weights: weights.grid_mut(),
        context: context.grid_mut(),
    };
    cpu.pool.run(workers(cpu, rows, attending.memory), |worker: &Worker| {
        for row in worker.deal_blocks(rows, 1).flatten() {
            // SAFETY: rows are dealt out once.
            unsafe { attending.forward(cpu, row, row) };
        }
    });
    AttendOutput { context, weights }
}

/// The gradients of all inputs, from those of context and weights.
pub(super) fn backward(
    cpu: &Cpu,
    gradients: &mut Gradients,
    inputs: AttendInputs,
    weights: &Tensor,
    upstream: &AttendUpstream,
) {
    let AttendInputs { score, query, vector, memory, modifiers } = inputs;
    let AttendUpstream { dcontext, dweights } = upstream;
    let rows = query.rows();
    let mut sums = Sums::new(cpu, score, rows, memory, modifiers);
    let back = sums.grids(dcontext.grid(), dweights.as_ref());
    let segments = memory.views();
    let attending = Attending {
        score,
        query: query.value().grid(),
        vector: vector_data(vector),
        memory: Sources::new(memory, &segments),
        modifiers: ModifierRows::new(modifiers),
        weights: weights.grid(),
        context: Grid::reading(&[], 0),
    };
    let (readers, batch) = (Readers::new(&memory.of[..rows]), memory.segment().layout.batch());
    cpu.pool.run(workers(cpu, rows, attending.memory), |worker: &Worker| {
        for row in worker.deal(batch).flat_map(|source| readers.of(source)) {
            // SAFETY: sources are dealt out once, each with all rows that attend to it.
            unsafe { back.backward(cpu, worker, &attending, row, row) };
        }
    });
    gradients.add(query, sums.dquery.clone());
    if let Some(window) = &modifiers.window {
        gradients.add(window.center.var(), sums.dcenter.clone());
    }
    if let Some(coverage) = &modifiers.coverage {
        gradients.add(&coverage.so_far, sums.dso_far.clone());
        gradients.write(&coverage.weight, |dw, update| column_sums(cpu, sums.dcover.mat(), dw, update));
    }
    let layout = SequenceLayout::new(&vec![1; rows]);
    let attended = AttendedRows { layout: &layout, vector, weights, dcontext };
    memory_gradients(cpu, gradients, sums, memory, &attended);
}

/// Adds the gradients of keys and vector, which are complete, and computes that of the values.
pub(crate) fn memory_gradients(
    cpu: &Cpu,
    gradients: &mut Gradients,
    sums: Sums,
    memory: &Memory,
    attended: &AttendedRows,
) {
    if let Some(vector) = attended.vector {
        gradients.write(vector, |dv, update| column_sums(cpu, sums.dvector.mat(), dv, update));
    }
    let MemorySegment { keys, values, .. } = memory.segment();
    gradients.add(keys, sums.dkeys);
    if gradients.wants(values) {
        gradients.add(values, values_gradient(cpu, memory, attended));
    }
}

fn values_gradient(cpu: &Cpu, memory: &Memory, attended: &AttendedRows) -> Tensor {
    let &AttendedRows { layout: readers, weights, dcontext, .. } = attended;
    let MemorySegment { values, layout, .. } = memory.segment();
    let of = &memory.of[..readers.batch()];
    let (segments, batch, (total, width)) = (memory.views(), layout.batch(), values.shape());
    let memory = Sources::new(memory, &segments);
    let mut dvalues = Tensor::scratch(weights.device(), total, width);
    let grid = dvalues.grid_mut();
    let of_source = Readers::new(of);
    cpu.pool.run(workers(cpu, weights.rows(), memory), |worker: &Worker| {
        let mut rows = Vec::new();
        for index in worker.deal(batch) {
            rows.clear();
            for reader in of_source.of(index) {
                rows.extend((0..readers.length(reader)).map(|step| readers.row(reader, step)));
            }
            for source in memory.at(index) {
                let readers = rows.iter().copied();
                cpu.isa.run(ValuesBack { source, readers, weights, dcontext, dvalues: grid });
            }
        }
    });
    dvalues
}
