//! Transformers and convolutional models with the weights, the tokens and the results of `transformer.py` and `convolution.py` in
//! `fixtures/pytorch`; and what a later token must not change.

use crate::fixture::{self, Case, padded_losses};
use couplet_nn::{
    Batch, DecoderKind, EncoderKind, ForwardPass, ModelConfig, PackedTokens, Seq2Seq, Training,
};
use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::{Device, Params, Tape};

const TRANSFORMERS: [(&str, &str); 3] = [
    ("post_norm_relu", "encoder.norm = 'post'\ndecoder.norm = 'post'"),
    (
        "pre_norm_gelu_tied",
        "encoder.feed_forward = 'gelu'\ndecoder = { feed_forward = 'gelu', tie_embeddings = 'output' }",
    ),
    ("pre_norm_relu", "encoder = {}\ndecoder = {}"),
];

const CONVOLUTIONS: [(&str, &str); 2] = [
    ("around_three", "encoder = { positions = 'none' }\ndecoder = { positions = 'none' }"),
    (
        "around_five_tied",
        "encoder = { positions = 'none', kernel = 5 }\ndecoder = { positions = 'none', kernel = 2, tie_embeddings = 'output' }",
    ),
];

const START: u32 = 2;
const END: u32 = 3;
const SOURCES: [&[u32]; 3] = [&[4, 5], &[6, 7, 8, 4, 5], &[6]];
const TARGETS: [&[u32]; 3] = [&[4, 5, 6, 7], &[7], &[5, 4]];

/// Of two layers on both sides.
fn parse(text: &str) -> ModelConfig {
    let mut config: ModelConfig = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    (config.encoder.embedding, config.encoder.dropout) = (8.into(), 0.0);
    (config.decoder.embedding, config.decoder.dropout) = (8.into(), 0.0);
    config
}

/// A Transformer on both sides, of width 8, two heads and ten hidden units.
fn transformer(text: &str) -> ModelConfig {
    let mut config = parse(text);
    let (encoder, decoder) = (&mut config.encoder, &mut config.decoder);
    (encoder.kind, encoder.hidden, encoder.heads) = (EncoderKind::Transformer, 10.into(), Some(2));
    (decoder.kind, decoder.hidden, decoder.heads) = (DecoderKind::Transformer, 10, Some(2));
    config
}

/// Convolutions on both sides, of six units.
fn convolution(text: &str) -> ModelConfig {
    let mut config = parse(text);
    (config.encoder.kind, config.encoder.hidden) = (EncoderKind::Conv, 6.into());
    (config.decoder.kind, config.decoder.hidden) = (DecoderKind::Conv, 6);
    config
}

fn model(config: &ModelConfig) -> (Params, Seq2Seq) {
    let mut params = Params::new(&Device::cpu(), 3);
    let model = Seq2Seq::new(&mut params, config, 9, 8).expect("a sound config");
    (params, model)
}

/// Losses, gradients, and ten updates by Adam.
fn equals_pytorch(case: &Case, config: &ModelConfig) {
    let (mut params, model) = model(config);
    case.set_weights(&mut params);
    let pairs: Vec<(&[u32], &[u32])> = SOURCES.into_iter().zip(TARGETS).collect();
    let batch = Batch::new(&pairs, &[0, 1, 2], START, END);
    let (mut adam, mut updates) = (Optimizer::adam(), Vec::new());
    for update in 0..10 {
        let tape = Tape::new();
        let fwd = ForwardPass::training(&params, Training { tape: &tape, seed: 1, update });
        let loss = model.loss(&fwd, &batch, 0.0);
        tape.backward(&loss.mean, &mut params);
        if update == 0 {
            case.assert_equal(&padded_losses(&batch, &loss), &params);
        }
        adam.step(&mut params, 0.01);
        updates.push(loss.mean.value().item());
    }
    case.assert_updates(&updates);
}

#[test]
fn transformers_are_those_of_pytorch() {
    let arrays = fixture::read("transformer");
    for (name, text) in TRANSFORMERS {
        equals_pytorch(&Case { name, arrays: &arrays }, &transformer(text));
    }
}

#[test]
fn convolutions_are_those_of_pytorch() {
    let arrays = fixture::read("convolution");
    for (name, text) in CONVOLUTIONS {
        equals_pytorch(&Case { name, arrays: &arrays }, &convolution(text));
    }
}

/// Every kind of positions, norm, feed-forward layer and window.
fn kinds() -> Vec<ModelConfig> {
    let positions = ["none", "sinusoidal", "learned", "rotary"];
    let norms = ["pre", "post"].iter().cycle();
    let feeds = ["relu", "gelu", "gated"].iter().cycle();
    let text = |((positions, norm), feed)| {
        let keys = format!("{{ positions = '{positions}', norm = '{norm}', feed_forward = '{feed}' }}");
        transformer(&format!("encoder = {keys}\ndecoder = {keys}"))
    };
    let transformers = positions.into_iter().zip(norms).zip(feeds).map(text);
    let convolutions = positions[..3].iter().zip(1..).map(|(positions, kernel)| {
        let keys = format!("positions = '{positions}'");
        convolution(&format!("encoder = {{ {keys} }}\ndecoder = {{ {keys}, kernel = {kernel} }}"))
    });
    transformers.chain(convolutions).collect()
}

/// The loss of each target token of one pair.
fn losses(model: &Seq2Seq, params: &Params, source: &[u32], target: &[u32]) -> Vec<f32> {
    let batch = Batch::new(&[(source, target)], &[0], START, END);
    model.loss(&ForwardPass::inference(params), &batch, 0.0).per_target.to_vec()
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
        let fwd = ForwardPass::inference(&params);
        let packed = PackedTokens::new(&SOURCES, &[0, 1, 2]);
        let encoded = model.encode(&fwd, &packed);
        let mut state = model.init_state(&fwd, &encoded, packed.layout.unsorted_indices().into());
        // Of which source each row is, and what it has written.
        let mut rows: Vec<(usize, Vec<u32>)> = (0..3).map(|source| (source, Vec::new())).collect();
        for (picked, next) in [([2, 0, 0], 4), ([1, 1, 2], 5), ([0, 2, 1], 4), ([2, 1, 0], 5)] {
            let tokens: Vec<u32> = rows.iter().map(|(_, read)| *read.last().unwrap_or(&START)).collect();
            let output = model.step(&fwd, &tokens, &state, false);
            let logits = model.logits(&fwd, &output.hidden).value().to_vec();
            for ((source, written), logits) in rows.iter().zip(logits.chunks(8)) {
                let of_end = losses(&model, &params, SOURCES[*source], written)[written.len()];
                let log_sum = logits.iter().map(|logit| logit.exp()).sum::<f32>().ln();
                assert!((log_sum - logits[END as usize] - of_end).abs() < 1e-4, "{config:?}");
            }
            state = output.state.select(&picked);
            rows = picked.iter().map(|&row| rows[row as usize].clone()).collect();
            rows.iter_mut().zip(next..).for_each(|((_, written), token)| written.push(token));
        }
    }
}
