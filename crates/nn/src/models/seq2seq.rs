//! A model from sequences to sequences: an encoder and a decoder.

use super::LossStats;
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, ModelConfig, Tied, reject_if};
use crate::decoders::{AttentionShape, Decoder, DecoderInputs, DecoderOutput, StepOutput, build};
use crate::encoders::{Encoded, SourceEncoder};
use crate::forward::ForwardPass;
use crate::state::DecoderState;
use crate::tokens::{Batch, PackedTokens};
use couplet_tensor::ops::{
    CrossEntropy, PointerOutput, add, copy_loss, copy_mixture, coverage_loss, cross_entropy, linear,
    row_block, top_k,
};
use couplet_tensor::{Params, Var};
use std::sync::Arc;

/// Rows whose logits exist at once when predictions are computed.
const PREDICTED_ROWS: usize = 256;

/// A model from sequences to sequences. Its weights are in the [`Params`] that it was added to.
#[derive(Clone, Debug)]
pub struct Seq2Seq {
    source: SourceEncoder,
    decoder: Arc<dyn Decoder>,
    /// The weight of the coverage loss, if there is one.
    coverage_loss: Option<f32>,
    /// The size of the target vocabulary.
    vocabulary: usize,
}

impl Seq2Seq {
    /// Adds the model's parameters, for vocabularies of these sizes.
    pub fn new(
        params: &mut Params,
        config: &ModelConfig,
        source_vocabulary: usize,
        target_vocabulary: usize,
    ) -> Result<Seq2Seq, ConfigError> {
        reject_if(
            config.decoder.tie_embeddings == Tied::All && source_vocabulary != target_vocabulary,
            format!(
                "model.decoder.tie_embeddings = \"all\" cannot tie vocabularies of {source_vocabulary} and {target_vocabulary} tokens"
            ),
            "both sides need one vocabulary, or use tie_embeddings = \"output\"",
        )?;
        let b = &mut ModelBuilder::new(params);
        let source = SourceEncoder::new(b, &config.encoder, source_vocabulary)?;
        let inputs = DecoderInputs {
            config,
            encoder: &*source.encoder,
            vocabulary: target_vocabulary,
            shared: source.input.embedding(),
        };
        let decoder = build(b, &inputs)?;
        let coverage_loss = config.attention.coverage_loss;
        Ok(Seq2Seq { source, decoder, coverage_loss, vocabulary: target_vocabulary })
    }

    /// A model of an encoder and a decoder that were built apart, for a target vocabulary of a size.
    pub fn from_parts(source: SourceEncoder, decoder: Arc<dyn Decoder>, vocabulary: usize) -> Seq2Seq {
        Seq2Seq { source, decoder, coverage_loss: None, vocabulary }
    }

    /// Layers and heads of the decoder's attention; none without attention.
    pub fn attention_shape(&self) -> Option<AttentionShape> {
        self.decoder.attention_shape()
    }

    /// The width of the encoder's hidden states.
    pub fn source_width(&self) -> usize {
        self.source.encoder.width()
    }

    /// The size of its target vocabulary.
    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// Returns true if it copies: then a batch has a [`CopySource`](couplet_tensor::ops::CopySource), and a step a pointer.
    pub fn supports_copy(&self) -> bool {
        self.decoder.supports_copy()
    }

    /// Encodes packed sources.
    pub fn encode(&self, fwd: &ForwardPass, source: &PackedTokens) -> Encoded {
        self.source.forward(fwd, source)
    }

    /// The decoder's state before its first step; row `i` attends to source `source_of[i]` in the order of the layout.
    pub fn init_state(&self, fwd: &ForwardPass, source: &Encoded, source_of: Arc<[u32]>) -> DecoderState {
        self.decoder.init_state(fwd, source, source_of)
    }

    /// One step of the decoder: a token for each row of the state. Attention weights are returned on request.
    pub fn step(
        &self,
        fwd: &ForwardPass,
        tokens: &[u32],
        state: &DecoderState,
        attention: bool,
    ) -> StepOutput {
        self.decoder.step(fwd, tokens, state, attention)
    }

    /// The logits of hidden states: rows × vocabulary.
    pub fn logits(&self, fwd: &ForwardPass, hidden: &Var) -> Var {
        self.decoder.output_projection().forward(fwd, hidden)
    }

