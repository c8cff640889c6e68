//! All workloads of the processor beside PyTorch, in one table.

use crate::decode::Decoding;
use crate::ours::median;
use crate::peer::{self, Runs, Settings};
use crate::products::Rates;
use crate::workload::Workload;
use crate::{corpus, machine};
use anyhow::{Context, Result, anyhow, ensure};
use clap::ValueEnum;
use couplet_data::Tokenizer;
use couplet_metrics::bleu;
use couplet_search::Folder;
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

/// How far the BLEU of both sides may lie apart.
const SAME_BLEU: f64 = 0.3;

// No doc comment: clap would show it in place of the verb's own.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these.
    #[arg(long, num_args = 1.., value_enum, default_values_t = Row::ALL)]
    workloads: Vec<Row>,
    #[command(flatten)]
    settings: Settings,
    /// The config whose data W5 trains on.
    #[arg(long, default_value = "configs/multi30k-en-de.toml")]
    config: PathBuf,
    /// The folder with Multi30k's train.en.gz, train.de.gz, valid.en, valid.de, test.en and test.de.
    #[arg(long, default_value = "configs/multi30k")]
    data: PathBuf,
    /// The model folder that W6 decodes with: trained with the config.
    #[arg(long, default_value = "multi30k-model")]
    model: PathBuf,
    /// Where the table is written, as bench-cpu.json and bench-cpu.md.
    #[arg(long, default_value = "target/bench-cpu")]
    out: PathBuf,
}

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Row {
    W1,
    W2,
    /// Greedy decoding of one sentence.
    #[value(name = "w3-1")]
    W3Alone,
    /// Greedy decoding of 32 sentences.
    #[value(name = "w3-32")]
    W3Together,
    /// A training step of a Transformer.
    W4,
    /// Greedy decoding of one sentence by a Transformer.
    #[value(name = "w4-1")]
    W4Alone,
    W5,
    W6,
}

impl Row {
    const ALL: [Row; 8] =
        [Row::W1, Row::W2, Row::W3Alone, Row::W3Together, Row::W4, Row::W4Alone, Row::W5, Row::W6];

