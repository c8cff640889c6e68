//! Measures the training step of an encoder-decoder, here and in PyTorch, in one run.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

mod corpus;
mod gpu;
#[path = "../../../crates/tensor/examples/encoder_decoder/model.rs"]
mod model;
mod ours;
mod peer;
mod workload;

use anyhow::Result;
use clap::{Parser, Subcommand};
use std::path::PathBuf;
use workload::Workload;

#[derive(Parser)]
#[command(about, after_help = "Example: bench-step compare w1 w2 --python python3")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Our side alone: one line of JSON.
    Ours(ours::Arguments),
    /// Our side alone on real batches: one line of JSON.
    OursCorpus {
        #[command(flatten)]
        corpus: corpus::Arguments,
        /// Write the first weights and the batches here, for the other side.
        #[arg(long)]
        dump: Option<PathBuf>,
    },
    /// Both sides in turn on real batches: tokens a second, memory, and the validation loss after them.
    CompareCorpus {
        #[command(flatten)]
        corpus: corpus::Arguments,
        #[arg(long, default_value_t = 1)]
        rounds: usize,
        /// A Python that has torch, numpy and safetensors.
        #[arg(long, default_value = "python3")]
        python: PathBuf,
    },
    /// Both sides in turn, several times; prints a table with the ratio.
    Compare {
        #[arg(required = true)]
        workloads: Vec<Workload>,
        #[arg(long, default_value_t = 5)]
        rounds: usize,
        #[arg(long, default_value_t = 10)]
        steps: usize,
        #[arg(long, default_value_t = 2)]
        threads: usize,
        /// A Python that has torch, numpy and safetensors.
        #[arg(long, default_value = "python3")]
        python: PathBuf,
    },
    /// Our step on a GPU beside PyTorch's, eager and captured, in several precisions; prints a table.
    Gpu(gpu::Arguments),
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Ours(arguments) => {
            println!("{}", ours::measure(&arguments)?);
            Ok(())
        }
        Command::OursCorpus { corpus, dump } => {
            println!("{}", corpus::measure(&corpus, dump.as_deref())?);
            Ok(())
        }
        Command::CompareCorpus { corpus, rounds, python } => peer::compare_corpus(&corpus, rounds, &python),
        Command::Compare { workloads, rounds, steps, threads, python } => {
            let settings = peer::Settings { rounds, steps, threads, python };
            workloads.into_iter().try_for_each(|workload| peer::compare(workload, &settings))
        }
        Command::Gpu(arguments) => gpu::compare(&arguments),
    }
}
