//! Operations: each computes something large, and has its backward pass.
//!
//! Every operation is a folder: `mod.rs` specifies what it computes, its shapes and its gradient, and chooses the device;
//! `reference.rs` computes it plainly in `f64`, for those who read the code and for tests; `cpu.rs` runs on the CPU, `cuda.rs` and
//! its kernels, a `.cu` file, on a GPU.

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

/// The source of every kernel with its name: generic ones with each cell, score and function.
#[cfg(feature = "cuda")]
pub(crate) fn all_kernels() -> Vec<(&'static str, String)> {
    let plain = [
        arrange::cuda::SOURCE,
        convolution::cuda::SOURCE,
        copying::cuda::SOURCE,
        coverage_loss::cuda::SOURCE,
        cross_entropy::cuda::SOURCE,
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
        crate::cuda::PRODUCT,
        crate::optimizer::adafactor::cuda::SOURCE,
        crate::optimizer::cuda::SOURCE,
    ];
    let scores = crate::score::all().into_iter().map(AnyScore::source);
    let cells = crate::cell::all().into_iter().map(AnyCell::source);
    let sources = plain.into_iter().chain(scores).chain(cells).chain(dense::cuda::sources());
    sources.map(|source| (source.name, source.whole())).chain(pointwise::all_kernels()).collect()
}

#[cfg(all(test, feature = "cuda"))]
mod tests {
    use super::all_kernels;
    use std::path::{Path, PathBuf};

    fn kernel_files(folder: &Path) -> Vec<PathBuf> {
        let entries =
            std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        let files = entries.flat_map(|path| if path.is_dir() { kernel_files(&path) } else { vec![path] });
        files.filter(|path| path.extension().is_some_and(|extension| extension == "cu")).collect()
    }

    #[test]
    fn all_kernels_has_every_kernel_file() {
        let sources = all_kernels();
        let files = kernel_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"));
        assert!(!files.is_empty());
        for file in files {
            let text = std::fs::read_to_string(&file).expect("a text");
            assert!(sources.iter().any(|(_, source)| source.contains(&text)), "{}", file.display());
        }
    }
}
