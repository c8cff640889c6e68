//! Learns word vectors from the same text here and with gensim, in turn, in one run, and judges both.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

#[path = "../../step/src/machine.rs"]
mod machine;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, Result, bail, ensure};
use clap::Parser;
use couplet_data::Lines;
use couplet_embed::{Corpus, Evaluation, Loss, Model, Settings, Vectors, train};

#[derive(Parser)]
#[command(
    about,
    after_help = "Example: bench-embed corpus.txt.gz --similarity wordsim353.tsv simlex999.tsv --analogies questions-words.txt \
                  --python .venv/bin/python"
)]
struct Arguments {
    /// The text to learn from, plain or gzip, a sentence on each line.
    corpus: PathBuf,
    /// Both sides in turn, so many times, each time with another seed.
    #[arg(long, default_value_t = 3)]
    rounds: u64,
    /// Passes over the text.
    #[arg(long, default_value_t = 5)]
    epochs: u32,
    /// Threads of each side [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// Only these, of skip-gram-negative, skip-gram-hierarchical, cbow-negative and cbow-hierarchical.
    #[arg(long, num_args = 1..)]
    only: Vec<String>,
    /// Files of pairs of words with scores.
    #[arg(long, num_args = 1..)]
    similarity: Vec<PathBuf>,
    /// A file of analogies.
    #[arg(long)]
    analogies: Option<PathBuf>,
    /// A Python that has gensim.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
}

const KINDS: [(&str, Model, Loss); 4] = [
    ("skip-gram-negative", Model::SkipGram, Loss::Negative(5)),
    ("skip-gram-hierarchical", Model::SkipGram, Loss::Hierarchical),
    ("cbow-negative", Model::Cbow, Loss::Negative(5)),
    ("cbow-hierarchical", Model::Cbow, Loss::Hierarchical),
];

/// One training: words in a second, and how good the vectors are.
struct Run {
    speed: f64,
    scores: Vec<f64>,
}

struct Bench<'a> {
    arguments: &'a Arguments,
    threads: usize,
    corpus: &'a Corpus,
    /// The text as a plain file, for gensim.
    plain: &'a Path,
    out: &'a Path,
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let kinds: Vec<_> = KINDS
        .into_iter()
        .filter(|(name, _, _)| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name))
        .collect();
    ensure!(!kinds.is_empty() && arguments.rounds > 0, "there is nothing to measure");
    let threads =
        arguments.threads.map_or_else(|| std::thread::available_parallelism().map(Into::into), Ok)?;
    let folder = std::env::temp_dir();
    let plain = folder.join(format!("bench-embed-{}.txt", std::process::id()));
    let out = folder.join(format!("bench-embed-{}.vectors", std::process::id()));
    let corpus = read(&arguments.corpus, &plain)?;
    let bench = Bench { arguments: &arguments, threads, corpus: &corpus, plain: &plain, out: &out };
    println!(
        "{}, {}, {}; {} words, {} epochs, {threads} threads, {} rounds in turn",
        machine::date(),
        machine::processor(),
        machine::rust(),
        corpus.tokens(),
        arguments.epochs,
        arguments.rounds
    );
    println!(
        "\n| | ours, words/s | gensim, words/s | speed | each round | scores, ours | gensim |\n|---|---|---|---|---|---|---|"
    );
    for (name, model, loss) in kinds {
        let rounds: Result<Vec<[Run; 2]>> = (1..=arguments.rounds)
            .map(|seed| Ok([bench.ours(model, loss, seed)?, bench.gensim(name, seed)?]))
            .collect();
        println!("{}", row(name, &rounds?));
    }
    for file in [plain.as_path(), out.as_path()] {
        std::fs::remove_file(file).with_context(|| format!("could not remove {}", file.display()))?;
    }
    Ok(())
}

