//! A text that words are learned from, as numbers in a temporary file.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Seek, Write};

use couplet_data::Lines;
use indexmap::IndexMap;

use crate::EmbedError;

/// What stands behind each sentence.
pub(crate) const END: u32 = u32::MAX;

/// So many words are handed to a thread at once, and a longer sentence is cut.
const BLOCK: usize = 10_000;

/// Counted words, and the text itself.
///
/// The text is read once, wherever it comes from. A word is what white space surrounds, a line is a sentence. Each word gets a
/// number when it is first seen, and the numbers go to a temporary file, from which every epoch reads: so neither need the
/// text fit into memory, nor is a word looked up again.
#[derive(Debug)]
pub struct Corpus {
    counts: IndexMap<String, u64>,
    tokens: u64,
    sentences: u64,
    file: File,
}

impl Corpus {
    /// Reads files one after the other. `progress` is told now and then how many words were read.
    pub fn read(
        files: impl IntoIterator<Item = Lines>,
        progress: &mut dyn FnMut(u64),
    ) -> Result<Corpus, EmbedError> {
        let temporary = |source| EmbedError::TemporaryFile { folder: std::env::temp_dir(), source };
        let file = tempfile::tempfile().map_err(temporary)?;
        let mut corpus = Corpus { counts: IndexMap::new(), tokens: 0, sentences: 0, file };
        let mut writer = BufWriter::new(corpus.file.try_clone().map_err(temporary)?);
        for lines in files {
            for line in lines {
                for word in line?.split_whitespace() {
                    let number = corpus.count(word)?;
                    writer.write_all(&number.to_le_bytes()).map_err(temporary)?;
                }
                writer.write_all(&END.to_le_bytes()).map_err(temporary)?;
                corpus.sentences += 1;
                progress(corpus.tokens);
            }
        }
        writer.flush().map_err(temporary)?;
        if corpus.tokens == 0 { Err(EmbedError::NoWords) } else { Ok(corpus) }
    }

    /// Counts a word and returns its number.
    fn count(&mut self, word: &str) -> Result<u32, EmbedError> {
        self.tokens += 1;
        if let Some((number, _, count)) = self.counts.get_full_mut(word) {
            *count += 1;
            return Ok(number as u32);
        }
        let number = u32::try_from(self.counts.len()).ok().filter(|&number| number < END);
        self.counts.insert(word.to_owned(), 1);
        number.ok_or(EmbedError::TooManyWords)
    }

    /// How many words the text has.
    pub fn tokens(&self) -> u64 {
        self.tokens
    }

    /// How many lines it has.
    pub fn sentences(&self) -> u64 {
        self.sentences
    }

    /// The words by number, with how often each occurs.
    pub(crate) fn counts(&self) -> impl ExactSizeIterator<Item = (&str, u64)> {
        self.counts.iter().map(|(word, &count)| (word.as_str(), count))
    }

    /// The numbers from the beginning, in blocks of whole sentences as far as that is possible.
    pub(crate) fn blocks(&self) -> io::Result<Blocks> {
        let mut file = self.file.try_clone()?;
        file.rewind()?;
        Ok(Blocks { reader: BufReader::with_capacity(4 * BLOCK, file), begun: Vec::new() })
    }
}

pub(crate) struct Blocks {
    reader: BufReader<File>,
    /// The beginning of a sentence that the block before had no room for.
    begun: Vec<u32>,
}

impl Blocks {
    fn next_block(&mut self) -> io::Result<Vec<u32>> {
        let mut block = std::mem::take(&mut self.begun);
        let mut bytes = Vec::with_capacity(4 * BLOCK);
        self.reader.by_ref().take(4 * (BLOCK - block.len()) as u64).read_to_end(&mut bytes)?;
        block.extend(bytes.as_chunks().0.iter().copied().map(u32::from_le_bytes));
        if let Some(end) = block.iter().rposition(|&number| number == END) {
            self.begun = block.split_off(end + 1);
        }
        Ok(block)
    }
}

impl Iterator for Blocks {
    type Item = io::Result<Vec<u32>>;

    fn next(&mut self) -> Option<Self::Item> {
        self.next_block().map(|block| (!block.is_empty()).then_some(block)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn corpus(text: &str) -> Result<Corpus, EmbedError> {
        let lines = Lines::read("text", Cursor::new(text.as_bytes().to_vec())).unwrap();
        Corpus::read([lines], &mut |_| ())
    }

    #[test]
    fn words_are_counted_and_numbered_as_they_come() {
        let corpus = corpus("the cat  the dog\n\ncat\n").unwrap();
        assert_eq!((corpus.tokens(), corpus.sentences()), (5, 3));
        assert_eq!(corpus.counts().collect::<Vec<_>>(), [("the", 2), ("cat", 2), ("dog", 1)]);
        for _ in 0..2 {
            let blocks: Vec<Vec<u32>> = corpus.blocks().unwrap().collect::<Result<_, _>>().unwrap();
            assert_eq!(blocks, [[0, 1, 0, 2, END, END, 1, END]]);
        }
    }

    #[test]
    fn blocks_end_with_sentences_or_are_full() {
        let line = "a ".repeat(6_000);
        let long = "b ".repeat(25_000);
        let corpus = corpus(&format!("{line}\n{line}\n{long}\n")).unwrap();
        let blocks: Vec<Vec<u32>> = corpus.blocks().unwrap().collect::<Result<_, _>>().unwrap();
        assert_eq!(blocks.iter().map(Vec::len).collect::<Vec<_>>(), [6_001, 6_001, 10_000, 10_000, 5_001]);
    }

    #[test]
    fn a_text_without_words_is_refused() {
        assert!(matches!(corpus("\n \n"), Err(EmbedError::NoWords)));
    }
}
