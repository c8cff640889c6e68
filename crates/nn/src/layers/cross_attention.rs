use super::Linear;
use crate::builder::ModelBuilder;
use crate::forward::ForwardPass;
use crate::state::SourceMemory;
use couplet_tensor::ops::{
    AnyScore, KvView, Memory, MemorySegment, MultiHead, attend, attend_cached, column_block, cross_attention,
    scale,
};
use couplet_tensor::score::Dot;
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// Multi-head attention of a sequence to the source. The weights of queries are apart from those of keys and values, since encoder
/// states may have another width.
#[derive(Clone, Debug)]
pub(crate) struct CrossAttention {
    q_proj: Linear,
    /// Keys and values.
    kv_proj: Linear,
    out_proj: Linear,
    config: MultiHead,
}

/// The source as one layer of a decoder sees it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CrossAttentionInput<'a> {
    pub(crate) source: &'a SourceMemory,
    /// The index of the layer's keys and values.
    pub(crate) layer: usize,
}

impl CrossAttentionInput<'_> {
    /// All steps of packed sequences, and on request the attention weights.
    pub(crate) fn cross_attention(
        self,
        query: &Var,
        layout: &Arc<SequenceLayout>,
        config: MultiHead,
        weights: bool,
    ) -> (Var, Option<Tensor>) {
        let (memory, sources) = self.source.segment(self.layer);
        cross_attention((query, layout), (memory, sources), self.source.of(), config, weights)
    }

    /// One step of each row: its context and its attention weights.
    pub(crate) fn attend_cached(self, query: &Tensor, config: MultiHead) -> [Tensor; 2] {
        let segments = self.source.keys_values(self.layer);
        let view = KvView::Sources { segments: &segments, of: self.source.of() };
        attend_cached(query, query.columns(), view, config)
    }
}

impl CrossAttention {
    /// Adds `q_proj`, `kv_proj` and `out_proj`, for encoder states of a width of their own.
    pub(crate) fn new(mut b: ModelBuilder, width: usize, heads: usize, source_width: usize) -> Self {
        CrossAttention {
            q_proj: Linear::glorot(&mut b.child("q_proj"), "", width, width),
            kv_proj: Linear::glorot(&mut b.child("kv_proj"), "", source_width, 2 * width),
            out_proj: Linear::glorot(&mut b.child("out_proj"), "", width, width),
            config: MultiHead { heads, scale: 1.0 / ((width / heads) as f32).sqrt(), causal: false },
        }
    }

    /// Keys and values of encoder states, computed once for all steps: source rows × 2·width.
    pub(crate) fn keys_values(&self, fwd: &ForwardPass, states: &Var) -> Var {
        self.kv_proj.forward(fwd, states)
    }

    /// All steps of packed sequences, and on request the attention weights.
    pub(crate) fn forward(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        layout: &Arc<SequenceLayout>,
        input: CrossAttentionInput,
        weights: bool,
    ) -> (Var, Option<Tensor>) {
        let query = self.q_proj.forward(fwd, x); // [rows, width]
        let (context, weights) = input.cross_attention(&query, layout, self.config, weights); // [rows, width]
        (self.out_proj.forward(fwd, &context), weights)
    }

    /// As [`forward`](CrossAttention::forward), with attention weights that have a gradient: for a decoder that copies from the source.
    pub(crate) fn forward_with_weights(
        &self,
        fwd: &ForwardPass,
        x: &Var,
        layout: &SequenceLayout,
        input: CrossAttentionInput,
    ) -> [Var; 2] {
        let MultiHead { heads, scale: factor, .. } = self.config;
        let query = scale(&self.q_proj.forward(fwd, x), factor); // [rows, width]
        let ((memory, sources), width) = (input.source.segment(input.layer), query.columns());
        let [keys, values] = [0..width, width..2 * width].map(|columns| column_block(memory, columns)); // [source rows, width]
        let segment = MemorySegment { keys, values, layout: Arc::clone(sources) };
        let of = layout.places().map(|(sequence, _)| input.source.of()[sequence]).collect();
        let memory = Memory::new(segment, heads, of);
        let [context, weights] = attend(AnyScore::of::<Dot>(), &query, None, &memory);
        [self.out_proj.forward(fwd, &context), weights]
    }

    /// One step of each row, and its attention weights.
    pub(crate) fn step(&self, fwd: &ForwardPass, x: &Var, input: CrossAttentionInput) -> (Var, Tensor) {
        let query = self.q_proj.forward(fwd, x); // [rows, width]
        let [context, weights] = input.attend_cached(query.value(), self.config);
        (self.out_proj.forward(fwd, &Var::constant(context)), weights)
    }
}
