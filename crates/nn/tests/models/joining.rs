//! Sources that join and leave a running batch: each gets the bits that it gets alone, and what has left is freed.

use couplet_nn::{Batch, DecoderState, ForwardPass, ModelConfig, PackedTokens, Seq2Seq, StepOutput};
use couplet_tensor::{Device, Isa, Params};

const VOCABULARY: usize = 9;
const START: u32 = 2;

const SOURCES: [&[u32]; 4] = [&[5, 6, 7], &[4], &[8, 3, 4, 5, 6, 7, 8], &[7, 7]];

/// What follows the start token of each source, and the step of the batch at which it joins.
const TARGETS: [(&[u32], usize); 4] =
    [(&[4, 5, 6, 7, 8], 0), (&[6, 6, 4], 0), (&[8, 7, 5, 4], 2), (&[5, 3], 3)];

/// Every kind of decoder, and every way in which a recurrent one attends.
fn configs() -> Vec<ModelConfig> {
    let recurrent = |more: &str| {
        format!(
            "encoder = {{ kind = 'lstm', hidden = 3, embedding = 4, layers = 1 }}\n\
             decoder = {{ kind = 'lstm', hidden = 6, embedding = 4, layers = 2, copy = true }}\n{more}"
        )
    };
    let without_copy = |more: &str| recurrent(more).replace(", copy = true", "");
    let kind = |encoder: &str, decoder: &str, more: &str| {
        format!(
            "encoder = {{ kind = '{encoder}', hidden = 8, embedding = 8, layers = 2 }}\n\
             decoder = {{ kind = '{decoder}', hidden = 8, embedding = 8, layers = 2{more} }}"
        )
    };
    let texts = [
        recurrent("attention = { score = 'additive', size = 4 }"),
        recurrent("attention = { score = 'query-key', size = 4, heads = 2, value_projection = true }"),
        recurrent("attention = { score = 'additive', size = 4, heads = 2, coverage = true }"),
        recurrent("attention = { score = 'general', query = 'previous' }\ncontext = { to = 'both' }"),
        recurrent(
            "attention = { score = 'dot', query_layer = 'first' }\ncontext = { kind = 'mean', to = 'every_step' }",
        ),
        without_copy(
            "attention = { score = 'dot', input_feeding = 'none', local = 'monotonic', window = 1 }",
        ),
        without_copy(
            "attention = { score = 'general', local = 'predictive', window = 2, size = 3, coverage = true }",
        ),
        without_copy("attention = { score = 'none' }\ncontext = { to = 'both' }"),
        kind("transformer", "transformer", ", copy = true"),
        kind("transformer", "transformer", ", positions = 'rotary', heads = 2"),
        kind("bag", "transformer", ", positions = 'learned', norm = 'post'"),
        kind("conv", "conv", ", kernel = 4, heads = 2"),
        kind("conv", "conv", ", kernel = 1"),
        kind("self-attention", "attention", ", positions = 'sinusoidal', heads = 2"),
    ];
    texts.iter().map(|text| toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))).collect()
}

fn model(config: &ModelConfig) -> (Params, Seq2Seq) {
    let mut params = Params::new(&Device::cpu_with(2, Isa::detect()), 3);
    let model =
        Seq2Seq::new(&mut params, config, VOCABULARY, VOCABULARY).expect("a config that makes a model");
    (params, model)
}

fn start(model: &Seq2Seq, fwd: &ForwardPass, sources: &[usize]) -> DecoderState {
    let tokens: Vec<&[u32]> = sources.iter().map(|&source| SOURCES[source]).collect();
    let examples: Vec<u32> = (0..sources.len() as u32).collect();
    let packed = PackedTokens::new(&tokens, &examples);
    let encoded = model.encode(fwd, &packed);
    model.init_state(fwd, &encoded, packed.layout.unsorted_indices().into())
}

/// The bits of a row: logits, attention weights without those beyond the source, and the copy gate.
fn row(model: &Seq2Seq, fwd: &ForwardPass, output: &StepOutput, row: usize, source: usize) -> Vec<u32> {
    let of_row = |values: &[f32], columns: usize| values[row * columns..][..columns].to_vec();
    let logits = model.logits(fwd, &output.hidden);
    let mut values = of_row(&logits.value().to_vec(), VOCABULARY);
    if let Some((weights, shape)) = output.attention.as_ref().zip(model.attention_shape()) {
        let weights_of_row = of_row(&weights.to_vec(), weights.columns());
        let steps = weights.columns() / (shape.layers * shape.heads);
        values.extend(weights_of_row.chunks(steps).flat_map(|head| &head[..SOURCES[source].len()]));
    }
    if let Some(pointer) = &output.pointer {
        values.extend(of_row(&pointer.gate.value().to_vec(), 1));
    }
    values.into_iter().map(f32::to_bits).collect()
}

