//! The two sides.

use crate::Name;
use crate::corpus::Corpus;
use anyhow::{Context, Result, ensure};
use couplet_metrics::{Bleu, Chrf, Compare, Statistics, Ter};
use serde_json::Value;
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Who scores.
pub(crate) enum Side<'a> {
    /// This program, with so many threads.
    Ours { threads: usize },
    /// sacreBLEU, in a process of its own. It reads the files before its clock starts.
    Sacrebleu { python: &'a Path },
}

/// A score, and how long it took.
pub(crate) struct Run {
    pub(crate) score: f64,
    pub(crate) seconds: f64,
    pub(crate) version: String,
}

impl Side<'_> {
    pub(crate) fn run(&self, name: Name, corpus: &Corpus) -> Result<Run> {
        match self {
            Side::Ours { threads } => Ok(ours(name, corpus, *threads)),
            Side::Sacrebleu { python } => sacrebleu(name, corpus, python),
        }
    }
}

fn ours(name: Name, corpus: &Corpus, threads: usize) -> Run {
    let metric: Box<dyn Compare<Line = str>> = match name {
        Name::Bleu => Box::new(Bleu::default()),
        Name::Chrf => Box::new(Chrf::default()),
        Name::ChrfPlusPlus => Box::new(Chrf::plus_plus()),
        Name::Ter => Box::new(Ter::default()),
    };
    let start = Instant::now();
    let statistics = Statistics::of_many_with(&*metric, &corpus.hypotheses, &corpus.references, threads);
    let score = metric.score(&statistics.sums());
    Run { score, seconds: start.elapsed().as_secs_f64(), version: env!("CARGO_PKG_VERSION").to_owned() }
}

fn sacrebleu(name: Name, corpus: &Corpus, python: &Path) -> Result<Run> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("sacrebleu_side.py");
    let mut command = Command::new(python);
    command.arg(script).arg(name.label()).args(corpus.files());
    let output = command.output().with_context(|| format!("starting {command:?}"))?;
    ensure!(output.status.success(), "{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let answer: Value =
        serde_json::from_slice(&output.stdout).context("reading what sacreBLEU's side printed")?;
    let number = |key: &str| answer[key].as_f64().with_context(|| format!("no {key} in {answer}"));
    let version = answer["version"].as_str().unwrap_or("sacreBLEU").to_owned();
    Ok(Run { score: number("score")?, seconds: number("seconds")?, version })
}
