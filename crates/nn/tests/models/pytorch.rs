//! Whole models, loss by loss and gradient by gradient, beside PyTorch's.

use crate::fixture::{self, Case, padded_losses};
use couplet_nn::{
    Batch, Classifier, ClassifierConfig, EncoderConfig, ForwardPass, LabeledBatch, ModelConfig, OutputKind,
    Seq2Seq, Sizes, Training,
};
use couplet_tensor::{Device, Params, Tape};

/// The config of each case of `fixtures/pytorch/models.py`.
const CASES: [(&str, &str); 31] = [
    (
        "rnn_last_state",
        "bridge = 'copy'\nencoder = { kind = 'rnn', bidirectional = false }\nattention.score = 'none'\ndecoder = { kind = 'rnn' }",
    ),
    (
        "rnn_backwards",
        "encoder = { kind = 'rnn', bidirectional = false, reverse = true }\nattention.score = 'none'\ndecoder = { kind = 'rnn', activation = 'relu' }",
    ),
    (
        "lstm_to_gru",
        "encoder = { kind = 'lstm', bidirectional = false, layers = 2 }\nattention.score = 'none'\ndecoder = { kind = 'gru', layers = 2 }",
    ),
    (
        "gru_context_at_every_step",
        "encoder = { kind = 'gru', layers = 2 }\ncontext.to = 'both'\nattention.score = 'none'\n\
         decoder = { kind = 'gru', layers = 2, readout = 'attentional' }",
    ),
    (
        "gru_mean_to_steps",
        "encoder = { kind = 'gru' }\ncontext = { kind = 'mean', to = 'every_step' }\nattention.score = 'none'\n\
         decoder = { readout = 'deep-output' }",
    ),
    (
        "bag_max_projected",
        "encoder = { kind = 'bag', embedding = 6 }\ncontext = { kind = 'max', projection = 4 }\nattention.score = 'none'\n\
         decoder = { kind = 'rnn' }",
    ),
    ("lstm_additive", "encoder = { layers = 2 }\nattention.size = 4\ndecoder = { layers = 2 }"),
    ("lstm_dot", "encoder = {}\ncontext.kind = 'none'\nattention.score = 'dot'\ndecoder = {}"),
    ("lstm_scaled_dot", "encoder = {}\nattention.score = 'scaled-dot'\ndecoder = {}"),
    ("lstm_general", "encoder = {}\nattention.score = 'general'\ndecoder = {}"),
    ("lstm_concat", "encoder = {}\nattention = { score = 'concat', size = 4 }\ndecoder = {}"),
    ("lstm_linear", "encoder = {}\nattention = { score = 'linear', activation = 'sigmoid' }\ndecoder = {}"),
    ("lstm_query_key", "encoder = {}\nattention = { score = 'query-key', size = 4 }\ndecoder = {}"),
    (
        "lstm_values",
        "encoder = {}\nattention = { score = 'query-key', size = 4, value_projection = true }\ndecoder = {}",
    ),
    (
        "gru_previous",
        "encoder = { kind = 'gru' }\nattention = { size = 4, query = 'previous' }\n\
         decoder = { kind = 'gru', readout = 'deep-output' }",
    ),
    (
        "lstm_previous",
        "encoder = { layers = 2 }\nattention = { score = 'general', query = 'previous' }\n\
         decoder = { layers = 2, readout = 'state' }",
    ),
    (
        "gru_not_fed",
        "encoder = { kind = 'gru', layers = 2 }\nattention = { score = 'general', input_feeding = 'none' }\n\
         decoder = { kind = 'gru', layers = 2 }",
    ),
    (
        "lstm_heads",
        "encoder = {}\nattention = { score = 'query-key', size = 4, value_projection = true, heads = 2 }\ndecoder = {}",
    ),
    (
        "lstm_additive_heads",
        "encoder = {}\nattention = { size = 4, heads = 2, query = 'previous' }\ndecoder = {}",
    ),
    (
        "lstm_deep",
        "encoder = { layers = 3, bidirectional = 'first', residual_from = 2 }\n\
         attention = { size = 4, query_layer = 'first' }\ndecoder = { residual_from = 2 }",
    ),
    (
        "gru_deep_previous",
        "encoder = { kind = 'gru', layers = 3, bidirectional = 'first', residual_from = 2 }\n\
         attention = { score = 'dot', query_layer = 'first', query = 'previous' }\n\
         decoder = { kind = 'gru', residual_from = 2 }",
    ),
    (
        "rnn_deep_not_fed",
        "encoder = { kind = 'rnn', layers = 3, bidirectional = 'first', residual_from = 2 }\n\
         attention = { score = 'general', query_layer = 'first', input_feeding = 'none' }\n\
         decoder = { kind = 'rnn', residual_from = 2 }",
    ),
    (
        "rnn_self_attending",
        "encoder = { kind = 'rnn', bidirectional = false, self_attention = 'dot' }\n\
         attention = { score = 'general' }\ndecoder = { kind = 'rnn' }",
    ),
    (
        "lstm_self_attending",
        "encoder = { self_attention = 'additive' }\nattention = { size = 4 }\ndecoder = {}",
    ),
    (
        "lstm_local_monotonic",
        "encoder = {}\nattention = { size = 4, local = 'monotonic', window = 1 }\ndecoder = {}",
    ),
    (
        "gru_local_predictive",
        "encoder = { kind = 'gru' }\ndecoder = { kind = 'gru' }\n\
         attention = { score = 'general', local = 'predictive', window = 2, size = 4, query = 'previous' }",
    ),
    (
        "lstm_local_not_fed",
        "encoder = {}\ndecoder = {}\n\
         attention = { score = 'query-key', size = 4, heads = 2, local = 'predictive', window = 3, input_feeding = 'none' }",
    ),
    (
        "lstm_coverage",
        "encoder = {}\nattention = { size = 4, coverage = true, coverage_loss = 0.5 }\ndecoder = {}",
    ),
    (
        "gru_coverage_heads",
        "encoder = { kind = 'gru', layers = 2 }\ndecoder = { kind = 'gru' }\n\
         attention = { score = 'dot', heads = 2, coverage = true, query = 'previous' }",
    ),
    (
        "rnn_coverage_loss",
        "encoder = { kind = 'rnn' }\nattention = { score = 'general', input_feeding = 'none', coverage_loss = 1.5 }\n\
         decoder = { kind = 'rnn' }",
    ),
    (
        "rnn_linear_heads",
        "encoder = { kind = 'rnn' }\ncontext.to = 'both'\nattention = { score = 'linear', heads = 3, input_feeding = 'none' }\n\
         decoder = { kind = 'rnn' }",
    ),
];