    fn name(self) -> &'static str {
        match self {
            Row::W1 => "W1",
            Row::W2 => "W2",
            Row::W3Alone => "W3, 1 sentence",
            Row::W3Together => "W3, 32 sentences",
            Row::W4 => "W4",
            Row::W4Alone => "W4, 1 sentence",
            Row::W5 => "W5",
            Row::W6 => "W6",
        }
    }

    fn what(self) -> &'static str {
        match self {
            Row::W1 => "training step: 64 sentences, 30 → 30 tokens; vocabulary 8,000, decoder 512",
            Row::W2 => "training step: 64 sentences, 30 → 30 tokens; vocabulary 3,000, decoder 256",
            Row::W3Alone | Row::W3Together => "greedy decoding: W1's sizes, 30 tokens, 30 steps",
            Row::W4 => {
                "training step of a Transformer: 64 sentences, 30 → 30 tokens; vocabulary 8,000, width 256, 3 + 3 layers"
            }
            Row::W4Alone => {
                "greedy decoding by a Transformer: W4's sizes, 30 tokens, 30 steps, both sides with a cache"
            }
            Row::W5 => {
                "training on real batches: 100 of Multi30k with 4,096 tokens; W1's sizes, BPE of 8,000"
            }
            Row::W6 => "decoding Multi30k's test set: a beam of 5, 32 sentences at a time; W1's sizes",
        }
    }

    /// The figure that is compared.
    fn figure(self) -> Figure {
        match self {
            Row::W1 | Row::W2 | Row::W4 => Figure { key: "ms", unit: "ms", scale: 1.0, digits: 0 },
            Row::W3Alone | Row::W3Together | Row::W4Alone => {
                Figure { key: "seconds", unit: "ms", scale: 1e3, digits: 1 }
            }
            Row::W5 => Figure { key: "tokens_per_second", unit: "tokens/s", scale: 1.0, digits: 0 },
            Row::W6 => Figure { key: "seconds", unit: "s", scale: 1.0, digits: 2 },
        }
    }

    /// Files without which it cannot be measured, and what to do about it.
    fn needs(self, arguments: &Arguments) -> (Vec<PathBuf>, String) {
        let data = |names: &[&str]| names.iter().map(|name| arguments.data.join(name)).collect::<Vec<_>>();
        let get =
            "get Multi30k's task 1 (https://github.com/multi30k/dataset), raw text; --data names its folder";
        match self {
            Row::W5 => (data(&["train.en.gz", "train.de.gz", "valid.en", "valid.de"]), get.to_owned()),
            Row::W6 => {
                let mut files = data(&["test.en", "test.de"]);
                files.push(Folder::new(&arguments.model).weights());
                let train = format!("couplet train {} --out DIR", arguments.config.display());
                (files, format!("{get}; train a model with `{train}`; --model names its folder"))
            }
            _ => (Vec::new(), String::new()),
        }
    }

    fn missing(self, arguments: &Arguments) -> Option<String> {
        let (files, hint) = self.needs(arguments);
        let file = files.into_iter().find(|file| !file.exists())?;
        Some(format!("{} is not there; {hint}", file.display()))
    }

    fn runs(self, arguments: &Arguments) -> Result<Runs> {
        let Arguments { settings, config, data, model, .. } = arguments;
        match self {
            Row::W1 => peer::training_steps(Workload::W1, settings),
            Row::W2 => peer::training_steps(Workload::W2, settings),
            Row::W3Alone => peer::decoding(&greedy(false, 1, 20), settings),
            Row::W3Together => peer::decoding(&greedy(false, 32, 5), settings),
            Row::W4 => peer::training_steps(Workload::W4, settings),
            Row::W4Alone => peer::decoding(&greedy(true, 1, 20), settings),
            Row::W5 => {
                let files = |key: &str, names: [&str; 2]| {
                    let [source, target] = names.map(|name| absolute(&data.join(name)));
                    Ok::<_, anyhow::Error>(format!("data.{key}=[{:?}, {:?}]", source?, target?))
                };
                let set = vec![
                    files("train", ["train.en.gz", "train.de.gz"])?,
                    files("valid", ["valid.en", "valid.de"])?,
                    "train.batch_tokens=4096".to_owned(),
                ];
                peer::real_batches(&corpus::Arguments { config: config.clone(), set, batches: 100 }, settings)
            }
            Row::W6 => {
                let decoding = Decoding::Beam { model: model.clone(), source: data.join("test.en") };
                peer::decoding(&decoding, settings)
            }
        }
    }

    /// What shows that both sides did the same work.
    fn check(self, runs: &Runs, arguments: &Arguments) -> Result<String> {
        match self {
            Row::W1 | Row::W2 | Row::W4 => {
                let [ours, theirs] = runs.middles("first_loss")?;
                Ok(format!("first loss {ours:.5}, PyTorch {theirs:.5}"))
            }
            Row::W5 => {
                let [ours, theirs] = runs.middles("valid_loss")?;
                Ok(format!("validation loss {ours:.4}, PyTorch {theirs:.4}"))
            }
            Row::W3Alone | Row::W3Together | Row::W4Alone => {
                Ok(format!("{:.1} % of the outputs are the same", runs.same_outputs()? * 100.0))
            }
            Row::W6 => {
                let [ours, theirs] = bleus(runs, arguments)?;
                ensure!((ours - theirs).abs() <= SAME_BLEU, "BLEU {ours:.2}, PyTorch's {theirs:.2}");
                let same = runs.same_outputs()? * 100.0;
                Ok(format!("BLEU {ours:.2}, PyTorch {theirs:.2}; {same:.1} % of the outputs are the same"))
            }
        }
    }

    /// GFLOP of a training step's products.
    fn arithmetic(self) -> Option<f64> {
        match self {
            Row::W1 => Some(141.0),
            Row::W2 => Some(32.4),
            Row::W4 => Some(87.3),
            _ => None,
        }
    }

    fn compares_memory(self) -> bool {
        matches!(self, Row::W1 | Row::W2 | Row::W4 | Row::W5)
    }
}

fn greedy(transformer: bool, sentences: usize, repeats: usize) -> Decoding {
    Decoding::Greedy { transformer, sentences, repeats }
}

fn absolute(path: &Path) -> Result<String> {
    let path = std::path::absolute(path)?;
    Ok(path.to_str().with_context(|| format!("{} is no text", path.display()))?.to_owned())
}

