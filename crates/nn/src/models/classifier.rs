//! A classifier: an encoder, a vector that its states are pooled to, and a projection to labels, `P(label | text)` or
//! `P(label | text, features)` with tabular features in addition to the text.

use super::LossStats;
use crate::builder::ModelBuilder;
use crate::config::{
    ClassifierConfig, ConfigError, ContextKind, OutputKind, PoolingConfig, PoolingKind, reject_if,
};
use crate::decoders::pooled;
use crate::encoders::{Encoded, SourceEncoder};
use crate::forward::ForwardPass;
use crate::layers::{Dropout, DropoutSite, Linear};
use crate::tokens::{LabeledBatch, PackedTokens};
use couplet_tensor::ops::{
    CrossEntropy, concat_columns, cross_entropy, flatten_steps, log_softmax, logistic_loss,
};
use couplet_tensor::{Params, SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// A model from texts to labels. Its weights are in the [`Params`] that it was added to.
#[derive(Clone, Debug)]
pub struct Classifier {
    source: SourceEncoder,
    pooling: PoolingConfig,
    dropout: DropoutSite,
    /// The number of tabular features of a text.
    features: usize,
    dense: Linear,
    output: OutputKind,
}

impl Classifier {
    /// Adds the model's parameters, for a vocabulary of a size, so many tabular features of each text, and so many labels.
    pub fn new(
        params: &mut Params,
        config: &ClassifierConfig,
        vocabulary: usize,
        features: usize,
        labels: usize,
    ) -> Result<Classifier, ConfigError> {
        config.check_head()?;
        config.check_labels(labels)?;
        let b = &mut ModelBuilder::new(params);
        let source = SourceEncoder::new(b, &config.encoder, vocabulary)?;
        reject_if(
            config.pooling.kind == PoolingKind::Last && !source.encoder.has_summary(),
            "model.pooling.kind = \"last\" needs an encoder with a last state",
            "this one has no order; use \"mean\", \"max\" or \"flatten\"",
        )?;
        let pooled = source.encoder.width() * config.pooling.steps.unwrap_or(1);
        let dropout = Dropout::new(config.classifier.dropout, false);
        Ok(Classifier {
            source,
            pooling: config.pooling.clone(),
            dropout: b.child("classifier").dropout("dropout", dropout),
            features,
            dense: Linear::new(b.child("classifier"), pooled + features, config.outputs(labels), true),
            output: config.classifier.output,
        })
    }

    /// The cross-entropy of a batch's labels. Labels can be smoothed where there is a logit for each.
    pub fn loss(&self, fwd: &ForwardPass, batch: &LabeledBatch, smoothing: f32) -> LossStats {
        let pooled = self.forward(fwd, &batch.texts, &batch.features); // [batch, pooled + features]
        let (targets, tokens) = (batch.labels.len(), batch.texts.tokens.len());
        let scale = 1.0 / targets as f32;
        let (mean, per_target) = match self.output {
            OutputKind::Sigmoid => {
                let second: Vec<bool> = batch.labels.iter().map(|&label| label == 1).collect();
                logistic_loss(&self.dense.forward(fwd, &pooled), &second, scale)
            }
            OutputKind::Softmax => {
                let (weight, bias) = self.dense.weights(fwd);
                let config = CrossEntropy { scale, smoothing };
                cross_entropy(&pooled, &weight, bias.as_ref(), &batch.labels, config)
            }
        };
        LossStats { mean, per_target, targets, tokens }
    }

    /// The log-probability of each label, for each text in the order in which they were given, as are their tabular features.
    pub fn log_probabilities(
        &self,
        fwd: &ForwardPass,
        texts: &PackedTokens,
        features: &[f32],
    ) -> Vec<Vec<f32>> {
        let logits = self.dense.forward(fwd, &self.forward(fwd, texts, features)); // [batch, outputs]
        let (values, width) = (logits.value().to_vec(), logits.columns());
        let of_text = |&row: &u32| {
            let logits = &values[row as usize * width..][..width];
            match self.output {
                // σ(z) = e^z / (e^0 + e^z): the first label's logit is always zero.
                OutputKind::Sigmoid => log_softmax(&[0.0, logits[0]]),
                OutputKind::Softmax => log_softmax(logits),
            }
        };
        texts.layout.unsorted_indices().iter().map(of_text).collect()
    }

    /// Encodes packed texts and pools the states of each to a vector `c`; with tabular features `v`, the label is predicted from
    /// `[c; v]`: `z = W·[c; v] + b = W_c·c + W_v·v + b`.
    fn forward(&self, fwd: &ForwardPass, texts: &PackedTokens, features: &[f32]) -> Var {
        let encoded = self.source.forward(fwd, texts); // states: [rows, width]
        let pooled = self.pool(&encoded); // [batch, pooled]
        let examples = texts.layout.examples();
        let once = SequenceLayout::with_examples(&vec![1; examples.len()], examples);
        let pooled = fwd.dropout(pooled, &Arc::new(once), &self.dropout);
        match self.features {
            0 => pooled,
            // These are few, and each is the only one of its kind: none is dropped.
            _ => concat_columns(&[&pooled, &self.tabular_features(fwd, texts, features)]), // [batch, pooled + features]
        }
    }

    /// The tabular features of the texts, in the order of their rows.
    fn tabular_features(&self, fwd: &ForwardPass, texts: &PackedTokens, features: &[f32]) -> Var {
        let (order, width) = (texts.layout.sorted_indices(), self.features);
        assert_eq!(features.len(), order.len() * width, "{width} features of each of {} texts", order.len());
        let rows: Vec<&[f32]> =
            order.iter().map(|&text| &features[text as usize * width..][..width]).collect();
        Var::constant(Tensor::new(fwd.params().device(), order.len(), width, &rows.concat())) // [batch, features]
    }

    fn pool(&self, encoded: &Encoded) -> Var {
        let kind = match self.pooling.kind {
            PoolingKind::Last => ContextKind::Last,
            PoolingKind::Mean => ContextKind::Mean,
            PoolingKind::Max => ContextKind::Max,
            PoolingKind::Flatten => {
                let steps = self.pooling.steps.expect("a checked config has a number of steps");
                return flatten_steps(&encoded.states, &encoded.layout, steps); // [batch, steps·width]
            }
        };
        pooled(kind, encoded).expect("a checked config pools states") // [batch, width]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, set};
    use couplet_tensor::Device;

    /// The probabilities of the labels of each text.
    fn classified(config: &str, given: &[(&str, &[f32])], labels: usize, texts: &[&[u32]]) -> Vec<Vec<f32>> {
        let config: ClassifierConfig = toml::from_str(config).unwrap();
        let mut params = Params::new(&Device::cpu(), 1);
        let model = Classifier::new(&mut params, &config, 2, 0, labels).unwrap();
        set(&mut params, given);
        let numbers: Vec<u32> = (0..texts.len() as u32).collect();
        let found = model.log_probabilities(
            &ForwardPass::inference(&params),
            &PackedTokens::new(texts, &numbers),
            &[],
        );
        found.iter().map(|of_text| of_text.iter().map(|number| number.exp()).collect()).collect()
    }

    /// The reader h' = tanh(x + h/2) ends the tokens 1, −1 with tanh(−1 + tanh(1)/2) = −0.55057, and the token −1 alone with
    /// tanh(−1) = −0.76159. One number: z = 2·h + 0.1, so P(second) = σ(−1.00114) = 0.26872 and σ(−1.42319) = 0.19416.
    /// Two numbers h and −h: P(first) = σ(2h) = 0.24953 and 0.17900.
    #[test]
    fn a_simple_reader_by_hand() {
        let reader =
            "encoder = { kind = 'rnn', layers = 1, hidden = 1, embedding = 1, bidirectional = false }";
        let reads: [(&str, &[f32]); 4] = [
            ("encoder.embedding.weight", &[1.0, -1.0]),
            ("encoder.weight_ih_l0", &[1.0]),
            ("encoder.weight_hh_l0", &[0.5]),
            ("encoder.bias_ih_l0", &[0.0]),
        ];
        let texts: [&[u32]; 2] = [&[1], &[0, 1]];
        let weights = |dense: [(&'static str, &'static [f32]); 2]| [&reads[..], &dense].concat();

        let sigmoid = format!("{reader}\nclassifier.output = 'sigmoid'");
        let dense = weights([("classifier.weight", &[2.0]), ("classifier.bias", &[0.1])]);
        let found = classified(&sigmoid, &dense, 2, &texts);
        assert_near(&found.concat(), &[0.80584, 0.19416, 0.73128, 0.26872]);

        let dense = weights([("classifier.weight", &[1.0, -1.0]), ("classifier.bias", &[0.0, 0.0])]);
        let found = classified(reader, &dense, 2, &texts);
        assert_near(&found.concat(), &[0.17900, 0.82100, 0.24953, 0.75047]);
    }

    /// Tokens are the vectors (1, 2) and (3, −1), room is for three of them. The text 1 0 is (3, −1, 1, 2, 0, 0): with the weights
    /// 0.1 to 0.6, z = 0.3 − 0.2 + 0.3 + 0.8 − 1 = 0.2 and P(second) = σ(0.2) = 0.54983.
    #[test]
    fn flattened_tokens_by_hand() {
        let config = "encoder = { kind = 'bag', embedding = 2 }\npooling = { kind = 'flatten', steps = 3 }\n\
                      classifier.output = 'sigmoid'";
        let given: [(&str, &[f32]); 3] = [
            ("encoder.embedding.weight", &[1.0, 2.0, 3.0, -1.0]),
            ("classifier.weight", &[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]),
            ("classifier.bias", &[-1.0]),
        ];
        assert_near(&classified(config, &given, 2, &[&[1, 0]]).concat(), &[0.45017, 0.54983]);
    }

    /// One number for a token, 1 or −1, and two beside a text: z = 2·c + 0.5·v₁ − 1·v₂ + 0.1. The text 0 beside (2, 1) has
    /// z = 2 + 1 − 1 + 0.1 = 2.1 and P(second) = σ(2.1) = 0.89090; the texts 1 1 and 1 beside (0, 3) have z = −2 − 3 + 0.1 = −4.9
    /// and σ(−4.9) = 0.00739. The longest text is packed first, and its numbers with it.
    #[test]
    fn numbers_beside_a_text_by_hand() {
        let config =
            "encoder = { kind = 'bag', embedding = 1 }\npooling.kind = 'mean'\nclassifier.output = 'sigmoid'";
        let mut params = Params::new(&Device::cpu(), 1);
        let model = Classifier::new(&mut params, &toml::from_str(config).unwrap(), 2, 2, 2).unwrap();
        set(
            &mut params,
            &[
                ("encoder.embedding.weight", &[1.0, -1.0]),
                ("classifier.weight", &[2.0, 0.5, -1.0]),
                ("classifier.bias", &[0.1]),
            ],
        );
        let texts = PackedTokens::new(&[&[0], &[1, 1], &[1]], &[0, 1, 2]);
        let beside = [2.0, 1.0, 0.0, 3.0, 0.0, 3.0];
        let found = model.log_probabilities(&ForwardPass::inference(&params), &texts, &beside);
        let second: Vec<f32> = found.iter().map(|of_text| of_text[1].exp()).collect();
        assert_near(&second, &[0.89090, 0.00739, 0.00739]);
    }

    /// As the study notes count them: 20 tokens of 8 numbers and a bias are 20·8 + 1 = 161.
    #[test]
    fn parameters_of_flattened_tokens_by_hand() {
        let config = "encoder = { kind = 'bag', embedding = 8 }\npooling = { kind = 'flatten', steps = 20 }\n\
                      classifier.output = 'sigmoid'";
        let mut params = Params::new(&Device::cpu(), 1);
        Classifier::new(&mut params, &toml::from_str(config).unwrap(), 100, 0, 2).unwrap();
        assert_eq!(params.count() - 100 * 8, 161);
    }
}
