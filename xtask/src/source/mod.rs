//! The sources of the workspace, as `cargo xtask words` and `cargo xtask shape` read them.

pub(crate) mod scanner;
pub(crate) mod test_code;

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A file that git tracks.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Its path from the workspace root, with `/` between folders.
    pub(crate) path: String,
    pub(crate) text: String,
}

impl SourceFile {
    pub(crate) fn has_extension(&self, extension: &str) -> bool {
        Path::new(&self.path).extension().is_some_and(|found| found == extension)
    }

    /// The name of the crate that it belongs to, of its top-level folder, or `root`.
    pub(crate) fn folder(&self) -> &str {
        folder(&self.path)
    }

    /// A file of a library or program, in contrast to one of integration tests, examples and benchmarks.
    pub(crate) fn is_src(&self) -> bool {
        self.path.starts_with(&format!("crates/{}/src/", self.folder())) && self.has_extension("rs")
    }
}

/// All text files that git tracks, in order of path, of these extensions.
pub(crate) fn files(root: &Path, extensions: &[&str]) -> Result<Vec<SourceFile>> {
    let paths = tracked(root)?;
    let chosen = paths.lines().filter(|path| {
        let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
        extension.is_some_and(|extension| extensions.contains(&extension))
    });
    // A file that was deleted and not yet committed is still tracked.
    let present = chosen.filter(|path| root.join(path).is_file());
    present.map(|path| read(root, path)).collect()
}

fn tracked(root: &Path) -> Result<String> {
    let output = Command::new("git")
        .args(["-c", "core.quotePath=false", "ls-files"])
        .current_dir(root)
        .output()
        .context("could not start git, which lists the files\nhint: install git")?;
    if !output.status.success() {
        bail!("`git ls-files` failed ({})\nhint: the check needs a git checkout", output.status);
    }
    String::from_utf8(output.stdout).context("git tracks a path that is not UTF-8")
}

fn read(root: &Path, path: &str) -> Result<SourceFile> {
    let text = std::fs::read_to_string(root.join(path)).with_context(|| format!("could not read {path}"))?;
    Ok(SourceFile { path: path.to_owned(), text })
}

fn folder(path: &str) -> &str {
    let mut parts = path.split('/');
    match (parts.next(), parts.next(), parts.next()) {
        (Some("crates"), Some(name), Some(_)) | (Some(name), Some(_), _) => name,
        _ => "root",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_belongs_to_a_crate_a_folder_or_the_root() {
        assert_eq!(folder("crates/nn/src/lib.rs"), "nn");
        assert_eq!(folder("bench/step/src/main.rs"), "bench");
        assert_eq!(folder("README.md"), "root");
    }

    #[test]
    fn src_excludes_tests_and_examples() {
        let is_src = |path: &str| SourceFile { path: path.to_owned(), text: String::new() }.is_src();
        assert!(is_src("crates/nn/src/config/mod.rs"));
        assert!(!is_src("crates/nn/tests/models/main.rs"));
        assert!(!is_src("crates/nn/src/kernel.cu"));
        assert!(!is_src("bench/step/src/main.rs"));
    }

    #[test]
    fn this_file_is_listed() {
        let files = files(crate::workspace_root(), &["rs"]).unwrap();
        assert!(files.iter().any(|file| file.path == "xtask/src/main.rs"));
    }
}
