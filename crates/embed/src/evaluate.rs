//! How good vectors are: beside what people find similar, and by analogies.
//!
//! Both are as gensim has them: only the most frequent words count, upper and lower case are the same, and lines with a
//! word that has no vector are left out.

use std::collections::HashMap;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use couplet_data::Lines;

use crate::neighbors::{Directions, analogy};
use crate::{EmbedError, Vectors};

/// Vectors, ready to be judged.
#[derive(Debug)]
pub struct Evaluation<'a> {
    vectors: &'a Vectors,
    directions: Directions,
    /// Of words that differ in case only, the most frequent.
    number_of: HashMap<String, usize>,
}

/// How well the cosines of pairs of words follow the scores that people gave them.
#[derive(Clone, Debug, PartialEq)]
pub struct Similarity {
    /// Pairs whose words both have vectors.
    pub found: usize,
    /// All pairs.
    pub pairs: usize,
    /// The correlation of the ranks, from −1 to 1. Nothing, where all of one side are the same.
    pub spearman: Option<f64>,
}

/// How many questions of one kind were answered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// What the questions are about.
    pub name: String,
    /// The answer was the expected one.
    pub correct: usize,
    /// All four words have vectors.
    pub found: usize,
    /// All questions.
    pub questions: usize,
}

impl Section {
    /// The share of correct answers of the questions that could be asked.
    pub fn accuracy(&self) -> Option<f64> {
        (self.found > 0).then(|| self.correct as f64 / self.found as f64)
    }
}

/// A is to b as c is to the expected word.
type Question = [usize; 4];

/// Questions with the numbers of their sections.
type Questions = Vec<(usize, Question)>;

