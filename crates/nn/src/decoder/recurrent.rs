use super::{Decoder, DecoderState, Sequence, Stepped};
use crate::attention::Attention;
use crate::config::DecoderConfig;
use crate::layer::{Embedding, Linear, RecurrentLayer};
use crate::pass::Pass;
use crate::tokens::Packed;
use couplet_tensor::cell::Lstm;
use couplet_tensor::ops::{Memory, Scan, ScanState, concat_columns, linear, tanh};
use couplet_tensor::score::Additive;
use couplet_tensor::{Params, Tensor, Var};
use std::marker::PhantomData;

/// The numbers under which the decoder's layers drop.
const DROPOUT: u32 = 200;

/// A stack of recurrent layers with attention, whose context enters the next step.
#[derive(Clone, Debug)]
pub struct RecurrentDecoder {
    embedding: Embedding,
    layers: Vec<RecurrentLayer>,
    /// How it looks at the source.
    pub attention: Attention,
    /// From state and context to the attention vector.
    mix: Linear,
    /// From the attention vector to the vocabulary.
    pub(crate) output: Linear,
    dropout: f32,
}

impl RecurrentDecoder {
    /// Adds the decoder's parameters; `width` is that of the encoder's states.
    pub fn new(
        params: &mut Params,
        config: &DecoderConfig,
        attention: impl FnOnce(&mut Params) -> Attention,
        width: usize,
        vocabulary: usize,
    ) -> Self {
        let hidden = config.hidden;
        let embedding = Embedding::new(params, "decoder.embedding", vocabulary, config.embedding);
        let layers = (0..config.layers).map(|layer| {
            let inputs = if layer == 0 { config.embedding + width } else { hidden };
            RecurrentLayer::new::<Lstm>(params, "decoder", &format!("l{layer}"), inputs, hidden)
        });
        RecurrentDecoder {
            layers: layers.collect(),
            attention: attention(params),
            mix: Linear::new(params, "decoder.mix", hidden + width, hidden, true),
            output: Linear::new(params, "decoder.output", hidden, vocabulary, true),
            embedding,
            dropout: config.dropout,
        }
    }

    /// Where it stands before the first step, from the first states of its layers.
    pub fn start(&self, pass: &Pass, first: Vec<Vec<Var>>, memory: Memory) -> DecoderState {
        let context = self.scan(pass).zero_state(memory.of.len(), &memory).context;
        DecoderState { scan: ScanState { layers: first, context }, memory }
    }

    fn scan(&self, pass: &Pass) -> Scan<Lstm, Additive> {
        Scan {
            layers: self.layers.iter().map(|layer| layer.weights(pass)).collect(),
            query: Some(pass.var(self.attention.query)),
            vector: Some(pass.var(self.attention.vector)),
            kind: PhantomData,
        }
    }

    /// The attention vector `tanh(W·[s; c] + b)`.
    fn mix(&self, pass: &Pass, state: &Var, context: &Var) -> Var {
        tanh(&self.mix.forward(pass, &concat_columns(&[state, context])))
    }

    /// The weight and the bias of the output, for the loss.
    pub(crate) fn output(&self, pass: &Pass) -> (Var, Option<Var>) {
        (pass.var(self.output.weight), self.output.bias.map(|bias| pass.var(bias)))
    }
}

impl Decoder for RecurrentDecoder {
    fn step(&self, pass: &Pass, tokens: &[u32], state: &DecoderState) -> Stepped {
        let x = self.embedding.forward(pass, tokens); // [rows, embedding]
        let (scan, weights) = self.scan(pass).step(&x, &state.scan, &state.memory);
        let top = &scan.layers[self.layers.len() - 1][0];
        let features = self.mix(pass, top, &scan.context); // [rows, hidden]
        let (weight, bias) = self.output(pass);
        let logits = linear(&features, &weight, bias.as_ref()); // [rows, vocabulary]
        let state = DecoderState { scan, memory: state.memory.clone() };
        Stepped { logits, state, weights: Tensor::clone(weights.value()) }
    }

    fn sequence(&self, pass: &Pass, input: &Packed, state: &DecoderState) -> Sequence {
        let rows = &input.rows;
        let embedded = self.embedding.forward(pass, &input.tokens);
        let x = pass.dropout(embedded, rows, self.dropout, DROPOUT); // [target rows, embedding]
        let scanned = self.scan(pass).sequence(&x, rows, &state.scan, &state.memory);
        let mixed = self.mix(pass, &scanned.states, &scanned.contexts); // [target rows, hidden]
        let features = pass.dropout(mixed, rows, self.dropout, DROPOUT + 1);
        Sequence { features, weights: Tensor::clone(scanned.weights.value()) }
    }
}
