//! A Transformer's decoder: in each layer causal self-attention, attention to the source, and a feed-forward layer. One that copies
//! points to where its last layer attends.

use super::copy::CopyGate;
use super::{AttentionShape, Decoder, DecoderEntry, DecoderInputs, DecoderOutput, StepOutput, concat_layers};
use crate::attention::AttentionOutput;
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, HEADS, PositionKind, check_heads};
use crate::encoders::Encoded;
use crate::forward::ForwardPass;
use crate::inputs::{InputLayer, TokenInput};
use crate::kinds::KindKeys;
use crate::layers::{
    CrossAttention, CrossAttentionInput, EmbeddingScale, FeedForward, Linear, SelfAttention,
    SublayerConnection,
};
use crate::state::{DecoderState, SourceMemory};
use crate::tokens::PackedTokens;
use couplet_tensor::ops::PointerOutput;
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

pub(super) const ENTRY: DecoderEntry = DecoderEntry {
    kind: KindKeys {
        name: "transformer",
        keys: &["heads", "positions", "norm", "feed_forward", "copy"],
        cell: None,
    },
    positions: PositionKind::Sinusoidal,
    build: |b, inputs| Ok(Arc::new(TransformerDecoder::new(&mut b.child("decoder"), inputs)?)),
};

#[derive(Clone, Debug)]
struct TransformerDecoder {
    input: TokenInput,
    output: Linear,
    layers: Vec<Layer>,
    connection: SublayerConnection,
    copy: Option<CopyGate>,
    heads: usize,
}

#[derive(Clone, Debug)]
struct Layer {
    self_attention: SelfAttention,
    cross_attention: CrossAttention,
    feed_forward: FeedForward,
}

impl TransformerDecoder {
    /// Adds `layers.0.self_attn.in_proj_weight` and so on.
    fn new(b: &mut ModelBuilder, inputs: &DecoderInputs) -> Result<Self, ConfigError> {
        let (config, source_width) = (&inputs.config.decoder, inputs.encoder.width());
        let (width, heads, positions) =
            (config.embedding.size, config.heads.unwrap_or(HEADS), config.positions());
        check_heads("model.decoder", width, heads, positions)?;
        let feed_forward = config.feed_forward.unwrap_or_default();
        let dropout = config.dropout();
        let input = inputs.token_input(b, EmbeddingScale::SqrtWidth);
        let mut connection = SublayerConnection::new(config.norm.unwrap_or_default(), dropout);
        let layer = |layer: usize| {
            let b = &mut b.child(format!("layers.{layer}"));
            let layer = Layer {
                self_attention: SelfAttention::new(b.child("self_attn"), width, heads, true, positions),
                cross_attention: CrossAttention::new(b.child("multihead_attn"), width, heads, source_width),
                feed_forward: FeedForward::new(b, width, config.hidden, feed_forward, dropout),
            };
            connection.add_sublayers(b, 3, width);
            layer
        };
        let layers = (0..config.layers).map(layer).collect();
        connection.add_norm(b.child("norm"), width);
        Ok(TransformerDecoder {
            copy: config.copy.then(|| CopyGate::new(b, 3 * width, heads)),
            output: inputs.output(b, &input, width)?,
            input,
            layers,
            connection,
            heads,
        })
    }

    /// The choice between the vocabulary and the source, from the attention of the last layer.
    fn pointer(
        &self,
        fwd: &ForwardPass,
        hidden: &Var,
        attention: Option<AttentionOutput>,
        word: &Var,
    ) -> Option<PointerOutput> {
        let (gate, attention) = self.copy.as_ref().zip(attention)?;
        Some(gate.forward(fwd, hidden, &attention, None, word))
    }
}

impl Decoder for TransformerDecoder {
    fn init_state(&self, fwd: &ForwardPass, source: &Encoded, source_of: Arc<[u32]>) -> DecoderState {
        let keys_values = |layer: &Layer| layer.cross_attention.keys_values(fwd, &source.states);
        let keys_values = self.layers.iter().map(keys_values).collect(); // [source rows, 2·width] each
        DecoderState::initial(Vec::new(), SourceMemory::new(keys_values, &source.layout, source_of))
    }

