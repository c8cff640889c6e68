//! Words near each other, by the angle between their vectors.

use couplet_tensor::Isa;
use couplet_tensor::lane::{Kernel, Vector};

use crate::Vectors;
use crate::kernel::dot;

/// A word and how near it is: the cosine of the angle, from −1 to 1.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbor {
    /// The word's number among the vectors.
    pub number: usize,
    /// 1 for the same direction, 0 for a right angle, −1 for the opposite.
    pub cosine: f32,
}

/// Vectors of length one, to compare others with.
///
/// ```
/// use couplet_embed::{Directions, Vectors};
///
/// let words = ["cat", "dog", "car"].map(String::from).to_vec();
/// let vectors = Vectors::new(words, &[1.0, 1.0, 1.0, 0.9, -1.0, 1.0])?;
/// let directions = Directions::new(&vectors, vectors.len());
/// let nearest = directions.nearest(vectors.row(0), 1, |number| number != 0);
/// assert_eq!(vectors.word(nearest[0].number), "dog");
/// # Ok::<(), couplet_embed::EmbedError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Directions {
    rows: Vec<f32>,
    dimension: usize,
}

impl Directions {
    /// The directions of the first vectors, at most so many. A vector of zeros has none and stays as it is.
    pub fn new(vectors: &Vectors, most: usize) -> Directions {
        let rows = vectors.rows().chunks_exact(vectors.dimension()).take(most).flat_map(direction).collect();
        Directions { rows, dimension: vectors.dimension() }
    }

    /// The direction of a word by its number.
    pub fn row(&self, number: usize) -> &[f32] {
        &self.rows[number * self.dimension..(number + 1) * self.dimension]
    }

    /// The cosine between two words.
    pub fn cosine(&self, first: usize, second: usize) -> f32 {
        Isa::detect().run(Cosines {
            rows: self.row(first),
            query: self.row(second),
            take: |_, cosine| cosine,
        })
    }

    /// The words nearest to a vector, the nearest first, of those that may be.
    pub fn nearest(&self, query: &[f32], count: usize, may_be: impl Fn(usize) -> bool) -> Vec<Neighbor> {
        assert_eq!(
            query.len(),
            self.dimension,
            "a query of {} among rows of {}",
            query.len(),
            self.dimension
        );
        let query = direction(query);
        let mut nearest: Vec<Neighbor> = Vec::with_capacity(count + 1);
        let take = |number, cosine| {
            let is_near = nearest.len() < count || nearest.last().is_some_and(|last| cosine > last.cosine);
            if is_near && may_be(number) {
                let place = nearest.partition_point(|other| other.cosine >= cosine);
                nearest.insert(place, Neighbor { number, cosine });
                nearest.truncate(count);
            }
            cosine
        };
        Isa::detect().run(Cosines { rows: &self.rows, query: &query, take });
        nearest
    }
}

/// The inner products of all rows with one vector, handed on one by one; the last of them is the result.
struct Cosines<'a, F> {
    rows: &'a [f32],
    query: &'a [f32],
    take: F,
}

impl<F: FnMut(usize, f32) -> f32> Kernel for Cosines<'_, F> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(mut self) -> f32 {
        let rows = self.rows.chunks_exact(self.query.len()).enumerate();
        rows.fold(0.0, |_, (number, row)| (self.take)(number, dot::<V>(row, self.query)))
    }
}

/// The vector of length one that points the same way.
fn direction(vector: &[f32]) -> Vec<f32> {
    let length = vector.iter().map(|&x| f64::from(x) * f64::from(x)).sum::<f64>().sqrt();
    let scale = if length == 0.0 { 0.0 } else { 1.0 / length };
    vector.iter().map(|&x| (f64::from(x) * scale) as f32).collect()
}

/// What is to the third word as the second is to the first: the words nearest to `b − a + c`, each of length one (3CosAdd).
pub fn analogy(
    directions: &Directions,
    [a, b, c]: [&[f32]; 3],
    count: usize,
    may_be: impl Fn(usize) -> bool,
) -> Vec<Neighbor> {
    let [a, b, c] = [a, b, c].map(direction);
    let query: Vec<f32> = a.iter().zip(&b).zip(&c).map(|((a, b), c)| b - a + c).collect();
    directions.nearest(&query, count, may_be)
}

