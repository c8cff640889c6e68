//! Operations: each as large as the thing it computes, each with its way back.
//!
//! A folder an operation: `mod.rs` says what it computes, its shapes and its gradient, and picks the device; `reference.rs`
//! computes it plainly in `f64`, for readers and for tests; `cpu.rs` is what runs on the processor, `cuda.rs` and its kernels,
//! a `.cu` file, on a GPU.

pub mod arrange;
pub mod attention;
pub mod cell_step;
pub mod convolution;
pub mod copying;
pub mod coverage_loss;
pub mod cross_entropy;
pub mod dense;
pub mod dropout;
pub mod embedding;
pub mod layer_norm;
pub mod linear;
pub mod logistic_loss;
pub mod multi_head;
pub mod pointwise;
pub mod pooling;
pub mod recurrent;
pub mod residual_norm;
pub mod rotary;
pub mod scan;
pub mod softmax;
pub(crate) mod sums;
mod time_loop;
pub mod top_k;

pub use arrange::{
    column_block, concat_columns, concat_rows, flatten_steps, gather_rows, repeat_over_steps, row_block,
    steps_before,
};
pub use attention::{
    AnyScore, AttentionModifiers, Coverage, LocalAttention, LocalWindow, Memory, MemorySegment,
    ModifierWeights, WindowCenter, attend, attend_focused,
};
pub use cell_step::cell_step;
pub use convolution::{Window, convolution};
pub use copying::{CopySource, PointerOutput, copy_loss, copy_mixture};
pub use coverage_loss::coverage_loss;
pub use cross_entropy::{CrossEntropy, cross_entropy};
pub use dense::dense;
pub use dropout::{Dropout, DropoutMask, DropoutScope, dropout};
pub use embedding::embedding;
pub use layer_norm::layer_norm;
pub use linear::linear;
pub use logistic_loss::logistic_loss;
pub use multi_head::{KvView, MultiHead, attend_cached, cross_attention, self_attention};
pub use pointwise::{add, multiply_elements, relu, scale, scaled_residual, sigmoid, tanh};
pub use pooling::{Pooling, pool};
pub use recurrent::{GateNorm, LayerWeights, Norm, Recurrent, recurrent};
pub use residual_norm::residual_norm;
pub use rotary::{rotary, rotary_step};
pub use scan::{Scan, ScanOutput, ScanState};
pub use softmax::{log_softmax, softmax};
pub use time_loop::AnyCell;
pub use top_k::{ScoredIndex, top_k};

/// Every kernel's source under its name, those that are generic with each cell, score and function.
#[cfg(feature = "cuda")]
pub(crate) fn all_kernels() -> Vec<(&'static str, String)> {
    use crate::activation::{Identity, Relu, Sigmoid, Tanh};
    use crate::cell::{Gru, Lstm, Simple};
    use crate::score::{Additive, Dot, Linear};
    let sources = [
        arrange::cuda::SOURCE,
        attention::cuda::source::<Additive>(),
        attention::cuda::source::<Dot>(),
        attention::cuda::source::<Linear<Sigmoid>>(),
        attention::cuda::source::<Linear<Tanh>>(),
        attention::cuda::source::<Linear<Relu>>(),
        attention::cuda::source::<Linear<Identity>>(),
        convolution::cuda::SOURCE,
        copying::cuda::SOURCE,
        coverage_loss::cuda::SOURCE,
        cross_entropy::cuda::SOURCE,
        dense::cuda::source::<Relu>(),
        dense::cuda::source::<dense::Gelu>(),
        dense::cuda::source::<dense::GatedGelu>(),
        dense::cuda::source::<dense::GatedLinear>(),
        dropout::cuda::SOURCE,
        embedding::cuda::SOURCE,
        layer_norm::cuda::SOURCE,
        logistic_loss::cuda::SOURCE,
        multi_head::cuda::SOURCE,
        pooling::cuda::SOURCE,
        residual_norm::cuda::SOURCE,
        rotary::cuda::SOURCE,
        softmax::cuda::SOURCE,
        sums::cuda::SOURCE,
        time_loop::cuda::ROWS,
        time_loop::cuda::source::<Simple<Tanh>>(),
        time_loop::cuda::source::<Simple<Relu>>(),
        time_loop::cuda::source::<Simple<Sigmoid>>(),
        time_loop::cuda::source::<Simple<Identity>>(),
        time_loop::cuda::source::<Gru>(),
        time_loop::cuda::source::<Lstm>(),
        crate::cuda::PRODUCT,
        crate::optimizer::adafactor::cuda::SOURCE,
        crate::optimizer::cuda::SOURCE,
    ];
    let sources = sources.iter().map(|source| (source.name, source.whole()));
    sources.chain(pointwise::all_kernels()).collect()
}
