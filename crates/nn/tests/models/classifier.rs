//! Every reader with every feature and output, with numbers beside the texts and without: batch mates change nothing, the loss falls,
//! weights survive a file.

use couplet_nn::{Classifier, ClassifierConfig, ForwardPass, LabeledBatch, PackedTokens, Training, weights};
use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::{Device, Isa, Params, Tape};

const WORDS: usize = 13;

const READERS: [&str; 9] = [
    "kind = 'rnn', hidden = 6, layers = 1, bidirectional = false",
    "kind = 'lstm', hidden = [5, 6], bidirectional = 'first', self_attention = 'scaled-dot'",
    "kind = 'rnn', hidden = [6, 5], activation = 'relu'",
    "kind = 'gru', hidden = 6, layers = 1, input = 'one-hot'",
    "kind = 'gru', hidden = 5, layers = 2, layer_norm = true, bidirectional = false, reverse = true",
    "kind = 'lstm', hidden = 6, layers = 1, bidirectional = false, forget_bias = 1.0",
    "kind = 'lstm', hidden = 6, layers = 2, residual_from = 2, variational_dropout = true",
    "kind = 'bag'",
    "kind = 'bag', input = 'one-hot'",
];

const FEATURES: [&str; 4] = ["kind = 'last'", "kind = 'mean'", "kind = 'max'", "kind = 'flatten', steps = 6"];

/// An output, and how many labels it is for.
const OUTPUTS: [(&str, usize); 2] = [("output = 'sigmoid'", 2), ("output = 'softmax'", 3)];

const ALL: [usize; 4] = [0, 1, 2, 3];
const TEXTS: [&[u32]; 4] = [&[4, 5], &[6, 7, 8, 9, 10, 11], &[11], &[12, 4, 5]];
const LABELS: [u32; 4] = [0, 1, 1, 0];

/// The numbers beside each text, where there are any.
const BESIDE: [[f32; 2]; 4] = [[0.5, 0.0], [-1.5, 1.0], [0.0, 0.0], [2.0, 1.0]];

struct Model {
    name: String,
    config: ClassifierConfig,
    labels: usize,
    beside: usize,
    params: Params,
    model: Classifier,
}

impl Model {
    fn new(config: ClassifierConfig, labels: usize, beside: usize, seed: u64) -> Model {
        let mut params = Params::new(&Device::cpu_with(1, Isa::detect()), seed);
        let model = Classifier::new(&mut params, &config, WORDS, beside, labels).expect("a sound config");
        Model { name: format!("{beside} beside {config:?}"), config, labels, beside, params, model }
    }

    /// The numbers beside some of the texts.
    fn beside(&self, texts: &[usize]) -> Vec<f32> {
        texts.iter().flat_map(|&text| &BESIDE[text][..self.beside]).copied().collect()
    }

    /// What some of the texts are.
    fn log_probabilities(&self, texts: &[usize]) -> Vec<Vec<f32>> {
        let numbers: Vec<u32> = (0..texts.len() as u32).collect();
        let packed = PackedTokens::new(&texts.iter().map(|&text| TEXTS[text]).collect::<Vec<_>>(), &numbers);
        self.model.log_probabilities(&ForwardPass::inference(&self.params), &packed, &self.beside(texts))
    }

    fn batch(&self) -> LabeledBatch {
        LabeledBatch::new(&TEXTS, &LABELS, &[0, 1, 2, 3]).with_features(self.beside(&ALL))
    }

    /// The loss of training with dropout, before and after some updates.
    fn train(&mut self, updates: u32) -> (f32, f32) {
        let (batch, mut adam, mut losses) = (self.batch(), Optimizer::adam().clipped(1.0), Vec::new());
        for update in 0..updates {
            let tape = Tape::new();
            let pass = ForwardPass::training(&self.params, Training { tape: &tape, seed: 1, update });
            let loss = self.model.loss(&pass, &batch, 0.0).mean;
            tape.backward(&loss, &mut self.params);
            adam.step(&mut self.params, 0.03);
            losses.push(loss.value().item());
        }
        (losses[0], self.model.loss(&ForwardPass::inference(&self.params), &batch, 0.0).mean.value().item())
    }
}

