//! How fast this machine multiplies matrices, by the best of three libraries.

use crate::peer::{Settings, run, script, version};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::process::Command;

/// For each library, the rate of its fastest product, in GFLOP/s.
pub(crate) struct Rates {
    pub(crate) ours: f64,
    pub(crate) gemm: f64,
    pub(crate) pytorch: f64,
    /// PyTorch's version.
    pub(crate) version: String,
}

impl Rates {
    /// Measures the products of W1's training step, by `bench-gemm` and in PyTorch.
    pub(crate) fn measure(settings: &Settings) -> Result<Rates> {
        let how = ["--threads", &settings.threads.to_string(), "--rounds", &settings.rounds.to_string()]
            .map(str::to_owned);
        let program = std::env::current_exe()?.with_file_name("bench-gemm");
        ensure!(
            program.exists(),
            "no bench-gemm beside this program: build it too, with --package bench-gemm"
        );
        let products = run(Command::new(program).arg("--json").args(&how))?;
        let products = products.as_array().context("bench-gemm printed no list")?;

        let sizes =
            products.iter().map(|product| format!("{},{},{}", product["m"], product["k"], product["n"]));
        let mut command = Command::new(&settings.python);
        let theirs = run(command.arg(script("products.py")?).args(sizes).args(&how))?;
        let rates = theirs["rates"].as_array().context("products.py printed no rates")?;
        let best_of = |key: &str| best(products.iter().map(|product| &product[key]));
        Ok(Rates {
            ours: best_of("ours"),
            gemm: best_of("gemm"),
            pytorch: best(rates),
            version: version(&theirs).to_owned(),
        })
    }

    /// The best of all.
    pub(crate) fn best(&self) -> f64 {
        self.ours.max(self.gemm).max(self.pytorch)
    }
}

fn best<'a>(rates: impl IntoIterator<Item = &'a Value>) -> f64 {
    rates.into_iter().filter_map(Value::as_f64).fold(0.0, f64::max)
}
