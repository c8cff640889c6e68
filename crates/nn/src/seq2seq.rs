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
use couplet_tensor::ops::{
    CrossEntropy, PointerOutput, add, copy_loss, copy_mixture, coverage_loss, cross_entropy, gather_rows,
    linear, row_block, top_k,
};
use couplet_tensor::{Params, Tensor, Var};
use std::sync::Arc;

/// Rows whose logits are there at once when the likeliest tokens are found.
const LIKELIEST_ROWS: usize = 256;

/// A model from sequences to sequences. Its weights live in the [`Params`] that it was added to.
#[derive(Clone, Debug)]
pub struct Seq2Seq {
    encoder: Encoder,
    writer: Writer,
    /// The weight of what is looked at again in the loss, where it has one.
    coverage_loss: Option<f32>,
    /// How many tokens it can write without copying.
    vocabulary: usize,
}

/// What writes, and how it is told of the source.
#[derive(Clone, Debug)]
enum Writer {
    Recurrent { context: Context, bridge: Bridge, decoder: Box<RecurrentDecoder> },
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
                Writer::Recurrent { context, bridge, decoder: Box::new(decoder) }
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
        Ok(Seq2Seq {
            encoder,
            writer,
            coverage_loss: config.attention.coverage_loss,
            vocabulary: target_vocabulary,
        })
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

    /// The size of its target vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Whether it copies: then a batch says what there is to copy, and a step where it points.
    pub fn copies(&self) -> bool {
        match &self.writer {
            Writer::Recurrent { decoder, .. } => decoder.copies(),
            Writer::Transformer(decoder) => decoder.copies(),
            Writer::Attention(_) | Writer::Convolutional(_) => false,
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

    /// What it would write in each row of a batch's targets after the right tokens before: the likeliest token, which stands behind the
    /// vocabulary where it would copy a word that the vocabulary does not have. None where nothing is a number.
    pub fn likeliest(&self, pass: &Pass, batch: &Batch) -> Vec<Option<u32>> {
        let Sequence { features, pointing, .. } = self.sequence(pass, batch);
        let (weight, bias) = self.output(pass);
        let of_block = |start: usize| {
            let rows = start..(start + LIKELIEST_ROWS).min(features.rows());
            let logits = linear(&row_block(&features, rows.clone()), &weight, bias.as_ref());
            let mixed = pointing.as_ref().zip(batch.copied.as_ref()).map(|(pointing, copied)| {
                let [gate, weights] =
                    [&pointing.gate, &pointing.weights].map(|all| row_block(all, rows.clone()));
                let rows: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
                copy_mixture(
                    logits.value(),
                    &PointerOutput { gate, weights, ..*pointing },
                    &copied.select(&rows),
                )
            });
            let best = top_k(mixed.as_ref().unwrap_or(logits.value()), 1);
            best.into_iter().map(|best| best.first().map(|&(token, _)| token)).collect::<Vec<_>>()
        };
        (0..features.rows()).step_by(LIKELIEST_ROWS).flat_map(of_block).collect()
    }

    /// The same, with `unknown` for a token that its vocabulary does not have.
    pub fn guesses(&self, pass: &Pass, batch: &Batch, unknown: u32) -> Vec<u32> {
        let known = |token: &u32| (*token as usize) < self.vocabulary;
        self.likeliest(pass, batch).into_iter().map(|token| token.filter(known).unwrap_or(unknown)).collect()
    }

    /// The weight and the bias that make logits of features.
    fn output(&self, pass: &Pass) -> (Var, Option<Var>) {
        match &self.writer {
            Writer::Recurrent { decoder, .. } => decoder.output(pass),
            Writer::Attention(decoder) => decoder.output(pass),
            Writer::Transformer(decoder) => decoder.output(pass),
            Writer::Convolutional(decoder) => decoder.output(pass),
        }
    }

    /// The cross-entropy of a batch's target tokens; while it learns, the mean has the coverage loss in it, where there is one.
    ///
    /// # Panics
    /// If the model copies, and the batch does not say what.
    pub fn loss(&self, pass: &Pass, batch: &Batch, smoothing: f32) -> Loss {
        let Sequence { features, weights, pointing } = self.sequence(pass, batch);
        let (weight, bias) = self.output(pass);
        let how = CrossEntropy { scale: 1.0 / batch.targets() as f32, smoothing };
        let (bias, targets) = (bias.as_ref(), &batch.output);
        let (mean, of_rows) = match pointing {
            Some(pointing) => {
                let copied = batch.copied.as_ref().expect("what there is to copy");
                copy_loss(&features, &weight, bias, &pointing, copied, targets, how)
            }
            None => cross_entropy(&features, &weight, bias, targets, how),
        };
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
