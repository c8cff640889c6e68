//! A language model: a causal encoder and a projection to the next token, `P(text)`, token by token.

use super::LossStats;
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, LanguageModelConfig, reject_if};
use crate::encoders::{CausalEncoder, SourceEncoder};
use crate::forward::ForwardPass;
use crate::layers::Linear;
use crate::state::DecoderState;
use crate::tokens::{NextTokens, PackedTokens};
use couplet_tensor::ops::{CrossEntropy, cross_entropy};
use couplet_tensor::{Init, Params, Var};

/// A model of texts. Its weights are in the [`Params`] that it was added to; those of its encoder have the names and shapes of any other
/// model's encoder.
#[derive(Clone, Debug)]
pub struct LanguageModel {
    source: SourceEncoder,
    output: Linear,
}

impl LanguageModel {
    /// Adds the model's parameters, for a vocabulary of a size.
    pub fn new(
        params: &mut Params,
        config: &LanguageModelConfig,
        vocabulary: usize,
    ) -> Result<LanguageModel, ConfigError> {
        let b = &mut ModelBuilder::new(params);
        let source = SourceEncoder::new(b, &config.encoder, vocabulary)?;
        let width = source.encoder.width();
        config.check_causal(&*source.encoder)?;
        let tied = source.input.embedding().filter(|_| config.output.tied);
        reject_if(
            config.output.tied && tied.is_none(),
            "model.output.tied cannot be combined with model.encoder.input = \"one-hot\"",
            "one-hot tokens have no vectors; remove one of them",
        )?;
        reject_if(
            tied.is_some() && width != config.encoder.embedding.size,
            format!(
                "model.output.tied cannot tie states of width {width} to model.encoder.embedding = {}",
                config.encoder.embedding.size
            ),
            "weights that are tied have one size; give the last layer as many units, or tied = false",
        )?;
        let output = match tied {
            Some(embedding) => Linear {
                weight: embedding.weight,
                bias: Some(b.child("output").add("bias", 1, vocabulary, Init::Constant(0.0))),
            },
            None => Linear::new(b.child("output"), width, vocabulary, true),
        };
        Ok(LanguageModel { source, output })
    }

    /// The cross-entropy of the next tokens.
    pub fn loss(&self, fwd: &ForwardPass, batch: &NextTokens, smoothing: f32) -> LossStats {
        let states = self.source.forward(fwd, &batch.input).states; // [rows, width]
        let (weight, bias) = self.output.weights(fwd);
        let (targets, scale) = (batch.targets(), 1.0 / batch.targets() as f32);
        let config = CrossEntropy { scale, smoothing };
        let (mean, per_target) = cross_entropy(&states, &weight, bias.as_ref(), &batch.output, config);
        LossStats { mean, per_target, targets, tokens: targets }
    }

    /// Encodes further tokens of texts: the hidden state of each token, and the state after all of them. Text `i`, in the order in which
    /// texts were given, continues from row `i` of the state, or begins if the state has no rows.
    pub fn continue_from(
        &self,
        fwd: &ForwardPass,
        tokens: &PackedTokens,
        state: &DecoderState,
    ) -> (Var, DecoderState) {
        let (x, layout) = self.source.input.forward(fwd, tokens);
        self.causal().continue_from(fwd, x, &layout, state)
    }

    /// One step: the hidden state of a token for each row, and the state after it.
    pub fn step(&self, fwd: &ForwardPass, tokens: &[u32], state: &DecoderState) -> (Var, DecoderState) {
        let texts: Vec<&[u32]> = tokens.chunks(1).collect();
        let examples: Vec<u32> = (0..tokens.len() as u32).collect();
        self.continue_from(fwd, &PackedTokens::new(&texts, &examples), state)
    }

    /// The logits of hidden states: rows × vocabulary.
    pub fn logits(&self, fwd: &ForwardPass, hidden: &Var) -> Var {
        self.output.forward(fwd, hidden)
    }