    /// All steps of a batch's targets (teacher forcing). Attention weights are returned on request.
    pub fn forward(&self, fwd: &ForwardPass, batch: &Batch, attention: bool) -> DecoderOutput {
        let source = self.encode(fwd, &batch.source);
        let state = self.init_state(fwd, &source, Arc::clone(&batch.source_of));
        self.decoder.forward(fwd, &batch.input, &state, attention)
    }

    /// The most probable token in each row of a batch's targets, after the correct tokens before it; beyond the vocabulary where a token of
    /// the source would be copied that the vocabulary does not have. None where no probability is finite.
    pub fn predict_teacher_forced(&self, fwd: &ForwardPass, batch: &Batch) -> Vec<Option<u32>> {
        let DecoderOutput { hidden, pointer, .. } = self.forward(fwd, batch, false);
        let (weight, bias) = self.decoder.output_projection().weights(fwd);
        let of_block = |start: usize| {
            let rows = start..(start + PREDICTED_ROWS).min(hidden.rows());
            let logits = linear(&row_block(&hidden, rows.clone()), &weight, bias.as_ref());
            let mixed = pointer.as_ref().zip(batch.copied.as_ref()).map(|(pointer, copied)| {
                let [gate, weights] =
                    [&pointer.gate, &pointer.weights].map(|all| row_block(all, rows.clone()));
                let rows: Vec<u32> = (rows.start as u32..rows.end as u32).collect();
                let pointer = PointerOutput { gate, weights, ..*pointer };
                copy_mixture(logits.value(), &pointer, &copied.select(&rows))
            });
            let best = top_k(mixed.as_ref().unwrap_or(logits.value()), 1);
            best.into_iter().map(|best| best.first().map(|&(token, _)| token)).collect::<Vec<_>>()
        };
        (0..hidden.rows()).step_by(PREDICTED_ROWS).flat_map(of_block).collect()
    }

    /// The same, with `unknown` for a token that its vocabulary does not have.
    pub fn predict_known(&self, fwd: &ForwardPass, batch: &Batch, unknown: u32) -> Vec<u32> {
        let known = |token: &u32| (*token as usize) < self.vocabulary;
        let predicted = self.predict_teacher_forced(fwd, batch);
        predicted.into_iter().map(|token| token.filter(known).unwrap_or(unknown)).collect()
    }

    /// The cross-entropy of a batch's target tokens; in training, the mean includes the coverage loss, if there is one.
    ///
    /// # Panics
    /// If the model copies and the batch has no [`CopySource`](couplet_tensor::ops::CopySource).
    pub fn loss(&self, fwd: &ForwardPass, batch: &Batch, smoothing: f32) -> LossStats {
        let coverage_loss = self.coverage_loss.filter(|_| fwd.is_training());
        let mut output = self.forward(fwd, batch, coverage_loss.is_some());
        let weights = output.attention.take();
        let stats = self.loss_of(fwd, output, batch, smoothing);
        match coverage_loss.zip(weights) {
            Some((weight, weights)) => {
                let mean = add(&stats.mean, &self.coverage_loss(&weights, batch, weight));
                LossStats { mean, ..stats }
            }
            None => stats,
        }
    }

    /// The cross-entropy of a batch's target tokens, from the decoder's output for them.
    pub fn loss_of(
        &self,
        fwd: &ForwardPass,
        output: DecoderOutput,
        batch: &Batch,
        smoothing: f32,
    ) -> LossStats {
        let DecoderOutput { hidden, pointer, .. } = output;
        let (weight, bias) = self.decoder.output_projection().weights(fwd);
        let config = CrossEntropy { scale: 1.0 / batch.targets() as f32, smoothing };
        let (bias, targets) = (bias.as_ref(), &batch.output);
        let (mean, per_target) = match pointer {
            Some(pointer) => {
                let copied = batch.copied.as_ref().expect("the source tokens that can be copied");
                copy_loss(&hidden, &weight, bias, &pointer, copied, targets, config)
            }
            None => cross_entropy(&hidden, &weight, bias, targets, config),
        };
        LossStats { mean, per_target, targets: batch.targets(), tokens: batch.tokens() }
    }

    /// `λ·Σ_j min(a_j, Σ a_j before)`, the mean over all target tokens and heads.
    fn coverage_loss(&self, weights: &Var, batch: &Batch, weight: f32) -> Var {
        let heads = self.attention_shape().map_or(1, |shape| shape.heads);
        coverage_loss(weights, &batch.input.layout, weight / (batch.targets() * heads) as f32)
    }
}
