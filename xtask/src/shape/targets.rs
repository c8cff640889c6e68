//! Test binaries and dependencies, as cargo lists them.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::process;

/// Dependencies that a program without command line, plots and GPU does not need.
const UNWANTED: [&str; 5] = ["clap", "resvg", "cudarc", "csv", "indicatif"];

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    targets: Vec<Target>,
}

#[derive(Deserialize)]
struct Target {
    kind: Vec<String>,
    test: bool,
}

/// The number of binaries that `cargo test --workspace` links and runs, doctests aside.
pub(super) fn test_binaries(root: &Path) -> Result<usize> {
    let mut command = process::cargo(root);
    command.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]);
    count_test_binaries(&output(&mut command)?)
}

fn count_test_binaries(metadata: &str) -> Result<usize> {
    let metadata: Metadata =
        serde_json::from_str(metadata).context("`cargo metadata` printed no metadata")?;
    let targets = metadata.packages.iter().flat_map(|package| &package.targets);
    Ok(targets.filter(|target| target.test && target.kind.iter().all(|kind| kind != "custom-build")).count())
}

/// The unwanted dependencies of the library, or `–` before there is one.
pub(super) fn unwanted_dependencies(root: &Path) -> Result<String> {
    if !root.join("crates/couplet/Cargo.toml").is_file() {
        return Ok("–".to_owned());
    }
    let mut command = process::cargo(root);
    command.args([
        "tree",
        "--offline",
        "-p",
        "couplet",
        "--no-default-features",
        "-e",
        "normal",
        "--prefix",
        "none",
    ]);
    Ok(unwanted_in(&output(&mut command)?))
}

fn unwanted_in(tree: &str) -> String {
    let names: Vec<&str> = tree.lines().filter_map(|line| line.split_whitespace().next()).collect();
    let found: Vec<&str> = UNWANTED.into_iter().filter(|name| names.contains(name)).collect();
    if found.is_empty() { "none of them".to_owned() } else { found.join(", ") }
}

fn output(command: &mut Command) -> Result<String> {
    let output = command.output().context("could not start cargo")?;
    if !output.status.success() {
        bail!("cargo failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).context("cargo printed something that is not UTF-8")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn targets_with_tests_are_counted() {
        let metadata = r#"{"packages":[{"targets":[
            {"kind":["lib"],"test":true},{"kind":["test"],"test":true},
            {"kind":["example"],"test":false},{"kind":["custom-build"],"test":true}]}]}"#;
        assert_eq!(count_test_binaries(metadata).unwrap(), 2);
    }

    #[test]
    fn unwanted_dependencies_are_named() {
        assert_eq!(unwanted_in("couplet v0.1.0 (/a)\nclap_lex v1.0.0\nserde v1.0.0"), "none of them");
        assert_eq!(unwanted_in("couplet v0.1.0\ncsv v1.4.0\nclap v4.0.0"), "clap, csv");
    }
}
