//! `cargo xtask golden`: what the program computed once, compared with what it computes today.
//!
//! The cases drive the program through its command line, never its types, so that all behind that may be rewritten. They are small: a few
//! units, ten updates, a few outputs. Recorded are checksums of weights before and after training, losses, outputs with scores.

mod adapter;
#[cfg(test)]
mod adapter_tests;
mod cases;
mod checksum;
#[cfg(test)]
mod coverage;
mod names;
mod paths;
mod record;
mod runner;
mod schedule;
mod values;

use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Result, bail};
use clap::{Args, Subcommand};

use crate::process;
use cases::CaseFile;
use runner::{CaseValues, Program};
use values::{Difference, Values};

/// Compare what the program computes with recorded values, bit for bit.
///
/// Small models of every kind are trained for ten updates and used, through the program's command line. Recorded are checksums of weights
/// before and after, losses, and outputs with their scores. The cases in xtask/golden/cases.toml never change: new names go into the table in
/// xtask/src/golden/names.rs, new cases into xtask/golden/added.toml, values that may move into xtask/golden/exceptions.toml.
#[derive(Args)]
#[command(arg_required_else_help = true, after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// The recorded values.
const VALUES: &str = "values.json";

const EXAMPLES: &str = "\
Examples:
  cargo xtask golden check                         after every change that should change no result
  cargo xtask golden check --only transformer      the cases whose names contain it, and those that they need
  cargo xtask golden check --threads 2             the same values, with any number of threads
  cargo xtask golden check --binary old/couplet    another build of the program
  cargo xtask golden write                         after a change that is meant to change results";

#[derive(Subcommand)]
enum Action {
    /// Run the cases and name each value that is not as it was recorded.
    Check(Options),
    /// Run the cases and record their values in xtask/golden/values.json.
    Write(Options),
}

#[derive(Args)]
struct Options {
    /// Run only the cases whose names contain this, and those that they need; can be given again
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// The program to run [default: target/release/couplet, which is built first]
    #[arg(long, value_name = "PATH")]
    binary: Option<PathBuf>,
    /// Threads of the program [default: what each case says, which is 1 for most]
    #[arg(long, value_name = "N")]
    threads: Option<usize>,
    /// Cases that run at a time
    #[arg(long, value_name = "N", default_value_t = 2)]
    jobs: usize,
}

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let folder = root.join("xtask/golden");
    let files = CaseFile::read_all(&folder)?;
    match &arguments.action {
        Action::Check(options) => check(&folder, &files, &compute(root, &files, options)?),
        Action::Write(options) => write(&folder, &files, &compute(root, &files, options)?),
    }
}

/// The values of the cases that were run.
struct Computed {
    values: Values,
    /// Cases that failed, and lines of values that are unlike those of the case that they are the same as.
    failures: usize,
}

fn compute(root: &Path, files: &[CaseFile], options: &Options) -> Result<Computed> {
    let groups = schedule::chosen(files, &options.only)?;
    if groups.is_empty() {
        bail!("no case has such a name\nhint: the names are in xtask/golden/cases.toml");
    }
    let program = program(root, options)?;
    let start = Instant::now();
    let done = schedule::run(&program, &groups, options.jobs.max(1));
    println!("{} cases in {:.0} s", done.len(), start.elapsed().as_secs_f64());
    let (mut values, mut failures) = (Values::new(), 0);
    for (case, outcome) in done {
        match outcome {
            Ok(found) => drop(values.insert(case.name.clone(), found)),
            Err(error) => {
                failures += 1;
                println!("{}: {error:#}", case.name);
            }
        }
    }
    let cases = groups.iter().flatten().filter(|(_, case)| values.contains_key(&case.name));
    let unlike: Vec<Difference> =
        cases.flat_map(|(_, case)| values::differences_of_same(case, &values)).collect();
    unlike.iter().for_each(show);
    failures += unlike.len();
    Ok(Computed { values, failures })
}

fn check(folder: &Path, files: &[CaseFile], computed: &Computed) -> Result<()> {
    let recorded = values::read(&folder.join(VALUES))?;
    let differences = differences(folder, &recorded, &computed.values)?;
    differences.iter().for_each(show);
    let stale: Vec<&String> = recorded.keys().filter(|name| !is_case(files, name)).collect();
    if computed.failures + differences.len() + stale.len() > 0 {
        bail!(
            "{} failures, {} lines of values differ, {} recorded cases are not there any more\n\
             hint: a change that is meant to change results ends with `cargo xtask golden write`",
            computed.failures,
            differences.len(),
            stale.len()
        );
    }
    println!("all values are as recorded");
    Ok(())
}

/// Records what was computed; the values of other cases stay.
fn write(folder: &Path, files: &[CaseFile], computed: &Computed) -> Result<()> {
    if computed.failures > 0 {
        bail!("{} failures\nhint: nothing is recorded before all cases run", computed.failures);
    }
    let path = folder.join(VALUES);
    let mut values = values::read(&path)?;
    let differences = differences(folder, &values, &computed.values)?;
    differences.iter().for_each(show);
    values.retain(|name, _| is_case(files, name));
    values.extend(computed.values.clone());
    values::write(&path, &values)?;
    println!("{} lines of values changed; all are in {}", differences.len(), path.display());
    Ok(())
}

fn differences(folder: &Path, recorded: &Values, found: &Values) -> Result<Vec<Difference>> {
    let exceptions = values::read_exceptions(&folder.join("exceptions.toml"))?;
    let nothing = CaseValues::new();
    let of_case = |(case, found): (&String, &CaseValues)| {
        values::differences(case, recorded.get(case).unwrap_or(&nothing), found, &exceptions)
    };
    Ok(found.iter().flat_map(of_case).collect())
}

fn is_case(files: &[CaseFile], name: &str) -> bool {
    files.iter().flat_map(|file| &file.cases).any(|case| case.name == name)
}

fn show(difference: &Difference) {
    let Difference { case, value, expected, found } = difference;
    println!("{case}: {value}\n  expected  {expected}\n  found     {found}");
}

/// The program that is asked for, or the one of the working tree.
fn program(root: &Path, options: &Options) -> Result<Program> {
    let binary = match &options.binary {
        Some(binary) => binary.clone(),
        None => {
            let mut build = process::cargo(root);
            build.args(["build", "--quiet", "--release", "--bin", "couplet"]);
            process::run(&mut build, "mend the code, or name a program with --binary")?;
            root.join("target/release").join(format!("couplet{}", std::env::consts::EXE_SUFFIX))
        }
    };
    Ok(Program {
        binary,
        data: root.join("xtask/golden/data"),
        cases: root.join("target/golden"),
        threads: options.threads,
    })
}
