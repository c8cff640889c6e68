//! A recurrent decoder with attention (Bahdanau et al. 2015, Luong et al. 2015).
//!
//! Encoder states `h_1 … h_m` become a context vector `c = q(h_1 … h_m)`, which a bridge turns into the initial state `s_0`, and keys and
//! values for attention. In step `i`, with the embedded previous token `y_{i-1}`,
//!
//! 1. the input is `x_i = [y_{i-1}; c]`, without `c` unless the context enters every step;
//! 2. the layers compute `s_i = f(s_{i-1}, [x_i; c_{i-1}])`, with the attention's context of the step before (input feeding);
//! 3. attention computes `c_i = Σ_j softmax_j(score(s_i, h_j))·h_j`;
//! 4. layers above the one that attends compute `s_i = f(s_{i-1}, [s_i of the layer below; c_i])`;
//! 5. the readout `tanh(W·[s_i; c_i; c] + b)` is what the next token is predicted from;
//! 6. a decoder that copies chooses between the vocabulary and the source tokens that it attends to.
//!
//! With `query = "previous"`, `s_{i-1}` attends before step 2, and its context enters the layers at once.

use super::bridge::Bridge;
use super::context::Context;
use super::copy::CopyGate;
use super::readout::Readout;
use super::recurrence::{Carried, LayerOutput, Recurrence, StepRows};
use super::{AttentionShape, Decoder, DecoderEntry, DecoderInputs, DecoderOutput, StepOutput};
use crate::attention::{Attention, AttentionOutput};
use crate::builder::ModelBuilder;
use crate::cell::CellKind;
use crate::config::{
    AttentionConfig, ConfigError, DecoderConfig, InputFeeding, KindKeys, PositionKind, QueryLayer,
    StateShape, check_stochastic_depth, reject_if,
};
use crate::encoders::Encoded;
use crate::forward::ForwardPass;
use crate::inputs::{InputLayer, TokenInput};
use crate::layers::{DropoutSite, EmbeddingScale, Linear, RecurrentLayer};
use crate::request::StepRequest;
use crate::state::{DecoderState, SourceMemory, StateTensor, resize_blocks};
use crate::tokens::PackedTokens;
use couplet_tensor::ops::{Memory, concat_columns, gather_rows, repeat_over_steps};
use couplet_tensor::{Tensor, Var};
use std::sync::Arc;

pub(super) const fn entry(name: &'static str, cell: CellKind) -> DecoderEntry {
    DecoderEntry {
        kind: KindKeys { name, keys: &KEYS, cell: Some(cell) },
        positions: PositionKind::None,
        build: |b, inputs| Ok(Arc::new(RecurrentDecoder::new(b, inputs)?)),
    }
}

const KEYS: [&str; 8] = [
    "residual_from",
    "stochastic_depth",
    "readout",
    "layer_norm",
    "copy",
    "[model.attention]",
    "[model.context]",
    "model.bridge",
];

#[derive(Clone, Debug)]
struct RecurrentDecoder {
    context: Context,
    bridge: Bridge,
    input: TokenInput,
    recurrence: Recurrence,
    readout: Readout,
    copy: Option<CopyGate>,
    output: Linear,
    /// Dropout of the readout.
    dropout: DropoutSite,
}

impl RecurrentDecoder {
    /// Adds `context`, `bridge`, `attention`, and under `decoder` `embedding`, `weight_ih_l0` and so on, `attentional`, `copy_gate` and
    /// `output`.
    fn new(root: &mut ModelBuilder, inputs: &DecoderInputs) -> Result<Self, ConfigError> {
        let (config, encoder) = (inputs.config, inputs.encoder);
        let decoder = &config.decoder;
        check(decoder, &config.attention)?;
        Attention::check(&config.attention, encoder.width(), decoder.hidden)?;
        let cell = decoder.cell().expect("the list gives recurrent kinds a cell");
        let (hidden, embedding) = (decoder.hidden, decoder.embedding.size);
        let has_attention = config.attention.score().is_some();
        let context = Context::new(root.child("context"), &config.context, encoder, has_attention)?;
        let states = StateShape { widths: vec![hidden; decoder.layers], tensors: cell.state_tensors() };
        let bridge = Bridge::new(root.child("bridge"), config.bridge, context.initial_states(), states)?;
        let attended = config.attention.context_width(encoder.width()).unwrap_or(0);
        let fixed = context.every_step_width().unwrap_or(0);
        let input = inputs.token_input(&mut root.child("decoder"), EmbeddingScale::One);
        let recurrence = Recurrence::new(root, inputs, [embedding + fixed, attended]);
        let b = &mut root.child("decoder");
        let readout = Readout::new(b.child("attentional"), config, attended + fixed)?;
        let gate_inputs = hidden + attended + fixed + embedding;
        let copy = decoder.copy.then(|| CopyGate::new(b, gate_inputs, config.attention.heads));
        let output = inputs.output(b, &input, hidden)?;
        let dropout = b.child("output").dropout("dropout", decoder.dropout());
        Ok(RecurrentDecoder { context, bridge, input, recurrence, readout, copy, output, dropout })
    }

