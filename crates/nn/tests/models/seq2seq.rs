//! A whole model: its steps equal its sequences, batch mates change nothing, weights survive a file.

use couplet_nn::weights::{self, WeightsError};
use couplet_nn::{
    Batch, BridgeKind, ForwardPass, ModelConfig, PackedTokens, Seq2Seq, StepOutput, Tied, Training,
};
use couplet_tensor::{Device, Params, Tape};

const START: u32 = 2;
const END: u32 = 3;
const SOURCE_WORDS: usize = 13;
const TARGET_WORDS: usize = 11;

/// Two layers with odd sizes; the decoder has as many units as the encoder's directions together.
fn config(bridge: BridgeKind, bidirectional: bool) -> ModelConfig {
    let mut config = ModelConfig { bridge, ..ModelConfig::default() };
    (config.encoder.hidden, config.encoder.embedding, config.encoder.bidirectional) =
        (5.into(), 7.into(), bidirectional.into());
    (config.decoder.hidden, config.decoder.embedding, config.attention.size) = (10, 6.into(), 9);
    config
}

fn build(config: &ModelConfig) -> (Params, Seq2Seq) {
    let mut params = Params::new(&Device::cpu(), 3);
    let model = Seq2Seq::new(&mut params, config, SOURCE_WORDS, TARGET_WORDS).expect("a sound config");
    (params, model)
}

fn models() -> Vec<(Params, Seq2Seq)> {
    let kinds = [(BridgeKind::Dense, true), (BridgeKind::Dense, false), (BridgeKind::Copy, true)];
    kinds.iter().map(|&(bridge, bidirectional)| build(&config(bridge, bidirectional))).collect()
}

const SOURCES: [&[u32]; 3] = [&[4, 5], &[6, 7, 8, 9, 10], &[11]];
const TARGETS: [&[u32]; 3] = [&[4, 5, 6, 7], &[8], &[9, 10]];

fn batch() -> Batch {
    let pairs: Vec<(&[u32], &[u32])> = SOURCES.into_iter().zip(TARGETS).collect();
    Batch::new(&pairs, &[0, 1, 2], START, END)
}

/// The loss of each pair's tokens, in the pair's order.
fn losses(model: &Seq2Seq, params: &Params, batch: &Batch) -> Vec<Vec<f32>> {
    let of_rows = model.loss(&ForwardPass::inference(params), batch, 0.0).per_target.to_vec();
    let mut of_pairs = vec![Vec::new(); batch.input.layout.batch()];
    for (row, (place, _)) in batch.input.layout.places().enumerate() {
        of_pairs[batch.input.layout.sorted_indices()[place] as usize].push(of_rows[row]);
    }
    of_pairs
}

#[test]
fn a_pair_has_the_same_loss_alone_and_in_a_batch() {
    for (params, model) in models() {
        let together = losses(&model, &params, &batch());
        for (i, pair) in SOURCES.into_iter().zip(TARGETS).enumerate() {
            let alone = losses(&model, &params, &Batch::new(&[pair], &[i as u32], START, END));
            assert_eq!(together[i], alone[0], "pair {i}");
        }
    }
}

/// What a search sees step by step is what training saw at once.
#[test]
fn steps_equal_the_sequence() {
    for (params, model) in models() {
        let fwd = ForwardPass::inference(&params);
        let expected = losses(&model, &params, &batch());
        for (i, (source, target)) in SOURCES.into_iter().zip(TARGETS).enumerate() {
            let encoded = model.encode(&fwd, &PackedTokens::new(&[source], &[0]));
            let mut state = model.init_state(&fwd, &encoded, [0].into());
            let mut token = START;
            for (step, &next) in target.iter().chain([&END]).enumerate() {
                let output = model.step(&fwd, &[token], &state, true);
                let logits = model.logits(&fwd, &output.hidden).value().to_vec();
                let log_sum = logits.iter().map(|logit| logit.exp()).sum::<f32>().ln();
                let loss = log_sum - logits[next as usize];
                assert!((loss - expected[i][step]).abs() < 1e-5, "pair {i}, step {step}");
                let attention = output.attention.expect("a model with attention").to_vec();
                assert_eq!(attention.len(), source.len());
                assert!((attention.iter().sum::<f32>() - 1.0).abs() < 1e-5);
                (state, token) = (output.state, next);
            }
        }
    }
}

#[test]
fn a_state_can_be_reordered_by_index() {
    let (params, model) = build(&config(BridgeKind::Dense, true));
    let fwd = ForwardPass::inference(&params);
    let packed = PackedTokens::new(&SOURCES, &[0, 1, 2]);
    let encoded = model.encode(&fwd, &packed);
    // Row i of the state is the source at place i: the longest first.
    let state = model.init_state(&fwd, &encoded, [0, 1, 2].into());
    let all = model.step(&fwd, &[4, 4, 4], &state, false);
    let picked = model.step(&fwd, &[4, 4, 4, 4], &state.select(&[2, 0, 0, 1]), false);
    let row = |logits: &[f32], row: usize| logits[row * TARGET_WORDS..(row + 1) * TARGET_WORDS].to_vec();
    let logits = |output: &StepOutput| model.logits(&fwd, &output.hidden).value().to_vec();
    let (all, picked) = (logits(&all), logits(&picked));
    for (place, from) in [2, 0, 0, 1].into_iter().enumerate() {
        assert_eq!(row(&picked, place), row(&all, from));
    }
}

