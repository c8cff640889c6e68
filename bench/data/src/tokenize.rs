//! Text to ids, here and with Python's `tokenizers`, in turn.

use anyhow::{Context, Result, ensure};
use couplet_data::{CHUNK, Lines, Tokenizer, on_all_cores};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Turn the lines of a text into ids with all cores: ours, and Python's `tokenizers`, with the same file. The text is read before
/// either clock starts.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// A tokenizer's file.
    tokenizer: PathBuf,
    /// The text.
    text: PathBuf,
    /// The first lines of it.
    #[arg(long, default_value_t = 1_000_000)]
    lines: usize,
    /// Both in turn, so many times.
    #[arg(long, default_value_t = 3)]
    rounds: usize,
    /// A Python that has tokenizers.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
}

/// What one side did.
struct Run {
    /// Tokens and the sum of their ids: both sides must agree.
    tokens: u64,
    sum: u64,
    seconds: f64,
    version: String,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let lines: Vec<String> = Lines::open(&arguments.text)?.take(arguments.lines).collect::<Result<_, _>>()?;
    let tokenizer = Tokenizer::load(&arguments.tokenizer)?;
    println!("{} lines, {} cores", lines.len(), std::thread::available_parallelism()?);
    let mut ratios = Vec::new();
    for _ in 0..arguments.rounds {
        let (ours, theirs) = (ours(&tokenizer, &lines), theirs(arguments)?);
        ensure!((ours.tokens, ours.sum) == (theirs.tokens, theirs.sum), "the two sides have different ids");
        for run in [&ours, &theirs] {
            println!(
                "{:<20} {:>12.0} tokens/s in {:.2} s",
                run.version,
                run.tokens as f64 / run.seconds,
                run.seconds
            );
        }
        ratios.push(theirs.seconds / ours.seconds);
    }
    ratios.sort_by(f64::total_cmp);
    println!("ours is × {:.2} as fast, the median of {} rounds", ratios[ratios.len() / 2], ratios.len());
    Ok(())
}

/// In chunks, as `couplet prepare` does it.
fn ours(tokenizer: &Tokenizer, lines: &[String]) -> Run {
    let began = Instant::now();
    let (mut tokens, mut sum) = (0, 0);
    for chunk in lines.chunks(CHUNK) {
        for ids in on_all_cores(chunk, |line| tokenizer.encode(line)) {
            tokens += ids.len() as u64;
            sum += ids.iter().map(|&id| u64::from(id)).sum::<u64>();
        }
    }
    let version = concat!("couplet ", env!("CARGO_PKG_VERSION")).to_owned();
    Run { tokens, sum, seconds: began.elapsed().as_secs_f64(), version }
}

fn theirs(arguments: &Arguments) -> Result<Run> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tokenizers_side.py");
    let mut command = Command::new(&arguments.python);
    command.arg(script).args([&arguments.tokenizer, &arguments.text]).arg(arguments.lines.to_string());
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value =
        serde_json::from_slice(&output.stdout).context("reading what Python's side printed")?;
    let number = |key: &str| answer[key].as_u64().with_context(|| format!("no {key} in {answer}"));
    Ok(Run {
        tokens: number("tokens")?,
        sum: number("sum")?,
        seconds: answer["seconds"].as_f64().context("no seconds")?,
        version: answer["version"].as_str().unwrap_or("tokenizers").to_owned(),
    })
}
