//! Instructions instead of seconds: callgrind counts those of the measured part, which are the same from run to run.
//!
//! Vectors are the engine's portable ones: valgrind is tens of times slower with AVX2 and fused multiply-adds. Both run the same code
//! around the lanes.

use crate::measured::REGION;
use anyhow::{Context, Result, ensure};
use std::path::Path;
use std::process::Command;

/// The instructions that a build of this program executes in its measured part, at one thread.
pub(crate) fn count(binary: &Path, words: &[String]) -> Result<u64> {
    let out = std::env::temp_dir().join(format!("bench-step-{}.callgrind", std::process::id()));
    let counted = count_into(&out, binary, words);
    // Where callgrind failed there is none.
    let _ = std::fs::remove_file(&out);
    counted
}

fn count_into(out: &Path, binary: &Path, words: &[String]) -> Result<u64> {
    let mut command = Command::new("valgrind");
    command.args(["--quiet", "--tool=callgrind", &format!("--toggle-collect={REGION}")]);
    command.arg(format!("--callgrind-out-file={}", out.display()));
    command.arg(binary).args(words).args(["--threads", "1", "--counted"]);
    let output = command.output().with_context(|| {
        format!("starting {command:?}; `--instructions` needs valgrind, which the system's packages have")
    })?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{command:?} failed ({}): {}", output.status, stderr.trim());
    let text = std::fs::read_to_string(out).with_context(|| format!("reading {}", out.display()))?;
    let total = total(&text).with_context(|| format!("no total in what {command:?} wrote"))?;
    ensure!(
        total > 0,
        "{} has no function {REGION}, which is where counting begins: take a build of bench-step that is not stripped",
        binary.display()
    );
    Ok(total)
}

/// The number after `totals:`.
fn total(text: &str) -> Option<u64> {
    let line = text.lines().rev().find_map(|line| line.strip_prefix("totals:"))?;
    line.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_total_of_a_file_of_callgrind() {
        let text = "version: 1\nevents: Ir\nsummary: 7\n\nfn=(1) work\n3 7\n\ntotals: 7\n";
        assert_eq!(total(text), Some(7));
        assert_eq!(total("events: Ir\n"), None);
    }
}
