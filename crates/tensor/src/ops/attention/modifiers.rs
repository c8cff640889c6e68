use super::Memory;
use crate::ops::{linear, sigmoid, tanh};
use crate::tape::Var;
use crate::tensor::Tensor;

/// Modifiers of attention besides its score; none by default.
#[derive(Clone, Debug, Default)]
pub struct AttentionModifiers {
    /// The steps that are attended to.
    pub window: Option<LocalWindow>,
    /// The weights that they had before.
    pub coverage: Option<Coverage>,
}

/// Local attention (Luong et al. 2015): each head attends only to the steps `j` with `|j − p| ≤ D`.
#[derive(Clone, Debug)]
pub struct LocalWindow {
    /// `D`, the steps on either side.
    pub half_width: usize,
    /// `p`, the center.
    pub center: WindowCenter,
}

/// The center of a window, for each head of each row: rows × heads.
#[derive(Clone, Debug)]
pub enum WindowCenter {
    /// A step of the source, or its last one where it is shorter. It gets no gradient.
    Step(Var),
    /// A fraction of the source's length, from 0 to 1: `p = S·fraction`. After the softmax, weights are multiplied by
    /// `exp(−(j − p)²/(2σ²))` with `σ = D/2`.
    Fraction(Var),
}

impl WindowCenter {
    pub(crate) fn var(&self) -> &Var {
        match self {
            WindowCenter::Step(var) | WindowCenter::Fraction(var) => var,
        }
    }

    pub(crate) fn is_fraction(&self) -> bool {
        matches!(self, WindowCenter::Fraction(_))
    }
}

/// Coverage (Tu et al. 2016, See et al. 2017): the score takes the keys `k_j + w·Σ a_j`, with the sum of the weights that a step
/// had before.
#[derive(Clone, Debug)]
pub struct Coverage {
    /// rows × heads·source steps
    pub so_far: Var,
    /// `w`, 1 × heads·depth
    pub weight: Var,
}

impl AttentionModifiers {
    /// Itself; none where there is no modifier.
    #[cfg(feature = "cuda")]
    pub(crate) fn non_empty(&self) -> Option<&AttentionModifiers> {
        (self.window.is_some() || self.coverage.is_some()).then_some(self)
    }

    /// All that may get gradients.
    pub(crate) fn inputs(&self) -> impl Iterator<Item = &Var> {
        let center = self.window.as_ref().map(|window| window.center.var());
        center
            .into_iter()
            .chain(self.coverage.iter().flat_map(|coverage| [&coverage.so_far, &coverage.weight]))
    }

    pub(crate) fn check(&self, readers: usize, memory: &Memory) {
        if let Some(window) = &self.window {
            assert!(window.half_width > 0, "a window without steps");
            assert_eq!(window.center.var().shape(), (readers, memory.heads), "a center for each head");
        }
        if let Some(coverage) = &self.coverage {
            let shape = (readers, memory.weight_columns());
            assert_eq!(coverage.so_far.shape(), shape, "the weights so far");
            assert_eq!(coverage.weight.shape(), (1, memory.columns().0), "the weight of the coverage");
        }
    }
}

/// The weights from which a decoder computes the [`AttentionModifiers`] of its steps; none by default.
#[derive(Clone, Debug, Default)]
pub struct ModifierWeights {
    /// The window of local attention.
    pub local: Option<LocalAttention>,
    /// `w` of the [`Coverage`].
    pub coverage: Option<Var>,
}

/// The window of local attention.
#[derive(Clone, Debug)]
pub struct LocalAttention {
    /// The steps on either side of the center.
    pub half_width: usize,
    /// `W` and `v` of `p = S·σ(vᵀ tanh(W·s))`: size × hidden and heads × size. Without them, step `t` of the target attends
    /// to the steps around step `t` of the source.
    pub predict: Option<[Var; 2]>,
}

impl ModifierWeights {
    /// Whether there is no modifier.
    pub fn is_none(&self) -> bool {
        self.local.is_none() && self.coverage.is_none()
    }

    /// The modifiers for states, of which the `i`-th takes step `steps[i]` of its target; `covered` are the weights so far, zero where
    /// there are none yet.
    pub fn modifiers(
        &self,
        states: &Var,
        steps: &[u32],
        covered: Option<&Var>,
        memory: &Memory,
    ) -> AttentionModifiers {
        let window = |local: &LocalAttention| LocalWindow {
            half_width: local.half_width,
            center: match &local.predict {
                Some([weight, vector]) => {
                    let hidden = tanh(&linear(states, weight, None)); // [rows, size]
                    WindowCenter::Fraction(sigmoid(&linear(&hidden, vector, None))) // [rows, heads]
                }
                None => {
                    assert_eq!(steps.len(), states.rows(), "a step for each state");
                    let centers: Vec<f32> =
                        steps.iter().flat_map(|&step| vec![step as f32; memory.heads]).collect();
                    let centers = Tensor::new(states.device(), steps.len(), memory.heads, &centers);
                    WindowCenter::Step(Var::constant(centers))
                }
            },
        };
        let zeros = || Var::constant(Tensor::zeros(states.device(), states.rows(), memory.weight_columns()));
        AttentionModifiers {
            window: self.local.as_ref().map(window),
            coverage: self.coverage.as_ref().map(|weight| Coverage {
                so_far: covered.cloned().unwrap_or_else(zeros),
                weight: weight.clone(),
            }),
        }
    }
}