/// Reads the text, and writes it where gensim can read it.
fn read(path: &Path, plain: &Path) -> Result<Corpus> {
    let mut file = std::io::BufWriter::new(std::fs::File::create(plain)?);
    for line in Lines::open(path)? {
        writeln!(file, "{}", line?)?;
    }
    file.flush()?;
    Ok(Corpus::read([Lines::open(plain)?], &mut |_| ())?)
}

impl Bench<'_> {
    fn ours(&self, model: Model, loss: Loss, seed: u64) -> Result<Run> {
        let epochs = self.arguments.epochs;
        let settings = Settings { model, loss, epochs, seed, threads: self.threads, ..Settings::default() };
        let trained = train(self.corpus, &settings, &mut |_| (), &AtomicBool::new(false))?;
        let speed = trained.words as f64 / trained.seconds;
        eprintln!("ours: {speed:.0} words/s");
        Ok(Run { speed, scores: self.scores(&trained.vectors)? })
    }

    fn gensim(&self, name: &str, seed: u64) -> Result<Run> {
        let (model, loss) = name.rsplit_once('-').context("a name is a model and a loss")?;
        let output = Command::new(&self.arguments.python)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("gensim_side.py"))
            .args([self.plain, self.out])
            .args(["--model", model, "--loss", loss])
            .args(["--threads", &self.threads.to_string(), "--epochs", &self.arguments.epochs.to_string()])
            .args(["--seed", &seed.to_string()])
            .output()
            .with_context(|| format!("could not start {}", self.arguments.python.display()))?;
        if !output.status.success() {
            bail!(
                "gensim failed\nhint: --python names a Python that has it\n{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
        let found: serde_json::Value = serde_json::from_slice(&output.stdout)?;
        let number = |key: &str| found[key].as_f64().with_context(|| format!("no {key} in {found}"));
        let speed = number("words")? / number("seconds")?;
        eprintln!("{}: {speed:.0} words/s", found["version"].as_str().unwrap_or("gensim"));
        Ok(Run { speed, scores: self.scores(&Vectors::read(self.out)?)? })
    }

    /// All scores in hundredths: the correlations, then the share of analogies.
    fn scores(&self, vectors: &Vectors) -> Result<Vec<f64>> {
        let evaluation = Evaluation::new(vectors, 300_000);
        let mut scores = Vec::new();
        for path in &self.arguments.similarity {
            scores.push(100.0 * evaluation.similarity(path)?.spearman.unwrap_or(f64::NAN));
        }
        if let Some(path) = &self.arguments.analogies {
            let sections = evaluation.analogies(path, self.threads)?;
            let correct: usize = sections.iter().map(|section| section.correct).sum();
            let found: usize = sections.iter().map(|section| section.found).sum();
            scores.push(100.0 * correct as f64 / found as f64);
        }
        Ok(scores)
    }
}

/// A line of the table: medians of speeds, means of scores.
fn row(name: &str, rounds: &[[Run; 2]]) -> String {
    let [ours, theirs] = [0, 1].map(|side| median(rounds.iter().map(|round| round[side].speed)));
    let ratio = |round: &[Run; 2]| round[0].speed / round[1].speed;
    let each: Vec<String> = rounds.iter().map(|round| format!("{:.2}", ratio(round))).collect();
    let [our_scores, their_scores] = [0, 1].map(|side| {
        let mean =
            |i: usize| rounds.iter().map(|round| round[side].scores[i]).sum::<f64>() / rounds.len() as f64;
        let means: Vec<String> =
            (0..rounds[0][side].scores.len()).map(|i| format!("{:.1}", mean(i))).collect();
        means.join(" ")
    });
    format!(
        "| {name} | {ours:.0} | {theirs:.0} | × {:.2} | {} | {our_scores} | {their_scores} |",
        median(rounds.iter().map(ratio)),
        each.join(" ")
    )
}

fn median(numbers: impl Iterator<Item = f64>) -> f64 {
    let mut numbers: Vec<f64> = numbers.collect();
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