#[test]
fn dropout_is_for_training_only_and_follows_the_update() {
    let (params, model) = build(&config(BridgeKind::Dense, true));
    let tape = Tape::new();
    let trained = |update| {
        let training = Training { tape: &tape, seed: 1, update };
        model.loss(&ForwardPass::training(&params, training), &batch(), 0.0).mean.value().item()
    };
    let inferred = model.loss(&ForwardPass::inference(&params), &batch(), 0.0).mean.value().item();
    assert_eq!(trained(7), trained(7));
    assert_ne!(trained(7), trained(8));
    assert_ne!(trained(7), inferred);
}

#[test]
fn weights_survive_a_file() {
    let config = config(BridgeKind::Dense, true);
    let (params, model) = build(&config);
    let bytes = weights::to_bytes(&params).unwrap();
    let mut other = Params::new(&Device::cpu(), 99);
    Seq2Seq::new(&mut other, &config, SOURCE_WORDS, TARGET_WORDS).unwrap();
    assert_ne!(losses(&model, &params, &batch()), losses(&model, &other, &batch()));
    weights::read(&mut other, &bytes).unwrap();
    assert_eq!(losses(&model, &params, &batch()), losses(&model, &other, &batch()));
}

#[test]
fn weights_of_another_model_are_refused() {
    let bytes = weights::to_bytes(&build(&config(BridgeKind::Dense, true)).0).unwrap();
    let read = |config: &ModelConfig| weights::read(&mut build(config).0, &bytes);

    let error = read(&config(BridgeKind::Copy, true)).unwrap_err();
    assert!(matches!(&error, WeightsError::Foreign { name } if name == "bridge.0.0.bias"), "{error}");
    let mut larger = config(BridgeKind::Dense, true);
    larger.attention.size = 8;
    let error = read(&larger).unwrap_err();
    assert_eq!(error.to_string(), "tensor \"attention.key.weight\" is [9, 10], the model's is [8, 10]");
    let mut deeper = config(BridgeKind::Dense, true);
    deeper.encoder.layers = Some(3);
    let error = read(&deeper).unwrap_err();
    assert!(matches!(&error, WeightsError::Missing { name } if name == "encoder.weight_ih_l2"), "{error}");
    assert!(matches!(weights::read(&mut build(&larger).0, &bytes[..9]), Err(WeightsError::Damaged(_))));
}

/// A config and a model of the first version: what it says means the same, and its weights have the same names and shapes.
#[test]
fn models_of_the_first_version_can_be_read() {
    let text = "
        bridge = 'dense'
        [encoder]
        kind = 'lstm'
        bidirectional = true
        layers = 1
        hidden = 5
        embedding = 7
        dropout = 0.2
        [attention]
        score = 'additive'
        size = 9
        [decoder]
        kind = 'lstm'
        layers = 1
        hidden = 10
        embedding = 6
        dropout = 0.2
    ";
    let read: ModelConfig = toml::from_str(text).unwrap();
    let mut same = config(BridgeKind::Dense, true);
    (same.encoder.layers, same.decoder.layers) = (Some(1), 1);
    assert_eq!(read, same);
    let (params, _) = build(&read);
    let shapes: Vec<String> = params
        .iter()
        .map(|param| format!("{} {:?}", params.name(param), params.tensor(param).shape()))
        .collect();
    let expected = [
        "encoder.embedding.weight (13, 7)",
        "encoder.weight_ih_l0 (20, 7)",
        "encoder.weight_hh_l0 (20, 5)",
        "encoder.bias_ih_l0 (1, 20)",
        "encoder.weight_ih_l0_reverse (20, 7)",
        "encoder.weight_hh_l0_reverse (20, 5)",
        "encoder.bias_ih_l0_reverse (1, 20)",
        "bridge.0.0.weight (10, 10)",
        "bridge.0.0.bias (1, 10)",
        "bridge.0.1.weight (10, 10)",
        "bridge.0.1.bias (1, 10)",
        "decoder.embedding.weight (11, 6)",
        "decoder.weight_ih_l0 (40, 16)",
        "decoder.weight_hh_l0 (40, 10)",
        "decoder.bias_ih_l0 (1, 40)",
        "attention.key.weight (9, 10)",
        "attention.query.weight (9, 10)",
        "attention.vector (1, 9)",
        "decoder.attentional.weight (10, 20)",
        "decoder.attentional.bias (1, 10)",
        "decoder.output.weight (11, 10)",
        "decoder.output.bias (1, 11)",
    ];
    assert_eq!(shapes, expected);
}

/// Tied weights are there once: without `decoder.output.weight`, and with all of them tied without `decoder.embedding.weight`.
#[test]
fn tied_weights_are_counted_once() {
    let count = |tied| {
        let mut config = config(BridgeKind::Dense, true);
        (config.decoder.embedding, config.encoder.embedding, config.decoder.tie_embeddings) =
            (10.into(), 10.into(), tied);
        let mut params = Params::new(&Device::cpu(), 3);
        Seq2Seq::new(&mut params, &config, TARGET_WORDS, TARGET_WORDS).unwrap();
        params.count()
    };
    let table = TARGET_WORDS * 10;
    assert_eq!(count(Tied::None), count(Tied::Output) + table);
    assert_eq!(count(Tied::Output), count(Tied::All) + table);
}
