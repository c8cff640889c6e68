//! Any number of pairs that look like those of a small corpus.

use anyhow::Result;
use couplet_data::random::Random;
use couplet_data::{Empty, WholeFile, read_parallel};
use std::io::Write;
use std::path::PathBuf;

/// One word of so many is replaced.
const REPLACED: usize = 4;

/// Write pairs of the lengths and the words of a small corpus: lines of it, drawn at random, a quarter of whose words are others.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Sources, plain or packed.
    source: PathBuf,
    /// Targets.
    target: PathBuf,
    /// How many pairs.
    #[arg(long, default_value_t = 10_000_000)]
    pairs: usize,
    /// The same seed writes the same pairs.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Where they go: OUT.source and OUT.target.
    #[arg(long)]
    out: PathBuf,
}

pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let pairs = read_parallel(&arguments.source, &arguments.target, Empty::Refuse)?;
    let (sources, targets): (Vec<Vec<&str>>, Vec<Vec<&str>>) =
        pairs.iter().map(|pair| (words(&pair.source), words(&pair.target))).unzip();
    let mut random = Random::new(arguments.seed);
    let mut files = [
        WholeFile::create(&arguments.out.with_extension("source"))?,
        WholeFile::create(&arguments.out.with_extension("target"))?,
    ];
    for _ in 0..arguments.pairs {
        let drawn = random.below(pairs.len());
        for (file, lines) in files.iter_mut().zip([&sources, &targets]) {
            writeln!(file, "{}", changed(&lines[drawn], lines, &mut random))?;
        }
    }
    files.into_iter().try_for_each(WholeFile::finish)?;
    Ok(())
}

fn words(line: &str) -> Vec<&str> {
    line.split_whitespace().collect()
}

/// A line with some words of other lines.
fn changed(line: &[&str], lines: &[Vec<&str>], random: &mut Random) -> String {
    let mut word = |&word: &&str| {
        if random.below(REPLACED) > 0 {
            return word.to_owned();
        }
        let other = &lines[random.below(lines.len())];
        other[random.below(other.len())].to_owned()
    };
    line.iter().map(&mut word).collect::<Vec<_>>().join(" ")
}
