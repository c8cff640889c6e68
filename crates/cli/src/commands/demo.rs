mod copy;

use super::attend::attention;
use super::train::stop_on_interrupt;
use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use crate::picture::in_terminal;
use crate::progress::Progress;
use couplet_data::{demo, write_whole};
use couplet_metrics::exact_match;
use couplet_plot::{Attention, Background, View};
use couplet_search::Translator;
use couplet_train::{Config, Corpus, Inherited, Trainer};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Train a small model on data inside the binary, and see it work.
///
/// `translate`: English to Chinese, from a grammar of a few hundred words. What it translates afterwards it has never seen: no subject,
/// verb and object of the test sentences occur together in training.
///
/// `copy`: messages that are passed on, with names and numbers that it has never seen; the same model with copying and without.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet demo --json
Example: couplet demo copy")]
pub(crate) struct Arguments {
    /// Which demo.
    #[arg(value_enum, default_value_t = Demo::Translate)]
    name: Demo,
    /// Where the pictures go.
    #[arg(long, default_value = "couplet-demo")]
    out: PathBuf,
    /// What all random numbers follow from.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Print the figures as JSON.
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    device: DeviceArguments,
}

/// What a demo shows.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Demo {
    /// A translator.
    Translate,
    /// Copying.
    Copy,
}

/// How many of the test sentences are shown.
const SHOWN: usize = 8;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match arguments.name {
        Demo::Translate => translate(arguments),
        Demo::Copy => copy::run(arguments),
    }
}

/// Writes a picture.
fn write_picture(attention: &Attention, path: &Path) -> Outcome {
    let svg = attention.to_svg(View::Heatmap, Background::Page);
    write_whole(path, svg.as_bytes()).map_err(|error| Failure::io(path, &error))
}

fn translate(arguments: &Arguments) -> Outcome {
    let seed = format!("train.seed={}", arguments.seed);
    let config = Config::parse(include_str!("demo.toml"), "the demo's config", &[seed])?;
    let device = arguments.device.open_and_name()?;
    let data = demo::corpus(arguments.seed);
    let corpus = Corpus::new(&config, Inherited::default(), &data.train, &data.valid)?;
    let search = corpus.search(&config);
    let trainer = Trainer::new(config, corpus, &device, None)?;
    let began = Instant::now();
    let mut progress = Progress::new();
    let trained = trainer.run(&mut |event| progress.show(event), stop_on_interrupt()?.as_ref())?;
    let seconds = began.elapsed().as_secs_f64();

    let (source, target) = (&trained.lessons.source, &trained.lessons.target);
    let translator = Translator::new(&trained.model, &trained.params, source, target);
    let sources: Vec<&str> = data.test.iter().map(|pair| pair.source.as_str()).collect();
    let targets: Vec<&str> = data.test.iter().map(|pair| pair.target.as_str()).collect();
    let outputs: Vec<String> = translator.translate(&sources, &search).into_iter().map(|t| t.text).collect();
    let accuracy = exact_match(&outputs, &targets);
    std::fs::create_dir_all(&arguments.out).map_err(|error| Failure::io(&arguments.out, &error))?;
    let pictures: Vec<PathBuf> =
        (1..=demo::SHOWCASE.len()).map(|i| arguments.out.join(format!("attention-{i}.svg"))).collect();
    let showcase = Translator { attention: true, ..translator }.translate(&demo::SHOWCASE, &search);

    if !arguments.json {
        println!("\nSentences it has never seen:");
        for (source, output) in sources.iter().zip(&outputs).take(SHOWN) {
            println!("  {source}  →  {output}");
        }
        println!("\nWhere it looks:");
    }
    for (translation, path) in showcase.into_iter().zip(&pictures) {
        let attention = attention(&translation);
        write_picture(&attention, path)?;
        if !arguments.json {
            println!("{}", in_terminal(&attention, View::Heatmap));
        }
    }
    if arguments.json {
        println!(
            "{}",
            serde_json::json!({
                "seed": arguments.seed,
                "updates": trained.updates,
                "training_seconds": seconds,
                "validation_loss": trained.best_loss,
                "sentences": targets.len(),
                "exact": accuracy.correct,
                "exact_percent": accuracy.percent(),
                "pictures": pictures,
            })
        );
    } else {
        println!(
            "{} of {} unseen sentences exactly right ({:.1} %)",
            accuracy.correct,
            targets.len(),
            accuracy.percent()
        );
        println!("{seconds:.0} s of training; the pictures are in {}", arguments.out.display());
    }
    Ok(())
}
