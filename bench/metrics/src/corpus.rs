//! Lines to score: texts as references, and the same with mistakes as hypotheses.

use anyhow::{Result, anyhow, ensure};
use couplet_data::random::Random;
use couplet_data::{Lines, write_whole};
use std::path::{Path, PathBuf};

const SEED: u64 = 2026;

/// Hypotheses and references, here and in files for the other side.
pub(crate) struct Corpus {
    pub(crate) hypotheses: Vec<String>,
    pub(crate) references: Vec<Vec<String>>,
    files: [PathBuf; 2],
}

impl Corpus {
    pub(crate) fn read(texts: &[PathBuf], lines: usize) -> Result<Corpus> {
        let mut read = Vec::new();
        for path in texts {
            let text = Lines::open(path).and_then(Iterator::collect::<Result<Vec<String>, _>>);
            read.extend(text.map_err(|error| anyhow!("{error}"))?);
        }
        ensure!(!read.is_empty(), "there is no line in the texts");
        let references: Vec<String> = read.iter().cycle().take(lines).cloned().collect();
        let mut random = Random::new(SEED);
        let hypotheses: Vec<String> =
            references.iter().map(|line| mistaken(line, &references, &mut random)).collect();
        let name =
            |side: &str| std::env::temp_dir().join(format!("bench-metrics-{}.{side}", std::process::id()));
        let files = [name("hypotheses"), name("references")];
        for (path, lines) in files.iter().zip([&hypotheses, &references]) {
            write_whole(path, (lines.join("\n") + "\n").as_bytes())?;
        }
        Ok(Corpus { hypotheses, references: references.into_iter().map(|line| vec![line]).collect(), files })
    }

    pub(crate) fn len(&self) -> usize {
        self.hypotheses.len()
    }

    /// Hypotheses and references.
    pub(crate) fn files(&self) -> [&Path; 2] {
        [&self.files[0], &self.files[1]]
    }
}

impl Drop for Corpus {
    fn drop(&mut self) {
        for path in &self.files {
            // A file in the temporary folder that cannot be removed is not worth an error.
            let _ = std::fs::remove_file(path);
        }
    }
}

/// A line as a translator might have it: up to four words that are missing, wrong or elsewhere.
fn mistaken(line: &str, others: &[String], random: &mut Random) -> String {
    let mut words: Vec<&str> = line.split(' ').collect();
    for _ in 0..random.below(5) {
        let at = random.below(words.len());
        match random.below(10) {
            0..3 if words.len() > 1 => drop(words.remove(at)),
            0..6 => {
                let other: Vec<&str> = others[random.below(others.len())].split(' ').collect();
                words[at] = other[random.below(other.len())];
            }
            _ => {
                let word = words.remove(at);
                words.insert(random.below(words.len() + 1), word);
            }
        }
    }
    words.join(" ")
}
