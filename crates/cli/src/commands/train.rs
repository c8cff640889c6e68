use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use crate::progress::Progress;
use couplet_data::Skipped;
use couplet_search::Folder;
use couplet_train::{AnyConfig, Corpus, Inherited, LabeledCorpus, Lessons, TextCorpus, Trainer};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Train a model from a config file.
///
/// With train.init_from, weights of another model are where it begins: train.init_modules says which, train.freeze which do not learn.
///
/// Ctrl-C and SIGTERM save a checkpoint and end. Whatever ended a run, the same command with --resume goes on from its last checkpoint,
/// to the same weights as if it had never stopped.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet train my-model/config.toml --out my-model/run-1 --set train.epochs=5
Example: couplet train my-model/config.toml --out my-model/run-1 --set train.epochs=5 --resume
Example: couplet train my-model/config.toml --prepared my-model/corpus
Example: couplet train classifier.toml --set train.init_from=language-model.model --set 'train.freeze=[\"encoder.embedding\"]'
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
    /// The folder that `couplet prepare` made of the config's data; the config's key data.prepared, seen from here.
    #[arg(long, value_name = "DIR")]
    prepared: Option<PathBuf>,
    /// Leave out lines that cannot be used and count them; the config's key data.skip_bad_lines.
    #[arg(long)]
    skip_bad_lines: bool,
    /// Go on with the run in the folder, from its last checkpoint; begin it where there is none.
    #[arg(long)]
    resume: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let mut config = AnyConfig::read_located(&arguments.config, &arguments.set)?;
    if arguments.skip_bad_lines {
        config.skip_bad_lines();
    }
    if let Some(prepared) = &arguments.prepared {
        let AnyConfig::Translate(config) = &mut config else {
            return Err(Failure::usage(
                "--prepared with a task that has no pairs of texts",
                Some("only pairs of texts can be prepared; leave it out".to_owned()),
            ));
        };
        config.set_prepared(prepared, &arguments.config.display().to_string())?;
    }
    match config {
        AnyConfig::Translate(config) => train::<Corpus>(arguments, *config),
        AnyConfig::Classify(config) => train::<LabeledCorpus>(arguments, *config),
        AnyConfig::LanguageModel(config) => train::<TextCorpus>(arguments, *config),
    }
}

fn train<L: Lessons>(arguments: &Arguments, mut config: L::Config) -> Outcome {
    let out = arguments.out.clone().unwrap_or_else(|| arguments.config.with_extension("model"));
    // Before the data is read, which may take long.
    let device = arguments.device.open_and_name()?;
    let folder = Folder::new(&out);
    let inherited = Inherited::of(&mut config, Some(&folder).filter(|_| arguments.resume))?;
    let lessons = L::read(&config, inherited)?;
    warn_of_skipped(lessons.skipped());
    let trainer = if arguments.resume {
        Trainer::resume(config, lessons, &device, folder)?
    } else {
        Trainer::new(config, lessons, &device, Some(folder))?
    };
    let mut progress = Progress::new();
    trainer.with_command(called()).run(&mut |event| progress.show(event), stop_on_interrupt()?.as_ref())?;
    eprintln!("the model is in {}", out.display());
    Ok(())
}

/// Says which lines were left out.
pub(crate) fn warn_of_skipped(skipped: &Skipped) {
    if skipped.lines > 0 {
        eprintln!("warning: {} bad lines were left out", skipped.lines);
        skipped.first.iter().for_each(|what| eprintln!("warning: {what}"));
    }
}

/// The command as it was called, for a shell.
fn called() -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,+".contains(c);
    let quoted = |word: String| {
        if word.chars().all(plain) { word } else { format!("'{}'", word.replace('\'', "'\\''")) }
    };
    let words = std::env::args().skip(1).map(quoted);
    std::iter::once("couplet".to_owned()).chain(words).collect::<Vec<_>>().join(" ")
}

/// A flag that Ctrl-C and SIGTERM set: the run then saves and ends. A second one ends at once.
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
