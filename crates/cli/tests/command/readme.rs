//! The README's commands do what it says.

use crate::support::TINY;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// The commands of a section, up to the next heading.
fn commands(title: &str) -> Vec<String> {
    let readme = include_str!("../../../../README.md");
    let section = readme.split(&format!("\n## {title}\n")).nth(1).expect("the section is there");
    let section = section.split("\n##").next().expect("a split has a first part");
    let blocks = section.split("```").filter_map(|block| block.strip_prefix("sh\n"));
    blocks.flat_map(str::lines).map(str::to_owned).collect()
}

/// Runs the commands of a section in an empty folder; what trains gets some more arguments.
fn run(title: &str, when_training: &[&str]) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let binary = Path::new(env!("CARGO_BIN_EXE_couplet")).parent().expect("it lies in a folder");
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    for command in commands(title) {
        let (command, _comment) = command.split_once(" #").unwrap_or((&command, ""));
        let trains = ["couplet train", "couplet bench"].iter().any(|verb| command.starts_with(verb));
        let more: Vec<String> =
            when_training.iter().filter(|_| trains).map(|word| format!("'{word}'")).collect();
        let output = Command::new("sh")
            .args(["-c", &format!("{command} {}", more.join(" "))])
            .current_dir(folder.path())
            .env("PATH", &path)
            .output()
            .expect("a shell");
        assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    }
    folder
}

/// What trains is made small and short; all else runs as it stands.
#[test]
fn a_model_of_your_own() {
    assert!(commands("A model of your own").len() >= 8);
    let folder = run("A model of your own", &TINY);
    assert!(folder.path().join("attention.svg").exists());
}

#[test]
fn a_classifier_of_texts() {
    assert_eq!(commands("A classifier of texts").len(), 4);
    run("A classifier of texts", &["--set", "train.max_updates=4"]);
}

#[test]
fn begin_with_what_another_model_knows() {
    assert_eq!(commands("Begin with what another model knows").len(), 7);
    run("Begin with what another model knows", &["--set", "train.max_updates=4"]);
}