    fn causal(&self) -> &dyn CausalEncoder {
        self.source.encoder.causal().expect("it was checked when the model was built")
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

    /// The encoder h' = tanh(x + h/2) of the tokens 0 and 1, whose vectors are 1 and −1, is at tanh(1) = 0.76159 after 0, and at
    /// tanh(−1 + 0.38080) = −0.55057 after 1. Tied, the logits are h and −h: P(1) after 0 is σ(−2·0.76159) = 0.17900, so that the
    /// loss is 1.72039, and P(0) after 0 1 is σ(−2·0.55057) = 0.24953, so that it is 1.38818.
    #[test]
    fn a_simple_encoder_by_hand() {
        let encoder =
            "{ kind = 'rnn', layers = 1, hidden = 1, embedding = 1, bidirectional = false, dropout = 0.0 }";
        let (mut params, model) = model(&format!("encoder = {encoder}\noutput.tied = true"), 2);
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
        let fwd = ForwardPass::inference(&params);
        let loss = model.loss(&fwd, &NextTokens::new(&[&[0, 1, 0]], &[0]), 0.0);
        assert_near(&loss.per_target.to_vec(), &[1.72039, 1.38818]);
        assert_near(&loss.mean.value().to_vec(), &[1.554_285]);

        let (hidden, state) = model.step(&fwd, &[0], &DecoderState::default());
        assert_near(&model.logits(&fwd, &hidden).value().to_vec(), &[0.76159, -0.76159]);
        let (hidden, _) = model.step(&fwd, &[1], &state);
        assert_near(&model.logits(&fwd, &hidden).value().to_vec(), &[-0.55057, 0.55057]);
    }

    /// A text that is encoded token by token equals the text that is encoded at once, with any cell.
    #[test]
    fn steps_are_the_sequence() {
        for kind in ["rnn", "gru", "lstm"] {
            let encoder =
                format!("{{ kind = '{kind}', hidden = [5, 6], embedding = 4, bidirectional = false }}");
            let (params, model) = model(&format!("encoder = {encoder}"), 9);
            let fwd = ForwardPass::inference(&params);
            let texts: [&[u32]; 2] = [&[2, 5, 7, 4, 3], &[2, 8, 3]];
            let losses = model.loss(&fwd, &NextTokens::new(&texts, &[0, 1]), 0.0).per_target.to_vec();
            // The rows are packed: step by step, the longer text first.
            let mut by_steps = Vec::new();
            let mut state = DecoderState::default();
            for step in 0..4 {
                let going: Vec<&&[u32]> = texts.iter().filter(|text| step + 1 < text.len()).collect();
                let rows: Vec<u32> = (0..going.len() as u32).collect();
                let tokens: Vec<u32> = going.iter().map(|text| text[step]).collect();
                let state_of_rows = if step == 0 { state } else { state.select(&rows) };
                let (hidden, next) = model.step(&fwd, &tokens, &state_of_rows);
                for (row, text) in model.logits(&fwd, &hidden).value().to_vec().chunks(9).zip(&going) {
                    let sum: f32 = row.iter().map(|logit| logit.exp()).sum();
                    by_steps.push(sum.ln() - row[text[step + 1] as usize]);
                }
                state = next;
            }
            assert_near(&losses, &by_steps);
        }
    }

    /// Prompts of different lengths that are encoded in one forward pass leave the state, and the bits of what follows, that they leave
    /// token by token.
    #[test]
    fn a_prompt_is_encoded_at_once() {
        let encoder = "{ kind = 'lstm', hidden = [5, 6], embedding = 4, bidirectional = false }";
        let (params, model) = model(&format!("encoder = {encoder}"), 9);
        let fwd = ForwardPass::inference(&params);
        let prompts: [&[u32]; 3] = [&[2, 8], &[2, 5, 7, 4], &[2]];
        let (_, state) =
            model.continue_from(&fwd, &PackedTokens::new(&prompts, &[0, 1, 2]), &DecoderState::default());
        assert_eq!(state.positions(), [2, 4, 1]);
        let (hidden, after) = model.step(&fwd, &[6, 3, 1], &state.select(&[0, 1, 2]));
        assert_eq!(after.positions(), [3, 5, 2]);
        for (row, (prompt, next)) in prompts.into_iter().zip([6, 3, 1]).enumerate() {
            let mut state = DecoderState::default();
            for &token in prompt {
                state = model.step(&fwd, &[token], &state).1;
            }
            let (alone, _) = model.step(&fwd, &[next], &state);
            assert_eq!(hidden.value().to_vec()[row * 6..][..6], alone.value().to_vec());
        }
    }
}