const SOURCES: [&[u32]; 3] = [&[4, 5], &[6, 7, 8, 4, 5], &[6]];
const TARGETS: [&[u32]; 3] = [&[4, 5, 6, 7], &[7], &[5, 4]];

/// A config whose states have 6 numbers on both sides, of one layer unless it says otherwise.
fn config(text: &str) -> ModelConfig {
    let mut config: ModelConfig = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    config.decoder.layers = small(&mut config.encoder, text);
    (config.decoder.hidden, config.decoder.embedding, config.decoder.dropout) = (6, 5.into(), 0.0);
    config
}

/// Sets the sizes of a reader that the text describes; returns its layers.
fn small(encoder: &mut EncoderConfig, text: &str) -> usize {
    let layers = (2..=3).find(|layers| text.contains(&format!("layers = {layers}"))).unwrap_or(1);
    encoder.layers = Some(layers);
    let units = |layer| if encoder.bidirectional.at(layer) { 3 } else { 6 };
    encoder.hidden = Sizes::Each((0..layers).map(units).collect());
    encoder.embedding = if text.contains("bag") { 6 } else { 5 }.into();
    encoder.dropout = 0.0;
    layers
}

#[test]
fn models_are_those_of_pytorch() {
    let arrays = fixture::read("models");
    for (name, text) in CASES {
        let case = Case { name, arrays: &arrays };
        let mut params = Params::new(&Device::cpu(), 1);
        let model =
            Seq2Seq::new(&mut params, &config(text), 9, 8).unwrap_or_else(|error| panic!("{name}: {error}"));
        case.set_weights(&mut params);

        let pairs: Vec<(&[u32], &[u32])> = SOURCES.into_iter().zip(TARGETS).collect();
        let batch = Batch::new(&pairs, &[0, 1, 2], 2, 3);
        let tape = Tape::new();
        let pass = ForwardPass::training(&params, Training { tape: &tape, seed: 1, update: 0 });
        let loss = model.loss(&pass, &batch, 0.0);
        tape.backward(&loss.mean, &mut params);
        case.assert_equal(&padded_losses(&batch, &loss), &params);
    }
}

/// The config of each classifier of `fixtures/pytorch/models.py`, and how many labels it has.
const CLASSIFIERS: [(&str, &str, usize); 7] = [
    ("classify_lstm_last", "encoder = {}", 2),
    ("classify_rnn_last", "encoder = { kind = 'rnn', layers = 2, bidirectional = false }", 2),
    ("classify_self_attending", "encoder = { kind = 'gru', self_attention = 'query-key' }", 3),
    ("classify_gru_mean", "encoder = { kind = 'gru' }\npooling.kind = 'mean'", 3),
    ("classify_lstm_max", "encoder = { layers = 2 }\npooling.kind = 'max'", 3),
    ("classify_bag_flatten", "encoder = { kind = 'bag' }\npooling = { kind = 'flatten', steps = 5 }", 2),
    ("classify_gru_flatten", "encoder = { kind = 'gru' }\npooling = { kind = 'flatten', steps = 5 }", 3),
];

const LABELS: [u32; 3] = [1, 0, 2];

#[test]
fn classifiers_are_those_of_pytorch() {
    let arrays = fixture::read("models");
    for (name, text, labels) in CLASSIFIERS {
        let case = Case { name, arrays: &arrays };
        let mut config: ClassifierConfig =
            toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        small(&mut config.encoder, text);
        config.classifier.dropout = 0.0;
        config.classifier.output = if labels == 2 { OutputKind::Sigmoid } else { OutputKind::Softmax };
        let mut params = Params::new(&Device::cpu(), 1);
        let model = Classifier::new(&mut params, &config, 9, 0, labels)
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        case.set_weights(&mut params);

        let wanted = LABELS.map(|label| label % labels as u32);
        let batch = LabeledBatch::new(&SOURCES, &wanted, &[0, 1, 2]);
        let tape = Tape::new();
        let pass = ForwardPass::training(&params, Training { tape: &tape, seed: 1, update: 0 });
        let loss = model.loss(&pass, &batch, 0.0);
        let of_places = loss.per_target.to_vec();
        let losses: Vec<f32> =
            batch.texts.layout.unsorted_indices().iter().map(|&place| of_places[place as usize]).collect();
        tape.backward(&loss.mean, &mut params);
        case.assert_equal(&losses, &params);
    }
}
