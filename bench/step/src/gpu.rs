//! On a GPU: our step beside PyTorch's, eager and captured into a CUDA graph, in several precisions.

use crate::peer::{middle, number, run, script, version};
use crate::workload::Workload;
use anyhow::{Result, ensure};
use couplet_tensor::Precision;
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

// No doc comment: clap would show it in place of the verb's own.
#[derive(Debug, clap::Args)]
pub(crate) struct Arguments {
    #[arg(long, num_args = 1.., value_enum, default_values_t = [Workload::W1, Workload::W2, Workload::G2])]
    workloads: Vec<Workload>,
    /// fp32, tf32, bf16
    #[arg(long, num_args = 1.., default_values_t = [Precision::Fp32, Precision::Tf32, Precision::Bf16])]
    precisions: Vec<Precision>,
    #[arg(long, default_value_t = 2)]
    rounds: usize,
    /// Steps of a stretch; each side times several stretches in each round.
    #[arg(long, default_value_t = 10)]
    steps: usize,
    /// cuda or cuda:N
    #[arg(long, default_value = "cuda")]
    device: String,
    /// A Python that has torch, numpy and safetensors.
    #[arg(long, default_value = "python3")]
    python: PathBuf,
    /// PyTorch's side [default: twin.py beside this program, else that of the source tree]
    #[arg(long)]
    twin: Option<PathBuf>,
}

/// The medians of one side.
struct Side {
    ms: f64,
    first_loss: f64,
    peak_mb: f64,
    /// What PyTorch's allocator has taken from the GPU; of our own memory the peak says that already.
    reserved_mb: Option<f64>,
}

impl Side {
    fn new(runs: &[Value]) -> Result<Side> {
        let first = &runs[0];
        Ok(Side {
            ms: middle(runs, "ms")?,
            first_loss: number(first, "first_loss")?,
            peak_mb: middle(runs, "peak_mb")?,
            reserved_mb: first.get("reserved_mb").map(|_| middle(runs, "reserved_mb")).transpose()?,
        })
    }

    fn memory(&self) -> String {
        match self.reserved_mb {
            Some(reserved) => format!("{:.0} of {reserved:.0}", self.peak_mb),
            None => format!("{:.0}", self.peak_mb),
        }
    }
}

/// A row of the table: one workload in one precision.
struct Row {
    workload: Workload,
    precision: Precision,
    ours: Side,
    eager: Side,
    captured: Side,
    /// PyTorch's version.
    version: String,
}

const HEADER: &str = "\
| | precision | ours, ms | eager, ms | captured, ms | over eager | over captured \
| memory, ours, MB | eager, used of reserved | captured | first loss, ours | PyTorch | |
|---|---|---|---|---|---|---|---|---|---|---|---|---|";

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { workload, precision, ours, eager, captured, .. } = self;
        write!(f, "| {} | {precision} ", workload.name())?;
        write!(f, "| {:.2} | {:.2} | {:.2} ", ours.ms, eager.ms, captured.ms)?;
        write!(f, "| × {:.2} | × {:.2} ", eager.ms / ours.ms, captured.ms / ours.ms)?;
        write!(f, "| {} | {} | {} ", ours.memory(), eager.memory(), captured.memory())?;
        write!(f, "| {:.5} | {:.5} ", ours.first_loss, eager.first_loss)?;
        write!(f, "| {} |", if self.losses_agree() { "" } else { "error: the first losses differ" })
    }
}

impl Row {
    fn losses_agree(&self) -> bool {
        let share = same_loss(self.precision);
        let near = |theirs: &Side| {
            (self.ours.first_loss - theirs.first_loss).abs() <= share * theirs.first_loss.abs()
        };
        near(&self.eager) && near(&self.captured)
    }
}

/// How far the first losses may lie apart, as a share: the same weights, the same tokens, other roundings.
fn same_loss(precision: Precision) -> f64 {
    match precision {
        Precision::Fp32 => 1e-4,
        Precision::Tf32 => 2e-3,
        Precision::Bf16 => 2e-2,
    }
}

