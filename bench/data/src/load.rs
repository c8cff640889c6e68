//! The batches of a run, without the run.

use anyhow::{Result, anyhow};
use couplet_data::Position;
use couplet_train::{Config, Corpus, Inherited, Lessons, peak_of_process};
use std::path::PathBuf;
use std::time::Instant;

/// Read the batches of a config as a run would, and learn nothing from them.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The config of a translator.
    config: PathBuf,
    /// What `couplet prepare` made of it.
    #[arg(long)]
    prepared: Option<PathBuf>,
    /// Override a key of the config, as key=value.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// How many batches, from the first on.
    #[arg(long, default_value_t = 10_000)]
    batches: usize,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let mut config =
        Config::read_located(&arguments.config, &arguments.set).map_err(|error| anyhow!("{error}"))?;
    config.data.prepared = arguments.prepared.clone().or(config.data.prepared);
    let began = Instant::now();
    let corpus = Corpus::read(&config, Inherited::default())?;
    let opened = began.elapsed().as_secs_f64();
    let mut batches = corpus.feed(&config)?.starting_at(Position::default()).take(arguments.batches);
    let first = batches.next().transpose()?;
    let ready = began.elapsed().as_secs_f64();
    let (began, mut tokens, mut pairs) = (Instant::now(), 0, 0);
    for stop in batches {
        let examples = stop?.examples;
        pairs += examples.len();
        tokens +=
            examples.iter().map(|example| example.source.len() + example.target.len() + 1).sum::<usize>();
    }
    let seconds = began.elapsed().as_secs_f64();
    println!(
        "opened after {opened:.2} s, first batch of {} pairs after {ready:.2} s",
        first.map_or(0, |stop| stop.examples.len())
    );
    println!("{pairs} pairs, {tokens} tokens in {seconds:.2} s: {:.0} tokens/s", tokens as f64 / seconds);
    if let Some(bytes) = peak_of_process() {
        println!("peak memory {:.0} MB", bytes as f64 / 1e6);
    }
    Ok(())
}
