//! Batches straight from text that is read again in every epoch, part by part.
//!
//! A part is as many examples as the buffer holds. They are put into batches as [`Batches`] does it, shuffled within the
//! part, and given out; then comes the next part. So memory does not grow with the text, sequences of about the same length
//! still share a batch, and the order still depends on seed and epoch only: not on threads, which only share the work
//! of making ids from one part. Several corpora are read side by side, each in proportion to its size.

use std::fmt;
use std::sync::Arc;

use rayon::prelude::*;

use crate::batches::{Batches, Epoch, Position, Stop, Weight};
use crate::random::Random;
use crate::{DataError, Example, Pair};

/// Pairs that are turned into ids at once: enough for all cores, and little memory.
pub const CHUNK: usize = 8192;

/// Pairs as they are read.
pub type PairIterator = Box<dyn Iterator<Item = Result<Pair, DataError>> + Send>;

/// What makes an example of a pair, of which it does not know the number; none of a pair that is not to be used.
pub type Encode = Box<dyn Fn(&Pair) -> Option<Example> + Send + Sync>;

/// What is made of each item, by all cores, in the order of the items.
pub fn on_all_cores<T: Sync, R: Send>(items: &[T], make: impl Fn(&T) -> R + Sync + Send) -> Vec<R> {
    items.par_iter().map(make).collect()
}

/// Text that can be read from its beginning as often as is needed.
pub struct StreamedText {
    /// Opens it.
    pub open: Box<dyn Fn() -> Result<PairIterator, DataError> + Send + Sync>,
    /// How many pairs it has, and how often each comes up in an epoch.
    pub weight: Weight,
}

/// How a stream is cut into batches.
#[derive(Clone, Copy, Debug)]
pub struct StreamOrder {
    /// The examples that are shuffled with each other.
    pub buffer: usize,
    /// Tokens of a batch.
    pub budget_tokens: usize,
    /// What an example costs of it, by side, given how many ids its sides have.
    pub cost: fn((u32, u32)) -> (u32, u32),
    /// What all orders follow from.
    pub seed: u64,
}

/// Text as examples that are never in memory as a whole.
pub struct Stream {
    texts: Vec<StreamedText>,
    encode: Encode,
    order: StreamOrder,
}

impl fmt::Debug for StreamedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StreamedText").field("weight", &self.weight).finish_non_exhaustive()
    }
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream")
            .field("pairs", &self.pairs())
            .field("order", &self.order)
            .finish_non_exhaustive()
    }
}

impl Stream {
    /// One or several texts.
    pub fn new(texts: Vec<StreamedText>, encode: Encode, order: StreamOrder) -> Stream {
        Stream { texts, encode, order }
    }

    /// How many pairs there are in all texts.
    pub fn pairs(&self) -> usize {
        self.texts.iter().map(|text| text.weight.examples as usize).sum()
    }

    /// The batches from a position on, without end. What lies before it in its epoch is read again, but not given out. After an
    /// error there are none, nor where no pair can be used.
    pub fn starting_at(
        self: &Arc<Stream>,
        position: Position,
    ) -> impl Iterator<Item = Result<Stop<Example>, DataError>> + use<> {
        StreamedBatches {
            stream: Arc::clone(self),
            position,
            texts: None,
            part: Part::default(),
            parts: 0,
            ended: false,
        }
    }
}

struct StreamedBatches {
    stream: Arc<Stream>,
    /// Where the next batch is.
    position: Position,
    /// The texts of the running epoch, once they are opened.
    texts: Option<Texts>,
    part: Part,
    /// How many parts of the epoch have been read.
    parts: u64,
    ended: bool,
}

/// Some examples, and their batches.
#[derive(Default)]
struct Part {
    /// The index of the first batch in its epoch.
    start: usize,
    examples: Vec<Example>,
    batches: Option<Epoch>,
}

impl Part {
    /// The index after the last batch.
    fn end(&self) -> usize {
        self.start + self.batches.as_ref().map_or(0, Epoch::len)
    }

    fn batch(&self, index: usize) -> Option<Vec<Example>> {
        let batches = self.batches.as_ref().filter(|_| (self.start..self.end()).contains(&index))?;
        let numbers = batches.batch(index - self.start);
        Some(numbers.iter().map(|&place| self.examples[place as usize].clone()).collect())
    }
}

impl StreamedBatches {
    fn advance(&mut self) -> Result<Option<Stop<Example>>, DataError> {
        loop {
            let Position { epoch, index } = self.position;
            if let Some(examples) = self.part.batch(index) {
                let position = std::mem::replace(&mut self.position, Position { epoch, index: index + 1 });
                return Ok(Some(Stop { position, next: self.position, examples }));
            }
            if !self.read_part()? {
                if self.part.end() == 0 {
                    return Ok(None);
                }
                self.position = Position { epoch: epoch + 1, index: 0 };
                (self.texts, self.part, self.parts) = (None, Part::default(), 0);
            }
        }
    }

