//! Copying from the source, as pointer-generator networks do (See et al. 2017).

use crate::attention::AttentionOutput;
use crate::builder::ModelBuilder;
use crate::forward::ForwardPass;
use crate::layers::Linear;
use couplet_tensor::Var;
use couplet_tensor::ops::{PointerOutput, concat_columns};

/// The choice between the vocabulary and the source tokens that the decoder attends to (See et al. 2017): `g = σ(w·[s; c; y] + b)`,
/// from the state, the contexts of the step and the embedded previous token.
#[derive(Clone, Debug)]
pub(super) struct CopyGate {
    gate: Linear,
    heads: usize,
}

impl CopyGate {
    /// Adds `copy_gate`, for states, contexts and token vectors of a width in all.
    pub(super) fn new(b: &mut ModelBuilder, inputs: usize, heads: usize) -> CopyGate {
        CopyGate { gate: Linear::new(b.child("copy_gate"), inputs, 1, true), heads }
    }

    /// The gate of each row, and the attention weights of the source tokens.
    pub(super) fn forward(
        &self,
        fwd: &ForwardPass,
        states: &Var,
        attention: &AttentionOutput,
        fixed_context: Option<&Var>,
        word: &Var,
    ) -> PointerOutput {
        let context = &attention.context;
        let joined: Vec<&Var> = [states, context].into_iter().chain(fixed_context).chain([word]).collect();
        let gate = self.gate.forward(fwd, &concat_columns(&joined)); // [rows, 1]
        PointerOutput { gate, weights: attention.weights.clone(), heads: self.heads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::ops::{CopySource, copy_mixture};
    use couplet_tensor::{Device, Params};

    /// With s = 0.5, c = −1 and x = 2, the gate is σ(0.4·0.5 + 0.3·(−1) + 0.25·2 − 0.4) = σ(0) = 1/2. The vocabulary's two words are
    /// alike, and the attention is 0.9 on a word that it does not have: 0.25, 0.25 + 0.05, and 0.45.
    #[test]
    fn a_pointer_by_hand() {
        let mut params = Params::new(&Device::cpu(), 1);
        let gate = CopyGate::new(&mut ModelBuilder::new(&mut params), 3, 1);
        set(&mut params, &[("copy_gate.weight", &[0.4, 0.3, 0.25]), ("copy_gate.bias", &[-0.4])]);
        let [s, c, x] = [0.5, -1.0, 2.0].map(|number| matrix(&[&[number]]));
        let attention = AttentionOutput { context: c, weights: matrix(&[&[0.1, 0.9]]) };
        let output = gate.forward(&ForwardPass::inference(&params), &s, &attention, None, &x);
        assert_near(&output.gate.value().to_vec(), &[0.0]);
        let copied = CopySource::new(&[&[1, 2]], [0].into());
        let mixed = copy_mixture(matrix(&[&[0.7, 0.7]]).value(), &output, &copied).to_vec();
        assert_near(&mixed.into_iter().map(f32::exp).collect::<Vec<_>>(), &[0.25, 0.3, 0.45]);
    }
}
