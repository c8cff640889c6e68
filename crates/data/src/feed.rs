//! The batches of a run with their examples, wherever those come from.

use std::sync::Arc;

use crate::batches::{Batches, Position, Stop};
use crate::stream::Stream;
use crate::{DataError, Example, Fetch};

/// What a run learns from, batch after batch.
///
/// Examples that have numbers are put in order as a whole, by [`Batches`]; a [`Stream`] is put in order part by part. Either
/// way the order depends on the seed and the epoch only, and a run goes on from any [`Position`]. A clone costs nothing.
#[derive(Clone, Debug)]
pub struct Feed(Kind);

#[derive(Clone, Debug)]
enum Kind {
    Numbered { examples: Arc<dyn Fetch>, batches: Batches, per_epoch: usize },
    Stream(Arc<Stream>),
}

impl Feed {
    /// Examples that are asked for by their numbers, in these batches.
    pub fn numbered(examples: Arc<dyn Fetch>, batches: Batches) -> Feed {
        let per_epoch = batches.epoch(0).len();
        Feed(Kind::Numbered { examples, batches, per_epoch })
    }

    /// Examples that are read again in every epoch.
    pub fn stream(stream: Arc<Stream>) -> Feed {
        Feed(Kind::Stream(stream))
    }

    /// How many batches the first epoch has; a stream does not know before it has been read.
    pub fn per_epoch(&self) -> Option<usize> {
        match &self.0 {
            Kind::Numbered { per_epoch, .. } => Some(*per_epoch),
            Kind::Stream(_) => None,
        }
    }

    /// How far a batch is through the data, in epochs.
    pub fn epochs_after(&self, stop: &Stop<Example>) -> f64 {
        let done = match &self.0 {
            Kind::Numbered { per_epoch, .. } => (stop.position.index + 1) as f64 / (*per_epoch).max(1) as f64,
            Kind::Stream(stream) => {
                let last = stop.examples.iter().map(|example| example.number).max().unwrap_or(0);
                (f64::from(last) + 1.0) / stream.pairs().max(1) as f64
            }
        };
        stop.position.epoch as f64 + done.min(1.0)
    }

    /// The batches from a position on, without end; after an error there are none.
    pub fn starting_at(
        &self,
        position: Position,
    ) -> Box<dyn Iterator<Item = Result<Stop<Example>, DataError>> + Send> {
        match &self.0 {
            Kind::Numbered { examples, batches, .. } => {
                let examples = Arc::clone(examples);
                Box::new(batches.starting_at(position).map(
                    move |Stop { position, next, examples: numbers }| {
                        Ok(Stop { position, next, examples: examples.fetch(&numbers)? })
                    },
                ))
            }
            Kind::Stream(stream) => Box::new(stream.starting_at(position)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Six examples that are their own numbers.
    #[derive(Debug)]
    struct Counted;

    impl Fetch for Counted {
        fn count(&self) -> usize {
            6
        }

        fn lengths(&self) -> Result<Vec<(u32, u32)>, DataError> {
            Ok(vec![(1, 1); 6])
        }

        fn fetch(&self, numbers: &[u32]) -> Result<Vec<Example>, DataError> {
            if numbers.contains(&5) {
                return Err(DataError::Missing { path: "five".into() });
            }
            Ok(numbers.iter().map(|&number| Example { number, ..Example::default() }).collect())
        }
    }

    /// Three batches of two examples an epoch, of which the second is two thirds through it.
    #[test]
    fn batches_come_with_their_examples() {
        let batches = Batches::new(Counted.lengths().unwrap(), 4, 1);
        let feed = Feed::numbered(Arc::new(Counted), batches.clone());
        assert_eq!(feed.per_epoch(), Some(3));
        let expected = batches.starting_at(Position::default());
        for (stop, expected) in feed.starting_at(Position::default()).zip(expected).take(3) {
            match stop {
                Ok(stop) => {
                    let numbers: Vec<u32> = stop.examples.iter().map(|example| example.number).collect();
                    assert_eq!(
                        (stop.position, stop.next, &numbers),
                        (expected.position, expected.next, &expected.examples)
                    );
                    let epochs = (expected.position.index + 1) as f64 / 3.0;
                    assert!((feed.epochs_after(&stop) - epochs).abs() < 1e-12);
                }
                Err(error) => assert!(expected.examples.contains(&5), "{error}"),
            }
        }
    }
}
