//! The README's commands do what it says.

use crate::support::TINY;
use std::path::Path;
use std::process::Command;

/// The commands of the section "A model of your own".
fn commands() -> Vec<String> {
    let readme = include_str!("../../../../README.md");
    let section = readme.split("## A model of your own").nth(1).expect("the section is there");
    let section = section.split("\n### ").next().expect("a split has a first part");
    let blocks = section.split("```").filter_map(|block| block.strip_prefix("sh\n"));
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

#[test]
fn a_model_of_your_own() {
    let folder = tempfile::tempdir().unwrap();
    let binary = Path::new(env!("CARGO_BIN_EXE_couplet")).parent().expect("it lies in a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let commands = commands();
    assert!(commands.len() >= 8, "{commands:?}");
    for command in commands {
        // What trains is made small and short; all else runs as it stands.
        let (command, _comment) = command.split_once(" #").unwrap_or((&command, ""));
        let trains = ["couplet train", "couplet bench"].iter().any(|verb| command.starts_with(verb));
        let short = if trains { TINY.map(|word| format!("'{word}'")).join(" ") } else { String::new() };
        let output = Command::new("sh")
            .args(["-c", &format!("{command} {short}")])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .unwrap();
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    assert!(folder.path().join("attention.svg").exists());
}
