//! `cargo xtask check`: everything a change must pass.

use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::Result;

use crate::{process, tools};

/// Run everything a change must pass, cheapest first, up to the first failure.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Leave out the dependencies and the tests
    #[arg(long)]
    fast: bool,
}

const EXAMPLES: &str = "\
In order: fmt, typos, words, clippy, deny, doc, test, kernels. Missing tools are installed into target/tools.

Examples:
  cargo xtask check
  cargo xtask check --fast";

struct Check {
    name: &'static str,
    /// Whether `--fast` runs it too.
    fast: bool,
    command: fn(&Path) -> Result<Command>,
    /// What a developer can do when it fails.
    hint: &'static str,
}

/// Cheapest first. `deny` is quicker than `clippy`, but may have to be installed first.
const CHECKS: [Check; 8] = [
    Check { name: "fmt", fast: true, command: fmt, hint: "`cargo fmt --all` formats the code" },
    Check {
        name: "typos",
        fast: true,
        command: typos,
        hint: "correct the spelling (American), or list a word that must stay in typos.toml",
    },
    Check {
        name: "words",
        fast: true,
        command: words,
        hint: "use the glossary's word, as listed above; `cargo xtask words --help` tells the rest",
    },
    Check {
        name: "clippy",
        fast: true,
        command: clippy,
        hint: "mend the code, or allow the lint at that place with a reason",
    },
    Check {
        name: "deny",
        fast: false,
        command: deny,
        hint: "choose another dependency, or change deny.toml and say why",
    },
    Check { name: "doc", fast: true, command: doc, hint: "mend the documentation comment named above" },
    Check {
        name: "test",
        fast: false,
        command: test,
        hint: "`cargo test --workspace NAME` runs one test again",
    },
    Check {
        name: "kernels",
        fast: false,
        command: kernels,
        hint: "mend the kernel named above; no GPU is needed to compile it",
    },
];

pub(crate) fn run(root: &Path, arguments: &Arguments) -> Result<()> {
    let start = Instant::now();
    let checks = selected(arguments.fast);
    for check in &checks {
        run_one(root, check)?;
    }
    println!("all {} checks passed in {}", checks.len(), seconds_since(start));
    Ok(())
}

fn selected(fast: bool) -> Vec<&'static Check> {
    CHECKS.iter().filter(|check| check.fast || !fast).collect()
}

fn run_one(root: &Path, check: &Check) -> Result<()> {
    println!("== {}", check.name);
    let mut command = (check.command)(root)?;
    let start = Instant::now();
    let outcome = process::run(&mut command, check.hint);
    let verdict = if outcome.is_ok() { "passed" } else { "failed" };
    println!("== {} {verdict} in {}", check.name, seconds_since(start));
    outcome
}

fn seconds_since(start: Instant) -> String {
    format!("{:.1} s", start.elapsed().as_secs_f64())
}

fn fmt(root: &Path) -> Result<Command> {
    cargo(root, &["fmt", "--all", "--", "--check"])
}

fn typos(root: &Path) -> Result<Command> {
    tools::TYPOS.command(root)
}

/// This program itself, so that nothing is built again.
fn words(root: &Path) -> Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("words").current_dir(root);
    Ok(command)
}

fn clippy(root: &Path) -> Result<Command> {
    cargo(root, &["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])
}

/// Advisories are left out: they need a database from the network (see deny.toml).
fn deny(root: &Path) -> Result<Command> {
    let mut command = tools::DENY.command(root)?;
    command.args(["check", "bans", "licenses", "sources"]);
    Ok(command)
}

fn doc(root: &Path) -> Result<Command> {
    let mut command = cargo(root, &["doc", "--workspace", "--no-deps"])?;
    command.env("RUSTDOCFLAGS", "-D warnings");
    Ok(command)
}

fn test(root: &Path) -> Result<Command> {
    cargo(root, &["test", "--workspace"])
}

/// Compiles every kernel of the GPU. Where the compiler cannot be had, the test passes and this says so. It names the whole
/// workspace, as the tests do: for a package alone, cargo would compile dependencies again with fewer features.
fn kernels(root: &Path) -> Result<Command> {
    let mut command = cargo(root, &["test", "--workspace", "--test", "kernels"])?;
    match tools::nvrtc_folder(root)? {
        Some(folder) => {
            command.env("LD_LIBRARY_PATH", folder).env("COUPLET_NVRTC_REQUIRED", "1");
        }
        None => println!(
            "no Python with pip, which would fetch the compiler: kernels are compiled only if NVRTC is here"
        ),
    }
    Ok(command)
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<Command> {
    let mut command = process::cargo(root);
    command.args(arguments);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(fast: bool) -> Vec<&'static str> {
        selected(fast).iter().map(|check| check.name).collect()
    }

    #[test]
    fn fast_leaves_out_dependencies_and_tests() {
        assert_eq!(names(false), ["fmt", "typos", "words", "clippy", "deny", "doc", "test", "kernels"]);
        assert_eq!(names(true), ["fmt", "typos", "words", "clippy", "doc"]);
    }

    /// One package alone may have other features than the workspace, and then its dependencies are compiled twice.
    #[test]
    fn cargo_is_called_for_the_whole_workspace() {
        for command in [fmt, clippy, doc, test] {
            let command = command(Path::new(".")).unwrap();
            assert!(command.get_args().any(|word| word == "--workspace" || word == "--all"), "{command:?}");
        }
    }

    #[test]
    fn help_names_the_checks_in_order() {
        assert!(EXAMPLES.contains(&names(false).join(", ")));
    }
}
