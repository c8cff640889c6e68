//! Both sides in turn.

use crate::corpus;
use crate::decode::Decoding;
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
    #[arg(long, default_value_t = 3)]
    pub(crate) rounds: usize,
    /// Training steps of a round.
    #[arg(long, default_value_t = 10)]
    pub(crate) steps: usize,
    #[arg(long, default_value_t = 2)]
    pub(crate) threads: usize,
    /// A Python that has torch, numpy and safetensors.
    #[arg(long, default_value = "python3")]
    pub(crate) python: PathBuf,
}

/// What both sides said, round by round.
pub(crate) struct Runs {
    pub(crate) ours: Vec<Value>,
    pub(crate) theirs: Vec<Value>,
}

impl Runs {
    /// Runs both sides in turn, each in a process of its own: ours writes a file that the other one reads.
    fn alternate(
        settings: &Settings,
        ours: &[String],
        their_script: &str,
        theirs: &[String],
    ) -> Result<Runs> {
        let dump = std::env::temp_dir().join(format!("bench-step-{}.safetensors", std::process::id()));
        let script = script(their_script)?;
        let threads = ["--threads", &settings.threads.to_string()].map(str::to_owned);
        let round = || {
            let mut command = Command::new(std::env::current_exe()?);
            let of_ours = run(command.args(ours).args(&threads).arg("--dump").arg(&dump))?;
            let mut command = Command::new(&settings.python);
            Ok((of_ours, run(command.arg(&script).arg(&dump).args(theirs).args(&threads))?))
        };
        let rounds: Result<Vec<(Value, Value)>> = (0..settings.rounds).map(|_| round()).collect();
        // Where our side failed there is none.
        let _ = std::fs::remove_file(&dump);
        let (ours, theirs) = rounds?.into_iter().unzip();
        Ok(Runs { ours, theirs })
    }

    /// The medians of a figure, ours and theirs.
    pub(crate) fn middles(&self, key: &str) -> Result<[f64; 2]> {
        Ok([middle(&self.ours, key)?, middle(&self.theirs, key)?])
    }

    /// Their figure over ours in each round, to see how much it moves.
    pub(crate) fn ratios(&self, key: &str) -> Result<Vec<f64>> {
        let ratio = |(ours, theirs)| Ok(number(theirs, key)? / number(ours, key)?);
        self.ours.iter().zip(&self.theirs).map(ratio).collect()
    }

    /// The version of PyTorch.
    pub(crate) fn version(&self) -> &str {
        self.theirs.first().map_or("PyTorch", version)
    }

    fn ensure_near(&self, what: &str, key: &str, share: f64) -> Result<()> {
        let [ours, theirs] = [&self.ours, &self.theirs].map(|runs| number(&runs[0], key));
        let (ours, theirs) = (ours?, theirs?);
        ensure!(
            (ours - theirs).abs() <= share * theirs,
            "the {what} differ: ours {ours}, PyTorch's {theirs}"
        );
        Ok(())
    }

    /// How many of the outputs are the same on both sides, as a share.
    pub(crate) fn same_outputs(&self) -> Result<f64> {
        let outputs = |run: &Value| run["outputs"].as_array().cloned().context("a side printed no outputs");
        let (ours, theirs) = (outputs(&self.ours[0])?, outputs(&self.theirs[0])?);
        ensure!(ours.len() == theirs.len(), "{} outputs, PyTorch has {}", ours.len(), theirs.len());
        let same = ours.iter().zip(&theirs).filter(|(ours, theirs)| ours == theirs).count();
        Ok(same as f64 / ours.len().max(1) as f64)
    }
}

/// Training steps on random tokens, from the same weights to the same first loss.
pub(crate) fn training_steps(workload: Workload, settings: &Settings) -> Result<Runs> {
    let steps = ["--steps".to_owned(), settings.steps.to_string()];
    let ours = [&["ours".to_owned(), workload.name().to_owned()][..], &steps].concat();
    let runs = Runs::alternate(settings, &ours, "twin.py", &steps)?;
    runs.ensure_near("first losses", "first_loss", SAME_LOSS)?;
    Ok(runs)
}

/// Training on real batches, from the same weights to like validation losses.
pub(crate) fn real_batches(corpus: &corpus::Arguments, settings: &Settings) -> Result<Runs> {
    let mut ours = vec!["ours-corpus".to_owned(), corpus.config.display().to_string()];
    ours.extend(["--batches".to_owned(), corpus.batches.to_string()]);
    ours.extend(corpus.set.iter().flat_map(|set| ["--set".to_owned(), set.clone()]));
    let runs = Runs::alternate(settings, &ours, "twin.py", &[])?;
    runs.ensure_near("validation losses", "valid_loss", SAME_VALIDATION_LOSS)?;
    Ok(runs)
}

/// Decoding, from the same weights to the same outputs.
pub(crate) fn decoding(decoding: &Decoding, settings: &Settings) -> Result<Runs> {
    let repeats = ["--repeats".to_owned(), decoding.repeats().to_string()];
    let ours = [vec!["ours-decode".to_owned()], decoding.words()].concat();
    let runs = Runs::alternate(settings, &ours, "decode.py", &repeats)?;
    let same = runs.same_outputs()?;
    ensure!(same >= SAME_OUTPUTS, "only {:.1} % of the outputs are the same", same * 100.0);
    Ok(runs)
}

/// Prints what [`training_steps`] finds.
pub(crate) fn compare(workload: Workload, settings: &Settings) -> Result<()> {
    let runs = training_steps(workload, settings)?;
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
    let each = runs.ratios("ms")?.iter().map(|ratio| format!("{ratio:.2}")).collect::<Vec<_>>().join(" ");
    println!("  each round   {each}");
    Ok(())
}

/// Prints what [`real_batches`] finds.
pub(crate) fn compare_corpus(corpus: &corpus::Arguments, settings: &Settings) -> Result<()> {
    let runs = real_batches(corpus, settings)?;
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