/// The bits of each step of a source that is decoded alone.
fn alone(model: &Seq2Seq, fwd: &ForwardPass, source: usize) -> Vec<Vec<u32>> {
    let mut state = start(model, fwd, &[source]);
    let tokens = [&[START], TARGETS[source].0].concat();
    let step = |&token: &u32| {
        let output = model.step(fwd, &[token], &state, true);
        state = output.state.clone();
        row(model, fwd, &output, 0, source)
    };
    tokens.iter().map(step).collect()
}

/// Sources join at their steps and leave after their last token, in a row order that is turned around at each step.
#[test]
fn a_source_that_joins_gets_the_bits_that_it_gets_alone() {
    for config in configs() {
        let (params, model) = model(&config);
        let fwd = ForwardPass::inference(&params);
        let expected: Vec<_> = (0..SOURCES.len()).map(|source| alone(&model, &fwd, source)).collect();
        let (mut state, mut rows) = (DecoderState::default(), Vec::<(usize, usize)>::new());
        for step in 0..8 {
            let joining: Vec<usize> =
                (0..SOURCES.len()).filter(|&source| TARGETS[source].1 == step).collect();
            if !joining.is_empty() {
                state.append(start(&model, &fwd, &joining));
                rows.extend(joining.into_iter().map(|source| (source, 0)));
            }
            if rows.is_empty() {
                break;
            }
            let token = |&(source, taken): &(usize, usize)| match taken {
                0 => START,
                _ => TARGETS[source].0[taken - 1],
            };
            let tokens: Vec<u32> = rows.iter().map(token).collect();
            let output = model.step(&fwd, &tokens, &state, true);
            for (i, &(source, taken)) in rows.iter().enumerate() {
                let found = row(&model, &fwd, &output, i, source);
                assert_eq!(found, expected[source][taken], "source {source}, its step {taken}: {config:?}");
            }
            rows.iter_mut().for_each(|(_, taken)| *taken += 1);
            let stays = |&row: &u32| rows[row as usize].1 <= TARGETS[rows[row as usize].0].0.len();
            let kept: Vec<u32> = (0..rows.len() as u32).rev().filter(stays).collect();
            state = output.state.select(&kept);
            rows = kept.iter().map(|&row| rows[row as usize]).collect();
        }
        assert!(rows.is_empty(), "all sources end");
        assert_eq!(state.rows(), 0);
    }
}

/// Step by step, a decoder computes what it computes for whole targets, up to rounding.
#[test]
fn steps_equal_whole_targets() {
    for config in configs() {
        let (params, model) = model(&config);
        let fwd = ForwardPass::inference(&params);
        for (source, (target, _)) in SOURCES.into_iter().zip(TARGETS) {
            let mut batch = Batch::new(&[(source, target)], &[0], START, 3);
            if model.supports_copy() {
                batch = batch.copying(&[source], VOCABULARY, 1);
            }
            let whole = model.forward(&fwd, &batch, false).hidden.value().to_vec();
            let index = SOURCES.iter().position(|&other| other == source).expect("one of them");
            let mut state = start(&model, &fwd, &[index]);
            let mut steps = Vec::new();
            for token in [&[START], target].concat() {
                let output = model.step(&fwd, &[token], &state, false);
                steps.extend(output.hidden.value().to_vec());
                state = output.state;
            }
            let near = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
            assert!(steps.len() == whole.len() && steps.iter().zip(&whole).all(near), "{config:?}");
        }
    }
}

/// While one source after the other joins and leaves, the state holds no more than that of a few.
#[test]
fn what_leaves_is_freed() {
    for config in configs() {
        let (params, model) = model(&config);
        let fwd = ForwardPass::inference(&params);
        let (mut state, mut ages) = (DecoderState::default(), Vec::<u32>::new());
        let mut largest = [0; 2];
        for step in 0..120 {
            state.append(start(&model, &fwd, &[step % SOURCES.len()]));
            ages.push(0);
            let output = model.step(&fwd, &vec![START; ages.len()], &state, false);
            let kept: Vec<u32> = (0..ages.len() as u32).filter(|&row| ages[row as usize] < 3).collect();
            state = output.state.select(&kept);
            ages = kept.iter().map(|&row| ages[row as usize] + 1).collect();
            let half = usize::from(step >= 60);
            largest[half] = largest[half].max(state.bytes());
        }
        assert!(largest[1] <= largest[0], "{largest:?} bytes in the first and second half: {config:?}");
    }
}
