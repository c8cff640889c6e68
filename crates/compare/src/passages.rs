//! Sentences joined to passages of up to so many words: those of the demo's grammar, which come with the program, or those of a corpus.
//!
//! Most sentences are short. What is claimed of long sources needs long ones: sentences are strung together, in both languages in
//! the same order, so that a word's translation lies near the same part of the passage.

use crate::error::CompareError;
use crate::lock::lock;
use couplet_data::demo::{self, DemoCorpus};
use couplet_data::random::Random;
use couplet_data::{Empty, Files, Pair, write_whole};
use couplet_train::read;
use std::path::{Path, PathBuf};

/// The least words of a passage's source, and the most of those that come with the program. A sentence that is longer alone stays.
const LEAST: usize = 3;
const MOST: usize = 45;
/// A passage is done when so many sentences did not fit any more.
const MISFITS: usize = 8;
/// What stands between two sentences of the demo, in either language. Those of a corpus have their own marks.
const JOINTS: [&str; 2] = [" , ", " ， "];
const SPACES: [&str; 2] = [" ", " "];

const TRAIN: usize = 8000;
const VALID: usize = 200;
const TEST: usize = 500;

/// Writes the passages that come with the program into a comparison's folder: to learn from, to check and to measure models with.
pub(crate) fn write_own(out: &Path) -> Result<[[PathBuf; 2]; 3], CompareError> {
    let [train, valid, test] = own();
    Ok([write(out, "train", &train)?, write(out, "valid", &valid)?, write(out, "test", &test)?])
}

/// Writes passages of up to so many words, of the sentences of two files: as many as have all the words together. Their files are named
/// by what they are made of, so that other passages do not take their places.
pub(crate) fn write_joined(
    out: &Path,
    set: &str,
    files: &[PathBuf; 2],
    most: usize,
) -> Result<[PathBuf; 2], CompareError> {
    let files = Files::parallel(&files[0], &files[1]);
    let sentences = read(&files, Empty::Refuse)?;
    let words: usize = sentences.iter().map(|pair| words_of(&pair.source)).sum();
    let count = (words / usize::midpoint(LEAST, most)).max(sentences.len().min(1));
    let name = format!("{set}-{most}-{:08x}", files.add_to_checksum(0)?);
    write(out, &name, &passages(&sentences, count, most, SPACES))
}

/// Writes the files of a set under a name, unless they are there with the same text: another comparison may be reading them.
fn write(out: &Path, name: &str, pairs: &[Pair]) -> Result<[PathBuf; 2], CompareError> {
    let _alone = lock(out)?;
    let folder = out.join("data");
    std::fs::create_dir_all(&folder).map_err(CompareError::io(&folder))?;
    let files = ["source", "target"].map(|side| folder.join(format!("{name}.{side}")));
    let texts = [lines(pairs, |pair| &pair.source), lines(pairs, |pair| &pair.target)];
    for (path, text) in files.iter().zip(texts) {
        if !std::fs::read(path).is_ok_and(|known| known == text.as_bytes()) {
            write_whole(path, text.as_bytes()).map_err(CompareError::io(path))?;
        }
    }
    Ok(files)
}

fn lines(pairs: &[Pair], side: impl Fn(&Pair) -> &String) -> String {
    pairs.iter().map(|pair| side(pair).clone() + "\n").collect()
}

/// Passages to learn from, to watch and to judge by, each made of sentences that the others do not have.
fn own() -> [Vec<Pair>; 3] {
    let DemoCorpus { train, valid, test } = demo::corpus(1);
    [(train, TRAIN), (valid, VALID), (test, TEST)]
        .map(|(sentences, count)| passages(&sentences, count, MOST, JOINTS))
}

fn passages(sentences: &[Pair], count: usize, most: usize, joints: [&str; 2]) -> Vec<Pair> {
    let mut random = Random::new(1);
    (0..count).map(|_| passage(sentences, most, joints, &mut random)).collect()
}

