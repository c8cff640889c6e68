//! Words and their vectors.

use indexmap::IndexSet;

use crate::{EmbedError, Mistake};

/// Words in their order, and a vector of the same length for each.
#[derive(Clone, Debug, PartialEq)]
pub struct Vectors {
    words: IndexSet<String>,
    dimension: usize,
    rows: Vec<f32>,
}

impl Vectors {
    /// Vectors of these words, whose numbers follow each other.
    ///
    /// Words must be different, not empty, and such that a file can hold them; numbers must be finite.
    ///
    /// # Panics
    ///
    /// If the numbers cannot be dealt out to the words evenly.
    pub fn new(words: Vec<String>, rows: &[f32]) -> Result<Vectors, EmbedError> {
        let dimension = rows.len() / words.len().max(1);
        assert_eq!(rows.len(), dimension * words.len(), "{} numbers for {} words", rows.len(), words.len());
        let mut vectors =
            Vectors::with_dimension(dimension).map_err(|mistake| EmbedError::Word { number: 0, mistake })?;
        for (number, (word, row)) in words.into_iter().zip(rows.chunks_exact(dimension)).enumerate() {
            vectors.push(word, row).map_err(|mistake| EmbedError::Word { number, mistake })?;
        }
        Ok(vectors)
    }

    /// No words yet.
    pub(crate) fn with_dimension(dimension: usize) -> Result<Vectors, Mistake> {
        if dimension == 0 {
            return Err(Mistake::NoNumbers);
        }
        Ok(Vectors { words: IndexSet::new(), dimension, rows: Vec::new() })
    }

    /// Adds a word.
    pub(crate) fn push(&mut self, word: String, row: &[f32]) -> Result<(), Mistake> {
        assert_eq!(row.len(), self.dimension, "a row of {} among rows of {}", row.len(), self.dimension);
        check_word(&word)?;
        if let Some(first) = self.words.get_index_of(&word) {
            return Err(Mistake::Duplicate { word, first });
        }
        if !row.iter().all(|x| x.is_finite()) {
            return Err(Mistake::NotFinite { word });
        }
        self.words.insert(word);
        self.rows.extend_from_slice(row);
        Ok(())
    }

    /// How many words there are.
    pub fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.words.is_empty()
    }

    /// How many numbers a vector has.
    pub fn dimension(&self) -> usize {
        self.dimension
    }

    /// The words in order: usually the most frequent ones first.
    pub fn words(&self) -> impl ExactSizeIterator<Item = &str> {
        self.words.iter().map(String::as_str)
    }

    /// All numbers, one word's after the other's.
    pub fn rows(&self) -> &[f32] {
        &self.rows
    }

    /// The words with their vectors, in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = (&str, &[f32])> {
        self.words().zip(self.rows.chunks_exact(self.dimension))
    }

    /// A word by its number.
    pub fn word(&self, number: usize) -> &str {
        &self.words[number]
    }

    /// A vector by the word's number.
    pub fn row(&self, number: usize) -> &[f32] {
        &self.rows[number * self.dimension..(number + 1) * self.dimension]
    }

    /// The number of a word.
    pub fn number_of(&self, word: &str) -> Option<usize> {
        self.words.get_index_of(word)
    }

    /// The vector of a word.
    pub fn get(&self, word: &str) -> Option<&[f32]> {
        self.number_of(word).map(|number| self.row(number))
    }
}

/// Whether a word can be told from the numbers behind it in a line of text.
///
/// Some of GloVe's words have spaces inside, so these alone are no mistake. A number at the end is: it would rather be
/// one of the vector.
fn check_word(word: &str) -> Result<(), Mistake> {
    if word.is_empty() {
        return Err(Mistake::NoWord);
    }
    let ends_with_number =
        || word.rsplit_once(' ').is_some_and(|(_, last)| last.is_empty() || last.parse::<f32>().is_ok());
    if word.starts_with(' ') || word.contains(['\n', '\r', '\t']) || ends_with_number() {
        return Err(Mistake::Unclear { word: word.to_owned() });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(words: &[&str], rows: &[f32]) -> Result<Vectors, EmbedError> {
        Vectors::new(words.iter().map(|&word| word.to_owned()).collect(), rows)
    }

    #[test]
    fn words_have_numbers_and_vectors() {
        let vectors = vectors(&["cat", "dog", ". . ."], &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        assert_eq!((vectors.len(), vectors.dimension()), (3, 2));
        assert_eq!(vectors.get("dog"), Some(&[3.0, 4.0][..]));
        assert_eq!(vectors.get("cow"), None);
        assert_eq!(vectors.iter().last(), Some((". . .", &[5.0, 6.0][..])));
        assert_eq!((vectors.number_of("dog"), vectors.word(1)), (Some(1), "dog"));
    }

    #[test]
    fn what_is_no_word_is_refused() {
        let message = |words: &[&str], rows: &[f32]| vectors(words, rows).unwrap_err().to_string();
        assert_eq!(
            message(&["a", "a"], &[1.0, 2.0]),
            "word 2: the word \"a\" is there twice: it was word 1 before"
        );
        assert_eq!(message(&[""], &[1.0]), "word 1: there is no word before the numbers");
        assert_eq!(message(&["a"], &[f32::NAN]), "word 1: a number of \"a\" is not finite");
        for word in [" a", "a ", "a\nb", "a\tb", "a 1", "a 1e-3"] {
            assert!(message(&[word], &[1.0]).contains("cannot be a word"), "{word:?}");
        }
        assert_eq!(message(&[], &[]), "word 1: a vector needs at least one number");
    }
}
