//! Activations by name.

use serde::{Deserialize, Serialize};

/// What a simple recurrent cell or a linear score does with its sum.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ActivationKind {
    /// `tanh x`
    #[default]
    Tanh,
    /// `max(x, 0)`
    Relu,
    /// `1 / (1 + e^-x)`
    Sigmoid,
    /// `x` itself.
    None,
}

/// An expression with the engine's type of an activation: `with_activation!(kind, A => f::<A>())`. The one place where kinds
/// become types.
macro_rules! with_activation {
    ($kind:expr, $A:ident => $do:expr) => {
        match $kind {
            $crate::ActivationKind::Tanh => {
                type $A = couplet_tensor::activation::Tanh;
                $do
            }
            $crate::ActivationKind::Relu => {
                type $A = couplet_tensor::activation::Relu;
                $do
            }
            $crate::ActivationKind::Sigmoid => {
                type $A = couplet_tensor::activation::Sigmoid;
                $do
            }
            $crate::ActivationKind::None => {
                type $A = couplet_tensor::activation::Identity;
                $do
            }
        }
    };
}
pub(crate) use with_activation;
