//! Real batches: the first ones of a training run, through everything that a user's run goes through.

use crate::ours::{Contents, floats, padded, peak_megabytes, save, tokens, weights_of};
use anyhow::{Result, anyhow};
use couplet_data::{DataError, END, Example, Fetch, Position, START, in_order};
use couplet_nn::{Pass, Seq2Seq, Training};
use couplet_tensor::optimiser::Optimiser;
use couplet_tensor::{Device, Isa, Params, Tape, give_heap_back};
use couplet_train::{Config, Corpus, Inherited, Lessons, batch_of, mean_loss};
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
    let corpus = Corpus::read(&config, Inherited::default())?;
    let device = Device::cpu_with(threads, Isa::detect());
    let mut params = Params::new(&device, config.train.seed);
    let vocabularies = (corpus.source.vocabulary_size(), corpus.target.vocabulary_size());
    let model = Seq2Seq::new(&mut params, &config.model, vocabularies.0, vocabularies.1)?;

    let stops = corpus.feed(&config)?.starting_at(Position::default()).take(arguments.batches);
    let chosen = stops.map(|stop| Ok(stop?.examples)).collect::<Result<Vec<Vec<Example>>, DataError>>()?;
    if let Some(path) = dump {
        let valid = in_order(&corpus.valid.costs(), config.train.batch_tokens);
        let valid = valid.iter().map(|numbers| corpus.valid.fetch(numbers));
        let valid = valid.collect::<Result<Vec<_>, _>>()?;
        let settings = [config.train.rate, config.train.clip, config.label_smoothing()];
        save(path, &dumped(&params, &chosen, &valid, settings))?;
    }

    give_heap_back();
    let mut adam = Optimiser::adam().clipped(config.train.clip);
    let (mut measured, mut start) = (0, Instant::now());
    for (i, examples) in chosen.iter().enumerate() {
        if i == WARM_UP {
            (measured, start) = (0, Instant::now());
        }
        let batch = batch_of(examples, &model);
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
    train: &[Vec<Example>],
    valid: &[Vec<Example>],
    settings: [f32; 3],
) -> Vec<(String, Contents)> {
    let mut all = weights_of(params);
    all.push(("settings".to_owned(), floats(&[3], &settings)));
    for (set, batches) in [("train", train), ("valid", valid)] {
        for (i, examples) in batches.iter().enumerate() {
            let sources = examples.iter().map(|example| example.source.clone());
            let around = |example: &Example| [&[START], &example.target[..], &[END]].concat();
            all.push((format!("{set}/{i}/source"), tokens(&padded(sources))));
            all.push((format!("{set}/{i}/target"), tokens(&padded(examples.iter().map(around)))));
        }
    }
    all
}
