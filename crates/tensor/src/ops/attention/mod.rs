//! Attention pooling: `f(q, K, V) = Σ_j softmax_j(s(q, k_j))·v_j` with any [score](AnyScore) `s`, by one head or by several.
//!
//! | | shape |
//! |---|---|
//! | `query` | rows × heads·depth |
//! | `keys` | packed source rows × heads·depth |
//! | `values` | packed source rows × heads·width |
//! | `vector` | 1 × heads·depth, for scores that have one |
//! | context | rows × heads·width |
//! | weights | rows × heads·source steps; zero beyond a source's length |
//!
//! Everything is stored head by head: each has its own columns of query, keys, vector and values and its own softmax, and the
//! contexts of all are concatenated.
//!
//! Row `i` attends to source `of[i]`, so that keys and values need not be copied when several rows attend to the same source or the
//! rows change their order. Sources that join a search are a segment of the memory of their own, so nothing is copied then, either: there
//! is no backward pass through several segments. An empty source gives a zero context.
//!
//! [`attend_focused`] takes [`AttentionModifiers`]: a window, outside of which weights are zero, and the coverage by earlier steps.
//!
//! Backward: `dv_j = a_j·dc`, `da_j = v_j·dc` (plus the gradient of the weights themselves), then through the softmax to the
//! energies, and term by term to query, key and vector; the terms are computed again, not kept. In a window whose weights are
//! `b_j = a_j·g_j` with `g_j = exp(−(j − p)²/(2σ²))`, `da_j = g_j·db_j` and `dp = Σ_j db_j·b_j·(j − p)/σ²`; of keys `k_j + w·u_j`,
//! `dw = Σ_j u_j·dk_j` and `du_j = w·dk_j`.

mod any_score;
pub(crate) mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
mod modifiers;
pub mod reference;
pub(crate) mod row;

pub use any_score::AnyScore;
pub use modifiers::{
    AttentionModifiers, Coverage, LocalAttention, LocalWindow, ModifierWeights, WindowCenter,
};

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::profile;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// What is attended to: the keys and values of packed sources, computed once, and the source of each row.
#[derive(Clone, Debug)]
pub struct Memory {
    /// The packed sources: one segment, but in a search that sources joined later, one for each time.
    pub segments: Vec<MemorySegment>,
    /// How many heads share the columns of keys and values; one takes them all.
    pub heads: usize,
    /// The source of each row, or of each sequence of a scan: its batch index, counted through all segments.
    pub of: Arc<[u32]>,
}

/// Keys and values of sources that were encoded together.
#[derive(Clone, Debug)]
pub struct MemorySegment {
    /// packed source rows × heads·depth
    pub keys: Var,
    /// packed source rows × heads·width
    pub values: Var,
    /// Layout of the sources.
    pub layout: Arc<SequenceLayout>,
}

impl Memory {
    /// The memory of sources that were encoded together.
    pub fn new(segment: MemorySegment, heads: usize, of: Arc<[u32]>) -> Memory {
        Memory { segments: vec![segment], heads, of }
    }

    /// The only segment of a memory: gradients are computed for one, and kernels of a GPU read one.
    ///
    /// # Panics
    /// If sources joined.
    pub fn segment(&self) -> &MemorySegment {
        let [segment] = &self.segments[..] else {
            panic!("{} segments of sources where there can be one", self.segments.len());
        };
        segment
    }

    /// The keys and values of all segments.
    pub(crate) fn vars(&self) -> impl Iterator<Item = &Var> {
        self.segments.iter().flat_map(|segment| [&segment.keys, &segment.values])
    }