    /// Splits the tensors of a state, as [`RecurrentDecoder::tensors`] joined them.
    fn carried(&self, tensors: Vec<Var>, memory: Option<&Memory>) -> (Carried, Option<Var>) {
        let mut tensors = tensors.into_iter();
        let mut next = || tensors.next().expect("a state of this decoder");
        let fixed = self.context.every_step_width().map(|_| next()); // [parents, context]
        let of_layer = |layer: &RecurrentLayer| (0..layer.cell().parts()).map(|_| next()).collect();
        let layers = self.recurrence.layers.iter().map(of_layer).collect(); // [parents, hidden] each
        let steps = |memory: &Memory, weights: Var| resize_blocks(&weights, memory.heads, memory.steps());
        let fed = memory.filter(|_| self.recurrence.is_fed());
        let attended = fed.map(|memory| AttentionOutput {
            context: next(),                // [parents, value width]
            weights: steps(memory, next()), // [parents, heads·source steps]
        });
        let coverage = fed.filter(|_| self.recurrence.has_coverage()).map(|memory| steps(memory, next()));
        (Carried { layers, attended, coverage }, fixed)
    }

    /// The tensors of a state.
    fn tensors(&self, carried: Carried, fixed: Option<Var>) -> Vec<StateTensor> {
        let heads = self.recurrence.attention.as_ref().map_or(1, Attention::heads);
        let per_step = |weights| StateTensor::per_source_step(weights, heads);
        let layers = carried.layers.into_iter().flatten().map(StateTensor::from);
        let attended =
            carried.attended.map(|AttentionOutput { context, weights }| [context.into(), per_step(weights)]);
        let coverage = carried.coverage.map(per_step);
        let fixed = fixed.map(StateTensor::from);
        fixed.into_iter().chain(layers).chain(attended.into_iter().flatten()).chain(coverage).collect()
    }

    fn memory(&self, source: &SourceMemory) -> Option<Memory> {
        let attention = self.recurrence.attention.as_ref()?;
        source.memory(attention.heads(), Arc::clone(source.of()))
    }
}

impl Decoder for RecurrentDecoder {
    fn init_state(&self, fwd: &ForwardPass, source: &Encoded, source_of: Arc<[u32]>) -> DecoderState {
        let context = self.context.forward(fwd, source); // c, [batch, context]
        let layers = self.bridge.forward(fwd, &context.initial, &source_of); // s_0, [rows, hidden] each
        let fixed = context.every_step.map(|context| gather_rows(&context, &source_of)); // [rows, context]
        let attention = self.recurrence.attention.as_ref();
        let keys_values = attention.map(|attention| attention.keys_values(fwd, &source.states));
        let keys_values = keys_values.into_iter().flatten().collect(); // [source rows, …] each
        let source = SourceMemory::new(keys_values, &source.layout, source_of);
        let carried = self.recurrence.start(fwd, layers, self.memory(&source).as_ref());
        DecoderState::initial(self.tensors(carried, fixed), source)
    }