/// The BLEU of both sides' outputs on the test set.
fn bleus(runs: &Runs, arguments: &Arguments) -> Result<[f64; 2]> {
    let tokenizer = Tokenizer::load(Folder::new(&arguments.model).target_tokenizer())
        .map_err(|error| anyhow!("{error}"))?;
    let path = arguments.data.join("test.de");
    let text = std::fs::read_to_string(&path).with_context(|| path.display().to_string())?;
    let references: Vec<&str> = text.lines().collect();
    let score = |run: &Value| {
        let outputs: Vec<Vec<u32>> = serde_json::from_value(run["outputs"].clone())?;
        ensure!(
            outputs.len() == references.len(),
            "{} outputs, {} references",
            outputs.len(),
            references.len()
        );
        let lines: Vec<String> = outputs.iter().map(|tokens| tokenizer.decode(tokens)).collect();
        Ok(bleu(&lines, &references).score)
    };
    Ok([score(&runs.ours[0])?, score(&runs.theirs[0])?])
}

/// How a figure is read and shown.
struct Figure {
    key: &'static str,
    unit: &'static str,
    scale: f64,
    digits: usize,
}

impl Figure {
    /// Of tokens a second more is better, of time less.
    fn more_is_better(&self) -> bool {
        self.key == "tokens_per_second"
    }

    fn show(&self, value: f64) -> String {
        format!("{value:.*} {}", self.digits, self.unit)
    }
}

/// A row that was measured.
struct Measured {
    row: Row,
    /// Ours and PyTorch's, in the figure's unit.
    medians: [f64; 2],
    /// How many times as fast as PyTorch, round by round.
    speeds: Vec<f64>,
    peaks_mb: Option<[f64; 2]>,
    /// Of the best rate that any library multiplies with.
    share_of_limit: Option<f64>,
    check: String,
}

impl Measured {
    fn new(row: Row, arguments: &Arguments, rates: &Rates) -> Result<Measured> {
        let runs = row.runs(arguments)?;
        let figure = row.figure();
        let ratios = runs.ratios(figure.key)?.into_iter();
        let medians = runs.middles(figure.key)?.map(|value| value * figure.scale);
        let gigaflops = row.arithmetic().map(|arithmetic| arithmetic * 1e3 / medians[0]);
        Ok(Measured {
            row,
            medians,
            speeds: ratios.map(|ratio| if figure.more_is_better() { 1.0 / ratio } else { ratio }).collect(),
            peaks_mb: row.compares_memory().then(|| runs.middles("peak_mb")).transpose()?,
            share_of_limit: gigaflops.map(|rate| rate / rates.best()),
            check: row.check(&runs, arguments)?,
        })
    }

    fn speed(&self) -> f64 {
        median(&self.speeds)
    }

    fn json(&self) -> Value {
        let [ours, pytorch] = self.medians;
        json!({
            "name": self.row.name(),
            "what": self.row.what(),
            "unit": self.row.figure().unit,
            "ours": ours,
            "pytorch": pytorch,
            "speed": self.speed(),
            "rounds": self.speeds,
            "peak_mb": self.peaks_mb.map(|[ours, pytorch]| json!({ "ours": ours, "pytorch": pytorch, "ratio": ours / pytorch })),
            "share_of_limit": self.share_of_limit,
            "check": self.check,
        })
    }
}

const HEADER: &str = "\
| | ours | PyTorch | speed | each round | peak memory, ours | PyTorch | | share of the limit |
|---|---|---|---|---|---|---|---|---|";

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ours, theirs] = self.medians.map(|value| self.row.figure().show(value));
        let rounds: Vec<String> = self.speeds.iter().map(|speed| format!("{speed:.2}")).collect();
        write!(
            f,
            "| {} | {ours} | {theirs} | × {:.2} | {} ",
            self.row.name(),
            self.speed(),
            rounds.join(" ")
        )?;
        match self.peaks_mb {
            Some([ours, theirs]) => write!(f, "| {ours:.0} MB | {theirs:.0} MB | × {:.2} ", ours / theirs)?,
            None => write!(f, "| | | ")?,
        }
        write!(
            f,
            "| {} |",
            self.share_of_limit.map_or_else(String::new, |share| format!("{:.0} %", share * 100.0))
        )
    }
}

/// All that was measured in one run.
struct Table {
    rows: Vec<Measured>,
    /// What could not be measured, and why.
    left_out: Vec<(Row, String)>,
    rates: Rates,
    settings: Settings,
}

