//! Two builds of this program beside each other, by the clock or by the instructions that they execute.

use crate::cpu::{Arguments, confidence_note, show_interval, write};
use crate::instructions;
use crate::interval::Paired;
use crate::machine;
use crate::peer::{Runs, run};
use crate::row::{Extent, Inputs, LeftOut, Row, ensure_none_failed, in_rounds, with_files};
use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A build, and where its data and model lie.
struct Build {
    binary: PathBuf,
    inputs: Inputs,
}

impl Build {
    fn run(&self, row: Row, arguments: &Arguments) -> Result<Value> {
        let words = row.words(&self.inputs, Extent::timed(arguments.settings.steps));
        run(Command::new(&self.binary).args(words).args(arguments.settings.threads()))
    }
}

/// This program, and another build of it.
struct Builds {
    this: Build,
    other: Build,
}

impl Builds {
    fn new(binary: &Path, arguments: &Arguments) -> Result<Builds> {
        let binary = std::path::absolute(binary)?;
        ensure!(
            binary.is_file(),
            "{} is not there; `--against` names another build of bench-step",
            binary.display()
        );
        let others =
            arguments.inputs.with(arguments.against_config.as_ref(), arguments.against_model.as_ref());
        Ok(Builds {
            this: Build { binary: std::env::current_exe()?, inputs: arguments.inputs.clone() },
            other: Build { binary, inputs: others },
        })
    }

    fn rows(&self, arguments: &Arguments) -> (Vec<Row>, Vec<LeftOut>) {
        with_files(&arguments.workloads, &[&self.this.inputs, &self.other.inputs])
    }

    /// One row by both; who begins changes from round to round.
    fn round(&self, row: Row, round: usize, arguments: &Arguments) -> Result<[Value; 2]> {
        if round.is_multiple_of(2) {
            let this = self.this.run(row, arguments)?;
            Ok([this, self.other.run(row, arguments)?])
        } else {
            let other = self.other.run(row, arguments)?;
            Ok([self.this.run(row, arguments)?, other])
        }
    }
}

/// Measures this program and another build of it, prints a table and writes it.
pub(crate) fn compare(binary: &Path, arguments: &Arguments) -> Result<()> {
    let builds = Builds::new(binary, arguments)?;
    if arguments.instructions { count(&builds, arguments) } else { time(&builds, arguments) }
}

fn heading(binary: &Path) -> String {
    format!(
        "{}, {}, {}; against {}",
        machine::date(),
        machine::processor(),
        machine::rust(),
        binary.display()
    )
}

fn time(builds: &Builds, arguments: &Arguments) -> Result<()> {
    let (rows, mut left_out) = builds.rows(arguments);
    let rounds = arguments.settings.rounds;
    let mut timed = Vec::new();
    for (row, runs) in in_rounds(&rows, rounds, |row, round| builds.round(row, round, arguments)) {
        match runs.and_then(|runs| Timed::new(row, &runs)) {
            Ok(row) => timed.push(row),
            Err(error) => left_out.push(LeftOut::failed(row, &error)),
        }
    }
    let text = format!(
        "{}; {} threads, medians of {rounds} rounds in turn, of {} steps. {}\n\n{TIMES}\n{}\n{}",
        heading(&builds.other.binary),
        arguments.settings.threads,
        arguments.settings.steps,
        confidence_note(rounds),
        lines(&timed),
        lines(&left_out),
    );
    let json = json!({
        "date": machine::date(),
        "processor": machine::processor(),
        "against": builds.other.binary.display().to_string(),
        "threads": arguments.settings.threads,
        "rounds": rounds,
        "steps": arguments.settings.steps,
        "rows": timed.iter().map(Timed::json).collect::<Vec<_>>(),
        "left_out": left_out.iter().map(LeftOut::json).collect::<Vec<_>>(),
    });
    print!("{text}");
    write(&arguments.out, "bench-against", &json, &text)?;
    ensure_none_failed(&left_out)
}

/// Each on a line.
fn lines(all: &[impl fmt::Display]) -> String {
    all.iter().map(|each| format!("{each}\n")).collect()
}

/// A row that both builds were timed at.
struct Timed {
    row: Row,
    /// In the figure's unit, this and the other.
    medians: [f64; 2],
    /// The time of this build over that of the other, round by round.
    times: Paired,
    /// Megabytes, where both say so.
    peaks: Option<[f64; 2]>,
    /// Requests for memory in a step, a batch or a run of decoding, where both say so.
    allocations: Option<[f64; 2]>,
    check: String,
}

impl Timed {
    fn new(row: Row, runs: &Runs) -> Result<Timed> {
        let figure = row.figure();
        Ok(Timed {
            row,
            medians: runs.middles(figure.key)?.map(|value| value * figure.scale),
            times: row.speeds(runs)?.inverse(),
            peaks: runs.middles("peak_mb").ok(),
            allocations: runs.middles("allocations").ok(),
            check: check(runs),
        })
    }

    fn json(&self) -> Value {
        let sides = |sides: [f64; 2]| json!({ "this": sides[0], "other": sides[1] });
        json!({
            "name": self.row.name(),
            "unit": self.row.figure().unit,
            "this": self.medians[0],
            "other": self.medians[1],
            "time": self.times.median(),
            "interval": self.times.interval(),
            "rounds": self.times.ratios,
            "peak_mb": self.peaks.map(sides),
            "allocations": self.allocations.map(sides),
            "check": self.check,
        })
    }
}