/// Sentences up to a random length: all lengths are about equally frequent.
fn passage(sentences: &[Pair], most: usize, joints: [&str; 2], random: &mut Random) -> Pair {
    let wanted = LEAST + random.below(most.saturating_sub(LEAST) + 1);
    let (mut chosen, mut words, mut misfits): (Vec<&Pair>, usize, usize) = (Vec::new(), 0, 0);
    while misfits < MISFITS {
        let next = &sentences[random.below(sentences.len())];
        let joint = if chosen.is_empty() { 0 } else { words_of(joints[0]) };
        let longer = words + joint + words_of(&next.source);
        if longer <= wanted {
            words = longer;
            chosen.push(next);
        } else {
            misfits += 1;
        }
    }
    if chosen.is_empty() {
        chosen.push(&sentences[random.below(sentences.len())]);
    }
    let joined = |side: fn(&Pair) -> &str, joint: &str| {
        chosen.iter().map(|sentence| side(sentence)).collect::<Vec<_>>().join(joint)
    };
    Pair { source: joined(|pair| &pair.source, joints[0]), target: joined(|pair| &pair.target, joints[1]) }
}

fn words_of(text: &str) -> usize {
    text.split_whitespace().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::places::{LENGTHS, bin_of};

    #[test]
    fn passages_of_all_lengths_and_none_longer() {
        let [train, valid, test] = own();
        assert_eq!([train.len(), valid.len(), test.len()], [TRAIN, VALID, TEST]);
        let lengths =
            |pairs: &[Pair]| -> Vec<usize> { pairs.iter().map(|pair| words_of(&pair.source)).collect() };
        assert!(lengths(&train).iter().all(|&words| words <= MOST));
        let mut bins = [0; LENGTHS];
        lengths(&test).iter().for_each(|&words| bins[bin_of(words)] += 1);
        assert!(bins.iter().all(|&count| count >= 10), "{bins:?}");
    }

    /// Both sides of a passage have the same number of joints: a sentence stays with its translation.
    #[test]
    fn sentences_stay_with_their_translations() {
        let [_, valid, _] = own();
        let joints = |pair: &Pair| [pair.source.matches(" , ").count(), pair.target.matches(" ， ").count()];
        assert!(valid.iter().map(joints).all(|[source, target]| source == target));
        assert!(valid.iter().any(|pair| joints(pair)[0] >= 4));
    }

    /// 200 sentences of 2 words are 400 words; passages of 3 to 9 words have 6 on average, so that there are 66 of them.
    #[test]
    fn sentences_of_a_corpus_are_joined() {
        let folder = tempfile::tempdir().unwrap();
        let files = ["a", "b"].map(|name| folder.path().join(name));
        for path in &files {
            std::fs::write(path, "one two.\n".repeat(200)).unwrap();
        }
        let written = write_joined(folder.path(), "train", &files, 9).unwrap();
        let text = std::fs::read_to_string(&written[0]).unwrap();
        assert_eq!(text.lines().count(), 66);
        assert!(text.lines().all(|line| (2..=8).contains(&words_of(line))), "{text}");
        assert!(text.lines().any(|line| line == "one two. one two. one two. one two."));
        assert_eq!(text, std::fs::read_to_string(&written[1]).unwrap());
    }

    #[test]
    fn files_are_written_again_where_they_are_others() {
        let folder = tempfile::tempdir().unwrap();
        let [_, [source, _], _] = write_own(folder.path()).unwrap();
        let text = std::fs::read_to_string(&source).unwrap();
        assert_eq!(text.lines().count(), VALID);
        let written = || std::fs::metadata(&source).unwrap().modified().unwrap();
        let before = written();
        write_own(folder.path()).unwrap();
        assert_eq!(written(), before);
        std::fs::write(&source, "a\n").unwrap();
        write_own(folder.path()).unwrap();
        assert_eq!(std::fs::read_to_string(&source).unwrap(), text);
    }
}