    /// Reads the next part; says whether there is one.
    fn read_part(&mut self) -> Result<bool, DataError> {
        let Stream { encode, order, .. } = &*self.stream;
        let (epoch, start) = (self.position.epoch, self.part.end());
        let texts = match &mut self.texts {
            Some(texts) => texts,
            unopened => unopened.insert(Texts::open(&self.stream.texts, order.seed, epoch)?),
        };
        let mut examples = Vec::new();
        while examples.len() < order.buffer {
            let wanted = CHUNK.min(order.buffer - examples.len());
            let pairs: Vec<(u32, Pair)> = texts.by_ref().take(wanted).collect::<Result<_, _>>()?;
            if pairs.is_empty() {
                break;
            }
            let (numbers, pairs): (Vec<u32>, Vec<Pair>) = pairs.into_iter().unzip();
            let used = numbers.into_iter().zip(on_all_cores(&pairs, encode));
            examples.extend(used.filter_map(|(number, example)| Some(Example { number, ..example? })));
        }
        self.parts += 1;
        if examples.is_empty() {
            return Ok(false);
        }
        let lengths = examples.iter().map(|example| (order.cost)(example.lengths())).collect();
        let seed = Random::with(order.seed, self.parts).next_u64();
        let batches = Batches::new(lengths, order.budget_tokens, seed).epoch(epoch);
        self.part = Part { start, examples, batches: Some(batches) };
        Ok(true)
    }
}

impl Iterator for StreamedBatches {
    type Item = Result<Stop<Example>, DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.ended {
            return None;
        }
        let stop = self.advance().transpose();
        self.ended = !matches!(stop, Some(Ok(_)));
        stop
    }
}

/// Several texts that are read side by side: next comes a pair of the one of which the smallest share has been read. Pairs
/// come with their numbers, and as often as their weights say.
struct Texts {
    open: Vec<OpenText>,
    seed: u64,
    epoch: u64,
    /// A pair that comes up again, and how often.
    again: Option<(u32, Pair, usize)>,
}

struct OpenText {
    pairs: PairIterator,
    weight: Weight,
    first_number: u32,
    read: u32,
}

impl OpenText {
    fn share_read(&self) -> f64 {
        (f64::from(self.read) + 0.5) / f64::from(self.weight.examples.max(1))
    }
}

impl Texts {
    fn open(texts: &[StreamedText], seed: u64, epoch: u64) -> Result<Texts, DataError> {
        let mut first_number = 0;
        let mut open = Vec::new();
        for text in texts {
            open.push(OpenText { pairs: (text.open)()?, weight: text.weight, first_number, read: 0 });
            first_number += text.weight.examples;
        }
        Ok(Texts { open, seed, epoch, again: None })
    }

    /// The next pair with its number and weight.
    fn next_pair(&mut self) -> Result<Option<(u32, Pair, f64)>, DataError> {
        loop {
            let shares = self.open.iter().map(OpenText::share_read).enumerate();
            let Some((least, _)) = shares.min_by(|(_, a), (_, b)| a.total_cmp(b)) else { return Ok(None) };
            let text = &mut self.open[least];
            match text.pairs.next().transpose()? {
                Some(pair) => {
                    let number = text.first_number + text.read;
                    text.read += 1;
                    return Ok(Some((number, pair, text.weight.weight)));
                }
                None => drop(self.open.remove(least)),
            }
        }
    }
}

impl Iterator for Texts {
    type Item = Result<(u32, Pair), DataError>;

