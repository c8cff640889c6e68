//! Both sides in turn.

use crate::corpus;
use crate::interval::Paired;
use crate::ours::median;
use crate::workload::{LENGTH, Workload};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How far the first losses may lie apart, as a share: the same weights, the same tokens, other roundings.
const SAME_LOSS: f64 = 1e-4;

/// How far the validation losses may lie apart after some batches, as a share: roundings grow with each update.
const SAME_VALIDATION_LOSS: f64 = 2e-2;

/// How many of the outputs must be the same, as a share: where two tokens are all but equally likely, roundings decide.
const SAME_OUTPUTS: f64 = 0.95;

// No doc comment: clap would show it in place of the verb's own.
#[derive(Clone, Debug, clap::Args)]
pub(crate) struct Settings {
    /// Both sides in turn, so many times.
    #[arg(long, default_value_t = 5, value_parser = at_least_one)]
    pub(crate) rounds: usize,
    /// Training steps of a round.
    #[arg(long, default_value_t = 10, value_parser = at_least_one)]
    pub(crate) steps: usize,
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// A Python that has torch, numpy and safetensors.
    #[arg(long, default_value = "python3")]
    pub(crate) python: PathBuf,
}

impl Settings {
    /// How many threads a side uses, as words of its command line.
    pub(crate) fn threads(&self) -> [String; 2] {
        ["--threads".to_owned(), self.threads.to_string()]
    }
}

/// A number of rounds or steps: without any, there is nothing to compare.
fn at_least_one(text: &str) -> Result<usize> {
    let number: usize = text.parse()?;
    ensure!(number > 0, "at least 1 is needed");
    Ok(number)
}

/// What both sides are called with, but for what the [`Settings`] say.
pub(crate) struct Contest {
    /// The words of our side.
    pub(crate) ours: Vec<String>,
    /// PyTorch's script.
    pub(crate) script: &'static str,
    /// The words of PyTorch's side.
    pub(crate) theirs: Vec<String>,
}

impl Contest {
    /// Runs both sides, each in a process of its own: ours writes a file that the other one reads.
    pub(crate) fn round(&self, settings: &Settings) -> Result<[Value; 2]> {
        let dump = std::env::temp_dir().join(format!("bench-step-{}.safetensors", std::process::id()));
        let both = self.round_over(&dump, settings);
        // Where our side failed there is none.
        let _ = std::fs::remove_file(&dump);
        both
    }

    fn round_over(&self, dump: &Path, settings: &Settings) -> Result<[Value; 2]> {
        let threads = settings.threads();
        let mut command = Command::new(std::env::current_exe()?);
        let ours = run(command.args(&self.ours).args(&threads).arg("--dump").arg(dump))?;
        let mut command = Command::new(&settings.python);
        let theirs = run(command.arg(script(self.script)?).arg(dump).args(&self.theirs).args(&threads))?;
        Ok([ours, theirs])
    }

    fn rounds(&self, settings: &Settings) -> Result<Runs> {
        let mut runs = Runs::default();
        for _ in 0..settings.rounds {
            runs.add(self.round(settings)?);
        }
        Ok(runs)
    }
}

/// What both sides said, round by round.
#[derive(Default)]
pub(crate) struct Runs {
    pub(crate) ours: Vec<Value>,
    pub(crate) theirs: Vec<Value>,
}

impl Runs {
    /// Adds a round.
    pub(crate) fn add(&mut self, [ours, theirs]: [Value; 2]) {
        self.ours.push(ours);
        self.theirs.push(theirs);
    }

    /// The medians of a figure, ours and theirs.
    pub(crate) fn middles(&self, key: &str) -> Result<[f64; 2]> {
        Ok([middle(&self.ours, key)?, middle(&self.theirs, key)?])
    }

    /// Their figure over ours in each round, to see how much it moves.
    pub(crate) fn ratios(&self, key: &str) -> Result<Paired> {
        let ratio = |(ours, theirs)| Ok(number(theirs, key)? / number(ours, key)?);
        let ratios = self.ours.iter().zip(&self.theirs).map(ratio).collect::<Result<_>>()?;
        Ok(Paired { ratios })
    }

    /// The version of PyTorch.
    pub(crate) fn version(&self) -> &str {
        self.theirs.first().map_or("PyTorch", version)
    }

    /// The losses of the first step, which are the same but for roundings, or it is an error.
    pub(crate) fn same_first_losses(&self) -> Result<[f64; 2]> {
        self.near("first losses", "first_loss", SAME_LOSS)
    }

    /// The losses of the validation set, which are alike, or it is an error.
    pub(crate) fn same_validation_losses(&self) -> Result<[f64; 2]> {
        self.near("validation losses", "valid_loss", SAME_VALIDATION_LOSS)
    }

    fn near(&self, what: &str, key: &str, share: f64) -> Result<[f64; 2]> {
        let [ours, theirs] = [&self.ours, &self.theirs].map(|runs| number(&runs[0], key));
        let (ours, theirs) = (ours?, theirs?);
        ensure!(
            (ours - theirs).abs() <= share * theirs,
            "the {what} differ: ours {ours}, PyTorch's {theirs}"
        );
        Ok([ours, theirs])
    }

