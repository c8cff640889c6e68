//! Runs the command as a user would.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;
use tempfile::TempDir;

/// What a command printed and how it ended.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Ran {
    /// It went well; returns what it printed.
    pub(crate) fn ok(self) -> String {
        assert_eq!(self.code, Some(0), "{}", self.stderr);
        self.stdout
    }

    /// It ended with this exit code and these last two lines.
    pub(crate) fn failed(&self, code: i32, error: &str, hint: &str) {
        let lines: Vec<&str> = self.stderr.lines().rev().take(2).collect();
        assert_eq!(lines, [format!("hint: {hint}"), format!("error: {error}")], "{}", self.stderr);
        assert_eq!(self.code, Some(code));
    }
}

fn finished(output: Output) -> Ran {
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("couplet writes UTF-8");
    Ran { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

/// The command, in a folder.
pub(crate) fn command(folder: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_couplet"));
    command.current_dir(folder).args(arguments).env("NO_COLOR", "1").stdin(Stdio::null());
    command
}

pub(crate) fn couplet(folder: &Path, arguments: &[&str]) -> Ran {
    finished(command(folder, arguments).output().expect("couplet starts"))
}

/// The command with something on its standard input.
pub(crate) fn couplet_reading(folder: &Path, arguments: &[&str], input: &[u8]) -> Ran {
    let mut command = command(folder, arguments);
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("couplet starts");
    let mut stdin = child.stdin.take().expect("it was piped");
    let input = input.to_vec();
    // A command that fails early does not read all of its input.
    let writer = std::thread::spawn(move || drop(stdin.write_all(&input)));
    let output = child.wait_with_output().expect("couplet ends");
    writer.join().expect("writing does not panic");
    finished(output)
}

/// A folder with a config and data, as `couplet new` makes it.
pub(crate) fn new_project() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder for the test");
    couplet(folder.path(), &["new", "project", "--task", "translate"]).ok();
    folder
}

/// The overrides that make a model small and its training short.
pub(crate) const TINY: [&str; 16] = [
    "--set",
    "model.encoder.hidden=8",
    "--set",
    "model.encoder.embedding=8",
    "--set",
    "model.attention.size=8",
    "--set",
    "model.decoder.hidden=16",
    "--set",
    "model.decoder.embedding=8",
    "--set",
    "train.max_updates=4",
    "--set",
    "train.validate_every=2",
    "--threads",
    "2",
];

/// Trains a tiny model on the project's data.
pub(crate) fn train_tiny(folder: &Path, out: &str) -> Ran {
    couplet(folder, &[&["train", "project/config.toml", "--out", out], &TINY[..]].concat())
}

/// A project with a tiny model in the folder `model`, made once.
fn shared_project() -> &'static Path {
    static PROJECT: OnceLock<TempDir> = OnceLock::new();
    PROJECT
        .get_or_init(|| {
            let folder = new_project();
            train_tiny(folder.path(), "model").ok();
            folder
        })
        .path()
}

/// A copy of the tiny model, to be spoiled.
pub(crate) fn tiny_model() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let model = folder.path().join("model");
    std::fs::create_dir(&model).expect("a folder for the model");
    for name in
        ["config.toml", "model.toml", "model.safetensors", "tokenizer.source.json", "tokenizer.target.json"]
    {
        std::fs::copy(shared_project().join("model").join(name), model.join(name))
            .expect("a whole model folder");
    }
    (folder, model)
}
