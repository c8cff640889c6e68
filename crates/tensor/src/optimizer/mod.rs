//! From gradients to new weights.
//!
//! Clipping by global norm, `g ← g·min(1, limit / (‖g‖ + 1e-6))`, and one of the rules. Adam, with AdamW's decay `λ` where it is
//! not zero:
//!
//! ```text
//! m ← β₁·m + (1 − β₁)·g
//! v ← β₂·v + (1 − β₂)·g²
//! w ← w·(1 − rate·λ) − rate · (m / (1 − β₁ᵗ)) / (√(v / (1 − β₂ᵗ)) + ε)
//! ```
//!
//! Stochastic gradient descent with momentum:
//!
//! ```text
//! m ← μ·m + g
//! w ← w − rate·m
//! ```
//!
//! Lion, whose steps are all of one size:
//!
//! ```text
//! w ← w·(1 − rate·λ) − rate · sign(β₁·m + (1 − β₁)·g)
//! m ← β₂·m + (1 − β₂)·g
//! ```
//!
//! Adafactor stands in [`adafactor`].
//!
//! One pass over the gradients finds the norm, a second one clips and updates; the gradients themselves are not changed. What is
//! frozen ([`Params::freeze`]) has no gradients and is passed by; what is no longer frozen begins as all others began, with a first
//! step of its own.

pub mod adafactor;
mod average;
mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub mod reference;

use crate::device::on_device;
use crate::params::{ParamSpan, Params};
use crate::profile::{self, Phase};
use crate::tensor::Tensor;
pub use average::Average;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// The norm of all gradients together: 1 × 1.
pub fn gradient_norm(params: &mut Params) -> Tensor {
    let device = params.device().clone();
    let _span = profile::enter("gradient_norm", Phase::Update, &device);
    let gradients = params.gradients();
    on_device!(&device, cpu => cpu::norm(cpu, gradients), cuda => cuda::norm(cuda, gradients))
}

/// How gradients change weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Rule {
    /// Adam; with a decay, AdamW.
    Adam {
        /// `β₁` and `β₂`.
        betas: [f32; 2],
        /// `ε`.
        epsilon: f32,
        /// `λ`.
        decay: f32,
    },
    /// Stochastic gradient descent.
    Sgd {
        /// `μ`.
        momentum: f32,
    },
    /// Lion.
    Lion {
        /// `β₁` and `β₂`.
        betas: [f32; 2],
        /// `λ`.
        decay: f32,
    },
    /// Adafactor.
    Adafactor {
        /// `λ`.
        decay: f32,
    },
}

impl Rule {
    /// Adam with its usual settings.
    pub const ADAM: Rule = Rule::Adam { betas: [0.9, 0.999], epsilon: 1e-8, decay: 0.0 };

    /// What profiles call it.
    fn name(self) -> &'static str {
        match self {
            Rule::Adam { .. } => "adam",
            Rule::Sgd { .. } => "sgd",
            Rule::Lion { .. } => "lion",
            Rule::Adafactor { .. } => "adafactor",
        }
    }

    /// How many numbers each of its tensors holds.
    fn memory(self, params: &Params) -> Vec<usize> {
        let length = params.length();
        match self {
            Rule::Adam { .. } => vec![length; 2],
            Rule::Sgd { .. } | Rule::Lion { .. } => vec![length],
            Rule::Adafactor { .. } => vec![adafactor::statistics(params)],
        }
    }
}

/// The norm of the gradients and its limit. The norm is read on the device, so that nothing waits for it.
#[derive(Clone, Copy)]
struct Clip<'a> {
    norm: &'a Tensor,
    limit: f32,
}

/// The gradients of a step, and the part of the flat store that it updates.
#[derive(Clone, Copy)]
struct SpanUpdate<'a> {
    gradients: &'a Tensor,
    span: &'a Range<usize>,
    clip: Option<Clip<'a>>,
}

