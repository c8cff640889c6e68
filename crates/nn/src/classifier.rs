//! A reader, a feature of what it read, and a label: `P(label | text)`, or `P(label | text, numbers)` where numbers stand beside the text.

use crate::config::{ClassifierConfig, ConfigError, ContextKind, OutputKind, PoolingConfig, PoolingKind};
use crate::context::pooled;
use crate::encoder::{Encoded, Encoder};
use crate::layer::{Dropout, DropoutSite, Linear};
use crate::pass::Pass;
use crate::seq2seq::Loss;
use crate::tokens::{LabeledBatch, Packed};
use couplet_tensor::ops::{
    CrossEntropy, concat_columns, cross_entropy, flatten_steps, log_softmax, logistic_loss,
};
use couplet_tensor::{Params, SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// A model from texts to labels. Its weights live in the [`Params`] that it was added to.
#[derive(Clone, Debug)]
pub struct Classifier {
    encoder: Encoder,
    feature: PoolingConfig,
    dropout: DropoutSite,
    /// How many numbers stand beside a text.
    beside: usize,
    dense: Linear,
    output: OutputKind,
}

impl Classifier {
    /// Adds the model's parameters, for a vocabulary of so many tokens, so many numbers beside each text, and so many labels.
    pub fn new(
        params: &mut Params,
        config: &ClassifierConfig,
        vocabulary: usize,
        beside: usize,
        labels: usize,
    ) -> Result<Classifier, ConfigError> {
        config.check()?;
        config.check_labels(labels)?;
        let (inputs, outputs) = (config.feature_width(vocabulary) + beside, config.outputs(labels));
        Ok(Classifier {
            encoder: Encoder::new(params, &config.encoder, vocabulary),
            feature: config.pooling.clone(),
            dropout: DropoutSite::new(
                params,
                "classifier.dropout",
                Dropout::of_numbers(config.classifier.dropout, false),
            ),
            beside,
            dense: Linear::new(params, "classifier", inputs, outputs, true),
            output: config.classifier.output,
        })
    }

    /// The cross-entropy of a batch's labels. Labels can be smoothed where there is a number for each.
    pub fn loss(&self, pass: &Pass, batch: &LabeledBatch, smoothing: f32) -> Loss {
        let feature = self.read(pass, &batch.texts, &batch.beside); // [batch, feature + beside]
        let scale = 1.0 / batch.labels.len() as f32;
        let (mean, of_rows) = match self.output {
            OutputKind::Sigmoid => {
                let second: Vec<bool> = batch.labels.iter().map(|&label| label == 1).collect();
                logistic_loss(&self.dense.forward(pass, &feature), &second, scale)
            }
            OutputKind::Softmax => {
                let (weight, bias) = self.dense.weights(pass);
                let how = CrossEntropy { scale, smoothing };
                cross_entropy(&feature, &weight, bias.as_ref(), &batch.labels, how)
            }
        };
        Loss { mean, of_rows }
    }

    /// The logarithm of each label's probability, for each text in the order in which they were given, as are the numbers beside them.
    pub fn log_probabilities(&self, pass: &Pass, texts: &Packed, beside: &[f32]) -> Vec<Vec<f32>> {
        let logits = self.dense.forward(pass, &self.read(pass, texts, beside)); // [batch, outputs]
        let (numbers, width) = (logits.value().to_vec(), logits.columns());
        let of_place = |&place: &u32| {
            let row = &numbers[place as usize * width..][..width];
            match self.output {
                // σ(z) = e^z / (e^0 + e^z): the first label's number is always zero.
                OutputKind::Sigmoid => log_softmax(&[0.0, row[0]]),
                OutputKind::Softmax => log_softmax(row),
            }
        };
        texts.rows.unsorted_indices().iter().map(of_place).collect()
    }

    /// Reads packed texts and makes a feature `c` of each; with the numbers `v` beside it, the label is predicted from `[c; v]`:
    /// `z = W·[c; v] + b = W_c·c + W_v·v + b`.
    fn read(&self, pass: &Pass, texts: &Packed, beside: &[f32]) -> Var {
        let encoded = self.encoder.forward(pass, texts); // states: [rows, width]
        let feature = self.feature_of(&encoded); // [batch, feature]
        let examples = texts.rows.examples();
        let once = SequenceLayout::with_examples(&vec![1; examples.len()], examples);
        let feature = pass.dropout(feature, &Arc::new(once), &self.dropout);
        match self.beside {
            0 => feature,
            // These are few, and each is the only one of its kind: none is dropped.
            _ => concat_columns(&[&feature, &self.put_beside(pass, texts, beside)]), // [batch, feature + beside]
        }
    }

    /// The numbers beside the texts, in the order of their places.
    fn put_beside(&self, pass: &Pass, texts: &Packed, beside: &[f32]) -> Var {
        let (order, width) = (texts.rows.sorted_indices(), self.beside);
        assert_eq!(beside.len(), order.len() * width, "{width} numbers beside each of {} texts", order.len());
        let rows: Vec<&[f32]> = order.iter().map(|&text| &beside[text as usize * width..][..width]).collect();
        Var::constant(Tensor::new(pass.params().device(), order.len(), width, &rows.concat())) // [batch, beside]
    }

    fn feature_of(&self, encoded: &Encoded) -> Var {
        let context = match self.feature.kind {
            PoolingKind::Last => ContextKind::Last,
            PoolingKind::Mean => ContextKind::Mean,
            PoolingKind::Max => ContextKind::Max,
            PoolingKind::Flatten => {
                let steps = self.feature.steps.expect("a checked config says how many");
                return flatten_steps(&encoded.states, &encoded.rows, steps); // [batch, steps·width]
            }
        };
        pooled(context, encoded).expect("a checked config has states to make it of") // [batch, width]
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
        let found = model.log_probabilities(&Pass::inference(&params), &Packed::new(texts, &numbers), &[]);
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
        let texts = Packed::new(&[&[0], &[1, 1], &[1]], &[0, 1, 2]);
        let beside = [2.0, 1.0, 0.0, 3.0, 0.0, 3.0];
        let found = model.log_probabilities(&Pass::inference(&params), &texts, &beside);
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
