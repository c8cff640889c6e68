use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use couplet_search::Folder;
use couplet_train::{AnyConfig, Corpus, LabelledCorpus, Lessons, Trainer};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Train a model from a config file.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet train my-model/config.toml --out my-model/run-1 --set train.epochs=5
Example: couplet train my-model/config.toml --device cuda:1 --precision tf32")]
pub(crate) struct Arguments {
    /// The config file. The files it names are relative to its folder.
    config: PathBuf,
    /// Where the model goes [default: the config file's name without its ending]
    #[arg(long)]
    out: Option<PathBuf>,
    /// Override a key of the config, as key=value; may be given several times.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match AnyConfig::read_located(&arguments.config, &arguments.set)? {
        AnyConfig::Translate(config) => train::<Corpus>(arguments, *config),
        AnyConfig::Classify(config) => train::<LabelledCorpus>(arguments, *config),
    }
}

fn train<L: Lessons>(arguments: &Arguments, config: L::Config) -> Outcome {
    let out = arguments.out.clone().unwrap_or_else(|| arguments.config.with_extension("model"));
    // Before the data is read, which may take long.
    let device = arguments.device.open_and_name()?;
    let lessons = L::read(&config)?;
    let trainer = Trainer::new(config, lessons, &device, Some(Folder::new(&out)))?;
    let mut progress = Progress::new();
    trainer.run(&mut |event| progress.show(event), stop_on_interrupt()?.as_ref())?;
    eprintln!("the model is in {}", out.display());
    Ok(())
}

/// A flag that Ctrl-C sets: the run then saves and ends. A second Ctrl-C ends at once.
pub(crate) fn stop_on_interrupt() -> Result<Arc<AtomicBool>, Failure> {
    let stop = Arc::new(AtomicBool::new(false));
    let handler = Arc::clone(&stop);
    ctrlc::set_handler(move || {
        if handler.swap(true, Ordering::Relaxed) {
            std::process::exit(130);
        }
    })
    .map_err(|error| Failure::new(format!("cannot listen for Ctrl-C: {error}"), None))?;
    Ok(stop)
}
