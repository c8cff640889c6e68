//! All workloads of the processor beside PyTorch, in one table.

use crate::against;
use crate::interval::{Paired, confidence};
use crate::machine;
use crate::peer::{Runs, Settings};
use crate::products::Rates;
use crate::row::{Inputs, LeftOut, Row, ensure_none_failed, in_rounds, with_files};
use anyhow::{Context, Result};
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};

// No doc comment: clap would show it in place of the verb's own.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    /// Only these.
    #[arg(long, num_args = 1.., value_enum, default_values_t = Row::ALL)]
    pub(crate) workloads: Vec<Row>,
    #[command(flatten)]
    pub(crate) settings: Settings,
    #[command(flatten)]
    pub(crate) inputs: Inputs,
    /// Compare with this build of bench-step, of another commit or another profile, instead of PyTorch.
    #[arg(long, value_name = "BINARY")]
    pub(crate) against: Option<PathBuf>,
    /// The model folder that the other build decodes with in W6 [default: that of --model]
    #[arg(long, value_name = "DIR", requires = "against")]
    pub(crate) against_model: Option<PathBuf>,
    /// The config that the other build reads for W5, where it has other keys [default: that of --config]
    #[arg(long, value_name = "CONFIG", requires = "against")]
    pub(crate) against_config: Option<PathBuf>,
    /// Count the instructions of both builds with valgrind's callgrind, at one thread, instead of taking their time.
    #[arg(long, requires = "against")]
    pub(crate) instructions: bool,
    /// Where the table is written, as JSON and Markdown.
    #[arg(long, default_value = "target/bench-cpu")]
    pub(crate) out: PathBuf,
}

/// A row that was measured.
struct Measured {
    row: Row,
    runs: Runs,
    /// Ours and PyTorch's, in the figure's unit.
    medians: [f64; 2],
    /// How many times as fast as PyTorch.
    speeds: Paired,
    peaks_mb: Option<[f64; 2]>,
    /// Of the best rate that any library multiplies with.
    share_of_limit: Option<f64>,
    check: String,
}

impl Measured {
    fn new(row: Row, runs: Runs, inputs: &Inputs, rates: &Rates) -> Result<Measured> {
        let figure = row.figure();
        let medians = runs.middles(figure.key)?.map(|value| value * figure.scale);
        let gigaflops = row.arithmetic().map(|arithmetic| arithmetic * 1e3 / medians[0]);
        Ok(Measured {
            row,
            medians,
            speeds: row.speeds(&runs)?,
            peaks_mb: row.compares_memory().then(|| runs.middles("peak_mb")).transpose()?,
            share_of_limit: gigaflops.map(|rate| rate / rates.best()),
            check: row.check(&runs, inputs)?,
            runs,
        })
    }

    fn json(&self) -> Value {
        let [ours, pytorch] = self.medians;
        json!({
            "name": self.row.name(),
            "what": self.row.what(),
            "unit": self.row.figure().unit,
            "ours": ours,
            "pytorch": pytorch,
            "speed": self.speeds.median(),
            "interval": self.speeds.interval(),
            "rounds": self.speeds.ratios,
            "peak_mb": self.peaks_mb.map(|[ours, pytorch]| json!({ "ours": ours, "pytorch": pytorch, "ratio": ours / pytorch })),
            "share_of_limit": self.share_of_limit,
            "check": self.check,
        })
    }
}

const HEADER: &str = "\
| | ours | PyTorch | speed | interval | each round | peak memory, ours | PyTorch | | share of the limit |
|---|---|---|---|---|---|---|---|---|---|";

impl fmt::Display for Measured {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [ours, theirs] = self.medians.map(|value| self.row.figure().show(value));
        write!(
            f,
            "| {} | {ours} | {theirs} | × {:.2} | {} | {} ",
            self.row.name(),
            self.speeds.median(),
            show_interval(&self.speeds, 2),
            self.speeds.each(),
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

/// What the layers above the engine cost, or those above the model.
struct Layers {
    row: Row,
    alone: Row,
    /// The time of the product over that of the step alone.
    times: Paired,
}

impl Layers {
    /// Of all rows that were measured with and without them, in the same rounds.
    fn all(rows: &[Measured]) -> Result<Vec<Layers>> {
        let of_row = |with: &Measured| {
            let alone = with.row.without_layers()?;
            let without = rows.iter().find(|row| row.row == alone)?;
            let both = Runs { ours: without.runs.ours.clone(), theirs: with.runs.ours.clone() };
            Some(both.ratios(with.row.figure().key).map(|times| Layers { row: with.row, alone, times }))
        };
        rows.iter().filter_map(of_row).collect()
    }

    fn json(&self) -> Value {
        json!({
            "name": self.row.name(),
            "over": self.alone.name(),
            "time": self.times.median(),
            "interval": self.times.interval(),
            "rounds": self.times.ratios,
        })
    }
}

impl fmt::Display for Layers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, alone, times) = (self.row.name(), self.alone.name(), &self.times);
        write!(
            f,
            "- {name} takes × {:.3} of the time of {alone} ({}; {}).",
            times.median(),
            show_interval(times, 3),
            times.each(),
        )
    }
}

/// From which ratio to which.
pub(crate) fn show_interval(paired: &Paired, digits: usize) -> String {
    let [low, high] = paired.interval();
    format!("{low:.digits$}–{high:.digits$}")
}

/// How often the intervals of so many rounds hold their medians.
pub(crate) fn confidence_note(rounds: usize) -> String {
    format!(
        "Ratios are paired, round by round; the interval holds their median with a probability of {:.0} %.",
        confidence(rounds) * 100.0
    )
}

