//! One step of each row, for a search.

use super::MultiHead;
use crate::device::on_device;
use crate::lane::{Isa, Kernel, Vector};
use crate::layout::SequenceLayout;
use crate::ops::sums::{dot, softmax_row, weighted_rows};
use crate::profile;
use crate::tensor::Tensor;

/// Keys and values of the rows of a step: the last 2·width columns of tensors. Nothing is copied when rows change their order, or when
/// others join them.
#[derive(Clone, Copy, Debug)]
pub enum KvView<'a> {
    /// Those of packed sources: row `i` attends to source `of[i]`, counted through all segments.
    Sources {
        /// Sources that were encoded together: packed source rows × 2·width or more, and their layout.
        segments: &'a [(&'a Tensor, &'a SequenceLayout)],
        /// The source of each row.
        of: &'a [u32],
    },
    /// Those of earlier steps: position `p` of row `i` is row `r` of tensor `t`, where `rows[i][p]` is `[t, r]`. A row has as many
    /// positions as it has taken steps.
    Steps {
        /// For each step, rows × 2·width or more.
        steps: &'a [Tensor],
        /// For each row, its positions.
        rows: &'a [Vec<[u32; 2]>],
    },
}

/// Keys and values of one row.
#[derive(Clone, Copy)]
pub(super) enum RowKv<'a> {
    Source { memory: &'a Tensor, layout: &'a SequenceLayout, index: usize },
    Steps { steps: &'a [Tensor], positions: &'a [[u32; 2]] },
}

impl<'a> RowKv<'a> {
    /// The number of steps that the row attends to.
    pub(super) fn length(&self) -> usize {
        match self {
            RowKv::Source { layout, index, .. } => layout.length(*index),
            RowKv::Steps { positions, .. } => positions.len(),
        }
    }

    /// The tensor and the row of one of the steps.
    #[inline(always)]
    pub(super) fn at(&self, step: usize) -> (&'a Tensor, usize) {
        match self {
            RowKv::Source { memory, layout, index } => (memory, layout.row(*index, step)),
            RowKv::Steps { steps, positions } => {
                let [tensor, row] = positions[step];
                (&steps[tensor as usize], row as usize)
            }
        }
    }
}

impl<'a> KvView<'a> {
    /// Keys and values of a row.
    pub(super) fn row(&self, row: usize) -> RowKv<'a> {
        match *self {
            KvView::Sources { segments, of } => {
                let mut index = of[row] as usize;
                for &(memory, layout) in segments {
                    if index < layout.batch() {
                        return RowKv::Source { memory, layout, index };
                    }
                    index -= layout.batch();
                }
                panic!("a source beyond the last segment");
            }
            KvView::Steps { steps, rows } => RowKv::Steps { steps, positions: &rows[row] },
        }
    }

    /// The most steps that a row attends to.
    pub(super) fn longest(&self) -> usize {
        match self {
            KvView::Sources { segments, .. } => {
                segments.iter().map(|(_, layout)| layout.steps()).max().unwrap_or(0)
            }
            KvView::Steps { rows, .. } => rows.iter().map(Vec::len).max().unwrap_or(0),
        }
    }

    fn check(&self, readers: usize, width: usize) {
        let wide = |tensor: &Tensor| {
            assert!(tensor.columns() >= 2 * width, "keys and values of {width} in {:?}", tensor.shape());
        };
        match self {
            KvView::Sources { segments, of } => {
                for (memory, layout) in *segments {
                    wide(memory);
                    assert_eq!(memory.rows(), layout.total(), "keys and values are {:?}", memory.shape());
                }
                assert_eq!(of.len(), readers, "a source for each row");
            }
            KvView::Steps { steps, rows } => {
                steps.iter().for_each(wide);
                assert_eq!(rows.len(), readers, "earlier steps of each row");
            }
        }
    }
}

/// The context of each row, rows × width, and the weights that made it, rows × heads·places: the queries are the first `width`
/// columns. There is no way back; a sequence has one.
pub fn attend_cached(query: &Tensor, width: usize, past: KvView, how: MultiHead) -> [Tensor; 2] {
    let _span = profile::span("attend_past", query.device());
    assert!(query.columns() >= width, "queries of {width} in {:?}", query.shape());
    past.check(query.rows(), width);
    let depth = how.depth(width);
    let mut context = Tensor::scratch(query.device(), query.rows(), width);
    let longest = past.longest();
    let mut weights = Tensor::zeros(query.device(), query.rows(), how.heads * longest);
    on_device!(query.device(),
    cpu => {
        let operations = query.rows() * longest * width * 4;
        let outputs = [context.data_mut(), weights.data_mut()];
        cpu.pool.split_rows(query.rows(), operations, outputs, |share, [context, weights]| {
            let first = share.start;
            for row in share {
                let context = &mut context[(row - first) * width..][..width];
                let weights = &mut weights[(row - first) * how.heads * longest..];
                let past = past.row(row);
                for (head, context) in context.chunks_exact_mut(depth.max(1)).enumerate() {
                    let weights = &mut weights[head * longest..][..past.length()];
                    let query = &query.row(row)[head * depth..][..depth];
                    look(cpu.isa, Row { query, past, head, width, scale: how.scale, weights, context });
                }
            }
        });
    },
    cuda => super::cuda::attend_past(cuda, query, width, past, how, &mut context, &mut weights));
    [context, weights]
}

fn look(isa: Isa, row: Row) {
    isa.run(row);
}

/// One head of one row.
struct Row<'a> {
    query: &'a [f32],
    past: RowKv<'a>,
    head: usize,
    width: usize,
    scale: f32,
    weights: &'a mut [f32],
    context: &'a mut [f32],
}

impl Kernel for Row<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let Row { query, past, head, width, scale, weights, context } = self;
        let depth = query.len();
        // Keys begin 2·width before the end of a row, values 1·width.
        let part = |step: usize, before: usize| {
            let (tensor, row) = past.at(step);
            &tensor.row(row)[tensor.columns() - before + head * depth..][..depth]
        };
        for (step, energy) in weights.iter_mut().enumerate() {
            *energy = scale * dot::<V>(query, part(step, 2 * width));
        }
        softmax_row::<V>(weights);
        let terms = weights.iter().enumerate().map(|(step, &weight)| (weight, part(step, width)));
        weighted_rows::<V>(context, terms);
    }
}
