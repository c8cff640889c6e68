//! Makes large corpora, measures how fast their batches come, and tokenizes beside Python's `tokenizers`.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

mod generate;
mod load;
mod tokenize;

use anyhow::Result;
use clap::Parser;

#[derive(Parser)]
#[command(
    about,
    after_help = "\
Example: bench-data generate train.en.gz train.de.gz --pairs 10000000 --out large
Example: bench-data load config.toml --prepared corpus
Example: bench-data tokenize corpus/tokenizer.source.json large.source --python .venv/bin/python"
)]
enum Command {
    Generate(generate::Arguments),
    Load(load::Arguments),
    Tokenize(tokenize::Arguments),
}

fn main() -> Result<()> {
    match Command::parse() {
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Load(arguments) => load::run(&arguments),
        Command::Tokenize(arguments) => tokenize::run(&arguments),
    }
}
