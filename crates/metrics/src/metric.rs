//! What all metrics of a corpus have in common: numbers that are counted in each line and added up.

use std::num::NonZero;
use std::ops::Range;
use std::thread;

/// Lines below which another thread is not worth its start.
const LINES_FOR_A_THREAD: usize = 500;

/// A metric of a corpus whose score is made of sums: some numbers are counted in each line and added up over all lines.
///
/// To score a part of the corpus, or a sample of it, is to add up again ([`Statistics::sums`]); nothing has to be counted twice.
pub trait Metric: Sync {
    /// What tables call it: `BLEU`, `chrF2++`.
    fn name(&self) -> String;

    /// How many numbers a line has.
    fn width(&self) -> usize;

    /// The score of a corpus with these sums.
    fn score(&self, sums: &[f64]) -> f64;

    /// What else the sums tell, by names.
    fn figures(&self, sums: &[f64]) -> Vec<(&'static str, f64)>;

    /// The same for a reader, in a few words.
    fn remark(&self, sums: &[f64]) -> String;

    /// The settings on which the score depends, as a [signature](crate::Signature) has them.
    fn settings(&self) -> Vec<(&'static str, String)>;
}

/// A metric that compares the lines of a hypothesis with those of references.
pub trait Compare: Metric {
    /// A line: a text, or what was read from one.
    type Line: ?Sized;

    /// Counts one line with all of its references, of which there is at least one. `counts` comes as zeros, as many as
    /// [`Metric::width`] says.
    fn count(&self, hypothesis: &Self::Line, references: &[&Self::Line], counts: &mut [f64]);
}

/// The counts of each line of a corpus.
///
/// ```
/// use couplet_metrics::{Chrf, Metric, Statistics};
///
/// let chrf = Chrf::default();
/// let statistics = Statistics::of(&chrf, &["the cat sat", "a dog"], &["the cat sat", "the dog"]);
/// assert_eq!(chrf.score(&statistics.line(0)), 100.0);
/// assert!(chrf.score(&statistics.sums()) < 100.0);
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Statistics {
    width: usize,
    /// Of each line the numbers that are not zero, with their places: line n has `numbers[starts[n]..starts[n + 1]]`.
    numbers: Vec<(u32, f64)>,
    starts: Vec<usize>,
}

impl Statistics {
    /// Counts a corpus whose lines have one reference each.
    ///
    /// # Panics
    ///
    /// If there are not as many hypotheses as references.
    pub fn of<M, H, R>(metric: &M, hypotheses: &[H], references: &[R]) -> Statistics
    where
        M: Compare + ?Sized,
        H: AsRef<M::Line> + Sync,
        R: AsRef<M::Line> + Sync,
    {
        assert_eq!(hypotheses.len(), references.len(), "as many hypotheses as references");
        let count = |line: usize, counts: &mut [f64]| {
            metric.count(hypotheses[line].as_ref(), &[references[line].as_ref()], counts);
        };
        Statistics::counted(metric.width(), hypotheses.len(), threads(), count)
    }

    /// Counts a corpus whose lines have lists of references, of different lengths if need be.
    ///
    /// # Panics
    ///
    /// If there are not as many hypotheses as lists of references, or if one of these is empty.
    pub fn of_many<M, H, R>(metric: &M, hypotheses: &[H], references: &[Vec<R>]) -> Statistics
    where
        M: Compare + ?Sized,
        H: AsRef<M::Line> + Sync,
        R: AsRef<M::Line> + Sync,
    {
        Statistics::of_many_with(metric, hypotheses, references, threads())
    }

    /// [`Statistics::of_many`] with at most so many threads; the numbers do not depend on it.
    ///
    /// # Panics
    ///
    /// As [`Statistics::of_many`].
    pub fn of_many_with<M, H, R>(
        metric: &M,
        hypotheses: &[H],
        references: &[Vec<R>],
        threads: usize,
    ) -> Statistics
    where
        M: Compare + ?Sized,
        H: AsRef<M::Line> + Sync,
        R: AsRef<M::Line> + Sync,
    {
        assert_eq!(hypotheses.len(), references.len(), "as many hypotheses as lists of references");
        let count = |line: usize, counts: &mut [f64]| {
            let references: Vec<&M::Line> = references[line].iter().map(AsRef::as_ref).collect();
            assert!(!references.is_empty(), "hypothesis {line} has no reference");
            metric.count(hypotheses[line].as_ref(), &references, counts);
        };
        Statistics::counted(metric.width(), hypotheses.len(), threads, count)
    }

    /// Counts that come from elsewhere, one list a line.
    ///
    /// # Panics
    ///
    /// If a list does not have as many numbers as the metric counts.
    pub fn from_counts(
        metric: &(impl Metric + ?Sized),
        counts: impl IntoIterator<Item = Vec<f64>>,
    ) -> Statistics {
        let mut statistics = Statistics::empty(metric.width());
        for counts in counts {
            assert_eq!(counts.len(), metric.width(), "as many numbers as {} counts", metric.name());
            statistics.push(&counts);
        }
        statistics
    }

    fn empty(width: usize) -> Statistics {
        Statistics { width, numbers: Vec::new(), starts: vec![0] }
    }

    fn push(&mut self, counts: &[f64]) {
        let numbers = (0..).zip(counts.iter().copied());
        self.numbers.extend(numbers.filter(|&(_, number)| number != 0.0));
        self.starts.push(self.numbers.len());
    }

    fn append(&mut self, other: &Statistics) {
        let offset = self.numbers.len();
        self.numbers.extend(&other.numbers);
        self.starts.extend(other.starts[1..].iter().map(|start| start + offset));
    }

    /// Counts all lines, a part of them on each thread.
    fn counted(
        width: usize,
        lines: usize,
        threads: usize,
        count: impl Fn(usize, &mut [f64]) + Sync,
    ) -> Statistics {
        let count_part = |part: Range<usize>| {
            let mut statistics = Statistics::empty(width);
            let mut counts = vec![0.0; width];
            for line in part {
                counts.fill(0.0);
                count(line, &mut counts);
                statistics.push(&counts);
            }
            statistics
        };
        let parts = threads.min(lines / LINES_FOR_A_THREAD).max(1);
        if parts == 1 {
            return count_part(0..lines);
        }
        let bounds = |part: usize| part * lines / parts..(part + 1) * lines / parts;
        let count_part = &count_part;
        thread::scope(|scope| {
            let running: Vec<_> =
                (0..parts).map(|part| scope.spawn(move || count_part(bounds(part)))).collect();
            let mut all = Statistics::empty(width);
            for part in running {
                match part.join() {
                    Ok(statistics) => all.append(&statistics),
                    Err(panic) => std::panic::resume_unwind(panic),
                }
            }
            all
        })
    }

    /// How many lines there are.
    pub fn lines(&self) -> usize {
        self.starts.len() - 1
    }

    /// The counts of one line.
    ///
    /// # Panics
    ///
    /// If there is no such line.
    pub fn line(&self, line: usize) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        self.add(line, 1.0, &mut sums);
        sums
    }

    /// The sums over all lines.
    pub fn sums(&self) -> Vec<f64> {
        let mut sums = vec![0.0; self.width];
        for line in 0..self.lines() {
            self.add(line, 1.0, &mut sums);
        }
        sums
    }

    /// Adds a line to sums, so many times.
    pub(crate) fn add(&self, line: usize, times: f64, sums: &mut [f64]) {
        for &(place, number) in &self.numbers[self.starts[line]..self.starts[line + 1]] {
            sums[place as usize] += times * number;
        }
    }

    pub(crate) fn width(&self) -> usize {
        self.width
    }
}

/// As many as the machine has cores for.
fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}
