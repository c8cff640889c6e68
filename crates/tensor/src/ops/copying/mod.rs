//! Copying: a vocabulary and the tokens of a source in one distribution (See, Liu and Manning, 2017), and its loss.
//!
//! `P(k | x) = g·softmax_k(W·x + b) + (1 − g)·Σ_{j: source_j = k} a_j`, with a gate `g = σ(u)` for each row and the attention `a` of a
//! row over the steps of its source, the mean of all heads. The tokens of a source are given as classes; one that is not among those
//! of `W` has an id beyond them, which is its id in this source only. `loss = scale · Σ_i −log P(target_i | x_i)`.
//!
//! | | shape |
//! |---|---|
//! | `x` | rows × inputs |
//! | `W` | classes × inputs |
//! | `b` | 1 × classes, or none |
//! | `u` | rows × 1 |
//! | `a` | rows × heads·source steps |
//! | loss | 1 × 1 |
//!
//! Label smoothing keeps the softmax from being too sure, and leaves gate and attention alone:
//! `loss_i = −(1−ε)·log P(target_i) − ε/classes · Σ_k log softmax_k`.
//!
//! Let `c` be the attention on the target, and `p` its softmax. `P = g·(p + c·(1−g)/g)`, and `(1−g)/g = e^−u`: the loss is a
//! cross-entropy whose target can also be copied, with `log c − u` for a logit, less `log g`. With `r = g·p / P`, the fraction of the
//! vocabulary in the target's probability, the gradients are those of the cross-entropy times `r`, and `du = g − r`, `da_j = −(1−r)/c` for
//! the steps that have the target.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::ops::cross_entropy::{CrossEntropy, OutputLayer, OutputLayerGradients, add_scaled};
use crate::profile;
use crate::tape::{Var, any_tracked, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// What is no class: a step that a source does not have.
const NOWHERE: u32 = u32::MAX;

/// The minimum of the attention on a token of the source before its logarithm: a softmax can round to zero.
const LEAST: f32 = 1e-30;

/// The tokens that each row can copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopySource {
    /// sources × steps
    classes: Arc<[u32]>,
    steps: usize,
    /// The source of each row.
    of: Arc<[u32]>,
}

impl CopySource {
    /// From the classes of each source's tokens; row `i` copies from source `of[i]`.
    ///
    /// ```
    /// use couplet_tensor::ops::CopySource;
    ///
    /// // A vocabulary of 5: the second source has a token that is not in it.
    /// let copied = CopySource::new(&[&[4, 2, 4], &[3, 5]], [0, 1].into());
    /// assert_eq!(copied.classes(5), 6);
    /// ```
    pub fn new(sources: &[&[u32]], of: Arc<[u32]>) -> CopySource {
        let steps = sources.iter().map(|source| source.len()).max().unwrap_or(0);
        assert!(of.iter().all(|&source| (source as usize) < sources.len()), "a source that is not there");
        CopySource { of, ..CopySource::per_row(sources, steps) }
    }

    /// As [`CopySource::new`] with source `i` for row `i`, padded to the steps of the attention's weights.
    pub fn per_row(sources: &[&[u32]], steps: usize) -> CopySource {
        let longest = sources.iter().map(|source| source.len()).max().unwrap_or(0);
        assert!(longest <= steps, "a source of {longest} tokens to copy, and attention to {steps}");
        let padded = |source: &&[u32]| {
            let rest = std::iter::repeat_n(NOWHERE, steps - source.len());
            source.iter().copied().chain(rest).collect::<Vec<u32>>()
        };
        let of = (0..sources.len() as u32).collect();
        CopySource { classes: sources.iter().flat_map(padded).collect(), steps, of }
    }

    /// Row `rows[i]` as row `i`.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> CopySource {
        CopySource { of: rows.iter().map(|&row| self.of[row as usize]).collect(), ..self.clone() }
    }

    /// The size of the extended vocabulary: the `known` classes and those beyond them.
    pub fn classes(&self, known: usize) -> usize {
        let last = self.classes.iter().filter(|&&class| class != NOWHERE).max();
        last.map_or(known, |&last| known.max(last as usize + 1))
    }

    /// The classes of what a row can copy, step by step.
    fn of_row(&self, row: usize) -> &[u32] {
        let start = self.of[row] as usize * self.steps;
        &self.classes[start..start + self.steps]
    }
}