/// All models of a reader; a bag has no last state.
fn models_of(reader: &str) -> Vec<Model> {
    let config = |feature: &str, output: &str| {
        let text = format!(
            "encoder = {{ embedding = 12, {reader} }}\npooling = {{ {feature} }}\nclassifier = {{ {output} }}"
        );
        let config: ClassifierConfig =
            toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let refused = config.check().is_err();
        assert_eq!(refused, reader.contains("bag") && feature.contains("last"), "{text}");
        (!refused).then_some(config)
    };
    let pairs = FEATURES.iter().flat_map(|feature| OUTPUTS.map(|output| (feature, output)));
    pairs
        .filter_map(|(feature, (output, labels))| Some((config(feature, output)?, labels)))
        .flat_map(|(config, labels)| [0, 2].map(|beside| Model::new(config.clone(), labels, beside, 3)))
        .collect()
}

fn all_models() -> impl Iterator<Item = Model> {
    READERS.into_iter().flat_map(models_of)
}

#[test]
fn every_reader_has_every_feature() {
    assert_eq!(all_models().count(), (7 * 4 + 2 * 3) * 2 * 2);
}

#[test]
fn a_text_has_the_same_labels_alone_and_in_a_batch() {
    for model in all_models() {
        let together = model.log_probabilities(&ALL);
        for (text, expected) in ALL.into_iter().zip(&together) {
            assert_eq!(&model.log_probabilities(&[text])[0], expected, "{}", model.name);
            let sum: f32 = expected.iter().map(|number| number.exp()).sum();
            assert!(expected.len() == model.labels && (sum - 1.0).abs() < 1e-5, "{}", model.name);
        }
    }
}

#[test]
fn the_loss_is_that_of_the_probabilities() {
    for model in all_models() {
        let found =
            model.model.loss(&ForwardPass::inference(&model.params), &model.batch(), 0.0).mean.value().item();
        let of_texts = model.log_probabilities(&ALL);
        let losses = of_texts.iter().zip(LABELS).map(|(of_text, label)| -of_text[label as usize]);
        let expected = losses.sum::<f32>() / TEXTS.len() as f32;
        assert!((found - expected).abs() < 1e-5, "{}: {found} and not {expected}", model.name);
    }
}

#[test]
fn a_model_learns_and_survives_a_file() {
    for mut model in all_models() {
        let (before, after) = model.train(8);
        assert!(after < before, "{}: {before} became {after}", model.name);
        let bytes = weights::to_bytes(&model.params).expect("weights have names and shapes");
        let text = toml::to_string(&model.config).expect("a config is a table");
        let config = toml::from_str(&text).expect("what was just written");
        let mut other = Model::new(config, model.labels, model.beside, 99);
        weights::read(&mut other.params, &bytes).expect("the weights of the same model");
        assert_eq!(other.log_probabilities(&ALL), model.log_probabilities(&ALL), "{}", model.name);
    }
}

#[test]
fn dropout_is_for_training_only_and_follows_the_update() {
    let config = "encoder = { kind = 'bag', dropout = 0.0 }\npooling.kind = 'mean'\nclassifier.dropout = 0.5";
    let model = Model::new(toml::from_str(config).unwrap(), 2, 0, 3);
    let tape = Tape::new();
    let trained = |update| {
        let training = Training { tape: &tape, seed: 1, update };
        model
            .model
            .loss(&ForwardPass::training(&model.params, training), &model.batch(), 0.0)
            .mean
            .value()
            .item()
    };
    assert_eq!(trained(7), trained(7));
    assert_ne!(trained(7), trained(8));
}

/// The gradient of each weight behind the numbers is `Σ_texts (P(label) − [label is right])·v / texts`.
#[test]
fn numbers_beside_a_text_have_the_gradients_of_a_softmax() {
    let config = "encoder = { kind = 'bag', dropout = 0.0, embedding = 3 }\npooling.kind = 'mean'\nclassifier.dropout = 0.0";
    let mut model = Model::new(toml::from_str(config).unwrap(), 2, 2, 3);
    let weight = model.params.find("classifier.weight").expect("its weights");
    let tape = Tape::new();
    let training = Training { tape: &tape, seed: 1, update: 0 };
    let loss = model.model.loss(&ForwardPass::training(&model.params, training), &model.batch(), 0.0).mean;
    tape.backward(&loss, &mut model.params);
    let of_texts = model.log_probabilities(&ALL);
    let columns = 3 + 2;
    for (label, beside) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        let share = |text: usize| {
            let right = f32::from(u8::from(LABELS[text] == label));
            (of_texts[text][label as usize].exp() - right) * BESIDE[text][beside] / 4.0
        };
        let wanted: f32 = ALL.into_iter().map(share).sum();
        let found = model.params.gradient(weight)[label as usize * columns + 3 + beside];
        assert!((found - wanted).abs() < 1e-6, "{found} and not {wanted}");
    }
}
