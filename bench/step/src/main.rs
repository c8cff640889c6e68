//! Measures training and decoding of an encoder-decoder, here and in PyTorch, in one run.

#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a benchmark prints its figures")]

mod against;
mod corpus;
mod cpu;
mod decode;
mod gpu;
mod instructions;
mod interval;
mod machine;
mod measured;
#[path = "../../../crates/tensor/examples/encoder_decoder/model.rs"]
mod model;
mod ours;
mod parts;
mod peer;
mod product;
mod products;
mod row;
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
    /// The engine's operations alone, of w4 the model alone: one line of JSON.
    Ours(ours::Arguments),
    /// Our side alone, through the trainer: one line of JSON.
    OursTrainer(ours::Arguments),
    /// Our side alone on real batches, through the trainer: one line of JSON.
    OursCorpus {
        #[command(flatten)]
        corpus: corpus::Arguments,
        #[arg(long, default_value_t = 2)]
        threads: usize,
        /// Write the first weights and the batches here, for the other side.
        #[arg(long)]
        dump: Option<PathBuf>,
        /// For a profiler: no batch before the first that counts, portable vectors, no validation.
        #[arg(long)]
        counted: bool,
    },
    /// Our side alone, decoding: one line of JSON.
    OursDecode {
        #[command(subcommand)]
        decoding: decode::Decoding,
        #[arg(long, default_value_t = 2, global = true)]
        threads: usize,
        /// Write the weights and the sources here, for the other side.
        #[arg(long, global = true)]
        dump: Option<PathBuf>,
        /// For a profiler: nothing is decoded beforehand, with portable vectors.
        #[arg(long, global = true)]
        counted: bool,
    },
    /// Both sides in turn on real batches: tokens a second, memory, and the validation loss after them.
    CompareCorpus {
        #[command(flatten)]
        corpus: corpus::Arguments,
        #[command(flatten)]
        settings: peer::Settings,
    },
    /// Both sides in turn, several times; prints a table with the ratio.
    Compare {
        #[arg(required = true)]
        workloads: Vec<Workload>,
        #[command(flatten)]
        settings: peer::Settings,
    },
    /// Training and decoding on the processor beside PyTorch, or beside another build: prints a table, and writes it as JSON and Markdown.
    Cpu(cpu::Arguments),
    /// Cells and scores beside the LSTM with additive attention, for what they compute: prints a table.
    Parts(parts::Arguments),
    /// Our step on a GPU beside PyTorch's, eager and captured, in several precisions; prints a table.
    Gpu(gpu::Arguments),
}

fn main() -> Result<()> {
    match Arguments::parse().command {
        Command::Ours(arguments) => {
            println!("{}", ours::measure(&arguments)?);
            Ok(())
        }
        Command::OursTrainer(arguments) => {
            println!("{}", ours::measure_product(&arguments)?);
            Ok(())
        }
        Command::OursCorpus { corpus, threads, dump, counted } => {
            println!("{}", corpus::measure(&corpus, threads, dump.as_deref(), counted)?);
            Ok(())
        }
        Command::OursDecode { decoding, threads, dump, counted } => {
            println!("{}", decode::measure(&decoding, threads, dump.as_deref(), counted)?);
            Ok(())
        }
        Command::CompareCorpus { corpus, settings } => peer::compare_corpus(&corpus, &settings),
        Command::Compare { workloads, settings } => {
            workloads.into_iter().try_for_each(|workload| peer::compare(workload, &settings))
        }
        Command::Cpu(arguments) => cpu::compare(&arguments),
        Command::Parts(arguments) => parts::measure(&arguments),
        Command::Gpu(arguments) => gpu::compare(&arguments),
    }
}