/// The constants of a step of Adam.
#[derive(Clone, Copy)]
struct AdamStep {
    betas: [f32; 2],
    /// The learning rate, corrected for the first moment's start at zero.
    rate: f32,
    /// The same correction of the second moment, under the root.
    root: f32,
    epsilon: f32,
    /// The factor of weight decay: `1 − rate·λ`.
    keep: f32,
}

/// The constants of a step of SGD.
#[derive(Clone, Copy)]
struct SgdStep {
    momentum: f32,
    rate: f32,
}

/// The constants of a step of Lion.
#[derive(Clone, Copy)]
struct LionStep {
    betas: [f32; 2],
    rate: f32,
    /// The factor of weight decay: `1 − rate·λ`.
    keep: f32,
}

/// The part of a moment that belongs to a parameter.
struct MomentSpan {
    name: String,
    /// Which of the rule's moments.
    moment: usize,
    span: Range<usize>,
    rows: usize,
}

/// A rule, and what it remembers from step to step.
#[derive(Debug)]
pub struct Optimizer {
    rule: Rule,
    clip: Option<f32>,
    steps: u64,
    moments: Vec<Tensor>,
}

impl Optimizer {
    /// A rule at its beginning. Gradients are not clipped.
    pub fn new(rule: Rule) -> Optimizer {
        Optimizer { rule, clip: None, steps: 0, moments: Vec::new() }
    }

    /// Adam with its usual settings.
    pub fn adam() -> Optimizer {
        Optimizer::new(Rule::ADAM)
    }

    /// With the gradients scaled down where the norm of all together is larger than this.
    #[must_use]
    pub fn clipped(self, limit: f32) -> Optimizer {
        Optimizer { clip: Some(limit), ..self }
    }

    /// How many steps it has made.
    pub fn steps(&self) -> u64 {
        self.steps
    }

    /// What it remembers of each parameter, by name: nothing before its first step. The first moment of a parameter `w` is
    /// `moment0.w`, of the shape of `w`; Adafactor's mean squares are `moment_columns.w` and, of a matrix, `moment_rows.w`. They share
    /// the optimizer's memory.
    pub fn state(&self, params: &Params) -> BTreeMap<String, Tensor> {
        if self.moments.is_empty() {
            return BTreeMap::new();
        }
        let tensor = |MomentSpan { name, moment, span, rows }: MomentSpan| {
            let columns = span.len().checked_div(rows).unwrap_or(0);
            (name, self.moments[moment].part(span.start, rows, columns, Arc::default()))
        };
        self.spans(params).into_iter().map(tensor).collect()
    }

    /// The names and the shapes of its [state](Optimizer::state) after so many steps.
    pub fn state_shapes(&self, params: &Params, steps: u64) -> BTreeMap<String, (usize, usize)> {
        let spans = if steps == 0 { Vec::new() } else { self.spans(params) };
        let shape = |MomentSpan { name, span, rows, .. }: MomentSpan| {
            (name, (rows, span.len().checked_div(rows).unwrap_or(0)))
        };
        spans.into_iter().map(shape).collect()
    }

    /// Resumes after so many steps with the [state](Optimizer::state) of another one of the same rule. False where a tensor is
    /// missing or of another size; nothing has changed then. Other tensors are ignored.
    pub fn restore(&mut self, params: &mut Params, steps: u64, state: &BTreeMap<String, Vec<f32>>) -> bool {
        let spans = if steps == 0 { Vec::new() } else { self.spans(params) };
        let fits = |of: &MomentSpan| state.get(&of.name).is_some_and(|values| values.len() == of.span.len());
        if !spans.iter().all(fits) {
            return false;
        }
        let lengths = if steps == 0 { Vec::new() } else { self.rule.memory(params) };
        let mut moments: Vec<Tensor> =
            lengths.into_iter().map(|length| Tensor::zeros(params.device(), 1, length)).collect();
        for MomentSpan { name, moment, span, .. } in spans {
            moments[moment].write(span.start, &state[&name]);
        }
        self.steps = steps;
        params.set_steps(steps);
        self.moments = moments;
        true
    }

