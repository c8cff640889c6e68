//! One step of each row, for a search.

use super::MultiHead;
use crate::device::on_device;
use crate::lane::{Isa, Kernel, Vector};
use crate::layout::SequenceLayout;
use crate::ops::sums::{dot, softmax_row, weighted_rows};
use crate::profile;
use crate::tensor::Tensor;

/// Where the rows of a step find their keys and values, which are the last 2·width columns of tensors. Nothing is copied when rows
/// change their order.
#[derive(Clone, Copy, Debug)]
pub enum KvView<'a> {
    /// In packed sources: row `i` looks at the source at place `of[i]`.
    Sources {
        /// packed source rows × 2·width or more
        memory: &'a Tensor,
        /// How they are packed.
        rows: &'a SequenceLayout,
        /// The place of each row's source.
        of: &'a [u32],
    },
    /// In what earlier steps left: row `i` looks at row `rows[i][t]` of step `t`.
    Steps {
        /// For each step, rows × 2·width or more.
        steps: &'a [Tensor],
        /// For each row, where it was in each step.
        rows: &'a [Vec<u32>],
    },
}

impl<'a> KvView<'a> {
    /// How many places a row looks at.
    pub(super) fn length(&self, row: usize) -> usize {
        match self {
            KvView::Sources { rows, of, .. } => rows.length(of[row] as usize),
            KvView::Steps { rows, .. } => rows[row].len(),
        }
    }

    /// The most places that a row looks at.
    pub(super) fn longest(&self) -> usize {
        match self {
            KvView::Sources { rows, .. } => rows.steps(),
            KvView::Steps { steps, .. } => steps.len(),
        }
    }

    /// The tensor and the row of one of the places that a row looks at.
    pub(super) fn at(&self, row: usize, step: usize) -> (&'a Tensor, usize) {
        match self {
            KvView::Sources { memory, rows, of } => (memory, rows.row(of[row] as usize, step)),
            KvView::Steps { steps, rows } => (&steps[step], rows[row][step] as usize),
        }
    }

    fn check(&self, readers: usize, width: usize) {
        let wide = |tensor: &Tensor| {
            assert!(tensor.columns() >= 2 * width, "keys and values of {width} in {:?}", tensor.shape());
        };
        match self {
            KvView::Sources { memory, rows, of } => {
                wide(memory);
                assert_eq!(memory.rows(), rows.total(), "keys and values are {:?}", memory.shape());
                assert_eq!(of.len(), readers, "a source for each row");
            }
            KvView::Steps { steps, rows } => {
                steps.iter().for_each(wide);
                assert_eq!(rows.len(), readers, "a past for each row");
                assert!(rows.iter().all(|row| row.len() == steps.len()), "a place in each of the steps");
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
    let mut weights = Tensor::zeros(query.device(), query.rows(), how.heads * past.longest());
    on_device!(query.device(),
    cpu => {
        let operations = query.rows() * past.longest() * width * 4;
        let outputs = [context.data_mut(), weights.data_mut()];
        cpu.pool.split_rows(query.rows(), operations, outputs, |share, [context, weights]| {
            let first = share.start;
            for row in share {
                let context = &mut context[(row - first) * width..][..width];
                let weights = &mut weights[(row - first) * how.heads * past.longest()..];
                for (head, context) in context.chunks_exact_mut(depth.max(1)).enumerate() {
                    let weights = &mut weights[head * past.longest()..][..past.length(row)];
                    let query = &query.row(row)[head * depth..][..depth];
                    look(cpu.isa, Row { query, past, row, head, width, scale: how.scale, weights, context });
                }
            }
        });
    },
    cuda => super::cuda::attend_past(cuda, query, width, past, how, [&mut context, &mut weights]));
    [context, weights]
}

fn look(isa: Isa, row: Row) {
    isa.run(row);
}

/// One head of one row.
struct Row<'a> {
    query: &'a [f32],
    past: KvView<'a>,
    row: usize,
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
        let Row { query, past, row, head, width, scale, weights, context } = self;
        let depth = query.len();
        // Keys begin 2·width before the end of a row, values 1·width.
        let part = |step: usize, before: usize| {
            let (tensor, row) = past.at(row, step);
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