    /// The segments as workers read them.
    pub(crate) fn views(&self) -> Vec<row::SegmentView<'_>> {
        self.segments.iter().map(row::SegmentView::from).collect()
    }

    /// The columns of keys and of values, all heads together.
    pub fn columns(&self) -> (usize, usize) {
        self.segments.first().map_or((0, 0), |first| (first.keys.columns(), first.values.columns()))
    }

    /// The columns of keys and of values that a head has.
    pub(crate) fn of_head(&self) -> (usize, usize) {
        let (keys, values) = self.columns();
        (keys / self.heads, values / self.heads)
    }

    /// The steps of the longest source.
    pub fn steps(&self) -> usize {
        self.segments.iter().map(|segment| segment.layout.steps()).max().unwrap_or(0)
    }

    /// The columns of the weights: one for each source step of each head.
    pub fn weight_columns(&self) -> usize {
        self.heads * self.steps()
    }

    pub(crate) fn check(&self, score: AnyScore, readers: usize, depth: usize, vector: Option<&Var>) {
        let (_, width) = self.columns();
        for MemorySegment { keys, values, layout } in &self.segments {
            let total = layout.total();
            assert_eq!(keys.shape(), (total, depth), "keys for {total} rows and queries of {depth}");
            assert_eq!(values.shape(), (total, width), "values for {total} rows");
        }
        for (name, columns) in [("keys", depth), ("values", width)] {
            let even = self.heads > 0 && columns.is_multiple_of(self.heads);
            assert!(even, "{name} of {columns} columns for {} heads", self.heads);
        }
        assert!(self.of.len() >= readers, "{readers} readers, {} sources given", self.of.len());
        let sources: usize = self.segments.iter().map(|segment| segment.layout.batch()).sum();
        let exists = self.of.iter().all(|&source| (source as usize) < sources);
        assert!(exists, "a source of {sources} that does not exist: {:?}", self.of);
        assert_eq!(vector.map(Var::shape), score.has_vector().then_some((1, depth)), "the score's vector");
    }
}

/// What rows attend with, and to what: the inputs of the operation.
#[derive(Clone, Copy)]
struct AttendInputs<'a> {
    score: AnyScore,
    query: &'a Var,
    vector: Option<&'a Var>,
    memory: &'a Memory,
    modifiers: &'a AttentionModifiers,
}

impl<'a> AttendInputs<'a> {
    fn check(self) {
        self.memory.check(self.score, self.query.rows(), self.query.columns(), self.vector);
        self.modifiers.check(self.query.rows(), self.memory);
    }

    /// All variables that may get gradients.
    fn vars(self) -> Vec<&'a Var> {
        let first = [self.query].into_iter().chain(self.memory.vars()).chain(self.vector);
        first.chain(self.modifiers.inputs()).collect()
    }
}

/// Context and weights of all rows.
struct AttendOutput {
    context: Tensor,
    weights: Tensor,
}

/// The gradients of an [`AttendOutput`].
struct AttendUpstream {
    dcontext: Tensor,
    dweights: Option<Tensor>,
}

/// Rows whose backward pass is over, except for what they add to the gradients of the memory.
pub(crate) struct AttendedRows<'a> {
    /// The sequences of the rows, of which sequence `i` attends to source `of[i]`.
    pub(crate) layout: &'a SequenceLayout,
    pub(crate) vector: Option<&'a Var>,
    pub(crate) weights: &'a Tensor,
    pub(crate) dcontext: &'a Tensor,
}

/// The context of each row and the weights that made it; see the [module](self).
pub fn attend(score: AnyScore, query: &Var, vector: Option<&Var>, memory: &Memory) -> [Var; 2] {
    attend_focused(score, query, vector, memory, &AttentionModifiers::default())
}

/// The same, with [`AttentionModifiers`].
pub fn attend_focused(
    score: AnyScore,
    query: &Var,
    vector: Option<&Var>,
    memory: &Memory,
    focus: &AttentionModifiers,
) -> [Var; 2] {
    let _span = profile::span("attend", query.device());
    let inputs = AttendInputs { score, query, vector, memory, modifiers: focus };
    inputs.check();
    let AttendOutput { context, weights } = on_device!(query.device(),
        cpu => cpu::forward(cpu, inputs),
        cuda => cuda::forward(cuda, inputs));
    record(&inputs.vars(), [context, weights.clone()], {
        let (query, vector, memory, focus) = (query.clone(), vector.cloned(), memory.clone(), focus.clone());
        move |gradients, [dcontext, dweights]| {
            let (vector, modifiers) = (vector.as_ref(), &focus);
            let inputs = AttendInputs { score, query: &query, vector, memory: &memory, modifiers };
            let zeros = || Tensor::zeros(query.device(), query.rows(), memory.columns().1);
            let upstream = AttendUpstream { dcontext: dcontext.unwrap_or_else(zeros), dweights };
            on_device!(query.device(),
                cpu => cpu::backward(cpu, gradients, inputs, &weights, &upstream),
                cuda => cuda::backward(cuda, gradients, inputs, &weights, &upstream));
        }
    })
}