impl Table {
    fn json(&self) -> Value {
        let Table { rows, left_out, rates, settings } = self;
        json!({
            "date": machine::date(),
            "processor": machine::processor(),
            "versions": { "couplet": env!("CARGO_PKG_VERSION"), "rust": machine::rust(), "pytorch": rates.version },
            "threads": settings.threads,
            "rounds": settings.rounds,
            "steps": settings.steps,
            "products_gflops": { "ours": rates.ours, "gemm": rates.gemm, "pytorch": rates.pytorch },
            "rows": rows.iter().map(Measured::json).collect::<Vec<_>>(),
            "left_out": left_out.iter().map(|(row, why)| json!({ "name": row.name(), "why": why })).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table { rows, left_out, rates, settings } = self;
        writeln!(
            f,
            "{}, {}, {} threads, {}, {}; medians of {} rounds in turn, of {} steps in W1 and W2.\n",
            machine::date(),
            machine::processor(),
            settings.threads,
            machine::rust(),
            rates.version,
            settings.rounds,
            settings.steps,
        )?;
        writeln!(f, "{HEADER}")?;
        rows.iter().try_for_each(|row| writeln!(f, "{row}"))?;
        writeln!(
            f,
            "\nThe limit is the fastest product of W1's step in any library: couplet {:.0}, gemm {:.0}, PyTorch {:.0} GFLOP/s.\n",
            rates.ours, rates.gemm, rates.pytorch
        )?;
        rows.iter()
            .try_for_each(|row| writeln!(f, "- {}: {}. {}.", row.row.name(), row.row.what(), row.check))?;
        left_out.iter().try_for_each(|(row, why)| writeln!(f, "- {} is left out: {why}.", row.name()))
    }
}

/// Measures, prints and writes the table. A workload that cannot be measured does not keep the others from it.
pub(crate) fn compare(arguments: &Arguments) -> Result<()> {
    let settings = arguments.settings.clone();
    eprintln!("matrix products …");
    let rates = Rates::measure(&settings)?;
    let (mut rows, mut left_out, mut failed) = (Vec::new(), Vec::new(), Vec::new());
    for &row in &arguments.workloads {
        if let Some(why) = row.missing(arguments) {
            left_out.push((row, why));
            continue;
        }
        eprintln!("{} …", row.name());
        match Measured::new(row, arguments, &rates) {
            Ok(measured) => rows.push(measured),
            Err(error) => {
                left_out.push((row, format!("{error:#}")));
                failed.push(row.name());
            }
        }
    }
    let table = Table { rows, left_out, rates, settings };
    print!("{table}");
    write(&arguments.out, &table)?;
    ensure!(failed.is_empty(), "not measured: {}; the table says why", failed.join(", "));
    Ok(())
}

fn write(folder: &Path, table: &Table) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let files = [("bench-cpu.json", format!("{:#}\n", table.json())), ("bench-cpu.md", table.to_string())];
    for (name, contents) in files {
        let path = folder.join(name);
        std::fs::write(&path, contents).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(row: Row) -> Measured {
        Measured {
            row,
            medians: [1000.0, 1500.0],
            speeds: vec![1.4, 1.6, 1.5],
            peaks_mb: row.compares_memory().then_some([100.0, 400.0]),
            share_of_limit: row.arithmetic().map(|_| 0.7),
            check: "the same".to_owned(),
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(
            measured(Row::W1).to_string(),
            "| W1 | 1000 ms | 1500 ms | × 1.50 | 1.40 1.60 1.50 | 100 MB | 400 MB | × 0.25 | 70 % |"
        );
        for row in Row::ALL {
            let columns = measured(row).to_string().matches('|').count();
            assert!(HEADER.lines().all(|line| line.matches('|').count() == columns), "{row:?}");
        }
    }

    #[test]
    fn a_workload_without_its_data_is_named_with_what_to_do() {
        let arguments = Arguments {
            workloads: Row::ALL.to_vec(),
            settings: Settings { rounds: 1, steps: 1, threads: 1, python: PathBuf::from("python3") },
            config: PathBuf::from("some.toml"),
            data: PathBuf::from("no/such/folder"),
            model: PathBuf::from("no/model"),
            out: PathBuf::from("no/out"),
        };
        assert_eq!(Row::W1.missing(&arguments), None);
        assert!(
            Row::W5.missing(&arguments).unwrap().starts_with("no/such/folder/train.en.gz is not there; get ")
        );
        assert!(Row::W6.missing(&arguments).unwrap().contains("couplet train some.toml --out DIR"));
    }
}