    /// The parts of its moments that belong to the parameters.
    fn spans(&self, params: &Params) -> Vec<MomentSpan> {
        if let Rule::Adafactor { .. } = self.rule {
            let span = |(name, span)| MomentSpan { name, moment: 0, span, rows: 1 };
            return adafactor::named(params).into_iter().map(span).collect();
        }
        let of_moment = |moment: usize| {
            params.in_store().map(move |param| {
                let (span, rows, ..) = params.placed(param);
                MomentSpan { name: format!("moment{moment}.{}", params.name(param)), moment, span, rows }
            })
        };
        (0..self.rule.memory(params).len()).flat_map(of_moment).collect()
    }

    /// Changes the weights by their gradients and begins a new step. Returns the norm of the gradients before clipping, where
    /// they are clipped; on a GPU, reading it waits for the step.
    pub fn step(&mut self, params: &mut Params, rate: f32) -> Option<Tensor> {
        let norm = self.clip.map(|_| gradient_norm(params));
        self.step_with(params, rate, norm.as_ref());
        norm
    }

    /// As [`Optimizer::step`], with a norm that is known already.
    pub fn step_with(&mut self, params: &mut Params, rate: f32, norm: Option<&Tensor>) {
        let device = params.device().clone();
        let _span = profile::enter(self.rule.name(), Phase::Update, &device);
        self.steps += 1;
        if self.moments.is_empty() {
            let lengths = self.rule.memory(params);
            self.moments = lengths.into_iter().map(|length| Tensor::zeros(&device, 1, length)).collect();
        }
        let clip = self.clip.zip(norm).map(|(limit, norm)| Clip { norm, limit });
        self.apply(params, rate, clip);
        params.set_steps(self.steps);
        params.zero_gradients();
        device.memory().end_update();
    }

    fn apply(&mut self, params: &mut Params, rate: f32, clip: Option<Clip>) {
        if let Rule::Adafactor { decay } = self.rule {
            let how = |step| adafactor::Step::new(step, rate, decay);
            return adafactor::apply(params, &mut self.moments[0], clip, self.steps, how);
        }
        for span in params.param_spans(self.steps) {
            self.apply_to(&span, params, rate, clip);
        }
    }

    /// A step of a rule that updates every element by itself, for a span of the parameters.
    fn apply_to(&mut self, params_span: &ParamSpan, params: &mut Params, rate: f32, clip: Option<Clip>) {
        let device = params.device().clone();
        let (weights, gradients) = params.weights_and_gradients();
        let update = SpanUpdate { gradients, span: &params_span.span, clip };
        match (self.rule, &mut self.moments[..]) {
            (Rule::Adam { betas, epsilon, decay }, [m, v]) => {
                let [first, second] =
                    betas.map(|beta| (1.0 - f64::from(beta).powf(params_span.step as f64)) as f32);
                let (root, keep) = (1.0 / second.sqrt(), 1.0 - rate * decay);
                let how = AdamStep { betas, rate: rate / first, root, epsilon, keep };
                on_device!(&device,
                    cpu => cpu::adam(cpu, update, weights.data_mut(), [m, v], how),
                    cuda => cuda::adam(cuda, update, weights.pointer(), [m, v], how));
            }
            (Rule::Sgd { momentum }, [m]) => {
                let how = SgdStep { momentum, rate };
                on_device!(&device,
                    cpu => cpu::sgd(cpu, update, weights.data_mut(), m, how),
                    cuda => cuda::sgd(cuda, update, weights.pointer(), m, how));
            }
            (Rule::Lion { betas, decay }, [m]) => {
                let how = LionStep { betas, rate, keep: 1.0 - rate * decay };
                on_device!(&device,
                    cpu => cpu::lion(cpu, update, weights.data_mut(), m, how),
                    cuda => cuda::lion(cuda, update, weights.pointer(), m, how));
            }
            (rule, moments) => unreachable!("{rule:?} with {} moments", moments.len()),
        }
    }
}
