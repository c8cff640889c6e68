//! A recurrent decoder with attention (Bahdanau et al. 2015, Luong et al. 2015).
//!
//! Encoder states `h_1 … h_m` become a context vector `c = q(h_1 … h_m)`, which a bridge turns into the initial state `s_0`, and keys and
//! values for attention. In step `i`, with the embedded previous token `y_{i-1}`,
//!
//! 1. the input is `x_i = [y_{i-1}; c]`, without `c` unless the context enters every step;
//! 2. the layers compute `s_i = f(s_{i-1}, [x_i; c_{i-1}])`, with the attention's context of the step before (input feeding);
//! 3. attention computes `c_i = Σ_j softmax_j(score(q_i, k_j))·v_j`, where query, keys and values are `s_i` and `h_j` or projections of them;
//! 4. layers above the one that attends compute `s_i = f(s_{i-1}, [s_i of the layer below; c_i])`;
//! 5. the readout `tanh(W·[s_i; c_i; c] + b)`, with `y_{i-1}` as well or `s_i` alone, is what the next token is predicted from;
//! 6. a decoder that copies chooses between the vocabulary and the source tokens that it attends to.
//!
//! With `query = "previous"`, `s_{i-1}` attends before step 2: its context enters the layers at once, and is that of steps 4 to 6.

