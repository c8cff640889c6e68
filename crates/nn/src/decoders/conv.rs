//! A convolutional decoder (Gehring et al. 2017): layers of gated convolutions over the tokens so far, each with attention to the source,
//! in which
//!
//! 1. the layer's output and the token's own vector make a query;
//! 2. keys are the encoder's states; values are these too, of a convolutional encoder with the tokens' vectors added;
//! 3. the context is added to the layer's output, and that to the layer's input.
//!
//! A mean of `m` values varies `√m` times less than each of them, so values are scaled by `√m`.

use super::{AttentionShape, Decoder, DecoderEntry, DecoderInputs, DecoderOutput, StepOutput, concat_layers};
use crate::builder::ModelBuilder;
use crate::config::{ConfigError, PositionKind, check_heads, check_not_rotary, check_sizes};
use crate::encoders::Encoded;
use crate::forward::ForwardPass;
use crate::inputs::{InputLayer, TokenInput};
use crate::kinds::KindKeys;
use crate::layers::{CrossAttentionInput, DropoutSite, EmbeddingScale, GatedConvolution, Linear};
use crate::state::{DecoderState, SourceMemory, StateTensor};
use crate::tokens::PackedTokens;
use couplet_tensor::ops::{MultiHead, Window, concat_columns, linear, multiply_elements, scaled_residual};
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

pub(super) const ENTRY: DecoderEntry = DecoderEntry {
    kind: KindKeys { name: "conv", keys: &["heads", "positions", "kernel"], cell: None },
    positions: PositionKind::Learned,
    build: |b, inputs| Ok(Arc::new(ConvDecoder::new(&mut b.child("decoder"), inputs)?)),
};

#[derive(Clone, Debug)]
struct ConvDecoder {
    input: TokenInput,
    output: Linear,
    /// From the tokens' vectors to the layers' width.
    fc1: Linear,
    layers: Vec<Layer>,
    /// Back to the width of the tokens' vectors.
    fc2: Linear,
    /// From the encoder's states to that width, where they have another.
    source_proj: Option<Linear>,
    config: MultiHead,
    /// Dropout of the last layer's output.
    dropout: DropoutSite,
    hidden: usize,
    window: Window,
}

#[derive(Clone, Debug)]
struct Layer {
    /// Dropout of its input.
    dropout: DropoutSite,
    convolution: GatedConvolution,
    /// From the layer's output to a query, and from the context back.
    query: Linear,
    context: Linear,
}

impl ConvDecoder {
    /// Adds `fc1`, `layers.0.convolution` and so on.
    fn new(b: &mut ModelBuilder, inputs: &DecoderInputs) -> Result<Self, ConfigError> {
        let (config, source_width) = (&inputs.config.decoder, inputs.encoder.width());
        let (width, hidden, positions) = (config.embedding.size, config.hidden, config.positions());
        let heads = config.heads.unwrap_or(1);
        check_sizes([("model.decoder.kernel", config.kernel())])?;
        check_not_rotary("model.decoder", positions, "conv")?;
        check_heads("model.decoder", width, heads, positions)?;
        let (dropout, rate) = (config.dropout(), config.dropout);
        let window = Window { before: config.kernel() - 1, after: 0 };
        let input = inputs.token_input(b, EmbeddingScale::One);
        let fc1 = Linear::variance_preserving(b.child("fc1"), width, hidden, rate);
        let layer = |layer: usize| {
            let mut b = b.child(format!("layers.{layer}"));
            Layer {
                dropout: b.dropout("dropout", dropout),
                convolution: GatedConvolution::new(b.child("convolution"), window, hidden, rate),
                query: Linear::variance_preserving(b.child("query"), hidden, width, 0.0),
                context: Linear::variance_preserving(b.child("context"), width, hidden, 0.0),
            }
        };
        let layers = (0..config.layers).map(layer).collect();
        Ok(ConvDecoder {
            fc2: Linear::variance_preserving(b.child("fc2"), hidden, width, 0.0),
            source_proj: (source_width != width)
                .then(|| Linear::variance_preserving(b.child("source_proj"), source_width, width, 0.0)),
            config: MultiHead { heads, scale: 1.0, causal: false },
            output: inputs.output(b, &input, width)?,
            dropout: b.child("output").dropout("dropout", dropout),
            input,
            fc1,
            layers,
            hidden,
            window,
        })
    }
}

