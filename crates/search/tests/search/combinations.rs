//! Any reader with any context or score and any writer: it learns, writes the same step by step and at once, alone and among
//! others, greedily and with a beam of one, and is the same when it comes back from a file.

use couplet_data::{END, START};
use couplet_nn::{Batch, ForwardPass, ModelConfig, PackedTokens, Seq2Seq, Training, weights};
use couplet_search::{Hypothesis, Network, SearchConfig, Shown, search};
use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::{Device, Isa, Params, Tape};

/// As many as a reader's state has numbers, so that a bag of one-hot vectors fits scores without a projection too.
const SOURCE_WORDS: usize = 12;
const TARGET_WORDS: usize = 9;

/// Readers whose states have 12 numbers.
const READERS: [&str; 14] = [
    "kind = 'rnn', hidden = 6, layers = 1",
    "kind = 'rnn', activation = 'relu', hidden = 12, layers = 1, bidirectional = false, reverse = true",
    "kind = 'rnn', activation = 'none', hidden = [5, 6], layer_norm = true",
    "kind = 'gru', hidden = [7, 12, 12], bidirectional = false, residual_from = 3, variational_dropout = true",
    "kind = 'gru', hidden = 6, layers = 1, input = 'one-hot'",
    "kind = 'lstm', hidden = 6, layers = 2, residual_from = 2, forget_bias = 1.0",
    "kind = 'lstm', hidden = 12, layers = 1, bidirectional = false, reverse = true, layer_norm = true",
    "kind = 'lstm', hidden = [6, 12, 12], bidirectional = 'first', residual_from = 2, stochastic_depth = 0.2",
    "kind = 'rnn', hidden = 6, layers = 2, self_attention = 'concat'",
    "kind = 'bag'",
    "kind = 'bag', input = 'one-hot'",
    "kind = 'self-attention', hidden = [7, 12], positions = 'learned'",
    "kind = 'transformer', hidden = 10, layers = 2, heads = 3, feed_forward = 'gelu'",
    "kind = 'conv', hidden = 10, layers = 2, kernel = 5",
];

/// Scores, with sizes that two heads can share.
const SCORES: [&str; 9] = [
    "score = 'additive', size = 6",
    "score = 'dot'",
    "score = 'scaled-dot'",
    "score = 'general'",
    "score = 'concat', size = 4",
    "score = 'linear'",
    "score = 'linear', activation = 'relu'",
    "score = 'query-key', size = 8",
    "score = 'query-key', size = 6, value_projection = true, scaled = true",
];

/// What a score does: which state asks, whether the context is fed, how many heads there are.
const ORDERS: [&str; 4] =
    ["", ", query = 'previous'", ", input_feeding = 'none'", ", query = 'previous', heads = 2"];

const READOUTS: [&str; 3] = ["state", "attentional", "deep-output"];

/// What a writer is told of the source, and how it looks at it: any context without attention, and any score in any order, with
/// contexts and readouts in turn.
fn sights() -> Vec<String> {
    let contexts: Vec<String> = ["last", "mean", "max"]
        .iter()
        .flat_map(|kind| {
            ["init_state", "every_step", "both"].map(|to| format!("kind = '{kind}', to = '{to}'"))
        })
        .flat_map(|context| [format!("{context}, projection = 5"), context])
        .collect();
    let told = contexts.iter().zip(READOUTS.iter().cycle()).map(|(context, readout)| {
        let readout = if context.contains("'init_state'") { "state" } else { readout };
        format!("context = {{ {context} }}\nattention.score = 'none'\nreadout = '{readout}'")
    });
    let none = "kind = 'none'".to_owned();
    let mut context = contexts.iter().chain([&none]).cycle();
    let looked = SCORES.iter().flat_map(|score| ORDERS.iter().map(move |order| format!("{score}{order}")));
    let looked = looked.zip(READOUTS.iter().cycle()).map(|(score, readout)| {
        let context = context.next().expect("a cycle has no end");
        format!("context = {{ {context} }}\nattention = {{ {score} }}\nreadout = '{readout}'")
    });
    told.chain(looked).collect()
}