    /// How many of the outputs are the same on both sides, as a share; most of them, or it is an error.
    pub(crate) fn same_outputs(&self) -> Result<f64> {
        let same = self.share_of_same_outputs()?;
        ensure!(same >= SAME_OUTPUTS, "only {:.1} % of the outputs are the same", same * 100.0);
        Ok(same)
    }

    /// How many of the outputs are the same on both sides, as a share.
    pub(crate) fn share_of_same_outputs(&self) -> Result<f64> {
        let outputs = |run: &Value| run["outputs"].as_array().cloned().context("a side printed no outputs");
        let (ours, theirs) = (outputs(&self.ours[0])?, outputs(&self.theirs[0])?);
        ensure!(ours.len() == theirs.len(), "{} outputs, the other side has {}", ours.len(), theirs.len());
        let same = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours == theirs).count();
        Ok(same as f64 / ours.len().max(1) as f64)
    }
}

/// Training on random tokens, from the same weights to the same first loss: prints what both sides say.
pub(crate) fn compare(workload: Workload, settings: &Settings) -> Result<()> {
    let steps = vec!["--steps".to_owned(), settings.steps.to_string()];
    let ours = [vec!["ours-trainer".to_owned(), workload.name().to_owned()], steps.clone()].concat();
    let runs = Contest { ours, script: "twin.py", theirs: steps }.rounds(settings)?;
    runs.same_first_losses()?;
    let Settings { rounds, steps, threads, .. } = settings;
    let [ms, peer_ms] = runs.middles("ms")?;
    let [mb, peer_mb] = runs.middles("peak_mb")?;
    let [loss, peer_loss] = runs.middles("first_loss")?;
    println!(
        "{}: {} sentences, {LENGTH} → {LENGTH} tokens, {threads} threads, {rounds} rounds of {steps} steps, medians",
        workload.name(),
        workload.batch(),
    );
    println!("  first loss   {loss:.5}   {} {peer_loss:.5}", runs.version());
    println!("  step         {ms:.1} ms   PyTorch {peer_ms:.1} ms   speed × {:.2}", peer_ms / ms);
    println!("  peak memory  {mb:.0} MB   PyTorch {peer_mb:.0} MB   × {:.2}", mb / peer_mb);
    println!("  each round   {}", runs.ratios("ms")?.each());
    Ok(())
}

/// Training on real batches, from the same weights to like validation losses: prints what both sides say.
pub(crate) fn compare_corpus(corpus: &corpus::Arguments, settings: &Settings) -> Result<()> {
    let runs = Contest { ours: corpus.words(), script: "twin.py", theirs: Vec::new() }.rounds(settings)?;
    runs.same_validation_losses()?;
    let [speed, peer_speed] = runs.middles("tokens_per_second")?;
    let [mb, peer_mb] = runs.middles("peak_mb")?;
    let [loss, peer_loss] = runs.middles("valid_loss")?;
    let Settings { rounds, threads, .. } = settings;
    let (config, batches) = (corpus.config.display(), corpus.batches);
    println!("{config}: {batches} batches, {threads} threads, {rounds} rounds, medians");
    println!("  tokens a second  {speed:.0}   PyTorch {peer_speed:.0}   speed × {:.2}", speed / peer_speed);
    println!("  peak memory      {mb:.0} MB   PyTorch {peer_mb:.0} MB   × {:.2}", mb / peer_mb);
    println!(
        "  validation loss  {loss:.4}   PyTorch {peer_loss:.4}   {:+.2} %",
        (loss / peer_loss - 1.0) * 100.0
    );
    Ok(())
}

/// A script of PyTorch's side: beside this program where both were carried to another machine, else in the source tree.
pub(crate) fn script(name: &str) -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name(name);
    Ok(if beside.exists() { beside } else { Path::new(env!("CARGO_MANIFEST_DIR")).join(name) })
}

/// The median of a figure over all rounds.
pub(crate) fn middle(runs: &[Value], key: &str) -> Result<f64> {
    Ok(median(&runs.iter().map(|run| number(run, key)).collect::<Result<Vec<f64>>>()?))
}

pub(crate) fn version(run: &Value) -> &str {
    run["version"].as_str().unwrap_or("PyTorch")
}

pub(crate) fn number(run: &Value, key: &str) -> Result<f64> {
    run[key].as_f64().with_context(|| format!("no {key} in {run}"))
}

/// Runs a side and reads the JSON of its last line.
pub(crate) fn run(command: &mut Command) -> Result<Value> {
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    let (status, stderr) = (output.status, String::from_utf8_lossy(&output.stderr));
    ensure!(status.success(), "{command:?} failed ({status}): {}", stderr.trim());
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().last().with_context(|| format!("{command:?} printed nothing"))?;
    serde_json::from_str(line).with_context(|| format!("reading {line:?}"))
}
