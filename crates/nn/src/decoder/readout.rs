use crate::config::ReadoutKind;
use crate::layer::Linear;
use crate::pass::Pass;
use couplet_tensor::ops::concat_columns;
use couplet_tensor::{Params, Var};

/// What a token is predicted from: the state `s` itself, or with the contexts `c` of the step, and perhaps the vector `x` of the
/// token before, the attention vector `tanh(W·[s; c; x] + b)`.
#[derive(Clone, Debug)]
pub(crate) struct Readout {
    mix: Option<Linear>,
    word: bool,
}

impl Readout {
    /// Adds its parameters, for states of `hidden` numbers, contexts of `contexts` numbers in all, and vectors of `embedding`.
    pub(crate) fn new(
        params: &mut Params,
        kind: ReadoutKind,
        hidden: usize,
        contexts: usize,
        embedding: usize,
    ) -> Readout {
        let word = kind == ReadoutKind::DeepOutput;
        let inputs = hidden + contexts + if word { embedding } else { 0 };
        let mix = (kind != ReadoutKind::State)
            .then(|| Linear::new(params, "decoder.attentional", inputs, hidden, true));
        Readout { mix, word }
    }

    /// rows × hidden
    pub(crate) fn forward<'a>(
        &self,
        pass: &Pass,
        state: &'a Var,
        contexts: impl IntoIterator<Item = &'a Var>,
        word: &'a Var,
    ) -> Var {
        let Some(mix) = &self.mix else { return state.clone() };
        let word = self.word.then_some(word);
        let joined: Vec<&Var> = std::iter::once(state).chain(contexts).chain(word).collect();
        mix.tanh(pass, &concat_columns(&joined))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::Device;

    /// With s = 0.5, c = −1 and x = 2: s itself; tanh(1·0.5 + 0.4·(−1) + 0.1) = tanh(0.2) = 0.19738;
    /// and with x as well, tanh(0.2 + 0.25·2) = tanh(0.7) = 0.60437.
    #[test]
    fn readouts_by_hand() {
        let weights: [f32; 3] = [1.0, 0.4, 0.25];
        let kinds = [
            (ReadoutKind::State, 0, 0.5),
            (ReadoutKind::Attentional, 2, 0.19738),
            (ReadoutKind::DeepOutput, 3, 0.60437),
        ];
        for (kind, inputs, expected) in kinds {
            let mut params = Params::new(&Device::cpu(), 1);
            let readout = Readout::new(&mut params, kind, 1, 1, 1);
            if inputs > 0 {
                set(
                    &mut params,
                    &[
                        ("decoder.attentional.weight", &weights[..inputs]),
                        ("decoder.attentional.bias", &[0.1]),
                    ],
                );
            }
            let [s, c, x] = [0.5, -1.0, 2.0].map(|number| matrix(&[&[number]]));
            let found = readout.forward(&Pass::inference(&params), &s, [&c], &x);
            assert_near(&found.value().to_vec(), &[expected]);
        }
    }
}