    fn next(&mut self) -> Option<Self::Item> {
        if let Some((number, pair, times)) = self.again.take() {
            if times > 1 {
                self.again = Some((number, pair.clone(), times - 1));
            }
            return Some(Ok((number, pair)));
        }
        loop {
            let (number, pair, weight) = match self.next_pair() {
                Ok(Some(found)) => found,
                Ok(None) => return None,
                Err(error) => return Some(Err(error)),
            };
            let times = Weight::times(weight, self.seed, self.epoch, number);
            if times > 1 {
                self.again = Some((number, pair.clone(), times - 1));
            }
            if times > 0 {
                return Some(Ok((number, pair)));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn text(start: u32, pairs: u32, weight: f64) -> StreamedText {
        let open = move || -> Result<PairIterator, DataError> {
            let pair = |n: u32| Pair { source: n.to_string(), target: "x".repeat(n as usize % 5 + 1) };
            Ok(Box::new((start..start + pairs).map(move |n| Ok(pair(n)))))
        };
        StreamedText { open: Box::new(open), weight: Weight { examples: pairs, weight } }
    }

    /// The source has the pair's own number as its only id; every tenth pair is not used.
    fn stream(texts: Vec<StreamedText>, buffer: usize, seed: u64) -> Arc<Stream> {
        let encode = |pair: &Pair| {
            let number: u32 = pair.source.parse().unwrap();
            let target = vec![4; pair.target.len()];
            (number % 10 != 9).then(|| Example { source: vec![number], target, ..Example::default() })
        };
        let order = StreamOrder { buffer, budget_tokens: 12, cost: |lengths| lengths, seed };
        Arc::new(Stream::new(texts, Box::new(encode), order))
    }

    fn stops(stream: &Arc<Stream>, position: Position, count: usize) -> Vec<Stop<Example>> {
        stream.starting_at(position).take(count).map(Result::unwrap).collect()
    }

    fn numbers_of_epoch(stream: &Arc<Stream>, epoch: u64) -> Vec<u32> {
        let stops = stream.starting_at(Position { epoch, index: 0 }).map(Result::unwrap);
        let stops = stops.take_while(|stop| stop.position.epoch == epoch);
        stops.flat_map(|stop| stop.examples).map(|example| example.number).collect()
    }

    /// Of four pairs and of two, read side by side: shares of 1/8, 3/8, … and of 1/4, 3/4. Numbers go on from text to text.
    #[test]
    fn texts_are_read_in_proportion() {
        let texts = Texts::open(&[text(0, 4, 1.0), text(100, 2, 1.0)], 1, 0).unwrap();
        let read: Vec<(u32, String)> = texts.map(Result::unwrap).map(|(n, pair)| (n, pair.source)).collect();
        let expected = [(0, "0"), (4, "100"), (1, "1"), (2, "2"), (5, "101"), (3, "3")];
        assert_eq!(read, expected.map(|(n, source)| (n, source.to_owned())));
    }

    #[test]
    fn a_weight_is_how_often_a_pair_comes_up() {
        let texts = [text(0, 100, 2.0), text(0, 100, 0.25)];
        let mut counts = [0; 200];
        Texts::open(&texts, 3, 0).unwrap().for_each(|pair| counts[pair.unwrap().0 as usize] += 1);
        assert!(counts[..100].iter().all(|&count| count == 2));
        let drawn: usize = counts[100..].iter().sum();
        assert!((10..40).contains(&drawn), "{drawn} of 100 with a weight of a quarter");
    }

    #[test]
    fn a_part_is_shuffled_and_parts_follow_each_other() {
        let stream = stream(vec![text(0, 100, 1.0)], 45, 1);
        let first = numbers_of_epoch(&stream, 0);
        let usable: Vec<u32> = (0..100).filter(|n| n % 10 != 9).collect();
        assert!(first[..45].iter().all(|n| usable[..45].contains(n)), "{first:?}");
        assert!(!first.is_sorted());
        assert_ne!(first, numbers_of_epoch(&stream, 1));
        assert_eq!(first, numbers_of_epoch(&stream, 0));
    }

    #[test]
    fn nothing_that_can_be_used_is_the_end() {
        assert!(stream(Vec::new(), 10, 1).starting_at(Position::default()).next().is_none());
        assert!(stream(vec![text(9, 1, 1.0)], 10, 1).starting_at(Position::default()).next().is_none());
    }

    #[test]
    fn after_an_error_there_is_nothing() {
        let open = || -> Result<PairIterator, DataError> {
            Ok(Box::new(std::iter::once_with(|| Err(DataError::Empty { path: "a".into() }))))
        };
        let text = StreamedText { open: Box::new(open), weight: Weight { examples: 1, weight: 1.0 } };
        let mut batches = stream(vec![text], 10, 1).starting_at(Position::default());
        assert!(batches.next().unwrap().is_err());
        assert!(batches.next().is_none());
    }

    #[test]
    fn the_number_of_threads_changes_nothing() {
        let epoch = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| stops(&stream(vec![text(0, 500, 1.5)], 77, 5), Position::default(), 90))
        };
        assert_eq!(epoch(1), epoch(3));
    }

    proptest! {
        #[test]
        fn every_usable_pair_once(pairs in 0u32..300, others in 0u32..50, buffer in 1usize..100, seed: u64) {
            let stream = stream(vec![text(0, pairs, 1.0), text(pairs, others, 1.0)], buffer, seed);
            let mut numbers = numbers_of_epoch(&stream, 2);
            numbers.sort_unstable();
            let usable: Vec<u32> = (0..pairs + others).filter(|n| n % 10 != 9).collect();
            prop_assert_eq!(numbers, usable);
        }

        #[test]
        fn one_can_go_on_from_anywhere(pairs in 1u32..100, buffer in 1usize..60, seed: u64, skipped in 0usize..60) {
            let stream = stream(vec![text(0, pairs, 1.3)], buffer, seed);
            let all = stops(&stream, Position::default(), skipped + 10);
            prop_assume!(all.len() > skipped);
            prop_assert_eq!(&all[skipped..], &stops(&stream, all[skipped].position, 10)[..]);
            if skipped > 0 {
                prop_assert_eq!(&all[skipped..], &stops(&stream, all[skipped - 1].next, 10)[..]);
            }
        }
    }
}
