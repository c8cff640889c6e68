//! The programs `cargo xtask check` needs beside cargo, each at one pinned version.
//!
//! A tool is looked for in `target/tools`, then on `PATH`; only the pinned version counts, so that a check
//! says the same on every machine. Where it is in neither place, it is installed into `target/tools` and
//! found there from then on.

use std::env::consts::EXE_SUFFIX;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::process;

/// A program from crates.io.
pub(crate) struct Tool {
    program: &'static str,
    package: &'static str,
    version: &'static str,
}

pub(crate) const TYPOS: Tool = Tool { program: "typos", package: "typos-cli", version: "1.52.0" };
pub(crate) const DENY: Tool = Tool { program: "cargo-deny", package: "cargo-deny", version: "0.20.2" };

impl Tool {
    /// The tool, ready to be given its arguments, to be started in the workspace root.
    pub(crate) fn command(&self, root: &Path) -> Result<Command> {
        let mut command = Command::new(self.find_or_install(root)?);
        command.current_dir(root);
        Ok(command)
    }

    fn find_or_install(&self, root: &Path) -> Result<PathBuf> {
        let installed = root.join("target/tools/bin").join(format!("{}{EXE_SUFFIX}", self.program));
        let on_path = PathBuf::from(self.program);
        if let Some(found) = [&installed, &on_path].into_iter().find(|path| self.has_pinned_version(path)) {
            return Ok(found.clone());
        }
        self.install(root)?;
        Ok(installed)
    }

    fn has_pinned_version(&self, program: &Path) -> bool {
        let output = Command::new(program).arg("--version").output();
        output.is_ok_and(|output| version_in(&String::from_utf8_lossy(&output.stdout)) == Some(self.version))
    }

    fn install(&self, root: &Path) -> Result<()> {
        let Tool { program, package, version } = self;
        println!("{program} {version} is missing: installing it into target/tools (minutes, once)");
        let hint = format!("the download needs a network; or put {program} {version} on PATH");
        process::run(&mut self.install_command(root), &hint)
            .with_context(|| format!("could not install {package} {version}"))
    }

    fn install_command(&self, root: &Path) -> Command {
        let mut command = process::cargo(root);
        command.args(["install", "--quiet", "--locked", "--force", "--root", "target/tools"]);
        command.arg(format!("{}@{}", self.package, self.version));
        command
    }
}

/// The compiler of CUDA kernels, a library that Python's package index has; it needs no GPU.
const NVRTC: &str = "nvidia-cuda-nvrtc==13.4.92";

/// The folder with NVRTC, fetched into `target/tools` where it is not there. None where Python's `pip`, which fetches it, is
/// missing.
pub(crate) fn nvrtc_folder(root: &Path) -> Result<Option<PathBuf>> {
    let home = root.join("target/tools/nvrtc");
    let folder = home.join("nvidia/cu13/lib");
    if folder.is_dir() {
        return Ok(Some(folder));
    }
    let pip = |arguments: &[&str]| {
        let mut command = Command::new("python3");
        command.args(["-m", "pip"]).args(arguments);
        command
    };
    if !pip(&["--version"]).output().is_ok_and(|output| output.status.success()) {
        return Ok(None);
    }
    println!("{NVRTC} is missing: fetching it into target/tools (50 MB, once)");
    let mut install = pip(&["install", "--quiet", "--root-user-action=ignore", "--no-deps", "--target"]);
    install.arg(&home).arg(NVRTC);
    process::run(&mut install, "the download needs a network").context("could not fetch NVRTC")?;
    Ok(Some(folder))
}

/// The version in the first line of what `--version` prints: `typos-cli 1.52.0`.
fn version_in(output: &str) -> Option<&str> {
    output.lines().next()?.split_whitespace().nth(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn version_is_the_second_word() {
        assert_eq!(version_in("typos-cli 1.52.0\n"), Some("1.52.0"));
        assert_eq!(version_in("cargo-deny 0.20.2 (abcdef)\nmore\n"), Some("0.20.2"));
        assert_eq!(version_in("unexpected\n"), None);
        assert_eq!(version_in(""), None);
    }

    #[test]
    fn a_missing_program_has_not_the_pinned_version() {
        assert!(!TYPOS.has_pinned_version(Path::new("no-such-program")));
    }

    #[test]
    fn only_the_pinned_version_counts() {
        let cargo = std::env::var_os("CARGO").expect("cargo runs the tests");
        let output = Command::new(&cargo).arg("--version").output().unwrap();
        let version = version_in(str::from_utf8(&output.stdout).unwrap()).unwrap().to_owned();

        let same = Tool { program: "cargo", package: "cargo", version: version.leak() };
        let other = Tool { version: "0.0.0", ..same };
        assert!(same.has_pinned_version(Path::new(&cargo)));
        assert!(!other.has_pinned_version(Path::new(&cargo)));
    }

    #[test]
    fn installs_the_pin_below_target() {
        let command = TYPOS.install_command(Path::new("."));
        let arguments: Vec<_> = command.get_args().map(|word| word.to_string_lossy()).collect();
        assert_eq!(arguments[arguments.len() - 3..], ["--root", "target/tools", "typos-cli@1.52.0"]);
    }
}