/// Writers whose states have 12 numbers.
const WRITERS: [&str; 4] = [
    "kind = 'rnn', layers = 1, embedding = 12, tie_embeddings = 'output'",
    "kind = 'rnn', activation = 'relu', layers = 1, embedding = 5, layer_norm = true",
    "kind = 'gru', layers = 2, embedding = 5, variational_dropout = true",
    "kind = 'lstm', layers = 2, embedding = 7, forget_bias = 1.0",
];

/// Writers of several layers whose lowest one looks.
const DEEP_WRITERS: [&str; 3] = [
    "kind = 'rnn', layers = 3, embedding = 5, residual_from = 3",
    "kind = 'gru', layers = 2, embedding = 5, layer_norm = true, residual_from = 2",
    "kind = 'lstm', layers = 3, embedding = 12, tie_embeddings = 'output', residual_from = 2, stochastic_depth = 0.2",
];

/// Writers without recurrence, which look at the source by themselves.
const ATTENTIVE_WRITERS: [&str; 8] = [
    "kind = 'attention', hidden = 12, embedding = 12, tie_embeddings = 'output'",
    "kind = 'attention', hidden = 8, embedding = 5, heads = 2, positions = 'learned', variational_dropout = true",
    "kind = 'transformer', embedding = 12, hidden = 10, layers = 2, heads = 3, tie_embeddings = 'output'",
    "kind = 'transformer', embedding = 8, hidden = 10, layers = 1, heads = 2, norm = 'post', positions = 'rotary'",
    "kind = 'transformer', embedding = 8, hidden = 6, layers = 1, heads = 1, positions = 'learned', feed_forward = 'gelu'",
    "kind = 'transformer', embedding = 6, hidden = 6, layers = 2, heads = 3, positions = 'none', feed_forward = 'gated'",
    "kind = 'conv', embedding = 12, hidden = 7, layers = 2, tie_embeddings = 'output'",
    "kind = 'conv', embedding = 8, hidden = 5, layers = 1, heads = 2, kernel = 2, positions = 'sinusoidal', variational_dropout = true",
];

const SOURCES: [&[u32]; 3] = [&[4, 5], &[6, 7, 8, 9, 10], &[11]];
const TARGETS: [&[u32]; 3] = [&[4, 5, 6, 7], &[8], &[7, 6]];

/// A reader, a sight and a writer as a config; none where they are refused.
fn config(reader: &str, sight: &str, writer: &str) -> Option<ModelConfig> {
    let (sight, readout) = sight.rsplit_once('\n').expect("a readout in the last line");
    let text = format!(
        "{sight}\nencoder = {{ embedding = 12, {reader} }}\ndecoder = {{ hidden = 12, {writer}, {readout} }}"
    );
    let config: ModelConfig = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    match config.check() {
        Ok(()) => Some(config),
        Err(error) => {
            let last_of_bag = reader.contains("bag") && sight.contains("'last'");
            assert!(last_of_bag, "{text}: {error}");
            None
        }
    }
}

/// All models of a reader: with each sight and each writer.
fn models_of(reader: &str) -> impl Iterator<Item = Model> {
    let pairs = sights().into_iter().flat_map(|sight| WRITERS.map(|writer| (sight.clone(), writer)));
    pairs.filter_map(move |(sight, writer)| {
        let config = config(reader, &sight, writer)?;
        Some(Model::new(format!("{reader} | {sight} | {writer}"), config, 3))
    })
}

struct Model {
    name: String,
    config: ModelConfig,
    params: Params,
    model: Seq2Seq,
}

