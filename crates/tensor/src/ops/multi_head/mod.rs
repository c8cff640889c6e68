//! Attention by inner products over packed sequences, all steps at once: `C = V·softmax(scale·KᵀQ)`, head by head.
//!
//! | | shape |
//! |---|---|
//! | self-attention: queries, keys and values side by side | packed rows × 3·width |
//! | attention to others: queries | packed rows × width |
//! | … keys and values side by side | packed source rows × 2·width |
//! | context | packed rows × width |
//! | log-sums | packed rows × heads |
//! | weights, where they are asked for | packed rows × heads·source steps; zero beyond a source's length |
//!
//! Each head has its own `width / heads` columns of each. With a causal mask a step sees itself and what came before it. No step
//! outside of a sequence, and none that is masked, takes part in a sum: what follows changes no bit of what came before.
//!
//! The weights are not kept: what the way back needs besides the inputs is one number for each row and head, `ln Σ e^energy`. Back,
//! with the weights `A` computed again: `dV = A·dC`, `dA = Vᵀ·dC`, through the softmax to the energies' `dE`, `dQ = scale·K·dE` and
//! `dK = scale·Q·dEᵀ`.
//!
//! [`attend_cached`] is the same for one step of each row, whose keys and values lie where earlier steps left them.

mod cached;
mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

pub use cached::{KvView, attend_cached};

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::profile;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::Arc;

/// How heads look.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MultiHead {
    /// How many share the columns.
    pub heads: usize,
    /// What inner products are multiplied by.
    pub scale: f32,
    /// Whether a step sees only itself and what came before it.
    pub causal: bool,
}

impl MultiHead {
    /// The columns of a head, of so many of all.
    fn depth(&self, width: usize) -> usize {
        let even = self.heads > 0 && width.is_multiple_of(self.heads);
        assert!(even, "{width} columns for {} heads", self.heads);
        width / self.heads
    }
}

/// What is looked with, and what is looked at.
#[derive(Clone)]
pub(crate) struct AttentionArgs {
    query: Tensor,
    /// Keys and values are its last 2·width columns.
    memory: Tensor,
    width: usize,
    rows: Arc<SequenceLayout>,
    sources: Arc<SequenceLayout>,
    of: Arc<[u32]>,
    how: MultiHead,
}

impl AttentionArgs {
    /// Whether queries, keys and values are columns of the same tensor.
    fn is_self(&self) -> bool {
        self.query.columns() > self.width
    }

    fn depth(&self) -> usize {
        self.how.depth(self.width)
    }

    /// A head's columns of the keys.
    fn key_columns(&self, head: usize) -> Range<usize> {
        let start = self.memory.columns() - 2 * self.width + head * self.depth();
        start..start + self.depth()
    }

    /// A head's columns of the values.
    fn value_columns(&self, head: usize) -> Range<usize> {
        let start = self.memory.columns() - self.width + head * self.depth();
        start..start + self.depth()
    }

    /// A head's columns of queries and contexts.
    fn own_columns(&self, head: usize) -> Range<usize> {
        head * self.depth()..(head + 1) * self.depth()
    }
}

/// The context of each step in its own sequence, and where it is asked for, the weights that made it; see the [module](self).
pub fn self_attention(
    queries_keys_values: &Var,
    rows: &Arc<SequenceLayout>,
    how: MultiHead,
    weights: bool,
) -> (Var, Option<Tensor>) {
    let columns = queries_keys_values.columns();
    assert!(columns.is_multiple_of(3), "{columns} columns are no queries, keys and values");
    let looking = AttentionArgs {
        query: queries_keys_values.value().clone(),
        memory: queries_keys_values.value().clone(),
        width: columns / 3,
        rows: Arc::clone(rows),
        sources: Arc::clone(rows),
        of: (0..rows.batch() as u32).collect(),
        how,
    };
    attend([queries_keys_values; 2], looking, weights)
}

/// The context of each step in another sequence, and where it is asked for, the weights that made it: place `i` of the queries
/// looks at the source at place `of[i]`. See the [module](self).
pub fn cross_attention(
    queries: (&Var, &Arc<SequenceLayout>),
    keys_values: (&Var, &Arc<SequenceLayout>),
    of: &Arc<[u32]>,
    how: MultiHead,
    weights: bool,
) -> (Var, Option<Tensor>) {
    let ((query, rows), (memory, sources)) = (queries, keys_values);
    assert!(!how.causal, "steps of another sequence come neither before nor after");
    assert_eq!(memory.columns(), 2 * query.columns(), "keys and values for queries of {:?}", query.shape());
    assert!(of.len() >= rows.batch(), "{} readers, {} places", rows.batch(), of.len());
    let batch = sources.batch();
    assert!(of.iter().all(|&place| (place as usize) < batch), "a source of {batch} that is not there");
    let looking = AttentionArgs {
        query: query.value().clone(),
        memory: memory.value().clone(),
        width: query.columns(),
        rows: Arc::clone(rows),
        sources: Arc::clone(sources),
        of: Arc::clone(of),
        how,
    };
    attend([query, memory], looking, weights)
}

fn attend(inputs: [&Var; 2], looking: AttentionArgs, weights: bool) -> (Var, Option<Tensor>) {
    let AttentionArgs { query, memory, rows, sources, .. } = &looking;
    let _span = profile::span("multi_head", query.device());
    assert_eq!(query.rows(), rows.total(), "queries are {:?}", query.shape());
    assert_eq!(memory.rows(), sources.total(), "keys and values are {:?}", memory.shape());
    let (context, log_sums, weights) = on_device!(query.device(),
        cpu => cpu::forward(cpu, &looking, weights),
        cuda => cuda::forward(cuda, &looking, weights));
    let [query, memory] = inputs.map(Var::clone);
    let [context] = record(&inputs, [context], move |gradients, [dcontext]| {
        let Some(dcontext) = dcontext else { return };
        let (dquery, dmemory) = on_device!(dcontext.device(),
            cpu => cpu::backward(cpu, &looking, &dcontext, &log_sums),
            cuda => cuda::backward(cuda, &looking, &dcontext, &log_sums));
        gradients.add(&query, dquery);
        if let Some(dmemory) = dmemory {
            gradients.add(&memory, dmemory);
        }
    });
    (context, weights)
}
