use super::lines::Output;
use super::train::stop_on_interrupt;
use crate::bar::say;
use crate::device::DeviceArguments;
use crate::failure::{Failure, Outcome};
use crate::picture::{Format, PictureArguments};
use crate::progress::Progress;
use couplet_compare::{
    Budget, Compared, Entry, Failed, Plan, Progress as Happening, Sets, Table, compare, done, lock,
    write_report,
};
use std::path::PathBuf;

/// Train several configs on the same data, and compare what they reach and what they cost.
///
/// Prints a table and saves it with pictures: quality by the length of the source, accuracy by the place of its words, cost as sources grow, norms of
/// states and gradients. OUT/README.md has all of it, with the figures for each claim.
///
/// Configs that name no data learn from passages that come with the program, of up to 45 words. Models are in OUT/NAME/seed-N. Whatever ended it,
/// the same command goes on where it stopped, and what is done is not done again; with more --seeds, --max-updates or configs, only what is new is trained.
/// With another test set, models are measured again. With other data to learn from or to check with, with fewer --max-updates or --minutes than a run has
/// behind it or less patience, or with more of them where its rate falls to zero at the last update, it is refused: give another --out.
/// Commands for some of the configs may run side by side in one folder; the command for all of them then finds them done, and writes the report.
#[derive(clap::Args)]
#[command(after_help = "\
Example: couplet compare configs/ladder/*.toml --minutes 2 --seeds 3 --out ladder
Example: couplet compare a.toml b.toml --train train.en train.de --valid valid.en valid.de --test test.en test.de
Example: couplet compare a.toml b.toml --train train.en train.fr --valid valid.en valid.fr --concatenate 45 --device cuda
Example: couplet compare a.toml --no-times & couplet compare b.toml --no-times & wait; couplet compare a.toml b.toml
Example: couplet compare a.toml b.toml --max-updates 500 --set model.encoder.hidden=64")]
pub(crate) struct Arguments {
    /// The config files; a model is called as its file is
    #[arg(required = true, value_name = "CONFIG")]
    configs: Vec<PathBuf>,
    /// Where models, table and pictures go
    #[arg(long, default_value = "comparison")]
    out: PathBuf,
    /// Train each config so many times, with the seeds 1, 2 and so on; figures are then means with their spread
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    seeds: u64,
    /// Make so many updates [default: as the configs say, until validation stops improving]
    #[arg(long, conflicts_with = "minutes", value_parser = clap::value_parser!(u64).range(1..))]
    max_updates: Option<u64>,
    /// Train each model for so many minutes
    #[arg(long, value_parser = above_zero)]
    minutes: Option<f64>,
    /// What all models learn from: a file of sources and one of targets, or of texts and of labels
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"], requires = "valid")]
    train: Option<Vec<PathBuf>>,
    /// What they are checked with while they learn
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"], requires = "train")]
    valid: Option<Vec<PathBuf>>,
    /// What they are measured with [default: what they are checked with]
    #[arg(long, num_args = 2, value_names = ["SOURCE", "TARGET"])]
    test: Option<Vec<PathBuf>>,
    /// Join lines of each set, drawn at random, to passages of up to so many words: for what is claimed of long sources, where those of a
    /// corpus are short
    #[arg(long, value_name = "WORDS", requires = "train")]
    concatenate: Option<usize>,
    /// Override a key of all configs, as key=value; may be given several times
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,
    /// Leave out what is timed, tokens a second and cost by source length: for commands side by side, which would slow each other down. The
    /// same command without it adds them
    #[arg(long)]
    no_times: bool,
    /// Train and measure nothing: write the report of what is done. Needs no data and no models, only their result.json and times.json
    #[arg(long)]
    report: bool,
    /// Print the table as JSON
    #[arg(long)]
    json: bool,
    /// Write each picture as PNG, too
    #[arg(long)]
    png: bool,
    #[command(flatten)]
    picture: PictureArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

impl Arguments {
    fn plan(&self) -> Plan {
        let two = |files: &Option<Vec<PathBuf>>| -> Option<[PathBuf; 2]> {
            files.as_ref().map(|files| files.clone().try_into().expect("clap asks for two"))
        };
        Plan {
            configs: self.configs.clone(),
            out: self.out.clone(),
            seeds: self.seeds,
            budget: match (self.max_updates, self.minutes) {
                (Some(steps), _) => Budget::Steps(steps),
                (None, Some(minutes)) => Budget::Minutes(minutes),
                (None, None) => Budget::OfConfig,
            },
            data: two(&self.train).zip(two(&self.valid)).map(|(train, valid)| Sets { train, valid }),
            test: two(&self.test),
            passages: self.concatenate,
            overrides: self.set.clone(),
            times: !self.no_times,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let plan = arguments.plan();
    let compared = if arguments.report { done(&plan)? } else { trained(arguments, &plan)? };
    let reported = report(arguments, &compared);
    if compared.stopped {
        eprintln!("stopped; the same command goes on");
        return reported;
    }
    // That a model failed is more than that nobody could read it.
    all_well(&compared.entries).and(reported)
}

fn above_zero(text: &str) -> Result<f64, String> {
    text.parse().ok().filter(|&number| number > 0.0).ok_or_else(|| "a number above 0 is wanted".to_owned())
}

fn trained(arguments: &Arguments, plan: &Plan) -> Result<Compared, Failure> {
    let device = arguments.device.open_and_name()?;
    let stop = stop_on_interrupt()?;
    let mut bar = Progress::new();
    Ok(compare(plan, &device, &mut |happening| show(happening, &mut bar), stop.as_ref())?)
}

/// Shows runs, one after the other.
fn show(happening: &Happening, bar: &mut Progress) {
    match happening {
        Happening::Begins { name, seed } => {
            *bar = Progress::new();
            say(&format!("{name}, seed {seed}"));
        }
        Happening::Trains(event) => bar.show(event),
        Happening::Measured { name, outcome } => {
            let quality = &outcome.quality;
            let (metric, score) = (quality.metric.name(), quality.score);
            say(&format!("{name}: {metric} {score:.2} on {} lines", quality.lines));
        }
        Happening::Times { name } => say(&format!("{name}: how fast it is")),
        Happening::Failed { name, failed } => say(&format!("{name} failed: {}", failed.message)),
    }
}

/// Prints the table and writes all files.
fn report(arguments: &Arguments, compared: &Compared) -> Outcome {
    let table = Table::of(&compared.entries);
    let _alone = lock(&arguments.out)?;
    let pictures = write_report(&arguments.out, &compared.entries, arguments.picture.background())?;
    if arguments.png {
        for svg in &pictures {
            let drawn = std::fs::read_to_string(svg).map_err(|error| Failure::io(svg, &error))?;
            arguments.picture.write(&svg.with_extension("png"), Format::Png, &drawn)?;
        }
    }
    eprintln!("the report is {}", arguments.out.join("README.md").display());
    let shown = if arguments.json { serde_json::json!(table).to_string() } else { table.to_terminal() };
    let mut out = Output::open(None)?;
    out.line(shown.trim_end())?;
    out.flush()?;
    out.finish()
}

/// A comparison in which a model failed has failed, after all others are through.
fn all_well(entries: &[Entry]) -> Outcome {
    let failed: Vec<(&str, &Failed)> =
        entries.iter().filter_map(|entry| Some((entry.name.as_str(), entry.failed.as_ref()?))).collect();
    let Some((name, first)) = failed.first() else { return Ok(()) };
    let count = match failed.len() {
        1 => String::new(),
        n => format!("{n} of {} models failed; ", entries.len()),
    };
    Err(Failure::new(format!("{count}{name}: {}", first.message), first.hint.clone()))
}
