//! The command `couplet`: arguments in, calls out.

#![allow(clippy::print_stderr, reason = "a command prints")]

// First: its macros take the place of the standard library's in all others.
#[macro_use]
mod stdout;

mod attention_file;
mod bar;
mod commands;
mod device;
mod failure;
mod panics;
mod picture;
mod progress;

use clap::{Parser, Subcommand};
use commands::{
    attend, average, bench, classify, compare, demo, embed, evaluate, generate, inspect, metrics, new, plot,
    predict, prepare, score, selftest, train, translate, vocab,
};
use failure::Outcome;
use std::process::ExitCode;

/// Trains, looks into and runs sequence-to-sequence models.
#[derive(Parser)]
#[command(version, after_help = "Start with `couplet demo`, then `couplet new my-model --task translate`.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Demo(demo::Arguments),
    New(new::Arguments),
    Vocab(vocab::Arguments),
    Prepare(prepare::Arguments),
    Train(train::Arguments),
    Predict(predict::Arguments),
    Translate(translate::Arguments),
    Classify(classify::Arguments),
    Generate(generate::Arguments),
    Evaluate(evaluate::Arguments),
    Score(score::Arguments),
    Metrics(metrics::Arguments),
    Attend(attend::Arguments),
    Average(average::Arguments),
    Plot(plot::Arguments),
    Inspect(inspect::Arguments),
    Embed(embed::Arguments),
    Compare(compare::Arguments),
    Bench(bench::Arguments),
    Selftest(selftest::Arguments),
}

fn main() -> ExitCode {
    panics::silence();
    let command = Arguments::parse().command;
    match panics::caught(|| run(&command)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(),
    }
}

fn run(command: &Command) -> Outcome {
    match command {
        Command::Demo(arguments) => demo::run(arguments),
        Command::New(arguments) => new::run(arguments),
        Command::Vocab(arguments) => vocab::run(arguments),
        Command::Prepare(arguments) => prepare::run(arguments),
        Command::Train(arguments) => train::run(arguments),
        Command::Predict(arguments) => predict::run(arguments),
        Command::Classify(arguments) => classify::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Translate(arguments) => translate::run(arguments),
        Command::Evaluate(arguments) => evaluate::run(arguments),
        Command::Score(arguments) => score::run(arguments),
        Command::Metrics(arguments) => metrics::run(arguments),
        Command::Attend(arguments) => attend::run(arguments),
        Command::Average(arguments) => average::run(arguments),
        Command::Plot(arguments) => plot::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
        Command::Embed(arguments) => embed::run(arguments),
        Command::Compare(arguments) => compare::run(arguments),
        Command::Bench(arguments) => bench::run(arguments),
        Command::Selftest(arguments) => selftest::run(arguments),
    }
}