    fn step(
        &self,
        fwd: &ForwardPass,
        tokens: &[u32],
        state: &DecoderState,
        request: &StepRequest,
    ) -> StepOutput {
        let memory = self.memory(state.source());
        let (tensors, parents) = state.by_parent();
        let (carried, fixed) = self.carried(tensors, memory.as_ref());
        // 1. The input: the previous token, and the context if it enters every step.
        let word = self.input.step(fwd, tokens, state.positions()); // [rows, embedding]
        let fixed = fixed.map(|context| gather_rows(&context, &parents)); // [rows, context]
        let x = joined(&word, fixed.as_ref()); // [rows, embedding + context]
        // 2. to 4. The layers and attention.
        let rows = StepRows { parents: &parents, positions: state.positions(), memory: memory.as_ref() };
        let (output, carried) = self.recurrence.step(fwd, &x, carried, &rows);
        let LayerOutput { hidden, attention } = output; // [rows, hidden]
        // 5. The readout, from which the model projects to the vocabulary.
        let contexts = attention.iter().map(|attention| &attention.context).chain(&fixed);
        let readout = self.readout.forward(fwd, &hidden, contexts, &word); // [rows, hidden]
        // 6. The choice between the vocabulary and the source.
        let gate = self.copy.as_ref().zip(attention.as_ref());
        let pointer =
            gate.map(|(gate, attention)| gate.forward(fwd, &hidden, attention, fixed.as_ref(), &word));
        StepOutput {
            hidden: readout,
            state: state.after_step(self.tensors(carried, fixed)),
            attention: attention
                .filter(|_| request.attention)
                .map(|attention| Tensor::clone(attention.weights.value())),
            pointer,
        }
    }

    fn forward(
        &self,
        fwd: &ForwardPass,
        target: &PackedTokens,
        state: &DecoderState,
        _attention: bool,
    ) -> DecoderOutput {
        let (word, layout) = &self.input.forward(fwd, target); // [target rows, embedding]
        let memory = self.memory(state.source());
        let (carried, fixed) = self.carried(state.gathered().collect(), memory.as_ref());
        let fixed = fixed.map(|context| repeat_over_steps(&context, layout)); // [target rows, context]
        let x = joined(word, fixed.as_ref()); // [target rows, embedding + context]
        let output = self.recurrence.forward(fwd, &x, layout, &carried, memory.as_ref());
        let LayerOutput { hidden, attention } = output; // [target rows, hidden]
        let contexts = attention.iter().map(|attention| &attention.context).chain(&fixed);
        let readout = self.readout.forward(fwd, &hidden, contexts, word); // [target rows, hidden]
        let gate = self.copy.as_ref().zip(attention.as_ref());
        let pointer =
            gate.map(|(gate, attention)| gate.forward(fwd, &hidden, attention, fixed.as_ref(), word));
        DecoderOutput {
            hidden: fwd.dropout(readout, layout, &self.dropout),
            attention: attention.map(|attention| attention.weights),
            pointer,
        }
    }

    fn output_projection(&self) -> &Linear {
        &self.output
    }

    fn attention_shape(&self) -> Option<AttentionShape> {
        let attention = self.recurrence.attention.as_ref()?;
        Some(AttentionShape { layers: 1, heads: attention.heads() })
    }

    fn supports_copy(&self) -> bool {
        self.copy.is_some()
    }
}

/// `[y; c]`, or `y` alone.
fn joined(word: &Var, fixed: Option<&Var>) -> Var {
    fixed.map_or_else(|| word.clone(), |context| concat_columns(&[word, context]))
}

fn check(decoder: &DecoderConfig, attention: &AttentionConfig) -> Result<(), ConfigError> {
    let has_attention = attention.score().is_some();
    reject_if(
        decoder.copy && !has_attention,
        "model.decoder.copy cannot be combined with model.attention.score = \"none\"",
        "a decoder copies what it attends to; choose a score, or remove it",
    )?;
    reject_if(
        decoder.copy && attention.local.is_some(),
        "model.decoder.copy cannot be combined with model.attention.local",
        "tokens outside of the window could not be copied; remove one of them",
    )?;
    let Some(from) = decoder.residual_from else {
        return check_stochastic_depth("model.decoder", decoder.stochastic_depth);
    };
    reject_if(
        !(2..=decoder.layers).contains(&from),
        format!("model.decoder.residual_from = {from} is no layer from 2 to {}", decoder.layers),
        "a layer from 2, the first with a layer below it, to the last one",
    )?;
    let one_loop = has_attention
        && attention.input_feeding == InputFeeding::Context
        && attention.query_layer == QueryLayer::Last;
    reject_if(
        one_loop,
        "model.decoder.residual_from cannot be combined with input feeding from the last layer",
        "let the first layer attend: model.attention.query_layer = \"first\"; or set model.attention.input_feeding = \"none\"",
    )
}
