//! What is measured: one training step of an encoder-decoder on random tokens.

use crate::model::{Batch, Model, Sizes};
use clap::ValueEnum;
use couplet_tensor::optimiser::Optimiser;
use couplet_tensor::random::Stream;
use couplet_tensor::{Device, Params, Tape, Tensor};

/// The workloads, named as in the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// The smallest one, for a check that both sides agree.
    W0,
    /// A medium model: vocabulary 8,000, embedding 256, decoder 512.
    W1,
    /// A small model: vocabulary 3,000, embedding 128, decoder 256.
    W2,
    /// A large model, for a GPU: vocabulary 32,000, embedding 512, decoder 1,024, 256 sentences.
    ///
    /// Its hidden size is the decoder's: as in W1, each direction of the encoder has half of it, and the attention is as wide
    /// as the embedding.
    G2,
}

/// Tokens of a source, and of a target.
pub(crate) const LENGTH: usize = 30;

impl Workload {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Workload::W0 => "w0",
            Workload::W1 => "w1",
            Workload::W2 => "w2",
            Workload::G2 => "g2",
        }
    }

    /// Sentences of a batch.
    pub(crate) fn batch(self) -> usize {
        match self {
            Workload::W0 | Workload::W1 | Workload::W2 => 64,
            Workload::G2 => 256,
        }
    }

    pub(crate) fn sizes(self) -> Sizes {
        let (vocabulary, embedding, encoder) = match self {
            Workload::W0 => (50, 12, 10),
            Workload::W1 => (8000, 256, 256),
            Workload::W2 => (3000, 128, 128),
            Workload::G2 => (32_000, 512, 512),
        };
        Sizes {
            source_vocabulary: vocabulary,
            target_vocabulary: vocabulary,
            embedding,
            encoder,
            attention: embedding,
            layers: 2,
        }
    }

    /// Random tokens, the special ones left out: sources of [`LENGTH`], targets of one more for the shift.
    pub(crate) fn pairs(self) -> Vec<(Vec<u32>, Vec<u32>)> {
        let stream = Stream::new(1, 0);
        let words = self.sizes().source_vocabulary as u32 - 4;
        let token =
            |pair: usize, side: u32, i: usize| 4 + stream.at([pair as u32, side, i as u32, 0])[0] % words;
        let sentence = |pair, side, length| (0..length).map(|i| token(pair, side, i)).collect();
        (0..self.batch()).map(|pair| (sentence(pair, 0, LENGTH), sentence(pair, 1, LENGTH + 1))).collect()
    }
}

/// A model in training, on the same batch again and again.
pub(crate) struct Training {
    pub(crate) params: Params,
    model: Model,
    batch: Batch,
    adam: Optimiser,
}

impl Training {
    pub(crate) fn new(workload: Workload, device: &Device) -> Training {
        let mut params = Params::new(device, 1);
        let model = Model::new(&mut params, &workload.sizes());
        Training { params, model, batch: Batch::new(&workload.pairs()), adam: Optimiser::adam().clipped(1.0) }
    }

    /// Forward, backward, clipping, Adam; returns the loss before the step. Nothing is read from the device here, so that steps
    /// can follow each other without waiting.
    pub(crate) fn step(&mut self) -> Tensor {
        let tape = Tape::new();
        let loss = self.model.loss(&self.params, Some(&tape), &self.batch, 0.0);
        tape.backward(&loss, &mut self.params);
        self.adam.step(&mut self.params, 1e-3);
        loss.value().clone()
    }
}
