//! `cargo xtask bench`: runs a benchmark as it is measured, built for release.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::Result;

use crate::process;

/// Run a benchmark, built for release.
#[derive(clap::Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    benchmark: Benchmark,
}

const EXAMPLES: &str = "\
What follows the name goes to the benchmark, its --help too.

Examples:
  cargo xtask bench cpu --python .venv/bin/python
  cargo xtask bench cpu --against ../before/target/release/bench-step --rounds 10
  cargo xtask bench step
  cargo xtask bench data generate train.en train.de --out large
  cargo xtask bench metrics texts.de --python .venv/bin/python
  cargo xtask bench embed corpus.txt.gz --python .venv/bin/python
  cargo xtask bench gemm --help";

#[derive(clap::Subcommand)]
#[command(disable_help_subcommand = true)]
enum Benchmark {
    /// Training and decoding on the processor beside PyTorch, or beside another build, in one table
    #[command(disable_help_flag = true)]
    Cpu(Rest),
    /// A whole training step: forward, backward, optimizer
    #[command(disable_help_flag = true)]
    Step(Rest),
    /// Matrix products of the shapes a step is made of
    #[command(disable_help_flag = true)]
    Gemm(Rest),
    /// Large corpora: how fast their batches come, and tokenizing beside Python's tokenizers
    #[command(disable_help_flag = true)]
    Data(Rest),
    /// BLEU, chrF and TER of 100,000 lines beside sacreBLEU
    #[command(disable_help_flag = true)]
    Metrics(Rest),
    /// Word vectors beside gensim's
    #[command(disable_help_flag = true)]
    Embed(Rest),
}

#[derive(clap::Args)]
struct Rest {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let hint = "the lines above say what went wrong";
    if let Benchmark::Cpu(_) = arguments.benchmark {
        // It asks bench-gemm how fast the machine multiplies.
        let mut build = process::cargo(root);
        build.args(["build", "--quiet", "--release", "--package", "bench-step", "--package", "bench-gemm"]);
        process::run(&mut build, hint)?;
    }
    process::run(&mut command(root, arguments), hint)
}

fn command(root: &Path, arguments: &Arguments) -> Command {
    let (package, verb, rest) = match &arguments.benchmark {
        Benchmark::Cpu(rest) => ("bench-step", Some("cpu"), rest),
        Benchmark::Step(rest) => ("bench-step", None, rest),
        Benchmark::Gemm(rest) => ("bench-gemm", None, rest),
        Benchmark::Data(rest) => ("bench-data", None, rest),
        Benchmark::Metrics(rest) => ("bench-metrics", None, rest),
        Benchmark::Embed(rest) => ("bench-embed", None, rest),
    };
    let mut command = process::cargo(root);
    command.args(["run", "--quiet", "--release", "--package", package, "--"]);
    command.args(verb).args(&rest.arguments);
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::FromArgMatches;

    fn words(typed: &[&str]) -> Vec<String> {
        let parser = <Arguments as clap::Args>::augment_args(clap::Command::new("bench"));
        let matches = parser.try_get_matches_from(typed).unwrap();
        let command = command(Path::new("."), &Arguments::from_arg_matches(&matches).unwrap());
        command.get_args().map(|word| word.to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn the_name_picks_the_package() {
        assert_eq!(
            words(&["bench", "step"]),
            ["run", "--quiet", "--release", "--package", "bench-step", "--"]
        );
    }

    #[test]
    fn the_table_of_the_processor_is_a_verb_of_bench_step() {
        assert_eq!(
            words(&["bench", "cpu", "--rounds", "3"])[4..],
            ["bench-step", "--", "cpu", "--rounds", "3"]
        );
    }

    #[test]
    fn what_follows_the_name_goes_to_the_benchmark() {
        let words = words(&["bench", "gemm", "--threads", "2", "--help"]);
        assert_eq!(words[4..], ["bench-gemm", "--", "--threads", "2", "--help"]);
        let words = self::words(&["bench", "metrics", "texts.de"]);
        assert_eq!(words[4..], ["bench-metrics", "--", "texts.de"]);
    }
}
