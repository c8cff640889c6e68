//! Transformers with the weights, the tokens and the results of `fixtures/pytorch/transformer.py`; and what a later token must not
//! change.

use couplet_nn::{Batch, ModelConfig, Packed, Pass, ReaderKind, Seq2Seq, Training, WriterKind};
use couplet_tensor::optimiser::Optimiser;
use couplet_tensor::{Device, Params, Tape};
use safetensors::SafeTensors;
use std::collections::BTreeMap;

const CASES: [(&str, &str); 3] = [
    ("post_norm_relu", "encoder.norm = 'post'\ndecoder.norm = 'post'"),
    (
        "pre_norm_gelu_tied",
        "encoder.feed_forward = 'gelu'\ndecoder = { feed_forward = 'gelu', tied = 'output' }",
    ),
    ("pre_norm_relu", "encoder = {}\ndecoder = {}"),
];

const START: u32 = 2;
const END: u32 = 3;
const SOURCES: [&[u32]; 3] = [&[4, 5], &[6, 7, 8, 4, 5], &[6]];
const TARGETS: [&[u32]; 3] = [&[4, 5, 6, 7], &[7], &[5, 4]];

/// A Transformer on both sides, of two layers, width 8, two heads and ten hidden units.
fn config(text: &str) -> ModelConfig {
    let mut config: ModelConfig = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let (encoder, decoder) = (&mut config.encoder, &mut config.decoder);
    (encoder.kind, decoder.kind) = (ReaderKind::Transformer, WriterKind::Transformer);
    (encoder.embedding, encoder.hidden, encoder.heads, encoder.dropout) = (8, 10.into(), Some(2), 0.0);
    (decoder.embedding, decoder.hidden, decoder.heads, decoder.dropout) = (8, 10, Some(2), 0.0);
    config
}

fn model(config: &ModelConfig) -> (Params, Seq2Seq) {
    let mut params = Params::new(&Device::cpu(), 3);
    let model = Seq2Seq::new(&mut params, config, 9, 8).expect("a sound config");
    (params, model)
}

fn fixture() -> BTreeMap<String, Vec<f32>> {
    let path = format!("{}/../../fixtures/pytorch/transformer.safetensors", env!("CARGO_MANIFEST_DIR"));
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let file = SafeTensors::deserialize(&bytes).expect("a whole file");
    let number = |four: &[u8]| f32::from_le_bytes(four.try_into().expect("chunks of four"));
    let read = |(name, view): (String, safetensors::tensor::TensorView)| {
        (name, view.data().chunks_exact(4).map(number).collect())
    };
    file.tensors().into_iter().map(read).collect()
}

fn assert_near(found: &[f32], wanted: &[f32], tolerance: f32, what: &str) {
    assert_eq!(found.len(), wanted.len(), "{what}");
    let far = found.iter().zip(wanted).find(|(found, wanted)| (*found - *wanted).abs() > tolerance);
    assert_eq!(far, None, "{what}");
}

/// The losses of a batch's target tokens, pair by pair, with zeros behind each.
fn padded_losses(batch: &Batch, of_rows: &[f32]) -> Vec<f32> {
    let rows = &batch.input.rows;
    let mut losses = vec![0.0; rows.batch() * rows.steps()];
    for (row, (place, step)) in rows.places().enumerate() {
        losses[rows.order()[place] as usize * rows.steps() + step] = of_rows[row];
    }
    losses
}

