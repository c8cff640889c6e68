use std::fs;
use std::path::{Path, PathBuf};

use proptest::prelude::*;
use tempfile::TempDir;

use super::{CorpusFile, CorpusWriter, FOOTER_BYTES, HEADER_BYTES};
use crate::{DataError, Example, Fetch};

type Pairs = Vec<(Vec<u32>, Vec<u32>)>;

fn written(pairs: &Pairs, vocabularies: [usize; 2]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("train.corpus");
    let mut writer = CorpusWriter::create(&path, vocabularies).unwrap();
    pairs.iter().for_each(|(source, target)| writer.push(source, target).unwrap());
    writer.finish().unwrap();
    (folder, path)
}

/// All pairs of a file, read one after the other.
fn all(path: &Path) -> Result<Pairs, DataError> {
    let corpus = CorpusFile::open(path)?;
    let numbers: Vec<u32> = (0..corpus.count() as u32).collect();
    let lengths = corpus.lengths()?;
    let pairs: Pairs =
        corpus.fetch(&numbers)?.into_iter().map(|found| (found.source, found.target)).collect();
    let of = |(source, target): &(Vec<u32>, Vec<u32>)| (source.len() as u32, target.len() as u32);
    assert_eq!(lengths, pairs.iter().map(of).collect::<Vec<_>>());
    Ok(pairs)
}

/// The vocabularies have 300 tokens at most, so an id is two bytes, and so is a length. The header has 24 bytes, the two records 2 · 3 + 4 and
/// 2 · 1 + 4, the lengths 2 · 4, and the footer 48: 96 in all. The ids of the first record are 4, 5 and 299 = 0x012b.
#[test]
fn a_file_by_hand() {
    let (_folder, path) = written(&vec![(vec![4, 5], vec![299]), (vec![], vec![7])], [10, 300]);
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes.len(), HEADER_BYTES + 10 + 6 + 8 + FOOTER_BYTES);
    assert_eq!(&bytes[..24], b"couplet corpus\r\n\x01\0\0\0\x02\0\0\0");
    assert_eq!(bytes[24..30], [4, 0, 5, 0, 0x2b, 0x01]);
    assert_eq!(bytes[40..48], [2, 0, 1, 0, 0, 0, 1, 0]);
    assert_eq!(bytes[48..56], [2, 0, 0, 0, 0, 0, 0, 0], "the footer begins with the number of pairs");
    let corpus = CorpusFile::open(&path).unwrap();
    assert_eq!((corpus.count(), corpus.vocabularies(), corpus.left_out()), (2, [10, 300], 0));
}

#[test]
fn pairs_come_in_any_order_and_again() {
    let pairs: Pairs = (0..1000).map(|n| (vec![n; n as usize % 7], vec![n + 1])).collect();
    let (_folder, path) = written(&pairs, [2000, 2000]);
    let corpus = CorpusFile::open(&path).unwrap();
    let numbers = [999, 0, 256, 255, 512, 999, 511];
    for (found, number) in corpus.fetch(&numbers).unwrap().into_iter().zip(numbers) {
        let (source, target) = pairs[number as usize].clone();
        assert_eq!(found, Example { number, source, target, ..Example::default() });
    }
    assert_eq!(all(&path).unwrap(), pairs);
}

#[test]
fn large_ids_and_long_texts_have_four_bytes() {
    let pairs = vec![(vec![70_000], vec![3; 70_000]), (vec![5], vec![65_536])];
    let (_folder, path) = written(&pairs, [70_001, 70_001]);
    assert_eq!(all(&path).unwrap(), pairs);
}

#[test]
fn the_checksum_is_that_of_the_pairs() {
    let pairs = vec![(vec![4, 5], vec![6]), (vec![7], vec![])];
    let of = |vocabulary| {
        let (_folder, path) = written(&pairs, [vocabulary; 2]);
        CorpusFile::open(path).unwrap().checksum()
    };
    let by_hand = pairs.iter().fold(0, |sum, (source, target)| crate::add_to_checksum(sum, source, target));
    assert_eq!([of(10), of(100_000)], [by_hand; 2], "however ids are stored");
    assert_ne!(by_hand, crate::add_to_checksum(crate::add_to_checksum(0, &[4], &[5, 6]), &[7], &[]));
}

fn small() -> (Pairs, TempDir, PathBuf) {
    let pairs = vec![(vec![4, 5], vec![6]), (vec![7, 8, 9], vec![10]), (vec![], vec![11])];
    let (folder, path) = written(&pairs, [12, 12]);
    (pairs, folder, path)
}