impl<'a> Evaluation<'a> {
    /// Judges the most frequent words only, so many.
    pub fn new(vectors: &'a Vectors, most_words: usize) -> Evaluation<'a> {
        let mut number_of = HashMap::new();
        for (number, word) in vectors.words().take(most_words).enumerate() {
            number_of.entry(word.to_uppercase()).or_insert(number);
        }
        Evaluation { vectors, directions: Directions::new(vectors, most_words), number_of }
    }

    fn number(&self, word: &str) -> Option<usize> {
        self.number_of.get(&word.to_uppercase()).copied()
    }

    /// Compares with a file of two words and a score on each line, with tabs between. Lines that begin with `#` are left out.
    pub fn similarity(&self, path: &Path) -> Result<Similarity, EmbedError> {
        let (mut pairs, mut ours, mut theirs) = (0, Vec::new(), Vec::new());
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next().transpose()? {
            if line.starts_with('#') || line.trim().is_empty() {
                continue;
            }
            let columns: Vec<&str> = line.split('\t').map(str::trim).collect();
            let wrong = || EmbedError::Pair { path: path.to_owned(), line: lines.line() };
            let [first, second, score, ..] = columns[..] else { return Err(wrong()) };
            let score: f64 = score.parse().ok().filter(|score: &f64| score.is_finite()).ok_or_else(wrong)?;
            pairs += 1;
            if let (Some(first), Some(second)) = (self.number(first), self.number(second)) {
                ours.push(f64::from(self.directions.cosine(first, second)));
                theirs.push(score);
            }
        }
        if pairs == 0 {
            return Err(EmbedError::Nothing { path: path.to_owned() });
        }
        Ok(Similarity { found: ours.len(), pairs, spearman: correlation(&ranks(&ours), &ranks(&theirs)) })
    }

    /// Asks the questions of a file: four words on a line, and a line `: NAME` before the questions of one kind. The answer is the
    /// word nearest to `b − a + c` that is not in the question.
    pub fn analogies(&self, path: &Path, threads: usize) -> Result<Vec<Section>, EmbedError> {
        let (mut sections, questions) = self.read_questions(path)?;
        for (section, correct) in self.answers(&questions, threads) {
            sections[section].found += 1;
            sections[section].correct += usize::from(correct);
        }
        Ok(sections)
    }

    /// The sections, and the questions whose words all have vectors, with the number of the section.
    fn read_questions(&self, path: &Path) -> Result<(Vec<Section>, Questions), EmbedError> {
        let (mut sections, mut questions): (Vec<Section>, _) = (Vec::new(), Vec::new());
        let mut lines = Lines::open(path)?;
        while let Some(line) = lines.next().transpose()? {
            if let Some(name) = line.strip_prefix(':') {
                let name = name.trim().to_owned();
                sections.push(Section { name, correct: 0, found: 0, questions: 0 });
                continue;
            }
            let words: Vec<&str> = line.split_whitespace().collect();
            if words.is_empty() {
                continue;
            }
            let wrong = || EmbedError::Question { path: path.to_owned(), line: lines.line() };
            let number = sections.len().checked_sub(1).ok_or_else(wrong)?;
            let words: [&str; 4] = words.try_into().map_err(|_| wrong())?;
            sections[number].questions += 1;
            if let [Some(a), Some(b), Some(c), Some(d)] = words.map(|word| self.number(word)) {
                questions.push((number, [a, b, c, d]));
            }
        }
        if sections.iter().all(|section| section.questions == 0) {
            return Err(EmbedError::Nothing { path: path.to_owned() });
        }
        Ok((sections, questions))
    }

    /// Whether each question is answered as expected, in some order.
    fn answers(&self, questions: &[(usize, Question)], threads: usize) -> Vec<(usize, bool)> {
        let next = AtomicUsize::new(0);
        let answer_some = || {
            let mut answers = Vec::new();
            while let Some(&(section, question)) = questions.get(next.fetch_add(1, Ordering::Relaxed)) {
                answers.push((section, self.answer(question)));
            }
            answers
        };
        std::thread::scope(|scope| {
            let threads: Vec<_> = (0..threads.max(1)).map(|_| scope.spawn(answer_some)).collect();
            threads
                .into_iter()
                .flat_map(|thread| thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
                .collect()
        })
    }

    fn answer(&self, [a, b, c, expected]: Question) -> bool {
        let upper = |number: usize| self.vectors.word(number).to_uppercase();
        let asked = [a, b, c].map(upper);
        let question = [a, b, c].map(|number| self.directions.row(number));
        let is_asked = |number| [a, b, c].contains(&number);
        // Words that differ in case only from one of the question are passed over; five are enough to find another.
        let nearest = analogy(&self.directions, question, 5, |number| !is_asked(number));
        let mut words = nearest.iter().map(|neighbor| upper(neighbor.number));
        words.find(|word| !asked.contains(word)).is_some_and(|word| word == upper(expected))
    }
}

/// The place of each number among all, from 1. Equal numbers share the mean of their places.
fn ranks(numbers: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..numbers.len()).collect();
    order.sort_by(|&a, &b| numbers[a].total_cmp(&numbers[b]));
    let mut ranks = vec![0.0; numbers.len()];
    let mut place = 0;
    for equal in order.chunk_by(|&a, &b| numbers[a] == numbers[b]) {
        let mean = place as f64 + (equal.len() as f64 + 1.0) / 2.0;
        equal.iter().for_each(|&i| ranks[i] = mean);
        place += equal.len();
    }
    ranks
}

/// Pearson's correlation.
fn correlation(a: &[f64], b: &[f64]) -> Option<f64> {
    let mean = |numbers: &[f64]| numbers.iter().sum::<f64>() / numbers.len() as f64;
    let (a_mean, b_mean) = (mean(a), mean(b));
    let sum =
        |f: &dyn Fn(f64, f64) -> f64| a.iter().zip(b).map(|(a, b)| f(a - a_mean, b - b_mean)).sum::<f64>();
    let spread = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (spread > 0.0).then(|| sum(&|a, b| a * b) / spread)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::PathBuf;

    /// 10, 30, 20, 20: places 1, 4, and the mean of 2 and 3.
    #[test]
    fn ranks_by_hand() {
        assert_eq!(ranks(&[10.0, 30.0, 20.0, 20.0]), [1.0, 4.0, 2.5, 2.5]);
        assert!(ranks(&[]).is_empty());
    }

    /// Places 1, 2, 3 beside 1, 3, 2: the differences are 0, −1, 1, so it is 1 − 6 · 2 / (3 · 8) = 0.5.
    #[test]
    fn a_correlation_by_hand() {
        let rho = correlation(&ranks(&[1.0, 2.0, 3.0]), &ranks(&[0.1, 0.9, 0.5])).unwrap();
        assert!((rho - 0.5).abs() < 1e-12);
        assert_eq!(correlation(&[2.0, 2.0], &[1.0, 3.0]), None);
        assert_eq!(correlation(&[], &[]), None);
    }

    fn file(text: &str) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, text).unwrap();
        (folder, path)
    }

    #[test]
    fn damage_is_named_by_line() {
        let vectors = Vectors::new(vec!["a".into()], &[1.0]).unwrap();
        let evaluation = Evaluation::new(&vectors, 10);
        for text in ["a\tb\t1\na b 1\n", "a\tb\t1\na\tb\tx\n", "a\tb\t1\na\tb\tnan\n"] {
            let error = evaluation.similarity(&file(text).1);
            assert!(
                matches!(error, Err(EmbedError::Pair { line: 2, .. } | EmbedError::Data(_))),
                "{error:?}"
            );
        }
        for text in [": s\na b c\n", "\na b c d\n", ": s\na b c d e\n"] {
            let (_folder, path) = file(text);
            let error = evaluation.analogies(&path, 1);
            assert!(matches!(error, Err(EmbedError::Question { line: 2, .. })), "{error:?}");
        }
        let (_folder, path) = file("# nothing\n");
        assert!(matches!(evaluation.similarity(&path), Err(EmbedError::Nothing { .. })));
    }
}