/// Losses, gradients, and ten updates by Adam.
#[test]
fn models_are_those_of_pytorch() {
    let fixture = fixture();
    for (name, text) in CASES {
        let (mut params, model) = model(&config(text));
        let given = |folder: &str, key: &str| {
            fixture
                .get(&format!("{name}/{folder}/{key}"))
                .unwrap_or_else(|| panic!("{name}: no {folder}/{key}"))
        };
        let count = fixture.keys().filter(|key| key.starts_with(&format!("{name}/in/"))).count();
        assert_eq!(count, params.iter().count(), "weights of {name}");
        for param in params.iter() {
            let numbers = given("in", params.name(param)).clone();
            params.set(param, &numbers);
        }
        let pairs: Vec<(&[u32], &[u32])> = SOURCES.into_iter().zip(TARGETS).collect();
        let batch = Batch::new(&pairs, &[0, 1, 2], START, END);
        let (mut adam, mut updates) = (Optimiser::adam(), Vec::new());
        for update in 0..10 {
            let tape = Tape::new();
            let pass = Pass::training(&params, Training { tape: &tape, seed: 1, update });
            let loss = model.loss(&pass, &batch, 0.0);
            tape.backward(&loss.mean, &mut params);
            if update == 0 {
                let losses = padded_losses(&batch, &loss.of_rows.to_vec());
                assert_near(&losses, given("out", "losses"), 2e-5, &format!("losses of {name}"));
                for param in params.iter() {
                    let (key, found) = (params.name(param), params.gradient(param));
                    assert_near(&found, given("grad", key), 2e-5, &format!("gradient of {key} in {name}"));
                }
            }
            adam.step(&mut params, 0.01);
            updates.push(loss.mean.value().item());
        }
        assert_near(&updates, given("out", "updates"), 1e-3, &format!("ten updates of {name}"));
    }
}

/// Every kind of positions, norm and feed-forward layer.
fn kinds() -> Vec<ModelConfig> {
    let positions = ["none", "sinusoidal", "learned", "rotary"].iter();
    let norms = ["pre", "post"].iter().cycle();
    let feeds = ["relu", "gelu", "gated"].iter().cycle();
    let text = |((positions, norm), feed)| {
        let keys = format!("{{ positions = '{positions}', norm = '{norm}', feed_forward = '{feed}' }}");
        config(&format!("encoder = {keys}\ndecoder = {keys}"))
    };
    positions.zip(norms).zip(feeds).map(text).collect()
}

/// The loss of each target token of one pair.
fn losses(model: &Seq2Seq, params: &Params, source: &[u32], target: &[u32]) -> Vec<f32> {
    let batch = Batch::new(&[(source, target)], &[0], START, END);
    model.loss(&Pass::inference(params), &batch, 0.0).of_rows.to_vec()
}

#[test]
fn a_later_token_changes_no_bit_of_an_earlier_one() {
    let target = [4, 5, 6, 7, 4, 5, 6, 7, 4];
    for config in kinds() {
        let (params, model) = model(&config);
        let long = losses(&model, &params, &[4, 5, 6], &target);
        for end in 1..target.len() {
            let other = [&target[..end], &[6, 6]].concat();
            let short = losses(&model, &params, &[4, 5, 6], &other);
            assert_eq!(short[..end], long[..end], "{end} tokens: {config:?}");
        }
    }
}

/// Hypotheses that have changed their order, some of them taken twice, go on as if each had been alone.
#[test]
fn steps_with_a_past_equal_the_sequence() {
    for config in kinds() {
        let (params, model) = model(&config);
        let pass = Pass::inference(&params);
        let packed = Packed::new(&SOURCES, &[0, 1, 2]);
        let encoded = model.encode(&pass, &packed);
        let mut state = model.start(&pass, &encoded, packed.rows.place_of().into());
        // Of which source each row is, and what it has written.
        let mut rows: Vec<(usize, Vec<u32>)> = (0..3).map(|source| (source, Vec::new())).collect();
        for (picked, next) in [([2, 0, 0], 4), ([1, 1, 2], 5), ([0, 2, 1], 4), ([2, 1, 0], 5)] {
            let tokens: Vec<u32> = rows.iter().map(|(_, read)| *read.last().unwrap_or(&START)).collect();
            let stepped = model.step(&pass, &tokens, &state);
            let logits = stepped.logits.value().to_vec();
            for ((source, written), logits) in rows.iter().zip(logits.chunks(8)) {
                let of_end = losses(&model, &params, SOURCES[*source], written)[written.len()];
                let log_sum = logits.iter().map(|logit| logit.exp()).sum::<f32>().ln();
                assert!((log_sum - logits[END as usize] - of_end).abs() < 1e-4, "{config:?}");
            }
            state = stepped.state.select(&picked);
            rows = picked.iter().map(|&row| rows[row as usize].clone()).collect();
            rows.iter_mut().zip(next..).for_each(|((_, written), token)| written.push(token));
        }
    }
}