    fn step(&self, fwd: &ForwardPass, tokens: &[u32], state: &DecoderState, attention: bool) -> StepOutput {
        let one_step = Arc::new(SequenceLayout::new(&vec![1; tokens.len()]));
        let mut cache = state.cache().clone();
        cache.begin_step(self.layers.len());
        // 1. Token vectors with their positions.
        let word = self.input.step(fwd, tokens, state.positions()); // [rows, width]
        let (connection, mut weights, mut last) = (&self.connection, Vec::new(), None);
        let mut stream = connection.begin(fwd, word.clone());
        for (i, layer) in self.layers.iter().enumerate() {
            // 2. Self-attention to the cache, which gets the keys and values of this step.
            let qkv = layer.self_attention.project(fwd, &stream.input, state.positions()); // [rows, 3·width]
            let context = layer.self_attention.attend(fwd, &qkv, cache.push(i, qkv.clone())); // [rows, width]
            stream = connection.add(fwd, &stream, &context, &one_step);
            // 3. Attention to the source.
            let source = CrossAttentionInput { source: state.source(), layer: i };
            let (context, of_layer) = layer.cross_attention.step(fwd, &stream.input, source); // [rows, width]
            stream = connection.add(fwd, &stream, &context, &one_step);
            last = Some(AttentionOutput { context, weights: Var::constant(of_layer.clone()) });
            weights.push(of_layer);
            // 4. The feed-forward layer.
            let output = layer.feed_forward.forward(fwd, &stream.input, &one_step);
            stream = connection.add(fwd, &stream, &output, &one_step); // [rows, width]
        }
        let hidden = connection.end(fwd, stream); // [rows, width]
        StepOutput {
            pointer: self.pointer(fwd, &hidden, last, &word),
            state: state.after_cached_step(Vec::new(), cache),
            attention: concat_layers(weights, attention),
            hidden,
        }
    }

    fn forward(
        &self,
        fwd: &ForwardPass,
        target: &PackedTokens,
        state: &DecoderState,
        attention: bool,
    ) -> DecoderOutput {
        let (word, layout) = &self.input.forward(fwd, target); // [target rows, width]
        let (connection, mut weights, mut last) = (&self.connection, Vec::new(), None);
        let mut stream = connection.begin(fwd, word.clone());
        for (i, layer) in self.layers.iter().enumerate() {
            let context = layer.self_attention.forward(fwd, &stream.input, layout); // [target rows, width]
            stream = connection.add(fwd, &stream, &context, layout);
            let (source, cross) =
                (CrossAttentionInput { source: state.source(), layer: i }, &layer.cross_attention);
            let context = if self.supports_copy() && i + 1 == self.layers.len() {
                let [context, of_layer] = cross.forward_with_weights(fwd, &stream.input, layout, source);
                weights.push(of_layer.value().clone());
                last = Some(AttentionOutput { context: context.clone(), weights: of_layer });
                context // [target rows, width]
            } else {
                let (context, of_layer) = cross.forward(fwd, &stream.input, layout, source, attention);
                weights.extend(of_layer);
                context
            };
            stream = connection.add(fwd, &stream, &context, layout);
            let output = layer.feed_forward.forward(fwd, &stream.input, layout);
            stream = connection.add(fwd, &stream, &output, layout); // [target rows, width]
        }
        let hidden = connection.end(fwd, stream);
        let pointer = self.pointer(fwd, &hidden, last, word);
        DecoderOutput { hidden, attention: concat_layers(weights, attention).map(Var::constant), pointer }
    }

    fn output_projection(&self) -> &Linear {
        &self.output
    }

    fn attention_shape(&self) -> Option<AttentionShape> {
        Some(AttentionShape { layers: self.layers.len(), heads: self.heads })
    }

    fn supports_copy(&self) -> bool {
        self.copy.is_some()
    }
}
