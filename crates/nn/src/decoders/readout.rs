use crate::builder::ModelBuilder;
use crate::config::{ConfigError, ModelConfig, ReadoutKind, reject_if};
use crate::forward::ForwardPass;
use crate::layers::Linear;
use couplet_tensor::Var;
use couplet_tensor::ops::concat_columns;

/// What a token is predicted from: the state `s` itself, the attentional vector `tanh(W·[s; c] + b)` with the contexts `c` of the step, or
/// the deep output `tanh(W·[s; c; y] + b)` with the embedded previous token `y` as well.
#[derive(Clone, Debug)]
pub(super) struct Readout {
    attentional: Option<Linear>,
    has_word: bool,
}

impl Readout {
    /// Adds the parameters, for contexts of a width in all.
    pub(super) fn new(
        b: ModelBuilder,
        config: &ModelConfig,
        contexts: usize,
    ) -> Result<Readout, ConfigError> {
        let (hidden, embedding) = (config.decoder.hidden, config.decoder.embedding.size);
        let has_attention = config.attention.score().is_some();
        let usual = if has_attention { ReadoutKind::Attentional } else { ReadoutKind::State };
        let kind = config.decoder.readout.unwrap_or(usual);
        reject_if(
            contexts == 0 && kind != ReadoutKind::State,
            "model.decoder.readout joins the state with a context, and no context reaches the steps",
            "use readout = \"state\", an attention score, or model.context.to = \"every_step\"",
        )?;
        Ok(Readout::of_kind(b, kind, [hidden, contexts, embedding]))
    }

    /// A readout of states, contexts and token vectors of these widths.
    fn of_kind(b: ModelBuilder, kind: ReadoutKind, [hidden, contexts, embedding]: [usize; 3]) -> Readout {
        let has_word = kind == ReadoutKind::DeepOutput;
        let inputs = hidden + contexts + if has_word { embedding } else { 0 };
        let attentional = (kind != ReadoutKind::State).then(|| Linear::new(b, inputs, hidden, true));
        Readout { attentional, has_word }
    }

    /// rows × hidden
    pub(super) fn forward<'a>(
        &self,
        fwd: &ForwardPass,
        state: &'a Var,
        contexts: impl IntoIterator<Item = &'a Var>,
        word: &'a Var,
    ) -> Var {
        let Some(attentional) = &self.attentional else { return state.clone() };
        let word = self.has_word.then_some(word);
        let joined: Vec<&Var> = std::iter::once(state).chain(contexts).chain(word).collect();
        attentional.tanh(fwd, &concat_columns(&joined))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::{Device, Params};

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
            let readout = Readout::of_kind(ModelBuilder::new(&mut params), kind, [1, 1, 1]);
            if inputs > 0 {
                set(&mut params, &[("weight", &weights[..inputs]), ("bias", &[0.1])]);
            }
            let [s, c, x] = [0.5, -1.0, 2.0].map(|number| matrix(&[&[number]]));
            let found = readout.forward(&ForwardPass::inference(&params), &s, [&c], &x);
            assert_near(&found.value().to_vec(), &[expected]);
        }
    }
}
