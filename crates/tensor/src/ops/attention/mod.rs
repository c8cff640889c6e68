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
//! Everything lies head by head: each has its own columns of query, keys, vector and values and its own softmax, and the
//! contexts of all stand side by side.
//!
//! Row `i` reads the source at place `of[i]`, so that keys and values need not be copied when several rows read the same
//! source or the rows change their order. An empty source gives a zero context.
//!
//! [`attend_focused`] may be bent ([`AttentionModifiers`]): by a window, outside of which weights are zero, and by what was looked at before.
//!
//! Back: `dv_j = a_j·dc`, `da_j = v_j·dc` (plus the gradient of the weights themselves), then through the softmax to the
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

/// What is attended to: the keys and values of packed sources, made once, and who reads which.
#[derive(Clone, Debug)]
pub struct Memory {
    /// packed source rows × heads·depth
    pub keys: Var,
    /// packed source rows × heads·width
    pub values: Var,
    /// How many heads share the columns of keys and values; one takes them all.
    pub heads: usize,
    /// How the sources are packed.
    pub rows: Arc<SequenceLayout>,
    /// The place of the source that each row, or each place of a scan, reads.
    pub of: Arc<[u32]>,
}

impl Memory {
    /// The columns of keys and of values that a head has.
    pub(crate) fn of_head(&self) -> (usize, usize) {
        (self.keys.columns() / self.heads, self.values.columns() / self.heads)
    }

    /// The columns of the weights: a place for each source step of each head.
    pub fn weight_columns(&self) -> usize {
        self.heads * self.rows.steps()
    }

    pub(crate) fn check(&self, score: AnyScore, readers: usize, depth: usize, vector: Option<&Var>) {
        let total = self.rows.total();
        assert_eq!(self.keys.shape(), (total, depth), "keys for {total} rows and queries of {depth}");
        assert_eq!(self.values.rows(), total, "values for {total} rows");
        for (name, columns) in [("keys", depth), ("values", self.values.columns())] {
            let even = self.heads > 0 && columns.is_multiple_of(self.heads);
            assert!(even, "{name} of {columns} columns for {} heads", self.heads);
        }
        assert!(self.of.len() >= readers, "{readers} readers, {} places", self.of.len());
        assert!(
            self.of.iter().all(|&place| (place as usize) < self.rows.batch()),
            "a source of {} that is not there: {:?}",
            self.rows.batch(),
            self.of
        );
        assert_eq!(vector.map(Var::shape), score.has_vector().then_some((1, depth)), "the score's vector");
    }
}

/// The context of each row and the weights that made it; see the [module](self).
pub fn attend(score: AnyScore, query: &Var, vector: Option<&Var>, memory: &Memory) -> [Var; 2] {
    attend_focused(score, query, vector, memory, &AttentionModifiers::default())
}

/// The same, bent by a focus.
pub fn attend_focused(
    score: AnyScore,
    query: &Var,
    vector: Option<&Var>,
    memory: &Memory,
    focus: &AttentionModifiers,
) -> [Var; 2] {
    let _span = profile::span("attend", query.device());
    memory.check(score, query.rows(), query.columns(), vector);
    focus.check(query.rows(), memory);
    let vector_value = vector.map(Var::value);
    let (context, weights) = on_device!(query.device(),
        cpu => cpu::forward(cpu, score, query.value(), vector_value, memory, focus),
        cuda => cuda::forward(cuda, score, query.value(), vector_value, memory, focus));
    let inputs: Vec<&Var> =
        [query, &memory.keys, &memory.values].into_iter().chain(vector).chain(focus.inputs()).collect();
    record(&inputs, [context, weights.clone()], {
        let (query, vector, memory, focus) = (query.clone(), vector.cloned(), memory.clone(), focus.clone());
        move |gradients, [dcontext, dweights]| {
            let zeros = || Tensor::zeros(query.device(), query.rows(), memory.values.columns());
            let dcontext = dcontext.unwrap_or_else(zeros);
            let (upstream, vector) = ((&dcontext, dweights.as_ref()), vector.as_ref());
            on_device!(query.device(),
                cpu => cpu::backward(cpu, score, gradients, upstream, &weights, &query, vector, &memory, &focus),
                cuda => cuda::backward(cuda, score, gradients, upstream, &weights, &query, vector, &memory, &focus));
        }
    })
}
