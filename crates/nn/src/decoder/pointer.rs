use super::layers::Seen;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::{PointerOutput, concat_columns};
use couplet_tensor::{Params, Var};

/// Decides between the vocabulary and the source, to which the attention points: `g = σ(w·[s; c; x] + b)`, from the state, the
/// contexts of the step and the vector of the token before.
#[derive(Clone, Debug)]
pub(crate) struct Pointer {
    gate: Linear,
    heads: usize,
}

impl Pointer {
    /// Adds its parameters, for states of `hidden` numbers, contexts of `contexts` numbers in all, and vectors of `embedding`.
    pub(crate) fn new(
        params: &mut Params,
        hidden: usize,
        contexts: usize,
        embedding: usize,
        heads: usize,
    ) -> Pointer {
        Pointer {
            gate: Linear::new(params, "decoder.copy_gate", hidden + contexts + embedding, 1, true),
            heads,
        }
    }

    /// Where some rows point, and how much.
    pub(crate) fn forward(
        &self,
        pass: &Pass,
        states: &Var,
        seen: &Seen,
        told: Option<&Var>,
        word: &Var,
    ) -> PointerOutput {
        let joined: Vec<&Var> = [states, &seen.context].into_iter().chain(told).chain([word]).collect();
        let gate = self.gate.forward(pass, &concat_columns(&joined)); // [rows, 1]
        PointerOutput { gate, weights: seen.weights.clone(), heads: self.heads }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::Device;
    use couplet_tensor::ops::{CopySource, copy_mixture};

    /// With s = 0.5, c = −1 and x = 2, the gate is σ(0.4·0.5 + 0.3·(−1) + 0.25·2 − 0.4) = σ(0) = 1/2. The vocabulary's two words are
    /// alike, and the attention is 0.9 on a word that it does not have: 0.25, 0.25 + 0.05, and 0.45.
    #[test]
    fn a_pointer_by_hand() {
        let mut params = Params::new(&Device::cpu(), 1);
        let pointer = Pointer::new(&mut params, 1, 1, 1, 1);
        set(
            &mut params,
            &[("decoder.copy_gate.weight", &[0.4, 0.3, 0.25]), ("decoder.copy_gate.bias", &[-0.4])],
        );
        let [s, c, x] = [0.5, -1.0, 2.0].map(|number| matrix(&[&[number]]));
        let seen = Seen { context: c, weights: matrix(&[&[0.1, 0.9]]) };
        let pointing = pointer.forward(&Pass::inference(&params), &s, &seen, None, &x);
        assert_near(&pointing.gate.value().to_vec(), &[0.0]);
        let copied = CopySource::new(&[&[1, 2]], [0].into());
        let mixed = copy_mixture(matrix(&[&[0.7, 0.7]]).value(), &pointing, &copied).to_vec();
        assert_near(&mixed.into_iter().map(f32::exp).collect::<Vec<_>>(), &[0.25, 0.3, 0.45]);
    }
}