impl Model {
    fn new(name: String, config: ModelConfig, seed: u64) -> Model {
        let mut params = Params::new(&Device::cpu_with(1, Isa::detect()), seed);
        let model = Seq2Seq::new(&mut params, &config, SOURCE_WORDS, TARGET_WORDS);
        Model { model: model.unwrap_or_else(|error| panic!("{name}: {error}")), name, config, params }
    }

    /// The loss of each pair's tokens, in the pairs' order.
    fn losses(&self, batch: &Batch) -> Vec<Vec<f32>> {
        let of_rows = self.model.loss(&ForwardPass::inference(&self.params), batch, 0.0).per_target.to_vec();
        let mut of_pairs = vec![Vec::new(); batch.input.layout.batch()];
        for (row, (place, _)) in batch.input.layout.places().enumerate() {
            of_pairs[batch.input.layout.sorted_indices()[place] as usize].push(of_rows[row]);
        }
        of_pairs
    }

    /// The probability that a step gives each token, and where the model stands then.
    fn step(&self, token: u32, state: &couplet_nn::DecoderState) -> (Vec<f32>, couplet_nn::DecoderState) {
        let fwd = ForwardPass::inference(&self.params);
        let output = self.model.step(&fwd, &[token], state, false);
        let logits = self.model.logits(&fwd, &output.hidden).value().to_vec();
        let sum: f32 = logits.iter().map(|logit| logit.exp()).sum();
        (logits.iter().map(|logit| logit.exp() / sum).collect(), output.state)
    }

    fn start(&self, source: &[u32]) -> couplet_nn::DecoderState {
        let fwd = ForwardPass::inference(&self.params);
        let encoded = self.model.encode(&fwd, &PackedTokens::new(&[source], &[0]));
        self.model.init_state(&fwd, &encoded, [0].into())
    }

