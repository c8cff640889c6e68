//! The workloads, and one training step of each without the trainer: from the engine's operations alone, of a Transformer from its model.

use crate::model::{Batch, Model, Sizes};
use clap::ValueEnum;
use couplet_data::{END, START};
use couplet_nn::{BridgeKind, DecoderKind, EncoderKind, ForwardPass, ModelConfig, Seq2Seq};
use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::random::Stream;
use couplet_tensor::{Device, Params, Tape, Tensor, Var};

/// The workloads, named as in the README.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Workload {
    /// The smallest one, for a check that both sides agree.
    W0,
    /// A medium model: vocabulary 8,000, embedding 256, decoder 512.
    W1,
    /// A small model: vocabulary 3,000, embedding 128, decoder 256.
    W2,
    /// A small Transformer: vocabulary 8,000, width 256, 4 heads, feed-forward layers of 1,024, 3 + 3 layers.
    W4,
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
            Workload::W4 => "w4",
            Workload::G2 => "g2",
        }
    }

    /// Sentences of a batch.
    pub(crate) fn batch(self) -> usize {
        match self {
            Workload::W0 | Workload::W1 | Workload::W2 | Workload::W4 => 64,
            Workload::G2 => 256,
        }
    }

    pub(crate) fn sizes(self) -> Sizes {
        let (vocabulary, embedding, encoder) = match self {
            Workload::W0 => (50, 12, 10),
            Workload::W1 | Workload::W4 => (8000, 256, 256),
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

    /// Random tokens: sources of [`LENGTH`], targets of one more for the shift. The special ones are left out, but that a Transformer's
    /// targets begin and end with theirs, as in a translator's training.
    pub(crate) fn pairs(self) -> Vec<(Vec<u32>, Vec<u32>)> {
        let stream = Stream::new(1, 0);
        let words = self.sizes().source_vocabulary as u32 - 4;
        let token =
            |pair: usize, side: u32, i: usize| 4 + stream.at([pair as u32, side, i as u32, 0])[0] % words;
        let sentence = |pair, side, length| (0..length).map(|i| token(pair, side, i)).collect();
        let target = |pair| {
            let mut target: Vec<u32> = sentence(pair, 1, LENGTH + 1);
            if self == Workload::W4 {
                (target[0], target[LENGTH]) = (START, END);
            }
            target
        };
        (0..self.batch()).map(|pair| (sentence(pair, 0, LENGTH), target(pair))).collect()
    }
}

/// The recurrent translator of these sizes, as a user configures it; nothing is dropped.
pub(crate) fn recurrent(sizes: &Sizes) -> ModelConfig {
    let mut config = ModelConfig { bridge: BridgeKind::Copy, ..ModelConfig::default() };
    let (encoder, decoder) = (&mut config.encoder, &mut config.decoder);
    (encoder.embedding, decoder.embedding) = (sizes.embedding.into(), sizes.embedding.into());
    (encoder.hidden, decoder.hidden) = (sizes.encoder.into(), 2 * sizes.encoder);
    (encoder.layers, decoder.layers) = (Some(sizes.layers), sizes.layers);
    (encoder.dropout, decoder.dropout) = (0.0, 0.0);
    config.attention.size = sizes.attention;
    config
}

/// W4's model; nothing is dropped.
pub(crate) fn transformer() -> ModelConfig {
    let mut config = ModelConfig::default();
    let (encoder, decoder) = (&mut config.encoder, &mut config.decoder);
    (encoder.kind, encoder.hidden, encoder.layers, encoder.dropout) =
        (EncoderKind::Transformer, 1024.into(), Some(3), 0.0);
    (decoder.kind, decoder.hidden, decoder.layers, decoder.dropout) =
        (DecoderKind::Transformer, 1024, 3, 0.0);
    config
}

/// What is trained, and on what.
enum Learner {
    Recurrent(Model, Batch),
    Transformer(Box<Seq2Seq>, couplet_nn::Batch),
}

impl Learner {
    fn new(workload: Workload, params: &mut Params) -> Learner {
        let (sizes, pairs) = (workload.sizes(), workload.pairs());
        if workload != Workload::W4 {
            return Learner::Recurrent(Model::new(params, &sizes), Batch::new(&pairs));
        }
        let model = Seq2Seq::new(params, &transformer(), sizes.source_vocabulary, sizes.target_vocabulary);
        let pairs: Vec<(&[u32], &[u32])> =
            pairs.iter().map(|(source, target)| (&source[..], &target[1..LENGTH])).collect();
        let numbers: Vec<u32> = (0..pairs.len() as u32).collect();
        let batch = couplet_nn::Batch::new(&pairs, &numbers, START, END);
        Learner::Transformer(Box::new(model.expect("the config of a workload is sound")), batch)
    }

    fn loss(&self, params: &Params, tape: &Tape) -> Var {
        match self {
            Learner::Recurrent(model, batch) => model.loss(params, Some(tape), batch, 0.0),
            Learner::Transformer(model, batch) => {
                let training = couplet_nn::Training { tape, seed: 1, update: 0 };
                model.loss(&ForwardPass::training(params, training), batch, 0.0).mean
            }
        }
    }
}

/// A model in training, on the same batch again and again.
pub(crate) struct Training {
    pub(crate) params: Params,
    learner: Learner,
    adam: Optimizer,
}

impl Training {
    pub(crate) fn new(workload: Workload, device: &Device) -> Training {
        let mut params = Params::new(device, 1);
        let learner = Learner::new(workload, &mut params);
        Training { params, learner, adam: Optimizer::adam().clipped(1.0) }
    }

    /// Forward, backward, clipping, Adam; returns the loss before the step. Nothing is read from the device here, so that steps
    /// can follow each other without waiting.
    pub(crate) fn step(&mut self) -> Tensor {
        let tape = Tape::new();
        let loss = self.learner.loss(&self.params, &tape);
        tape.backward(&loss, &mut self.params);
        self.adam.step(&mut self.params, 1e-3);
        loss.value().clone()
    }
}