/// All that was measured in one run.
struct Table {
    rows: Vec<Measured>,
    layers: Vec<Layers>,
    /// What could not be measured, and why.
    left_out: Vec<LeftOut>,
    rates: Rates,
    settings: Settings,
}

impl Table {
    fn json(&self) -> Value {
        let Table { rows, layers, left_out, rates, settings } = self;
        json!({
            "date": machine::date(),
            "processor": machine::processor(),
            "versions": { "couplet": env!("CARGO_PKG_VERSION"), "rust": machine::rust(), "pytorch": rates.version },
            "threads": settings.threads,
            "rounds": settings.rounds,
            "steps": settings.steps,
            "products_gflops": { "ours": rates.ours, "gemm": rates.gemm, "pytorch": rates.pytorch },
            "confidence": confidence(settings.rounds),
            "rows": rows.iter().map(Measured::json).collect::<Vec<_>>(),
            "layers": layers.iter().map(Layers::json).collect::<Vec<_>>(),
            "left_out": left_out.iter().map(LeftOut::json).collect::<Vec<_>>(),
        })
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Table { rows, layers, left_out, rates, settings } = self;
        writeln!(
            f,
            "{}, {}, {} threads, {}, {}; medians of {} rounds in turn, of {} steps in W1, W2 and W4. {}\n",
            machine::date(),
            machine::processor(),
            settings.threads,
            machine::rust(),
            rates.version,
            settings.rounds,
            settings.steps,
            confidence_note(settings.rounds),
        )?;
        writeln!(f, "{HEADER}")?;
        rows.iter().try_for_each(|row| writeln!(f, "{row}"))?;
        writeln!(
            f,
            "\nThe limit is the fastest product of W1's step in any library: couplet {:.0}, gemm {:.0}, PyTorch {:.0} GFLOP/s.\n",
            rates.ours, rates.gemm, rates.pytorch
        )?;
        layers.iter().try_for_each(|layers| writeln!(f, "{layers}"))?;
        rows.iter()
            .try_for_each(|row| writeln!(f, "- {}: {}. {}.", row.row.name(), row.row.what(), row.check))?;
        left_out.iter().try_for_each(|left_out| writeln!(f, "{left_out}"))
    }
}

/// Measures this program beside PyTorch, or beside another build of it; prints and writes a table.
pub(crate) fn compare(arguments: &Arguments) -> Result<()> {
    match &arguments.against {
        Some(binary) => against::compare(binary, arguments),
        None => beside_pytorch(arguments),
    }
}

fn beside_pytorch(arguments: &Arguments) -> Result<()> {
    let Arguments { workloads, settings, inputs, out, .. } = arguments;
    eprintln!("matrix products …");
    let rates = Rates::measure(settings)?;
    let (there, mut left_out) = with_files(workloads, &[inputs]);
    let round = |row: Row, _| row.contest(inputs, settings.steps).round(settings);
    let mut rows = Vec::new();
    for (row, runs) in in_rounds(&there, settings.rounds, round) {
        match runs.and_then(|runs| Measured::new(row, runs, inputs, &rates)) {
            Ok(measured) => rows.push(measured),
            Err(error) => left_out.push(LeftOut::failed(row, &error)),
        }
    }
    let layers = Layers::all(&rows)?;
    let table = Table { rows, layers, left_out, rates, settings: settings.clone() };
    print!("{table}");
    write(out, "bench-cpu", &table.json(), &table.to_string())?;
    ensure_none_failed(&table.left_out)
}

/// Writes what was measured into a folder, as JSON and Markdown.
pub(crate) fn write(folder: &Path, name: &str, json: &Value, text: &str) -> Result<()> {
    std::fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    for (ending, contents) in [("json", format!("{json:#}\n")), ("md", text.to_owned())] {
        let path = folder.join(format!("{name}.{ending}"));
        std::fs::write(&path, contents).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(ms: f64) -> Value {
        json!({ "ms": ms })
    }

    fn measured(row: Row, ours: &[f64]) -> Measured {
        Measured {
            row,
            runs: Runs { ours: ours.iter().copied().map(run).collect(), theirs: Vec::new() },
            medians: [1000.0, 1500.0],
            speeds: Paired { ratios: vec![1.4, 1.6, 1.5] },
            peaks_mb: row.compares_memory().then_some([100.0, 400.0]),
            share_of_limit: row.arithmetic().map(|_| 0.7),
            check: "the same".to_owned(),
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        assert_eq!(
            measured(Row::W1, &[1000.0]).to_string(),
            "| W1 | 1000 ms | 1500 ms | × 1.50 | 1.40–1.60 | 1.40 1.60 1.50 | 100 MB | 400 MB | × 0.25 | 70 % |"
        );
        for row in Row::ALL {
            let columns = measured(row, &[1000.0]).to_string().matches('|').count();
            assert!(HEADER.lines().all(|line| line.matches('|').count() == columns), "{row:?}");
        }
    }

    /// 11/10, 21/20 and 13/10; a row without its counterpart is not compared.
    #[test]
    fn layers_are_compared_round_by_round() {
        let rows = [
            measured(Row::W1, &[11.0, 21.0, 13.0]),
            measured(Row::W1Operations, &[10.0, 20.0, 10.0]),
            measured(Row::W2, &[1.0, 1.0, 1.0]),
        ];
        let layers = Layers::all(&rows).unwrap();
        assert_eq!(layers.len(), 1);
        assert_eq!(
            layers[0].to_string(),
            "- W1 takes × 1.100 of the time of W1, operations alone (1.050–1.300; 1.10 1.05 1.30)."
        );
    }
}
