//! `cargo xtask fixtures`: makes the reference values of the tests again.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::process;

/// Make the reference values again: run every script in the folders of fixtures, in order of name.
///
/// Needs Python with torch, numpy, safetensors, sacrebleu, jiwer, seqeval, tensorboard, tokenizers and gensim. The tests need none of these: the values lie in the
/// repository.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {}

const EXAMPLES: &str = "\
Environment:
  PYTHON  the interpreter to use, python3 where it is not set

Examples:
  cargo xtask fixtures
  PYTHON=.venv/bin/python cargo xtask fixtures";

/// In this order: jiwer scores the lines that the script for sacreBLEU writes.
const FOLDERS: [&str; 7] = [
    "fixtures/pytorch",
    "fixtures/sacrebleu",
    "fixtures/jiwer",
    "fixtures/seqeval",
    "fixtures/tensorboard",
    "fixtures/tokenizers",
    "fixtures/embed",
];

const HINT: &str = "the scripts need torch, numpy, safetensors, sacrebleu, jiwer, seqeval, tensorboard, tokenizers and gensim; PYTHON=PATH names another interpreter";

pub(crate) fn run(root: &Path, _: &Arguments) -> Result<()> {
    let mut scripts = Vec::new();
    for folder in FOLDERS {
        let found = scripts_in(&root.join(folder))?;
        if found.is_empty() {
            bail!("{folder} holds no *.py script\nhint: `git status {folder}` shows what is missing");
        }
        scripts.extend(found);
    }
    let python = std::env::var_os("PYTHON").unwrap_or_else(|| OsString::from("python3"));
    for script in &scripts {
        let script = script.strip_prefix(root).unwrap_or(script);
        println!("== {}", script.display());
        process::run(Command::new(&python).arg(script).current_dir(root), HINT)?;
    }
    println!("{} scripts run; `git diff --stat fixtures` shows what changed", scripts.len());
    Ok(())
}

/// The scripts of a folder by name. A name that begins with an underscore is a module the scripts share.
fn scripts_in(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = folder.read_dir().with_context(|| format!("could not read {}", folder.display()))?;
    let paths: Vec<PathBuf> = entries.map(|entry| Ok(entry?.path())).collect::<std::io::Result<_>>()?;
    let mut scripts: Vec<PathBuf> = paths.into_iter().filter(|path| is_script(path)).collect();
    scripts.sort();
    Ok(scripts)
}

fn is_script(path: &Path) -> bool {
    let is_shared = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('_'));
    path.extension().is_some_and(|extension| extension == "py") && !is_shared
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_are_python_files_that_are_not_shared_modules() {
        assert!(is_script(Path::new("fixtures/pytorch/lstm.py")));
        assert!(!is_script(Path::new("fixtures/pytorch/_common.py")));
        assert!(!is_script(Path::new("fixtures/pytorch/lstm.safetensors")));
        assert!(!is_script(Path::new("fixtures/pytorch/py")));
    }

    #[test]
    fn a_missing_folder_is_named() {
        let error = scripts_in(Path::new("no/such/folder")).unwrap_err();
        assert!(error.to_string().contains("no/such/folder"), "{error}");
    }
}
