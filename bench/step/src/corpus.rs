//! Real batches: the first ones of a training run, through everything that a user's run goes through.

use crate::measured::Measurements;
use crate::ours::{Contents, floats, padded, peak_megabytes, save, tokens, weights_of};
use crate::product;
use anyhow::{Context, Result, anyhow};
use couplet_data::{Example, Fetch, in_order};
use couplet_tensor::{Device, Isa, Params};
use couplet_train::{Config, Corpus, Inherited, Lessons, Schedule};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};

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
    /// The folder with Multi30k's train.en.gz, train.de.gz, valid.en and valid.de, in place of the files that the config names.
    #[arg(long)]
    pub(crate) data: Option<PathBuf>,
    /// Tokens of a batch, in place of those that the config says.
    #[arg(long)]
    pub(crate) batch_tokens: Option<usize>,
    /// How many batches, from the first on.
    #[arg(long, default_value_t = 100)]
    pub(crate) batches: usize,
}

impl Arguments {
    /// The same as words of a command line.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = vec!["ours-corpus".to_owned(), self.config.display().to_string()];
        words.extend(["--batches".to_owned(), self.batches.to_string()]);
        words.extend(self.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
        words.extend(self.data.iter().flat_map(|data| ["--data".to_owned(), data.display().to_string()]));
        words.extend(
            self.batch_tokens.iter().flat_map(|tokens| ["--batch-tokens".to_owned(), tokens.to_string()]),
        );
        words
    }

    /// Dropout is off, since no two toolkits drop the same numbers; the rate stays, and the bridge has no weights of its own, as on the
    /// other side.
    fn config(&self) -> Result<Config> {
        let mut set = self.set.clone();
        if let Some(folder) = &self.data {
            let files = |key: &str, names: [&str; 2]| {
                let [source, target] = names.map(|name| absolute(&folder.join(name)));
                Ok::<_, anyhow::Error>(format!("data.{key}=[{:?}, {:?}]", source?, target?))
            };
            set.push(files("train", ["train.en.gz", "train.de.gz"])?);
            set.push(files("valid", ["valid.en", "valid.de"])?);
        }
        set.extend(
            ["model.encoder.dropout=0.0", "model.decoder.dropout=0.0", "model.bridge=copy"]
                .map(str::to_owned),
        );
        let mut config = Config::read_located(&self.config, &set).map_err(|error| anyhow!("{error}"))?;
        (config.train.schedule, config.train.warmup) = (Schedule::Constant, 0);
        config.train.batch_tokens = self.batch_tokens.unwrap_or(config.train.batch_tokens);
        Ok(config)
    }
}

/// A config's files are relative to its folder; those of the command line are not.
fn absolute(path: &Path) -> Result<String> {
    let path = std::path::absolute(path)?;
    Ok(path.to_str().with_context(|| format!("{} is no text", path.display()))?.to_owned())
}

/// Trains on the batches and validates; one line of JSON. A profiler counts all batches, and there is nothing to validate.
pub(crate) fn measure(
    arguments: &Arguments,
    threads: usize,
    dump: Option<&Path>,
    counted: bool,
) -> Result<Value> {
    let config = arguments.config()?;
    let corpus = Corpus::read(&config, Inherited::default())?;
    if let Some(path) = dump {
        let train = product::first_batches(&config, &corpus, arguments.batches)?;
        let valid = in_order(&corpus.valid.costs(), config.train.batch_tokens);
        let valid = valid.iter().map(|numbers| corpus.valid.fetch(numbers));
        let valid = valid.collect::<Result<Vec<_>, _>>()?;
        let settings = [config.train.learning_rate, config.train.clip_grad_norm, config.label_smoothing()];
        save(path, &dumped(&product::first_weights(&config, &corpus)?, &train, &valid, settings))?;
    }

    let isa = if counted { Isa::Portable } else { Isa::detect() };
    let mut run = product::Run::new(config, corpus, &Device::cpu_with(threads, isa))?;
    let warm_up = if counted { 0 } else { WARM_UP };
    for _ in 0..warm_up {
        run.update()?;
    }
    let (mut tokens, mut measurements) = (0, Measurements::default());
    for _ in warm_up..arguments.batches {
        tokens += measurements.take(|| run.update())?.tokens;
    }
    let seconds: f64 = measurements.seconds.iter().sum();
    let peak = peak_megabytes()?;
    Ok(json!({
        "tokens_per_second": tokens as f64 / seconds,
        "allocations": measurements.allocations(),
        "peak_mb": peak,
        "valid_loss": if counted { None } else { Some(run.validation_loss()?) },
    }))
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
            let [sources, targets] = product::sides(examples);
            all.push((format!("{set}/{i}/source"), tokens(&padded(sources.into_iter()))));
            all.push((format!("{set}/{i}/target"), tokens(&padded(targets.into_iter()))));
        }
    }
    all
}