/// The attention and the gate of each row.
#[derive(Clone, Debug)]
pub struct PointerOutput {
    /// The logit `u` of the gate: large where the token is generated from the vocabulary. rows × 1
    pub gate: Var,
    /// The attention `a`: rows × heads·source steps.
    pub weights: Var,
    /// The number of heads whose weights are concatenated.
    pub heads: usize,
}

impl PointerOutput {
    fn check(&self, copied: &CopySource, rows: usize) {
        assert_eq!(self.gate.shape(), (rows, 1), "a gate for each of {rows} rows");
        let columns = self.heads * copied.steps;
        assert_eq!(self.weights.shape(), (rows, columns), "attention of {rows} rows over {columns} steps");
        assert_eq!(copied.of.len(), rows, "a source for each of {rows} rows");
    }
}

/// The inputs of the loss.
#[derive(Clone, Copy)]
struct CopyInputs<'a> {
    output_layer: OutputLayer<'a>,
    pointer: &'a PointerOutput,
    source: &'a CopySource,
    targets: &'a [u32],
}

impl<'a> CopyInputs<'a> {
    fn check(self) {
        let CopyInputs { output_layer, pointer, source, targets } = self;
        output_layer.check(targets);
        pointer.check(source, targets.len());
        let classes = output_layer.classes();
        for (row, &target) in targets.iter().enumerate().filter(|&(_, &target)| target as usize >= classes) {
            let there = target != NOWHERE && source.of_row(row).contains(&target);
            assert!(there, "target {target} of {classes} classes, and not in its source");
        }
    }

    /// All variables that may get gradients.
    fn vars(self) -> Vec<&'a Var> {
        [&self.pointer.gate, &self.pointer.weights].into_iter().chain(self.output_layer.vars()).collect()
    }
}

struct Saved {
    loss: Tensor,
    of_rows: Tensor,
    gradients: Option<CopyGradients>,
}

/// The gradients for a loss whose own gradient is 1.
struct CopyGradients {
    output_layer: OutputLayerGradients,
    gate: Tensor,
    weights: Tensor,
}

/// The loss of targets that may be copied, and the unscaled loss of each row; see the [module](self).
pub fn copy_loss(
    x: &Var,
    weight: &Var,
    bias: Option<&Var>,
    pointing: &PointerOutput,
    copied: &CopySource,
    targets: &[u32],
    how: CrossEntropy,
) -> (Var, Tensor) {
    let _span = profile::span("copy_loss", x.device());
    let output_layer = OutputLayer { x, weight, bias };
    let inputs = CopyInputs { output_layer, pointer: pointing, source: copied, targets };
    inputs.check();
    let wanted = any_tracked(&inputs.vars());
    let saved = on_device!(x.device(),
        cpu => cpu::forward(cpu, inputs, how, wanted),
        cuda => cuda::forward(cuda, inputs, how, wanted));
    let [loss] = record(&inputs.vars(), [saved.loss], {
        let vars: Vec<Var> = inputs.vars().into_iter().cloned().collect();
        move |gradients, [dloss]| {
            let (Some(dloss), Some(unscaled)) = (dloss, saved.gradients) else { return };
            let of_pointer = [&unscaled.gate, &unscaled.weights];
            for (var, unscaled) in
                vars.iter().zip(of_pointer.into_iter().chain(unscaled.output_layer.tensors()))
            {
                add_scaled(gradients, var, unscaled, &dloss);
            }
        }
    });
    (loss, saved.of_rows)
}

/// The logarithms of the probabilities of all classes, those beyond the vocabulary included, from the logits of the vocabulary's: rows ×
/// [`CopySource::classes`]. What a row cannot copy has none: −∞. There is no backward pass.
pub fn copy_mixture(logits: &Tensor, pointing: &PointerOutput, copied: &CopySource) -> Tensor {
    let _span = profile::span("copy_mixture", logits.device());
    pointing.check(copied, logits.rows());
    on_device!(logits.device(),
        cpu => cpu::mixture(cpu, logits, pointing, copied),
        cuda => cuda::mixture(cuda, logits, pointing, copied))
}
