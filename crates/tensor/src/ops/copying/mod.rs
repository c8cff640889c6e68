//! Copying: a vocabulary and the tokens of a source in one distribution (See, Liu and Manning, 2017), and its loss.
//!
//! `P(k | x) = g·softmax_k(W·x + b) + (1 − g)·Σ_{j: source_j = k} a_j`, with a gate `g = σ(u)` for each row and the attention `a` of a
//! row over the steps of its source, the mean of all heads. The tokens of a source are given as classes; one that is not among those
//! of `W` has a number behind them, which stands for it in this source only. `loss = scale · Σ_i −log P(target_i | x_i)`.
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
//! cross-entropy whose target can be had with `log c − u` beside its logit, less `log g`. With `r = g·p / P`, the share of the vocabulary
//! in the target's probability, the gradients are those of the cross-entropy times `r`, and `du = g − r`, `da_j = −(1−r)/c` for
//! the steps that have the target.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::ops::cross_entropy::{self, CrossEntropy, Kept};
use crate::profile;
use crate::tape::{Var, any_tracked, record};
use crate::tensor::Tensor;
use std::sync::Arc;

/// What is no class: a step that a source does not have.
const NOWHERE: u32 = u32::MAX;

/// The least attention on a token of the source that a logarithm is taken of: a softmax can round to zero.
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

    /// How many classes there are together with those behind the `known` ones.
    pub fn classes(&self, known: usize) -> usize {
        let behind = self.classes.iter().filter(|&&class| class != NOWHERE).max();
        behind.map_or(known, |&last| known.max(last as usize + 1))
    }

    /// The classes of what a row can copy, step by step.
    fn of_row(&self, row: usize) -> &[u32] {
        let start = self.of[row] as usize * self.steps;
        &self.classes[start..start + self.steps]
    }
}

/// Where each row points, and whether it does.
#[derive(Clone, Debug)]
pub struct PointerOutput {
    /// The logit `u` of the gate: large where the vocabulary is taken. rows × 1
    pub gate: Var,
    /// The attention `a`: rows × heads·source steps.
    pub weights: Var,
    /// How many heads stand side by side in it.
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

struct Saved {
    loss: Tensor,
    of_rows: Tensor,
    gradients: Option<Pointed>,
}

/// The gradients for a loss whose own gradient is 1.
struct Pointed {
    kept: Kept,
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
    let classes = weight.rows();
    assert_eq!(x.columns(), weight.columns(), "x is {:?}, W is {:?}", x.shape(), weight.shape());
    assert_eq!(x.rows(), targets.len(), "a target for each row");
    bias.into_iter().for_each(|bias| assert_eq!(bias.shape(), (1, classes), "b for {classes} classes"));
    pointing.check(copied, x.rows());
    for (row, &target) in targets.iter().enumerate().filter(|&(_, &target)| target as usize >= classes) {
        let there = target != NOWHERE && copied.of_row(row).contains(&target);
        assert!(there, "target {target} of {classes} classes, and not in its source");
    }
    let PointerOutput { gate, weights, heads } = pointing;
    let inputs: Vec<&Var> = [x, weight, gate, weights].into_iter().chain(bias).collect();
    let wanted = any_tracked(&inputs);
    let values = Values {
        x: x.value(),
        weight: weight.value(),
        bias: bias.map(Var::value),
        gate: gate.value(),
        weights: weights.value(),
        heads: *heads,
    };
    let pass = on_device!(x.device(),
        cpu => cpu::forward(cpu, &values, copied, targets, how, wanted),
        cuda => cuda::forward(cuda, &values, copied, targets, how, wanted));
    let [loss] = record(&inputs, [pass.loss], {
        let (inputs, gradients_of) = ([x, weight, gate, weights].map(Var::clone), pass.gradients);
        let bias = bias.cloned();
        move |gradients, [upstream]| {
            let (Some(upstream), Some(Pointed { kept, gate, weights })) = (upstream, gradients_of) else {
                return;
            };
            let kept = inputs
                .iter()
                .zip([kept.x, kept.weight, gate, weights])
                .chain(bias.as_ref().map(|bias| (bias, kept.bias)));
            for (input, kept) in kept {
                on_device!(input.device(),
                    cpu => gradients.write(input, |to, update| cross_entropy::cpu::hand_on(cpu, to, &kept, upstream.item(), update)),
                    cuda => gradients.write_cuda(input, |to, update| cross_entropy::cuda::hand_on(cuda, to, &kept, &upstream, update)));
            }
        }
    });
    (loss, pass.of_rows)
}

/// The values of the inputs.
struct Values<'a> {
    x: &'a Tensor,
    weight: &'a Tensor,
    bias: Option<&'a Tensor>,
    gate: &'a Tensor,
    weights: &'a Tensor,
    heads: usize,
}

/// The logarithms of the probabilities of all classes, those behind the vocabulary too, from the logits of the vocabulary's: rows ×
/// [`CopySource::classes`]. What a row cannot copy has none: −∞. There is no way back.
pub fn copy_mixture(logits: &Tensor, pointing: &PointerOutput, copied: &CopySource) -> Tensor {
    let _span = profile::span("copy_mixture", logits.device());
    pointing.check(copied, logits.rows());
    let (gate, weights, heads) = (pointing.gate.value(), pointing.weights.value(), pointing.heads);
    on_device!(logits.device(),
        cpu => cpu::mixture(cpu, logits, gate, weights, heads, copied),
        cuda => cuda::mixture(cuda, logits, gate, weights, heads, copied))
}