/// Every bit of a file is flipped, one at a time: each is found, and the error names the file.
#[test]
fn a_flipped_bit_is_found_wherever_it_is() {
    let (_, _folder, path) = small();
    let whole = fs::read(&path).unwrap();
    for bit in 0..whole.len() * 8 {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        fs::write(&path, bytes).unwrap();
        let error = all(&path).expect_err(&format!("bit {bit}")).to_string();
        assert!(error.starts_with(&path.display().to_string()), "{error}");
    }
}

#[test]
fn a_file_without_its_end_or_with_more_is_refused() {
    let (_, _folder, path) = small();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() {
        fs::write(&path, &whole[..length]).unwrap();
        let error = all(&path).expect_err(&format!("{length} bytes"));
        assert!(
            matches!(error, DataError::DamagedCorpus { .. } | DataError::ForeignCorpus { .. }),
            "{error}"
        );
    }
    fs::write(&path, [&whole[..], b"x"].concat()).unwrap();
    assert!(matches!(all(&path), Err(DataError::DamagedCorpus { .. })));
}

#[test]
fn what_is_no_corpus_is_called_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.corpus");
    assert!(matches!(CorpusFile::open(&path), Err(DataError::Missing { .. })));
    assert!(matches!(CorpusFile::open(folder.path()), Err(DataError::ForeignCorpus { .. })));
    for other in ["", "short", "Tom chases Jerry.\tTom jagt Jerry, und Jerry läuft, so schnell er kann.\n"] {
        fs::write(&path, other).unwrap();
        assert!(matches!(CorpusFile::open(&path), Err(DataError::ForeignCorpus { .. })), "{other}");
    }
    let (_, _folder, path) = small();
    let mut bytes = fs::read(&path).unwrap();
    bytes[16] = 9;
    fs::write(&path, bytes).unwrap();
    let error = CorpusFile::open(&path).unwrap_err();
    let message = error.to_string();
    assert!(
        message.ends_with("train.corpus: a corpus of version 9; this couplet reads version 1"),
        "{message}"
    );
}

#[test]
fn a_file_that_shrinks_while_it_is_open_is_an_error() {
    let (_, _folder, path) = small();
    let corpus = CorpusFile::open(&path).unwrap();
    fs::OpenOptions::new().write(true).open(&path).unwrap().set_len(30).unwrap();
    assert!(matches!(corpus.fetch(&[0]), Err(DataError::DamagedCorpus { .. })));
    assert!(matches!(corpus.lengths(), Err(DataError::DamagedCorpus { .. })));
}

#[test]
fn what_is_not_finished_leaves_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut writer = CorpusWriter::create(&folder.path().join("a.corpus"), [9, 9]).unwrap();
    writer.push(&[4], &[5]).unwrap();
    drop(writer);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

/// A disk that is full is played by a link to /dev/full.
#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.corpus");
    std::os::unix::fs::symlink("/dev/full", folder.path().join("a.corpus.partial")).unwrap();
    let mut writer = CorpusWriter::create(&path, [9, 9]).unwrap();
    let full = (0..10_000)
        .find_map(|_| writer.push(&[4; 100], &[5]).err())
        .expect("it does not all fit into a buffer");
    assert!(matches!(full, DataError::Unwritable { .. }), "{full}");
    assert!(!path.exists());
}

proptest! {
    #[test]
    fn any_ids_come_back(
        pairs in prop::collection::vec((prop::collection::vec(any::<u32>(), 0..20), prop::collection::vec(any::<u32>(), 0..20)), 0..600),
        narrow: bool,
    ) {
        let vocabulary = if narrow { 1 << 16 } else { u32::MAX as usize };
        let ids = |ids: Vec<u32>| ids.into_iter().map(|id| (id as usize % vocabulary) as u32).collect();
        let pairs: Pairs = pairs.into_iter().map(|(source, target)| (ids(source), ids(target))).collect();
        let (_folder, path) = written(&pairs, [vocabulary; 2]);
        prop_assert_eq!(all(&path).unwrap(), pairs);
    }

    /// Several bytes at once, anywhere: found, or the ids are right.
    #[test]
    fn damage_never_gives_wrong_ids(places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6)) {
        let (pairs, _folder, path) = small();
        let mut bytes = fs::read(&path).unwrap();
        let length = bytes.len();
        places.iter().for_each(|(place, byte)| bytes[place.index(length)] = *byte);
        fs::write(&path, bytes).unwrap();
        if let Ok(found) = all(&path) {
            prop_assert_eq!(found, pairs);
        }
    }
}