/// Whether both builds came to the same. They need not: another version may draw other weights.
fn check(runs: &Runs) -> String {
    let both = |key: &str| Some([runs.ours[0].get(key)?.as_f64()?, runs.theirs[0].get(key)?.as_f64()?]);
    let losses = [("first_loss", "first loss"), ("valid_loss", "validation loss")];
    let said = losses.into_iter().find_map(|(key, name)| Some((name, both(key)?)));
    match (said, runs.share_of_same_outputs()) {
        (Some((name, [this, other])), _) if this == other => format!("same {name}"),
        (Some((name, [this, other])), _) => format!("{name} {this:.5} and {other:.5}"),
        (None, Ok(same)) => format!("{:.1} % same outputs", same * 100.0),
        (None, Err(_)) => String::new(),
    }
}

const TIMES: &str = "\
| | this | other | time, this over other | interval | each round | peak memory, this | other | allocations, this | other | |
|---|--:|--:|--:|---|---|--:|--:|--:|--:|---|";

impl fmt::Display for Timed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [this, other] = self.medians.map(|value| self.row.figure().show(value));
        let cells = |sides: Option<[f64; 2]>, unit: &str| match sides {
            Some([this, other]) => format!("{this:.0}{unit} | {other:.0}{unit}"),
            None => " | ".to_owned(),
        };
        write!(
            f,
            "| {} | {this} | {other} | × {:.3} | {} | {} | {} | {} | {} |",
            self.row.name(),
            self.times.median(),
            show_interval(&self.times, 3),
            self.times.each(),
            cells(self.peaks, " MB"),
            cells(self.allocations, ""),
            self.check,
        )
    }
}

/// Instructions of a row, of this build and of the other.
struct Counted {
    row: Row,
    instructions: [u64; 2],
}

impl Counted {
    fn new(row: Row, builds: &Builds) -> Result<Counted> {
        let of = |build: &Build| {
            instructions::count(&build.binary, &row.words(&build.inputs, Extent::counted()))
                .with_context(|| build.binary.display().to_string())
        };
        Ok(Counted { row, instructions: [of(&builds.this)?, of(&builds.other)?] })
    }

    fn ratio(&self) -> f64 {
        self.instructions[0] as f64 / self.instructions[1] as f64
    }

    fn json(&self) -> Value {
        let [this, other] = self.instructions;
        json!({ "name": self.row.name(), "this": this, "other": other, "ratio": self.ratio() })
    }
}

const COUNTS: &str = "\
| | millions of instructions, this | other | this over other |
|---|--:|--:|--:|";

impl fmt::Display for Counted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [this, other] = self.instructions.map(|count| count as f64 / 1e6);
        write!(f, "| {} | {this:.2} | {other:.2} | × {:.4} |", self.row.name(), self.ratio())
    }
}

fn count(builds: &Builds, arguments: &Arguments) -> Result<()> {
    let (rows, mut left_out) = builds.rows(arguments);
    let mut counted = Vec::new();
    for row in rows {
        eprintln!("{} …", row.name());
        match Counted::new(row, builds) {
            Ok(row) => counted.push(row),
            Err(error) => left_out.push(LeftOut::failed(row, &error)),
        }
    }
    let text = format!(
        "{}; instructions by callgrind at one thread, with portable vectors and nothing made beforehand: one step of W1, W2 and W4, \
         three batches of W5, 100 sentences of W6, all of the others.\n\n{COUNTS}\n{}\n{}",
        heading(&builds.other.binary),
        lines(&counted),
        lines(&left_out),
    );
    let json = json!({
        "date": machine::date(),
        "processor": machine::processor(),
        "against": builds.other.binary.display().to_string(),
        "rows": counted.iter().map(Counted::json).collect::<Vec<_>>(),
        "left_out": left_out.iter().map(LeftOut::json).collect::<Vec<_>>(),
    });
    print!("{text}");
    write(&arguments.out, "bench-instructions", &json, &text)?;
    ensure_none_failed(&left_out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(this: &[f64], other: &[f64]) -> Runs {
        let side = |all: &[f64]| {
            let run = |&ms: &f64| json!({ "ms": ms, "first_loss": 8.0, "peak_mb": 100.0, "unknown": 1 });
            all.iter().map(run).collect()
        };
        Runs { ours: side(this), theirs: side(other) }
    }

    /// 10/8 and 12/8: this build takes 1.375 of the other's time. Allocations that a build does not name stay empty.
    #[test]
    fn a_row_of_two_builds_by_hand() {
        let row = Timed::new(Row::W1, &runs(&[10.0, 12.0], &[8.0, 8.0])).unwrap().to_string();
        assert_eq!(
            row,
            "| W1 | 11 ms | 8 ms | × 1.375 | 1.250–1.500 | 1.25 1.50 | 100 MB | 100 MB |  |  | same first loss |"
        );
        assert!(TIMES.lines().all(|line| line.matches('|').count() == row.matches('|').count()));
    }

    #[test]
    fn a_row_of_counts_by_hand() {
        let row = Counted { row: Row::W2, instructions: [3_030_000, 3_000_000] }.to_string();
        assert_eq!(row, "| W2 | 3.03 | 3.00 | × 1.0100 |");
        assert!(COUNTS.lines().all(|line| line.matches('|').count() == row.matches('|').count()));
    }
}
