//! What a run learns from, wherever it lies: in memory, in a prepared file, or in text that is read as it goes.

use crate::train_config::TrainConfig;
use couplet_data::{Batches, DataError, Feed, Fetch, Stream, Weight};
use couplet_search::TargetLengths;
use std::sync::Arc;

/// The tokens that the sides of an example take of a batch, given how many ids they have.
pub type Cost = fn((u32, u32)) -> (u32, u32);

/// The examples that a run learns from. A clone costs nothing.
#[derive(Clone, Debug)]
pub enum TrainingSet {
    /// Each can be asked for by its number.
    Numbered {
        /// The examples.
        examples: Arc<dyn Fetch>,
        /// How often those of each corpus come up in an epoch.
        weights: Vec<Weight>,
        /// Of all of them.
        checksum: u32,
    },
    /// They are read in order, in every epoch anew.
    Streamed {
        /// The text.
        stream: Arc<Stream>,
        /// Of the text.
        checksum: u32,
    },
}

impl TrainingSet {
    /// Examples that have numbers, of one corpus or of several.
    pub fn numbered(examples: Arc<dyn Fetch>, weights: Vec<Weight>, checksum: u32) -> TrainingSet {
        TrainingSet::Numbered { examples, weights, checksum }
    }

    /// How many examples there are; of a stream, with those that will prove to be too long.
    pub fn count(&self) -> usize {
        match self {
            TrainingSet::Numbered { examples, .. } => examples.count(),
            TrainingSet::Streamed { stream, .. } => stream.pairs(),
        }
    }

    /// A checksum of what is learned from, its weights among it: a run that goes on compares it.
    pub fn checksum(&self) -> u32 {
        match self {
            TrainingSet::Numbered { weights, checksum, .. } => {
                let unequal = weights.iter().any(|corpus| corpus.weight != 1.0);
                weights.iter().filter(|_| unequal).fold(*checksum, |sum, corpus| {
                    let sum = crc32c::crc32c_append(sum, &corpus.examples.to_le_bytes());
                    crc32c::crc32c_append(sum, &corpus.weight.to_le_bytes())
                })
            }
            TrainingSet::Streamed { checksum, .. } => *checksum,
        }
    }

    /// The lengths of its targets, of pairs that have at most so many tokens on each side: all that is known of a stream, which would have
    /// to be encoded once more.
    pub fn target_lengths(&self, max_tokens: usize) -> Result<TargetLengths, DataError> {
        Ok(match self {
            TrainingSet::Numbered { examples, .. } => TargetLengths::of_pairs(examples.lengths()?),
            TrainingSet::Streamed { .. } => TargetLengths::at_most(max_tokens),
        })
    }

    /// The batches of a run.
    pub fn feed(&self, train: &TrainConfig, cost: Cost) -> Result<Feed, DataError> {
        Ok(match self {
            TrainingSet::Numbered { examples, weights, .. } => {
                let mut lengths = examples.lengths()?;
                lengths.iter_mut().for_each(|lengths| *lengths = cost(*lengths));
                let batches = Batches::new(lengths, train.batch_tokens, train.seed).weighted(weights);
                Feed::numbered(Arc::clone(examples), batches)
            }
            TrainingSet::Streamed { stream, .. } => Feed::stream(Arc::clone(stream)),
        })
    }
}
