//! The developer's commands: `cargo xtask check`, `golden`, `fixtures`, `bench`, `words` and `shape`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a command line program talks to its user")]

mod bench;
mod check;
mod fixtures;
mod golden;
mod process;
mod shape;
mod source;
mod tools;
mod words;

use std::path::Path;
use std::process::ExitCode;

use anyhow::Result;
use clap::{Parser, Subcommand};

/// The developer's commands of couplet.
#[derive(Parser)]
#[command(bin_name = "cargo xtask", arg_required_else_help = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const EXAMPLES: &str = "\
Examples:
  cargo xtask check              everything a change must pass
  cargo xtask check --fast       without dependencies and tests
  cargo xtask golden check       compare results with those that were recorded
  cargo xtask fixtures           make the reference values again, with PyTorch
  cargo xtask words              words that the glossary replaces
  cargo xtask shape              counts of the code's structure
  cargo xtask bench gemm         time the matrix products
  cargo xtask bench step --help  the options of a benchmark";

#[derive(Subcommand)]
enum Command {
    Check(check::Arguments),
    Golden(golden::Arguments),
    Fixtures(fixtures::Arguments),
    Bench(bench::Arguments),
    Words(words::Arguments),
    Shape(shape::Arguments),
}

fn main() -> ExitCode {
    match run(&Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> Result<()> {
    let root = workspace_root();
    match &arguments.command {
        Command::Check(arguments) => check::run(root, arguments),
        Command::Golden(arguments) => golden::run(root, arguments),
        Command::Fixtures(arguments) => fixtures::run(root, arguments),
        Command::Bench(arguments) => bench::run(root, arguments),
        Command::Words(arguments) => words::run(root, arguments),
        Command::Shape(arguments) => shape::run(root, arguments),
    }
}

/// The folder above this package, wherever the command was called from.
fn workspace_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in a folder of the workspace")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn root_holds_the_workspace() {
        assert!(workspace_root().join("Cargo.toml").is_file());
    }
}