    fn train(&mut self, updates: u32) -> (f32, f32) {
        let (batch, mut adam, mut losses) = (batch(), Optimizer::adam().clipped(1.0), Vec::new());
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

    fn search(&self, beam: usize) -> Vec<Vec<Hypothesis>> {
        let config =
            SearchConfig { beam_size: beam, n_best: beam, max_length: Some(6), ..SearchConfig::default() };
        search(
            &Network { model: &self.model, params: &self.params, shown: Shown::default() },
            &SOURCES,
            &config,
        )
    }
}

fn batch() -> Batch {
    let pairs: Vec<(&[u32], &[u32])> = SOURCES.into_iter().zip(TARGETS).collect();
    Batch::new(&pairs, &[0, 1, 2], START, END)
}

fn a_pair_has_the_same_loss_alone_and_in_a_batch(model: &Model) {
    let together = model.losses(&batch());
    for (i, pair) in SOURCES.into_iter().zip(TARGETS).enumerate() {
        let alone = model.losses(&Batch::new(&[pair], &[i as u32], START, END));
        assert_eq!(together[i], alone[0], "{}: pair {i}", model.name);
    }
}

fn steps_equal_the_sequence(model: &Model) {
    let expected = model.losses(&batch());
    for (i, (source, target)) in SOURCES.into_iter().zip(TARGETS).enumerate() {
        let (mut state, mut token) = (model.start(source), START);
        for (step, &next) in target.iter().chain([&END]).enumerate() {
            let (probabilities, after) = model.step(token, &state);
            let loss = -probabilities[next as usize].ln();
            assert!((loss - expected[i][step]).abs() < 1e-4, "{}: pair {i}, step {step}", model.name);
            (state, token) = (after, next);
        }
    }
}

fn a_beam_of_one_is_greedy(model: &Model) {
    for (source, found) in SOURCES.into_iter().zip(model.search(1)) {
        let (mut state, mut token, mut greedy) = (model.start(source), START, Vec::new());
        while greedy.len() < 6 {
            let (probabilities, after) = model.step(token, &state);
            let best = (0..TARGET_WORDS).max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
            (state, token) = (after, best.expect("some tokens") as u32);
            if token == END {
                break;
            }
            greedy.push(token);
        }
        assert_eq!(found[0].tokens, greedy, "{}", model.name);
    }
}

fn a_file_brings_the_same_model_back(model: &Model) {
    let bytes = weights::to_bytes(&model.params).expect("weights have names and shapes");
    let text = toml::to_string(&model.config).expect("a config is a table");
    let mut other = Model::new(model.name.clone(), toml::from_str(&text).expect("what was just written"), 99);
    weights::read(&mut other.params, &bytes).expect("the weights of the same model");
    assert_eq!(other.search(3), model.search(3), "{}", model.name);
}

fn check_model(mut model: Model) {
    a_pair_has_the_same_loss_alone_and_in_a_batch(&model);
    steps_equal_the_sequence(&model);
    let (before, after) = model.train(6);
    assert!(after < before, "{}: {before} became {after}", model.name);
    a_beam_of_one_is_greedy(&model);
    a_file_brings_the_same_model_back(&model);
}

fn check(reader: &str) {
    let mut models = 0;
    for model in models_of(reader) {
        check_model(model);
        models += 1;
    }
    let sights = if reader.contains("bag") { 18 * 2 / 3 + 36 - 12 } else { 18 + 36 };
    assert_eq!(models, WRITERS.len() * sights, "models of {reader}");
}

#[test]
fn simple_readers() {
    READERS[..3].iter().for_each(|reader| check(reader));
}

#[test]
fn gated_readers() {
    READERS[3..5].iter().for_each(|reader| check(reader));
}

#[test]
fn long_short_term_readers() {
    READERS[5..8].iter().for_each(|reader| check(reader));
}

#[test]
fn self_attending_readers() {
    check(READERS[8]);
}

#[test]
fn readers_without_recurrence() {
    READERS[11..].iter().for_each(|reader| check(reader));
}

/// Each score in each order with each of some writers, and a choice of the attention's.
fn check_attention(choice: &str, writers: &[&str]) {
    check_orders(choice, writers, &ORDERS);
}

fn check_orders(choice: &str, writers: &[&str], orders: &[&str]) {
    for (score, order) in SCORES.iter().flat_map(|score| orders.iter().map(move |order| (score, order))) {
        let sight = format!("attention = {{ {score}{order}, {choice} }}\nreadout = 'attentional'");
        for writer in writers {
            let config = config(READERS[0], &sight, writer).expect("nothing of it is refused");
            check_model(Model::new(format!("{sight} | {writer}"), config, 3));
        }
    }
}

#[test]
fn deep_writers() {
    check_attention("query_layer = 'first'", &DEEP_WRITERS);
}

/// Scores of every form, bent in every way; only what is fed can be covered.
#[test]
fn bent_attention() {
    let writers = [WRITERS[0], WRITERS[3]];
    check_attention("local = 'monotonic', window = 1", &writers);
    check_attention("local = 'predictive', window = 2", &writers);
    check_attention("coverage_loss = 0.1, query_layer = 'first'", &[DEEP_WRITERS[0]]);
    let fed: Vec<&str> =
        ORDERS.into_iter().filter(|order| !order.contains("input_feeding = 'none'")).collect();
    for choice in ["coverage = true", "coverage = true, local = 'predictive', coverage_loss = 0.1"] {
        check_orders(choice, &writers, &fed);
    }
}

#[test]
fn writers_without_recurrence() {
    for (reader, writer) in READERS.iter().flat_map(|reader| ATTENTIVE_WRITERS.map(|writer| (reader, writer)))
    {
        let text = format!("encoder = {{ embedding = 12, {reader} }}\ndecoder = {{ {writer} }}");
        let config: ModelConfig = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
        check_model(Model::new(format!("{reader} | {writer}"), config, 3));
    }
}

#[test]
fn bags() {
    READERS[9..11].iter().for_each(|reader| check(reader));
}