/// Words of the vocabulary that are spelt nearly like this one, the likeliest first: few letters have to be changed, and of
/// equally near ones the more frequent word is meant.
pub fn spelt_like<'a>(vectors: &'a Vectors, word: &str, count: usize) -> Vec<&'a str> {
    let letters: Vec<char> = word.to_lowercase().chars().collect();
    let limit = letters.len().div_ceil(3).min(3);
    let mut near: Vec<(usize, usize)> = vectors
        .words()
        .enumerate()
        .filter_map(|(number, other)| Some((edits(&letters, &other.to_lowercase(), limit)?, number)))
        .collect();
    near.sort_unstable();
    near.into_iter().take(count).map(|(_, number)| vectors.word(number)).collect()
}

/// How many letters have to be added, removed or replaced, if it is not more than the limit.
fn edits(letters: &[char], other: &str, limit: usize) -> Option<usize> {
    let other: Vec<char> = other.chars().collect();
    if letters.len().abs_diff(other.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (i, letter) in letters.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, same) in other.iter().map(|c| c == letter).enumerate() {
            let replaced = diagonal + usize::from(!same);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    Some(row[other.len()]).filter(|&edits| edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vectors(words: &[&str], rows: &[f32]) -> Vectors {
        Vectors::new(words.iter().map(|&word| word.to_owned()).collect(), rows).unwrap()
    }

    /// To (3, 4), whose direction is (0.6, 0.8): (0, 2) has the cosine 0.8, (5, 0) has 0.6, (−3, −4) has −1.
    #[test]
    fn cosines_by_hand() {
        let vectors =
            vectors(&["up", "right", "back", "nowhere"], &[0.0, 2.0, 5.0, 0.0, -3.0, -4.0, 0.0, 0.0]);
        let directions = Directions::new(&vectors, 9);
        let nearest = |count| -> Vec<(usize, f32)> {
            directions.nearest(&[3.0, 4.0], count, |_| true).iter().map(|n| (n.number, n.cosine)).collect()
        };
        assert_eq!(nearest(3), [(0, 0.8), (1, 0.6), (3, 0.0)]);
        assert_eq!(nearest(9).last(), Some(&(2, -1.0)));
        assert!(nearest(0).is_empty());
        assert_eq!(directions.cosine(0, 1), 0.0);
        assert_eq!(directions.nearest(&[3.0, 4.0], 1, |number| number > 0)[0].number, 1);
        assert_eq!(Directions::new(&vectors, 2).nearest(&[-1.0, 0.0], 9, |_| true).len(), 2);
    }

    /// man (1, 0), woman (1, 1)/√2, king (0.8, −0.6): b − a + c = (0.507, 0.107), whose direction is nearly (0.979, 0.207).
    #[test]
    fn an_analogy_by_hand() {
        let rows = [1.0, 0.0, 2.0, 2.0, 0.8, -0.6, 0.98, 0.2, -1.0, 0.5];
        let vectors = vectors(&["man", "woman", "king", "queen", "tree"], &rows);
        let directions = Directions::new(&vectors, 5);
        let question = [0, 1, 2].map(|number| vectors.row(number));
        let answer = analogy(&directions, question, 1, |number| number > 2);
        assert_eq!(vectors.word(answer[0].number), "queen");
    }

    #[test]
    fn words_that_are_spelt_alike() {
        let vectors = vectors(&["the", "kitchen", "kitten", "sitting"], &[1.0, 2.0, 3.0, 4.0]);
        assert_eq!(spelt_like(&vectors, "Kittchen", 3), ["kitchen", "kitten"]);
        assert!(spelt_like(&vectors, "zzz", 3).is_empty());
        let letters: Vec<char> = "kitten".chars().collect();
        assert_eq!(edits(&letters, "sitting", 3), Some(3));
        assert_eq!(edits(&letters, "sitting", 2), None);
    }
}