impl Decoder for ConvDecoder {
    fn init_state(&self, fwd: &ForwardPass, source: &Encoded, source_of: Arc<[u32]>) -> DecoderState {
        let project = |states: &Var| match &self.source_proj {
            Some(projection) => projection.forward(fwd, states),
            None => states.clone(),
        };
        let keys = project(&source.states); // [source rows, embedding]
        let values = source.attention_values.as_ref().map_or_else(|| keys.clone(), project);
        let values = multiply_elements(&values, &sqrt_lengths(&values, &source.layout));
        let keys_values = vec![concat_columns(&[&keys, &values])]; // [source rows, 2·embedding]
        let zeros = Var::constant(Tensor::zeros(keys.device(), source_of.len(), self.hidden));
        let earlier = vec![zeros; self.layers.len() * self.window.before]; // [rows, hidden] each
        let earlier = earlier.into_iter().map(StateTensor::from).collect();
        DecoderState::initial(earlier, SourceMemory::new(keys_values, &source.layout, source_of))
    }

    fn step(&self, fwd: &ForwardPass, tokens: &[u32], state: &DecoderState, attention: bool) -> StepOutput {
        // The inputs of each layer in the steps before that its window holds, the earliest first.
        let mut earlier = state.gathered();
        let word = self.input.step(fwd, tokens, state.positions()); // [rows, embedding]
        let source = CrossAttentionInput { source: state.source(), layer: 0 };
        let (mut x, mut weights, mut kept) = (self.fc1.forward(fwd, &word), Vec::new(), Vec::new()); // [rows, hidden]
        for layer in &self.layers {
            let window: Vec<Var> = earlier.by_ref().take(self.window.before).collect();
            let units = layer.convolution.step(fwd, &window, &x); // [rows, hidden]
            let query = scaled_residual(&layer.query.forward(fwd, &units), &word); // [rows, embedding]
            let [context, of_layer] = source.attend_cached(query.value(), self.config);
            weights.push(of_layer);
            let context = layer.context.forward(fwd, &Var::constant(context)); // [rows, hidden]
            let inputs = window.into_iter().chain([x.clone()]).skip(1);
            kept.extend(inputs.take(self.window.before).map(StateTensor::from));
            x = scaled_residual(&scaled_residual(&context, &units), &x);
        }
        StepOutput {
            hidden: self.fc2.forward(fwd, &x), // [rows, embedding]
            state: state.after_step(kept),
            attention: concat_layers(weights, attention),
            pointer: None,
        }
    }

    fn forward(
        &self,
        fwd: &ForwardPass,
        target: &PackedTokens,
        state: &DecoderState,
        attention: bool,
    ) -> DecoderOutput {
        let (word, layout) = &self.input.forward(fwd, target); // [target rows, embedding]
        let source = CrossAttentionInput { source: state.source(), layer: 0 };
        let (mut x, mut weights) = (self.fc1.forward(fwd, word), Vec::new()); // [target rows, hidden]
        for layer in &self.layers {
            let input = fwd.dropout(x.clone(), layout, &layer.dropout);
            let units = layer.convolution.forward(fwd, &input, layout); // [target rows, hidden]
            let query = scaled_residual(&layer.query.forward(fwd, &units), word); // [target rows, embedding]
            let (context, of_layer) = source.cross_attention(&query, layout, self.config, attention);
            weights.extend(of_layer);
            let context = layer.context.forward(fwd, &context); // [target rows, hidden]
            x = scaled_residual(&scaled_residual(&context, &units), &x);
        }
        let hidden = self.fc2.forward(fwd, &x); // [target rows, embedding]
        DecoderOutput {
            hidden: fwd.dropout(hidden, layout, &self.dropout),
            attention: concat_layers(weights, attention).map(Var::constant),
            pointer: None,
        }
    }

    fn output_projection(&self) -> &Linear {
        &self.output
    }

    fn attention_shape(&self) -> Option<AttentionShape> {
        Some(AttentionShape { layers: self.layers.len(), heads: self.config.heads })
    }
}

/// The square root of its sequence's length for each value of packed rows.
fn sqrt_lengths(x: &Var, layout: &SequenceLayout) -> Var {
    let constant =
        |rows, columns, values: &[f32]| Var::constant(Tensor::new(x.device(), rows, columns, values));
    let roots: Vec<f32> =
        layout.places().map(|(sequence, _)| (layout.length(sequence) as f32).sqrt()).collect();
    // A product repeats the column, on the device.
    let ones = constant(x.columns(), 1, &vec![1.0; x.columns()]);
    linear(&constant(roots.len(), 1, &roots), &ones, None)
}
