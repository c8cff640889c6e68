//! Encoder, context, bridge, attention and decoder, joined.

use crate::attention::Attention;
use crate::bridge::Bridge;
use crate::config::{ConfigError, ModelConfig};
use crate::context::Context;
use crate::decoder::{Decoder, DecoderState, RecurrentDecoder, Sequence, Stepped};
use crate::encoder::{Encoded, Encoder};
use crate::pass::Pass;
use crate::tokens::{Batch, Packed};
use couplet_tensor::ops::{CrossEntropy, cross_entropy, gather_rows};
use couplet_tensor::{Params, Tensor, Var};
use std::sync::Arc;

/// A model from sequences to sequences. Its weights live in the [`Params`] that it was added to.
#[derive(Clone, Debug)]
pub struct Seq2Seq {
    encoder: Encoder,
    context: Context,
    bridge: Bridge,
    decoder: RecurrentDecoder,
}

/// The loss of a batch.
#[derive(Clone, Debug)]
pub struct Loss {
    /// The mean over all targets: tokens or labels.
    pub mean: Var,
    /// That of each row of targets.
    pub of_rows: Tensor,
}

impl Seq2Seq {
    /// Adds the model's parameters, for vocabularies of so many tokens.
    pub fn new(
        params: &mut Params,
        config: &ModelConfig,
        source_vocabulary: usize,
        target_vocabulary: usize,
    ) -> Result<Seq2Seq, ConfigError> {
        config.check()?;
        config.check_vocabularies(source_vocabulary, target_vocabulary)?;
        let (width, first) =
            (config.encoder.width(source_vocabulary), config.first_states(source_vocabulary));
        let contexts = config.step_contexts(source_vocabulary);
        let encoder = Encoder::new(params, &config.encoder, source_vocabulary);
        let context = Context::new(params, &config.context, width);
        let bridge = Bridge::new(params, config.bridge, first.as_ref(), config.decoder.states());
        let shared = encoder.embedding();
        let decoder = RecurrentDecoder::new(params, config, width, contexts, target_vocabulary, shared);
        Ok(Seq2Seq { encoder, context, bridge, decoder })
    }

    /// How it looks at the source while it writes, if it does.
    pub fn attention(&self) -> Option<&Attention> {
        self.decoder.attention()
    }

    /// Reads packed sources.
    pub fn encode(&self, pass: &Pass, source: &Packed) -> Encoded {
        self.encoder.forward(pass, source)
    }

    /// Where the decoder stands before its first step; row `i` reads the source at place `of[i]`.
    pub fn start(&self, pass: &Pass, encoded: &Encoded, of: Arc<[u32]>) -> DecoderState {
        let told = self.context.forward(pass, encoded);
        let first = self.bridge.forward(pass, &told.first, &of);
        let each_step = told.each_step.map(|context| gather_rows(&context, &of)); // [readers, context]
        let attention = self.decoder.attention();
        let memory = attention.map(|attention| attention.memory(pass, &encoded.states, &encoded.rows, of));
        self.decoder.start(pass, first, each_step, memory)
    }

    /// One step of the decoder.
    pub fn step(&self, pass: &Pass, tokens: &[u32], state: &DecoderState) -> Stepped {
        self.decoder.step(pass, tokens, state)
    }

    /// All steps of a batch's targets.
    pub fn sequence(&self, pass: &Pass, batch: &Batch) -> Sequence {
        let encoded = self.encode(pass, &batch.source);
        let state = self.start(pass, &encoded, Arc::clone(&batch.source_of));
        self.decoder.sequence(pass, &batch.input, &state)
    }

    /// The cross-entropy of a batch's target tokens.
    pub fn loss(&self, pass: &Pass, batch: &Batch, smoothing: f32) -> Loss {
        let features = self.sequence(pass, batch).features;
        let (weight, bias) = self.decoder.output(pass);
        let how = CrossEntropy { scale: 1.0 / batch.targets() as f32, smoothing };
        let (mean, of_rows) = cross_entropy(&features, &weight, bias.as_ref(), &batch.output, how);
        Loss { mean, of_rows }
    }
}
