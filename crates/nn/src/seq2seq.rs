//! Encoder, context, bridge, attention and decoder, joined.

use crate::bridge::Bridge;
use crate::cell::WriterKind;
use crate::config::{ConfigError, ModelConfig};
use crate::context::Context;
use crate::decoder::{
    AttentionDecoder, ConvolutionalDecoder, Decoder, DecoderState, RecurrentDecoder, Sequence, Sights,
    Stepped, TransformerDecoder, WriterState,
};
use crate::encoder::{Encoded, Encoder};
use crate::pass::Pass;
use crate::tokens::{Batch, Packed};
use couplet_tensor::ops::{CrossEntropy, add, coverage_loss, cross_entropy, gather_rows};
use couplet_tensor::{Params, Tensor, Var};
use std::sync::Arc;

/// A model from sequences to sequences. Its weights live in the [`Params`] that it was added to.
#[derive(Clone, Debug)]
pub struct Seq2Seq {
    encoder: Encoder,
    writer: Writer,
    /// The weight of what is looked at again in the loss, where it has one.
    coverage_loss: Option<f32>,
}

/// What writes, and how it is told of the source.
#[derive(Clone, Debug)]
enum Writer {
    Recurrent { context: Context, bridge: Bridge, decoder: RecurrentDecoder },
    Attention(AttentionDecoder),
    Transformer(TransformerDecoder),
    Convolutional(ConvolutionalDecoder),
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
        let width = config.encoder.width(source_vocabulary);
        let encoder = Encoder::new(params, &config.encoder, source_vocabulary);
        let (decoder, shared) = (&config.decoder, encoder.embedding());
        let writer = match (decoder.cell(), decoder.states()) {
            (Some(cell), Some(states)) => {
                let first = config.first_states(source_vocabulary);
                let contexts = config.step_contexts(source_vocabulary);
                let context = Context::new(params, &config.context, width);
                let bridge = Bridge::new(params, config.bridge, first.as_ref(), states);
                let decoder =
                    RecurrentDecoder::new(params, config, cell, width, contexts, target_vocabulary, shared);
                Writer::Recurrent { context, bridge, decoder }
            }
            _ if decoder.kind == WriterKind::Attention => {
                Writer::Attention(AttentionDecoder::new(params, decoder, width, target_vocabulary, shared))
            }
            _ if decoder.kind == WriterKind::Conv => Writer::Convolutional(ConvolutionalDecoder::new(
                params,
                decoder,
                width,
                target_vocabulary,
                shared,
            )),
            _ => Writer::Transformer(TransformerDecoder::new(
                params,
                decoder,
                width,
                target_vocabulary,
                shared,
            )),
        };
        Ok(Seq2Seq { encoder, writer, coverage_loss: config.attention.coverage_loss })
    }

    /// How it looks at the source while it writes, if it does.
    pub fn sights(&self) -> Option<Sights> {
        match &self.writer {
            Writer::Recurrent { decoder, .. } => {
                decoder.attention().map(|attention| Sights { layers: 1, heads: attention.heads() })
            }
            Writer::Attention(decoder) => Some(Sights { layers: 1, heads: decoder.heads() }),
            Writer::Transformer(decoder) => Some(decoder.sights()),
            Writer::Convolutional(decoder) => Some(decoder.sights()),
        }
    }

    /// Reads packed sources.
    pub fn encode(&self, pass: &Pass, source: &Packed) -> Encoded {
        self.encoder.forward(pass, source)
    }

    /// Where the decoder stands before its first step; row `i` reads the source at place `of[i]`.
    pub fn start(&self, pass: &Pass, encoded: &Encoded, of: Arc<[u32]>) -> DecoderState {
        DecoderState(match &self.writer {
            Writer::Recurrent { context, bridge, decoder } => {
                let told = context.forward(pass, encoded);
                let first = bridge.forward(pass, &told.first, &of);
                let each_step = told.each_step.map(|context| gather_rows(&context, &of)); // [readers, context]
                let attention = decoder.attention();
                let memory =
                    attention.map(|attention| attention.memory(pass, &encoded.states, &encoded.rows, of));
                WriterState::Recurrent(decoder.start(pass, first, each_step, memory).into())
            }
            Writer::Attention(decoder) => WriterState::Attention(decoder.start(pass, encoded, of)),
            Writer::Transformer(decoder) => WriterState::Transformer(decoder.start(pass, encoded, of)),
            Writer::Convolutional(decoder) => WriterState::Convolutional(decoder.start(pass, encoded, of)),
        })
    }

    /// One step of the decoder.
    ///
    /// # Panics
    /// With a state of another model.
    pub fn step(&self, pass: &Pass, tokens: &[u32], state: &DecoderState) -> Stepped {
        match (&self.writer, &state.0) {
            (Writer::Recurrent { decoder, .. }, WriterState::Recurrent(state)) => {
                decoder.step(pass, tokens, state).any(|state| WriterState::Recurrent(state.into()))
            }
            (Writer::Attention(decoder), WriterState::Attention(state)) => {
                decoder.step(pass, tokens, state).any(WriterState::Attention)
            }
            (Writer::Transformer(decoder), WriterState::Transformer(state)) => {
                decoder.step(pass, tokens, state).any(WriterState::Transformer)
            }
            (Writer::Convolutional(decoder), WriterState::Convolutional(state)) => {
                decoder.step(pass, tokens, state).any(WriterState::Convolutional)
            }
            _ => panic!("a state of another model"),
        }
    }

    /// All steps of a batch's targets.
    pub fn sequence(&self, pass: &Pass, batch: &Batch) -> Sequence {
        let encoded = self.encode(pass, &batch.source);
        let state = self.start(pass, &encoded, Arc::clone(&batch.source_of));
        match (&self.writer, &state.0) {
            (Writer::Recurrent { decoder, .. }, WriterState::Recurrent(state)) => {
                decoder.sequence(pass, &batch.input, state)
            }
            (Writer::Attention(decoder), WriterState::Attention(state)) => {
                decoder.sequence(pass, &batch.input, state)
            }
            (Writer::Transformer(decoder), WriterState::Transformer(state)) => {
                decoder.sequence(pass, &batch.input, state)
            }
            (Writer::Convolutional(decoder), WriterState::Convolutional(state)) => {
                decoder.sequence(pass, &batch.input, state)
            }
            _ => unreachable!("a model starts with a state of its own"),
        }
    }

    /// The cross-entropy of a batch's target tokens; while it learns, the mean has the coverage loss in it, where there is one.
    pub fn loss(&self, pass: &Pass, batch: &Batch, smoothing: f32) -> Loss {
        let Sequence { features, weights } = self.sequence(pass, batch);
        let (weight, bias) = match &self.writer {
            Writer::Recurrent { decoder, .. } => decoder.output(pass),
            Writer::Attention(decoder) => decoder.output(pass),
            Writer::Transformer(decoder) => decoder.output(pass),
            Writer::Convolutional(decoder) => decoder.output(pass),
        };
        let how = CrossEntropy { scale: 1.0 / batch.targets() as f32, smoothing };
        let (mean, of_rows) = cross_entropy(&features, &weight, bias.as_ref(), &batch.output, how);
        let looked = self.coverage_loss.filter(|_| pass.is_training()).zip(weights);
        let mean = match looked {
            Some((weight, weights)) => add(&mean, &self.looked_again(&weights, batch, weight)),
            None => mean,
        };
        Loss { mean, of_rows }
    }

    /// `λ·Σ_j min(a_j, Σ a_j before)`, the mean over all target tokens and heads.
    fn looked_again(&self, weights: &Var, batch: &Batch, weight: f32) -> Var {
        let heads = self.sights().map_or(1, |sights| sights.heads);
        coverage_loss(weights, &batch.input.rows, weight / (batch.targets() * heads) as f32)
    }
}
