//! Running other programs.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;

use anyhow::{Result, anyhow, bail};

/// The cargo that runs this program, to be started in the workspace root.
pub(crate) fn cargo(root: &Path) -> Command {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo"));
    let mut command = Command::new(program);
    command.current_dir(root);
    command
}

/// Runs a command to its end, with its output on the terminal. It fails when the command does; `hint` says
/// what the developer can do then.
pub(crate) fn run(command: &mut Command, hint: &str) -> Result<()> {
    let shown = shown(command);
    let status =
        command.status().map_err(|error| anyhow!("could not start `{shown}`: {error}\nhint: {hint}"))?;
    if !status.success() {
        bail!("`{shown}` failed ({status})\nhint: {hint}");
    }
    Ok(())
}

/// The command as a developer would type it: `/usr/bin/cargo fmt` is `cargo fmt`.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_stem().unwrap_or(program.as_os_str());
    let words = std::iter::once(name).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_without_its_folder() {
        let mut command = Command::new("some/folder/cargo");
        command.args(["fmt", "--all"]);
        assert_eq!(shown(&command), "cargo fmt --all");
    }

    #[test]
    fn a_failure_names_the_command_and_ends_with_the_hint() {
        let error = run(Command::new("no-such-program").arg("now"), "install it").unwrap_err().to_string();
        assert!(error.starts_with("could not start `no-such-program now`: "), "{error}");
        assert!(error.ends_with("\nhint: install it"), "{error}");
    }
}
