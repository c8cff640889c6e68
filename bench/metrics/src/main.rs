//! Scores the same lines here and with sacreBLEU, in turn, in one run.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

mod corpus;
#[path = "../../step/src/machine.rs"]
mod machine;
mod sides;

use anyhow::{Context, Result, ensure};
use clap::{Parser, ValueEnum};
use corpus::Corpus;
use sides::{Run, Side};
use std::path::PathBuf;

/// How far the scores of both sides may lie apart.
const SAME_SCORE: f64 = 1e-6;

#[derive(Parser)]
#[command(about, after_help = "Example: bench-metrics test.de train.de.gz --python .venv/bin/python")]
struct Arguments {
    /// Texts to take references from, plain or gzip; hypotheses are made of them by mistakes.
    #[arg(required = true)]
    texts: Vec<PathBuf>,
    /// Lines to score; where the texts have fewer, they are taken again.
    #[arg(long, default_value_t = 100_000)]
    lines: usize,
    /// Only these.
    #[arg(long, num_args = 1.., value_enum, default_values_t = [Name::Bleu, Name::Chrf, Name::ChrfPlusPlus, Name::Ter])]
    metrics: Vec<Name>,
    /// Both sides in turn, so many times.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A Python that has sacrebleu.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Name {
    Bleu,
    Chrf,
    #[value(name = "chrf++")]
    ChrfPlusPlus,
    Ter,
}

impl Name {
    fn label(self) -> &'static str {
        match self {
            Name::Bleu => "bleu",
            Name::Chrf => "chrf",
            Name::ChrfPlusPlus => "chrf++",
            Name::Ter => "ter",
        }
    }
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let threads = std::thread::available_parallelism()?.get();
    let corpus = Corpus::read(&arguments.texts, arguments.lines)?;
    let sides =
        [Side::Ours { threads }, Side::Ours { threads: 1 }, Side::Sacrebleu { python: &arguments.python }];
    let mut rows = Vec::new();
    let mut version = String::new();
    for &name in &arguments.metrics {
        eprintln!("{} …", name.label());
        let mut rounds = Vec::new();
        for _ in 0..arguments.rounds {
            let runs: Vec<Run> = sides.iter().map(|side| side.run(name, &corpus)).collect::<Result<_>>()?;
            for run in &runs {
                let wanted = runs[2].score;
                ensure!(
                    (run.score - wanted).abs() < SAME_SCORE,
                    "scores differ: ours {}, {wanted}",
                    run.score
                );
            }
            version.clone_from(&runs[2].version);
            rounds.push([runs[0].seconds, runs[1].seconds, runs[2].seconds]);
        }
        rows.push(
            row(name, &rounds).with_context(|| format!("{} was not measured in 0 rounds", name.label()))?,
        );
    }
    println!(
        "{}, {}, {threads} cores, {}, {version}; {} lines, medians of {} rounds in turn; the scores are the same",
        machine::date(),
        machine::processor(),
        machine::rust(),
        corpus.len(),
        arguments.rounds,
    );
    println!(
        "\n| | ours | on one core | sacreBLEU | speed | on one core | each round |\n|---|---|---|---|---|---|---|"
    );
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

/// A line of the table: seconds of each side, and how many times as fast we are.
fn row(name: Name, rounds: &[[f64; 3]]) -> Option<String> {
    let middle = |of: &dyn Fn(&[f64; 3]) -> f64| median(rounds.iter().map(of).collect());
    let [ours, alone, theirs] = [0, 1, 2].map(|side| middle(&|round| round[side]));
    let [speed, speed_alone] = [0, 1].map(|side| middle(&|round| round[2] / round[side]));
    let each: Vec<String> = rounds.iter().map(|round| format!("{:.0}", round[2] / round[0])).collect();
    Some(format!(
        "| {} | {:.2} s | {:.2} s | {:.1} s | × {:.0} | × {:.0} | {} |",
        name.label(),
        ours?,
        alone?,
        theirs?,
        speed?,
        speed_alone?,
        each.join(" ")
    ))
}

fn median(mut numbers: Vec<f64>) -> Option<f64> {
    numbers.sort_by(f64::total_cmp);
    numbers.get(numbers.len() / 2).copied()
}