use super::context::{Bridge, Context};
use super::copy::CopyGate;
use super::recurrence::{Carried, LayerOutput, Recurrence, StepRows};
use super::{AttentionShape, Decoder, DecoderEntry, DecoderInputs, DecoderOutput, StepOutput};
use crate::attention::{Attention, AttentionOutput};
use crate::builder::ModelBuilder;
use crate::cell::CellKind;
use crate::config::{
    AttentionConfig, ConfigError, DecoderConfig, InputFeeding, ModelConfig, PositionKind, QueryLayer,
    ReadoutKind, StateShape, check_stochastic_depth, reject_if,
};
use crate::encoders::Encoded;
use crate::forward::ForwardPass;
use crate::inputs::{InputLayer, TokenInput};
use crate::kinds::KindKeys;
use crate::layers::{DropoutSite, EmbeddingScale, Linear, RecurrentLayer};
use crate::state::{DecoderState, SourceMemory, StateTensor, resize_blocks, select_rows};
use crate::tokens::PackedTokens;
use couplet_tensor::Var;
use couplet_tensor::ops::{Memory, PointerOutput, concat_columns, gather_rows, repeat_over_steps};
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

    /// Steps 5 and 6: the readout, and for a decoder that copies the choice between the vocabulary and the source.
    fn output(
        &self,
        fwd: &ForwardPass,
        output: &LayerOutput,
        fixed: Option<&Var>,
        word: &Var,
    ) -> (Var, Option<PointerOutput>) {
        let LayerOutput { hidden, attention } = output;
        let contexts = attention.iter().map(|attention| &attention.context).chain(fixed);
        let readout = self.readout.forward(fwd, hidden, contexts, word); // [rows, hidden]
        let gate = self.copy.as_ref().zip(attention.as_ref());
        let pointer = gate.map(|(gate, attention)| gate.forward(fwd, hidden, attention, fixed, word));
        (readout, pointer)
    }

    fn memory(&self, source: &SourceMemory) -> Option<Memory> {
        let attention = self.recurrence.attention.as_ref()?;
        source.memory(attention.heads())
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

    fn step(&self, fwd: &ForwardPass, tokens: &[u32], state: &DecoderState, attention: bool) -> StepOutput {
        let memory = self.memory(state.source());
        let (tensors, parents) = state.by_parent();
        let (carried, fixed) = self.carried(tensors, memory.as_ref());
        // 1. The input: the previous token, and the context if it enters every step.
        let word = self.input.step(fwd, tokens, state.positions()); // y, [rows, embedding]
        let fixed = fixed.map(|context| select_rows(&context, &parents)); // c, [rows, context]
        let x = joined(&word, fixed.as_ref()); // x, [rows, embedding + context]
        // 2. to 4. The layers s_i = f(s_{i-1}, [x_i; c_{i-1}]) and attention c_i = Σ_j a_ij·v_j.
        let rows = StepRows { parents: &parents, positions: state.positions(), memory: memory.as_ref() };
        let (output, carried) = self.recurrence.step(fwd, &x, carried, &rows); // s_i, [rows, hidden]
        // 5. The readout tanh(W·[s_i; c_i; c] + b), from which the model projects to the vocabulary.
        // 6. The choice between the vocabulary and the source.
        let (hidden, pointer) = self.output(fwd, &output, fixed.as_ref(), &word); // [rows, hidden]
        let weights = output.attention.filter(|_| attention).map(|attention| attention.weights);
        StepOutput {
            hidden,
            state: state.after_step(self.tensors(carried, fixed)),
            attention: weights.map(|weights| weights.value().clone()), // [rows, heads·source steps]
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
        let (word, layout) = &self.input.forward(fwd, target); // y, [target rows, embedding]
        let memory = self.memory(state.source());
        let (carried, fixed) = self.carried(state.gathered().collect(), memory.as_ref());
        let fixed = fixed.map(|context| repeat_over_steps(&context, layout)); // c, [target rows, context]
        let x = joined(word, fixed.as_ref()); // x, [target rows, embedding + context]
        let output = self.recurrence.forward(fwd, &x, layout, &carried, memory.as_ref()); // s, [target rows, hidden]
        let (hidden, pointer) = self.output(fwd, &output, fixed.as_ref(), word); // [target rows, hidden]
        DecoderOutput {
            hidden: fwd.dropout(hidden, layout, &self.dropout),
            attention: output.attention.map(|attention| attention.weights), // [target rows, heads·source steps]
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

/// The readout, from which a token is predicted: the state `s` itself, the attentional vector `tanh(W·[s; c] + b)` with the contexts `c` of the step, or
/// the deep output `tanh(W·[s; c; y] + b)` with the embedded previous token `y` as well.
#[derive(Clone, Debug)]
struct Readout {
    attentional: Option<Linear>,
    has_word: bool,
}

impl Readout {
    /// Adds the parameters, for contexts of a width in all.
    fn new(b: ModelBuilder, config: &ModelConfig, contexts: usize) -> Result<Readout, ConfigError> {
        let (hidden, embedding) = (config.decoder.hidden, config.decoder.embedding.size);
        let has_attention = config.attention.score().is_some();
        let usual = if has_attention { ReadoutKind::Attentional } else { ReadoutKind::State };
        let kind = config.decoder.readout.unwrap_or(usual);
        reject_if(
            contexts == 0 && kind != ReadoutKind::State,
            "model.decoder.readout joins the state with a context, and no context reaches the steps",
            "use readout = \"state\", an attention score, or model.context.to = \"every_step\"",
        )?;
        Ok(Readout::of_kind(b, kind, [hidden, contexts, embedding]))
    }

    /// A readout of states, contexts and token vectors of these widths.
    fn of_kind(b: ModelBuilder, kind: ReadoutKind, [hidden, contexts, embedding]: [usize; 3]) -> Readout {
        let has_word = kind == ReadoutKind::DeepOutput;
        let inputs = hidden + contexts + if has_word { embedding } else { 0 };
        let attentional = (kind != ReadoutKind::State).then(|| Linear::new(b, inputs, hidden, true));
        Readout { attentional, has_word }
    }

    /// rows × hidden
    fn forward<'a>(
        &self,
        fwd: &ForwardPass,
        state: &'a Var,
        contexts: impl IntoIterator<Item = &'a Var>,
        word: &'a Var,
    ) -> Var {
        let Some(attentional) = &self.attentional else { return state.clone() };
        let word = self.has_word.then_some(word);
        let joined: Vec<&Var> = std::iter::once(state).chain(contexts).chain(word).collect();
        attentional.tanh(fwd, &concat_columns(&joined))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_near, matrix, set};
    use couplet_tensor::{Device, Params};

    /// With s = 0.5, c = −1 and x = 2: s itself; tanh(1·0.5 + 0.4·(−1) + 0.1) = tanh(0.2) = 0.19738;
    /// and with x as well, tanh(0.2 + 0.25·2) = tanh(0.7) = 0.60437.
    #[test]
    fn readouts_by_hand() {
        let weights: [f32; 3] = [1.0, 0.4, 0.25];
        let kinds = [
            (ReadoutKind::State, 0, 0.5),
            (ReadoutKind::Attentional, 2, 0.19738),
            (ReadoutKind::DeepOutput, 3, 0.60437),
        ];
        for (kind, inputs, expected) in kinds {
            let mut params = Params::new(&Device::cpu(), 1);
            let readout = Readout::of_kind(ModelBuilder::new(&mut params), kind, [1, 1, 1]);
            if inputs > 0 {
                set(&mut params, &[("weight", &weights[..inputs]), ("bias", &[0.1])]);
            }
            let [s, c, x] = [0.5, -1.0, 2.0].map(|number| matrix(&[&[number]]));
            let found = readout.forward(&ForwardPass::inference(&params), &s, [&c], &x);
            assert_near(&found.value().to_vec(), &[expected]);
        }
    }
}
