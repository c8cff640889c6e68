//! Where the words of a Chinese text end: jieba's way, with its dictionary (`words.py` says where it comes from).
//!
//! The most likely way to cut a sentence into words of the dictionary is looked for; what is in none of them, such as a name, is cut by
//! a hidden Markov model of where in a word a character stands.

use std::io::BufReader;
use std::sync::OnceLock;

use jieba_rs::Jieba;
use ruzstd::decoding::StreamingDecoder;

const WORDS: &[u8] = include_bytes!("words.zst");

/// Stands between words: a space without a width, which is what Unicode has for this.
pub(super) const BETWEEN: char = '\u{200b}';

/// A text with a mark between its words. Marks that were in it are lost.
pub(super) fn segmented(text: &str) -> String {
    let words = jieba().cut(text, true).into_iter().map(|token| token.word);
    words.collect::<Vec<_>>().join(&BETWEEN.to_string())
}

/// Read when it is first needed, which takes a moment.
fn jieba() -> &'static Jieba {
    static JIEBA: OnceLock<Jieba> = OnceLock::new();
    JIEBA.get_or_init(|| {
        let words = StreamingDecoder::new(WORDS).expect("the dictionary is packed by zstd");
        Jieba::with_dict(&mut BufReader::new(words)).expect("each line has a word and its frequency")
    })
}
