//! Both sides in turn.

use crate::corpus;
use crate::ours::median;
use crate::workload::{LENGTH, Workload};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// How far the first losses may lie apart, as a share: the same weights, the same tokens, other roundings.
const SAME_LOSS: f64 = 1e-4;

pub(crate) struct Settings {
    pub(crate) rounds: usize,
    pub(crate) steps: usize,
    pub(crate) threads: usize,
    pub(crate) python: PathBuf,
}

/// Runs both sides in turn, each in a process of its own, and prints a row of the table.
pub(crate) fn compare(workload: Workload, settings: &Settings) -> Result<()> {
    let dump = std::env::temp_dir().join(format!(
        "bench-step-{}-{}.safetensors",
        workload.name(),
        std::process::id()
    ));
    let twin = twin()?;
    let (steps, threads) = (settings.steps.to_string(), settings.threads.to_string());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..settings.rounds {
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(["ours", workload.name(), "--steps", &steps, "--threads", &threads, "--dump"])
            .arg(&dump);
        ours.push(run(&mut command)?);
        let mut command = Command::new(&settings.python);
        command.arg(&twin).arg(&dump).args(["--steps", &steps, "--threads", &threads]);
        theirs.push(run(&mut command)?);
    }
    std::fs::remove_file(&dump).with_context(|| format!("removing {}", dump.display()))?;

    let [of_ours, of_theirs] = [&ours, &theirs].map(|runs| number(&runs[0], "first_loss"));
    let (of_ours, of_theirs) = (of_ours?, of_theirs?);
    ensure!(
        (of_ours - of_theirs).abs() <= SAME_LOSS * of_theirs,
        "the first losses differ: ours {of_ours}, PyTorch's {of_theirs}"
    );
    let (ms, peer_ms) = (middle(&ours, "ms")?, middle(&theirs, "ms")?);
    let (mb, peer_mb) = (middle(&ours, "peak_mb")?, middle(&theirs, "peak_mb")?);
    println!(
        "{}: {} sentences, {LENGTH} → {LENGTH} tokens, {} threads, {} rounds of {} steps, medians",
        workload.name(),
        workload.batch(),
        settings.threads,
        settings.rounds,
        settings.steps
    );
    println!("  first loss   {of_ours:.5}   {} {of_theirs:.5}", version(&theirs[0]));
    println!("  step         {ms:.1} ms   PyTorch {peer_ms:.1} ms   speed × {:.2}", peer_ms / ms);
    println!("  peak memory  {mb:.0} MB   PyTorch {peer_mb:.0} MB   × {:.2}", mb / peer_mb);
    println!("  each round   {}", rounds(&ours, &theirs)?);
    Ok(())
}

/// The same for real batches: how many tokens a second, and whether both have learnt the same.
pub(crate) fn compare_corpus(corpus: &corpus::Arguments, rounds: usize, python: &Path) -> Result<()> {
    let dump = std::env::temp_dir().join(format!("bench-corpus-{}.safetensors", std::process::id()));
    let twin = twin()?;
    let (batches, threads) = (corpus.batches.to_string(), corpus.threads.to_string());
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg("ours-corpus").arg(&corpus.config).args(["--batches", &batches, "--threads", &threads]);
        for set in &corpus.set {
            command.args(["--set", set]);
        }
        ours.push(run(command.arg("--dump").arg(&dump))?);
        let mut command = Command::new(python);
        theirs.push(run(command.arg(&twin).arg(&dump).args(["--threads", &threads]))?);
    }
    std::fs::remove_file(&dump).with_context(|| format!("removing {}", dump.display()))?;
    let figure = |key| Ok::<_, anyhow::Error>((middle(&ours, key)?, middle(&theirs, key)?));
    let (speed, peer_speed) = figure("tokens_per_second")?;
    let (mb, peer_mb) = figure("peak_mb")?;
    let (loss, peer_loss) = figure("valid_loss")?;
    println!("{}: {batches} batches, {threads} threads, {rounds} rounds, medians", corpus.config.display());
    println!("  tokens a second  {speed:.0}   PyTorch {peer_speed:.0}   speed × {:.2}", speed / peer_speed);
    println!("  peak memory      {mb:.0} MB   PyTorch {peer_mb:.0} MB   × {:.2}", mb / peer_mb);
    println!(
        "  validation loss  {loss:.4}   PyTorch {peer_loss:.4}   {:+.2} %",
        (loss / peer_loss - 1.0) * 100.0
    );
    Ok(())
}

/// PyTorch's side: beside this program where both were carried to another machine, else in the source tree.
pub(crate) fn twin() -> Result<PathBuf> {
    let beside = std::env::current_exe()?.with_file_name("twin.py");
    Ok(if beside.exists() { beside } else { Path::new(env!("CARGO_MANIFEST_DIR")).join("twin.py") })
}

/// The median of a figure over all rounds.
pub(crate) fn middle(runs: &[Value], key: &str) -> Result<f64> {
    Ok(median(&runs.iter().map(|run| number(run, key)).collect::<Result<Vec<f64>>>()?))
}

/// The ratio of each round, to see how much it moves.
fn rounds(ours: &[Value], theirs: &[Value]) -> Result<String> {
    let ratio = |(ours, theirs)| Ok(format!("{:.2}", number(theirs, "ms")? / number(ours, "ms")?));
    Ok(ours.iter().zip(theirs).map(ratio).collect::<Result<Vec<String>>>()?.join(" "))
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
    ensure!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout)?;
    let line = text.lines().last().with_context(|| format!("{command:?} printed nothing"))?;
    serde_json::from_str(line).with_context(|| format!("reading {line:?}"))
}
