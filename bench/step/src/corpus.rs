//! Real batches: the first ones of a training run, through everything that a user's run goes through.

use crate::ours::{Contents, floats, padded, peak_megabytes, save, tokens, weights_of};
use anyhow::{Result, anyhow};
use couplet_data::{Batches, Position, in_order};
use couplet_nn::{Pass, Seq2Seq, Training};
use couplet_tensor::optimiser::Optimiser;
use couplet_tensor::{Device, Isa, Params, Tape};
use couplet_train::{Config, Corpus, Lessons, mean_loss};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Batches that are run before the clock starts.
const WARM_UP: usize = 2;

/// A config, and the batches that are taken of its data.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Arguments {
    /// The config of a translator.
    pub(crate) config: PathBuf,
    /// Override a key of the config, as key=value.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub(crate) set: Vec<String>,
    /// How many batches, from the first on.
    #[arg(long, default_value_t = 100)]
    pub(crate) batches: usize,
}

impl Arguments {
    /// Dropout is off, since no two toolkits drop the same numbers; and the bridge has no weights of its own.
    fn config(&self) -> Result<Config> {
        let mut set = self.set.clone();
        set.extend(
            ["model.encoder.dropout=0.0", "model.decoder.dropout=0.0", "model.bridge=copy"]
                .map(str::to_owned),
        );
        Config::read_located(&self.config, &set).map_err(|error| anyhow!("{error}"))
    }
}

/// Trains on the batches and validates; one line of JSON.
pub(crate) fn measure(arguments: &Arguments, threads: usize, dump: Option<&Path>) -> Result<Value> {
    let config = arguments.config()?;
    let corpus = Corpus::read(&config)?;
    let device = Device::cpu_with(threads, Isa::detect());
    let mut params = Params::new(&device, config.train.seed);
    let vocabularies = (corpus.source.vocabulary_size(), corpus.target.vocabulary_size());
    let model = Seq2Seq::new(&mut params, &config.model, vocabularies.0, vocabularies.1)?;

    let batches = Batches::new(&corpus.train.lengths(), config.train.batch_tokens, config.train.seed);
    let chosen: Vec<Vec<u32>> =
        batches.starting_at(Position::default()).take(arguments.batches).map(|stop| stop.examples).collect();
    if let Some(path) = dump {
        let valid = in_order(&corpus.valid.lengths(), config.train.batch_tokens);
        let settings = [config.train.rate, config.train.clip, config.label_smoothing()];
        save(path, &dumped(&params, &corpus, &chosen, &valid, settings))?;
    }

    let mut adam = Optimiser::adam().clipped(config.train.clip);
    let (mut measured, mut start) = (0, Instant::now());
    for (i, numbers) in chosen.iter().enumerate() {
        if i == WARM_UP {
            (measured, start) = (0, Instant::now());
        }
        let batch = corpus.train.batch(numbers);
        let tape = Tape::new();
        let training = Training { tape: &tape, seed: config.train.seed, update: i as u32 };
        let loss = model.loss(&Pass::training(&params, training), &batch, config.label_smoothing()).mean;
        tape.backward(&loss, &mut params);
        adam.step(&mut params, config.train.rate);
        measured += batch.tokens();
    }
    let seconds = start.elapsed().as_secs_f64();
    let peak = peak_megabytes()?;
    let loss = mean_loss(&model, &params, &corpus.valid, config.train.batch_tokens);
    Ok(json!({ "tokens_per_second": measured as f64 / seconds, "peak_mb": peak, "valid_loss": loss }))
}

/// What the twin starts from: weights under its own names, settings, and padded batches of ids.
fn dumped(
    params: &Params,
    corpus: &Corpus,
    train: &[Vec<u32>],
    valid: &[Vec<u32>],
    settings: [f32; 3],
) -> Vec<(String, Contents)> {
    let mut all = weights_of(params);
    all.push(("settings".to_owned(), floats(&[3], &settings)));
    for (set, examples, batches) in [("train", &corpus.train, train), ("valid", &corpus.valid, valid)] {
        for (i, numbers) in batches.iter().enumerate() {
            let (sources, targets): (Vec<_>, Vec<_>) =
                numbers.iter().map(|&number| examples.get(number)).unzip();
            let around = |target: &&[u32]| [&[couplet_data::START], *target, &[couplet_data::END]].concat();
            all.push((
                format!("{set}/{i}/source"),
                tokens(&padded(sources.iter().map(|source| source.to_vec()))),
            ));
            all.push((format!("{set}/{i}/target"), tokens(&padded(targets.iter().map(around)))));
        }
    }
    all
}
