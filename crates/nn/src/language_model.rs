//! A reader that says after each token which one it expects next: `P(text)`, token by token.

use crate::config::{ConfigError, LanguageModelConfig};
use crate::encoder::Encoder;
use crate::layer::Linear;
use crate::pass::Pass;
use crate::seq2seq::Loss;
use crate::tokens::{NextTokens, Packed};
use couplet_tensor::ops::{CrossEntropy, cross_entropy, gather_rows};
use couplet_tensor::{Init, Params, Var};

/// A model of texts. Its weights live in the [`Params`] that it was added to; those of its reader have the names and shapes of any
/// other model's reader.
#[derive(Clone, Debug)]
pub struct LanguageModel {
    encoder: Encoder,
    output: Linear,
}

/// How far a language model has read, a row for each text.
#[derive(Clone, Debug, Default)]
pub struct ReadState {
    /// The state of each layer, part by part; nothing before the first token.
    layers: Vec<Vec<Var>>,
}

impl ReadState {
    /// Row `rows[i]` as row `i`.
    #[must_use]
    pub fn select(&self, rows: &[u32]) -> ReadState {
        let pick = |layer: &Vec<Var>| layer.iter().map(|part| gather_rows(part, rows)).collect();
        ReadState { layers: self.layers.iter().map(pick).collect() }
    }
}

impl LanguageModel {
    /// Adds the model's parameters, for a vocabulary of so many tokens.
    pub fn new(
        params: &mut Params,
        config: &LanguageModelConfig,
        vocabulary: usize,
    ) -> Result<LanguageModel, ConfigError> {
        config.check()?;
        let encoder = Encoder::new(params, &config.encoder, vocabulary);
        let output = match encoder.embedding().filter(|_| config.output.tied) {
            Some(embedding) => Linear {
                weight: embedding.weight,
                bias: Some(params.add("output.bias", 1, vocabulary, Init::Constant(0.0))),
            },
            None => Linear::new(params, "output", config.encoder.width(vocabulary), vocabulary, true),
        };
        Ok(LanguageModel { encoder, output })
    }

    /// The cross-entropy of the tokens that come next.
    pub fn loss(&self, pass: &Pass, batch: &NextTokens, smoothing: f32) -> Loss {
        let states = self.encoder.forward(pass, &batch.input).states; // [rows, width]
        let (weight, bias) = self.output.weights(pass);
        let how = CrossEntropy { scale: 1.0 / batch.targets() as f32, smoothing };
        let (mean, of_rows) = cross_entropy(&states, &weight, bias.as_ref(), &batch.output, how);
        Loss { mean, of_rows }
    }

    /// Reads a token more of each text: how much each token is expected next, rows × vocabulary, and how far it has read.
    pub fn step(&self, pass: &Pass, tokens: &[u32], state: &ReadState) -> (Var, ReadState) {
        let texts: Vec<&[u32]> = tokens.chunks(1).collect();
        let numbers: Vec<u32> = (0..tokens.len() as u32).collect();
        let before = (!state.layers.is_empty()).then_some(&state.layers[..]);
        let encoded = self.encoder.forward_from(pass, &Packed::new(&texts, &numbers), before);
        (self.output.forward(pass, &encoded.states), ReadState { layers: encoded.last })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, set};
    use couplet_tensor::Device;

    fn model(config: &str, vocabulary: usize) -> (Params, LanguageModel) {
        let config: LanguageModelConfig = toml::from_str(config).unwrap();
        let mut params = Params::new(&Device::cpu(), 1);
        let model = LanguageModel::new(&mut params, &config, vocabulary).unwrap();
        (params, model)
    }

    /// The reader h' = tanh(x + h/2) of the tokens 0 and 1, whose vectors are 1 and −1, is at tanh(1) = 0.76159 after 0, and at
    /// tanh(−1 + 0.38080) = −0.55057 after 1. Tied, the logits are h and −h: P(1) after 0 is σ(−2·0.76159) = 0.17900, so that the
    /// loss is 1.72039, and P(0) after 0 1 is σ(−2·0.55057) = 0.24953, so that it is 1.38818.
    #[test]
    fn a_simple_reader_by_hand() {
        let reader =
            "{ kind = 'rnn', layers = 1, hidden = 1, embedding = 1, bidirectional = false, dropout = 0.0 }";
        let (mut params, model) = model(&format!("encoder = {reader}\noutput.tied = true"), 2);
        set(
            &mut params,
            &[
                ("encoder.embedding.weight", &[1.0, -1.0]),
                ("encoder.weight_ih_l0", &[1.0]),
                ("encoder.weight_hh_l0", &[0.5]),
                ("encoder.bias_ih_l0", &[0.0]),
                ("output.bias", &[0.0, 0.0]),
            ],
        );
        let pass = Pass::inference(&params);
        let loss = model.loss(&pass, &NextTokens::new(&[&[0, 1, 0]], &[0]), 0.0);
        assert_near(&loss.of_rows.to_vec(), &[1.72039, 1.38818]);
        assert_near(&loss.mean.value().to_vec(), &[1.554_285]);

        let (logits, state) = model.step(&pass, &[0], &ReadState::default());
        assert_near(&logits.value().to_vec(), &[0.76159, -0.76159]);
        let (logits, _) = model.step(&pass, &[1], &state);
        assert_near(&logits.value().to_vec(), &[-0.55057, 0.55057]);
    }

    /// Whatever the cell, a text that is read token by token is the text that is read at once.
    #[test]
    fn steps_are_the_sequence() {
        for kind in ["rnn", "gru", "lstm"] {
            let reader =
                format!("{{ kind = '{kind}', hidden = [5, 6], embedding = 4, bidirectional = false }}");
            let (params, model) = model(&format!("encoder = {reader}"), 9);
            let pass = Pass::inference(&params);
            let texts: [&[u32]; 2] = [&[2, 5, 7, 4, 3], &[2, 8, 3]];
            let losses = model.loss(&pass, &NextTokens::new(&texts, &[0, 1]), 0.0).of_rows.to_vec();
            // The rows are packed: step by step, the longer text first.
            let mut by_steps = Vec::new();
            let mut state = ReadState::default();
            for step in 0..4 {
                let going: Vec<&&[u32]> = texts.iter().filter(|text| step + 1 < text.len()).collect();
                let rows: Vec<u32> = (0..going.len() as u32).collect();
                let tokens: Vec<u32> = going.iter().map(|text| text[step]).collect();
                let (logits, next) = model.step(&pass, &tokens, &state.select(&rows));
                for (row, text) in logits.value().to_vec().chunks(9).zip(&going) {
                    let sum: f32 = row.iter().map(|logit| logit.exp()).sum();
                    by_steps.push(sum.ln() - row[text[step + 1] as usize]);
                }
                state = next;
            }
            assert_near(&losses, &by_steps);
        }
    }
}
