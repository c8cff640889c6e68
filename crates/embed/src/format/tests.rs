use std::fs;
use std::path::PathBuf;

use proptest::prelude::*;
use tempfile::TempDir;

use super::*;

const FORMATS: [Format; 3] = [Format::Text, Format::Binary, Format::Glove];

fn file(bytes: &[u8]) -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors");
    fs::write(&path, bytes).unwrap();
    (folder, path)
}

fn read(bytes: &[u8]) -> Result<(Vectors, Format), EmbedError> {
    let (_folder, path) = file(bytes);
    Vectors::read_with_format(path)
}

/// The message without the folder.
fn message(bytes: &[u8]) -> String {
    let (folder, path) = file(bytes);
    let error = Vectors::read(path).unwrap_err();
    assert!(error.hint().is_some(), "{error}");
    error.to_string().replace(&format!("{}/", folder.path().display()), "")
}

fn cat_and_dog() -> Vectors {
    Vectors::new(vec!["cat".into(), "dog".into()], &[0.5, -1.0, 0.25, 3e-5]).unwrap()
}

#[test]
fn each_format_is_recognized() {
    for (bytes, format) in [
        (&b"2 2\ncat 0.5 -1\ndog 0.25 3e-5\n"[..], Format::Text),
        (b"2 2\ncat 0.5 -1.0 \ndog 0.25 3e-05 \n", Format::Text),
        (b"2 2\r\ncat\t0.5\t-1.0\r\ndog\t0.25\t0.00003", Format::Text),
        (b"cat 0.5 -1\ndog 0.25 3e-5\n\n", Format::Glove),
        (b"2 2\ncat \0\0\0\x3f\0\0\x80\xbf\ndog \0\0\x80\x3e\x82\xa8\xfb\x37\n", Format::Binary),
        (b"2 2\ncat \0\0\0\x3f\0\0\x80\xbfdog \0\0\x80\x3e\x82\xa8\xfb\x37", Format::Binary),
    ] {
        assert_eq!(read(bytes).unwrap(), (cat_and_dog(), format));
    }
}

#[test]
fn words_may_have_spaces_inside_of_a_text() {
    let (vectors, _) = read("cat 1 2\n. . . 3 4\nnew york 5 6\na\u{a0}b 7 8\n".as_bytes()).unwrap();
    assert_eq!(vectors.words().collect::<Vec<_>>(), ["cat", ". . .", "new york", "a\u{a0}b"]);
    let folder = tempfile::tempdir().unwrap();
    let error = vectors.write(folder.path().join("a.bin"), Format::Binary).unwrap_err();
    assert!(error.to_string().contains("\". . .\" has a space"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn damage_is_named_by_file_and_place() {
    for (bytes, expected) in [
        (&b""[..], "vectors: the file is empty"),
        (b"\n\n", "vectors: the file is empty"),
        (b"2 2\ncat 1 2\ndog 3\n", "vectors:3: expected a word and 2 numbers, found 2 columns"),
        (b"2 2\ncat 1 2 3\ndog 3 4\n", "vectors:2: expected a word and 2 numbers, found 4 columns"),
        (b"1 2\ncat 1 x\n", "vectors:2: \"x\" is not a number"),
        (b"cat 1 2\ndog 3 x\n", "vectors:2: \"x\" is not a number"),
        (b"cat 1 2\ndog 3 nan\n", "vectors:2: a number of \"dog\" is not finite"),
        (b"a story without numbers\n", "vectors:1: \"numbers\" is not a number"),
        (b"2 2\ncat 1 2\ncat 3 4\n", "vectors:3: the word \"cat\" is there twice: it was word 1 before"),
        (b"2 2\ncat 1 2\nc\xffw 3 4\n", "vectors:3: the word is not UTF-8"),
        (b"2 2\ncat 1 2\n", "vectors: the first line promises 2 words, 1 are there"),
        (b"1 2\ncat 1 2\ndog 1 2\n", "vectors: the first line promises 1 words, more are there"),
        (b"1 0\ncat\n", "vectors:1: a vector needs at least one number"),
        (
            b"2 2\ncat \0\0\0\x3f\0\0\x80\xbf\ndog \0\0\x80\x3e\xac",
            "vectors: word 2: the file ends too early",
        ),
        (b"2 2\ncat \0\0\0\x3f\0\0\x80\xbf\ndo", "vectors: word 2: the file ends too early"),
        (b"1 1\ncat \0\0\0\x3f\ndog \0\0\0\x3f", "vectors: the first line promises 1 words, more are there"),
        (b"1 1\ncat \0\0\x80\x7f", "vectors: word 1: a number of \"cat\" is not finite"),
        (b"9999999999999999 9999999999999999\ncat \0\0\x80", "vectors: word 1: the file ends too early"),
    ] {
        assert_eq!(message(bytes), expected);
    }
}

#[test]
fn a_packed_file_is_unpacked_and_may_be_cut_off() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("vectors.txt.gz");
    cat_and_dog().write(&path, Format::Text).unwrap();
    let bytes = fs::read(&path).unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b]);
    assert_eq!(Vectors::read(&path).unwrap(), cat_and_dog());
    assert!(message(&bytes[..bytes.len() - 9]).contains("ends too early"));
}

#[test]
fn a_missing_file_is_named() {
    let error = Vectors::read("nowhere/vectors.txt").unwrap_err();
    assert_eq!(error.to_string(), "nowhere/vectors.txt: no such file");
}

proptest! {
    /// Whatever the words and the numbers, what is written is read again, bit by bit.
    #[test]
    fn round_trip(
        words in prop::collection::btree_set("[a-zé汉<>/.,'-][a-z0-9é汉]{0,8}", 1..20),
        dimension in 2..40_usize,
        seed: u64,
    ) {
        let mut random = couplet_data::random::Random::new(seed);
        let number = || f32::from_bits(random.next_u64() as u32);
        let rows = std::iter::repeat_with(number).filter(|x| x.is_finite()).take(words.len() * dimension);
        let rows: Vec<f32> = rows.collect();
        let vectors = Vectors::new(words.into_iter().collect(), &rows).unwrap();
        let folder = tempfile::tempdir().unwrap();
        for (format, name) in FORMATS.into_iter().zip(["a.txt", "a.bin", "a.gz"]) {
            let path = folder.path().join(name);
            vectors.write(&path, format).unwrap();
            let (read, found) = Vectors::read_with_format(&path).unwrap();
            prop_assert_eq!(&read, &vectors);
            prop_assert_eq!(found, format);
        }
    }

    /// Whatever the bytes, there are vectors or an error.
    #[test]
    fn no_bytes_make_it_panic(
        start in prop::sample::select(vec!["", "2 2\n", "1 1\na ", "a 1 2\n"]),
        rest in prop::collection::vec(any::<u8>(), 0..60),
    ) {
        let _ = read(&[start.as_bytes(), &rest].concat());
    }
}