/// Prints the table, a row as soon as it is measured. A row that fails does not keep the others from being measured.
pub(crate) fn compare(arguments: &Arguments) -> Result<()> {
    println!("{HEADER}");
    let in_all = |&workload| arguments.precisions.iter().map(move |&precision| (workload, precision));
    let (mut errors, mut pytorch) = (Vec::new(), None);
    for (workload, precision) in arguments.workloads.iter().flat_map(in_all) {
        let name = workload.name();
        match measure(workload, precision, arguments) {
            Ok(row) => {
                println!("{row}");
                if !row.losses_agree() {
                    errors.push(format!("{name} in {precision}: the first losses differ"));
                }
                pytorch = Some(row.version);
            }
            Err(error) => {
                println!("| {name} | {precision} | error: see below{}", " |".repeat(11));
                errors.push(format!("{name} in {precision}: {error:#}"));
            }
        }
    }
    println!(
        "\n{}; medians of {} rounds, each of several stretches of {} steps",
        pytorch.as_deref().unwrap_or("PyTorch"),
        arguments.rounds,
        arguments.steps
    );
    ensure!(errors.is_empty(), "{}", errors.join("\n"));
    Ok(())
}

fn measure(workload: Workload, precision: Precision, arguments: &Arguments) -> Result<Row> {
    let dump = std::env::temp_dir().join(format!("bench-gpu-{}.safetensors", std::process::id()));
    let row = measure_with(&dump, workload, precision, arguments);
    // Where our side failed there is none.
    let _ = std::fs::remove_file(&dump);
    row
}

/// Both sides in turn, each in a process of its own; PyTorch's eager and captured step share one, since its start takes longer
/// than the steps.
fn measure_with(dump: &Path, workload: Workload, precision: Precision, arguments: &Arguments) -> Result<Row> {
    let twin = arguments.twin.clone().map_or_else(|| script("twin.py"), Ok)?;
    let (steps, precise) = (arguments.steps.to_string(), precision.to_string());
    let how = ["--steps", &steps, "--device", &arguments.device, "--precision", &precise];
    let (mut ours, mut eager) = (Vec::new(), Vec::new());
    for round in 0..arguments.rounds {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(["ours", workload.name()]).args(how);
        if round == 0 {
            command.arg("--dump").arg(dump);
        }
        ours.push(run(&mut command)?);
        let mut command = Command::new(&arguments.python);
        eager.push(run(command.arg(&twin).arg(dump).args(how).arg("--capture"))?);
    }
    let captured: Vec<Value> = eager.iter().map(|run| run["captured"].clone()).collect();
    Ok(Row {
        workload,
        precision,
        ours: Side::new(&ours)?,
        eager: Side::new(&eager)?,
        captured: Side::new(&captured)?,
        version: version(&eager[0]).to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn row(precision: Precision, first_loss: f64) -> Row {
        let ours = [json!({ "ms": 2.0, "first_loss": first_loss, "peak_mb": 100.0 })];
        let theirs =
            |ms: f64| [json!({ "ms": ms, "first_loss": 8.0, "peak_mb": 200.0, "reserved_mb": 300.0 })];
        Row {
            workload: Workload::W2,
            precision,
            ours: Side::new(&ours).unwrap(),
            eager: Side::new(&theirs(9.0)).unwrap(),
            captured: Side::new(&theirs(3.0)).unwrap(),
            version: "PyTorch".to_owned(),
        }
    }

    #[test]
    fn a_row_has_a_cell_for_each_column() {
        let row = row(Precision::Fp32, 8.0).to_string();
        assert_eq!(
            row,
            "| w2 | fp32 | 2.00 | 9.00 | 3.00 | × 4.50 | × 1.50 | 100 | 200 of 300 | 200 of 300 | 8.00000 | 8.00000 |  |"
        );
        assert!(HEADER.lines().all(|line| line.matches('|').count() == row.matches('|').count()));
    }

    #[test]
    fn how_far_losses_may_lie_apart_depends_on_the_precision() {
        // 8.004 is 1 in 2,000 above 8.
        assert!(!row(Precision::Fp32, 8.004).losses_agree());
        assert!(row(Precision::Tf32, 8.004).losses_agree());
        assert!(!row(Precision::Bf16, 8.2).losses_agree());
        assert!(row(Precision::Fp32, 8.2).to_string().ends_with("error: the first losses differ |"));
    }
}
