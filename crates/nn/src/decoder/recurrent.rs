use super::layers::{Layers, LayersState, Sight, Written};
use super::pointer::Pointer;
use super::readout::Readout;
use super::{Decoder, DecoderDropout, Sequence, Stepped, embedding_of, output_of};
use crate::attention::Attention;
use crate::cell::Cell;
use crate::config::{InputFeeding, ModelConfig, QueryLayer};
use crate::layer::{Dropout, DropoutSite, Embedding, Linear, RecurrentLayer};
use crate::pass::Pass;
use crate::shortcut::Shortcut;
use crate::tokens::Packed;
use couplet_tensor::ops::{Memory, PointerOutput, concat_columns, gather_rows, repeat_over_steps};
use couplet_tensor::{Params, Tensor, Var};

/// A stack of recurrent layers that writes token by token. In every step,
///
/// 1. the token before, and what the decoder is told of the source, enter the layers;
/// 2. the layers take a step, and look at the source;
/// 3. the token is predicted from the new state, and from what was seen; or it is copied from where it looks.
#[derive(Clone, Debug)]
pub struct RecurrentDecoder {
    embedding: Embedding,
    layers: Layers,
    readout: Readout,
    /// Of a decoder that copies.
    pointer: Option<Pointer>,
    /// From what a token is predicted from to the vocabulary.
    output: Linear,
    dropouts: DecoderDropout,
}

/// Where a recurrent decoder stands, a row for each hypothesis.
#[derive(Clone, Debug)]
pub(crate) struct RecurrentState {
    layers: LayersState,
    /// The context that enters every step.
    told: Option<Var>,
}

impl RecurrentState {
    /// Row `rows[i]` as row `i`. The sources are not copied.
    pub(crate) fn select(&self, rows: &[u32]) -> RecurrentState {
        RecurrentState {
            layers: self.layers.select(rows),
            told: self.told.as_ref().map(|told| gather_rows(told, rows)),
        }
    }
}

impl RecurrentDecoder {
    /// Adds the decoder's parameters, for encoder states of `width` numbers and contexts of every step of `contexts` numbers, the
    /// attention's and the one that it is told; `shared` is the source's embedding, for a decoder that is tied to it.
    pub fn new(
        params: &mut Params,
        config: &ModelConfig,
        cell: Cell,
        width: usize,
        contexts: [Option<usize>; 2],
        vocabulary: usize,
        shared: Option<&Embedding>,
    ) -> Self {
        let ModelConfig { attention, decoder, .. } = config;
        let hidden = decoder.hidden;
        let embedding = embedding_of(params, decoder, vocabulary, shared);
        let [seen, told] = contexts.map(Option::unwrap_or_default);
        let fed = if attention.input_feeding == InputFeeding::Context { seen } else { 0 };
        let below = match attention.query_layer {
            QueryLayer::First if attention.score().is_some() => 1,
            _ => decoder.layers,
        };
        let layers = (0..decoder.layers).map(|layer| {
            let inputs = match layer {
                0 => decoder.embedding.size + told + fed,
                _ if layer < below => hidden,
                _ => hidden + seen,
            };
            RecurrentLayer::new(params, "decoder", &format!("l{layer}"), cell, inputs, hidden)
        });
        let layers = layers.collect();
        let sight = Sight::new(Attention::new(params, attention, width, hidden), attention);
        let readout = Readout::new(params, config.readout(), hidden, seen + told, decoder.embedding.size);
        let pointer = decoder
            .copy
            .then(|| Pointer::new(params, hidden, seen + told, decoder.embedding.size, attention.heads));
        let output = output_of(params, decoder, vocabulary, &embedding);
        let dropout = Dropout::of_numbers(decoder.dropout, decoder.variational_dropout);
        let site = |layer| DropoutSite::new(params, &format!("decoder.l{layer}.dropout"), dropout);
        let between = (below - 1..decoder.layers - 1).map(site).collect();
        let (from, rate) = (decoder.residual_from, decoder.stochastic_depth);
        let shortcut = Shortcut::new(params, "decoder", decoder.layers, from, rate);
        let layers = Layers { layers, sight, below, shortcut, dropouts: between };
        let dropouts = DecoderDropout::new(params, decoder);
        RecurrentDecoder { embedding, layers, readout, pointer, output, dropouts }
    }

    /// How it looks at the source, if it does.
    pub fn attention(&self) -> Option<&Attention> {
        self.layers.sight.attention()
    }

    /// Whether it copies.
    pub(crate) fn copies(&self) -> bool {
        self.pointer.is_some()
    }

    /// Where it stands before the first step: the first states of its layers, what enters every step, and what is looked at.
    pub(crate) fn start(
        &self,
        pass: &Pass,
        first: Vec<Vec<Var>>,
        told: Option<Var>,
        memory: Option<Memory>,
    ) -> RecurrentState {
        RecurrentState { layers: self.layers.start(pass, first, memory), told }
    }

    /// The weight and the bias of the output, for the loss.
    pub(crate) fn output(&self, pass: &Pass) -> (Var, Option<Var>) {
        self.output.weights(pass)
    }

    /// What a token is predicted from: rows × hidden.
    fn features(&self, pass: &Pass, written: &Written, told: Option<&Var>, word: &Var) -> Var {
        let contexts = written.seen.iter().map(|seen| &seen.context).chain(told);
        self.readout.forward(pass, &written.states, contexts, word)
    }

    /// Where it points, if it copies.
    fn pointing(
        &self,
        pass: &Pass,
        written: &Written,
        told: Option<&Var>,
        word: &Var,
    ) -> Option<PointerOutput> {
        let (pointer, seen) = self.pointer.as_ref().zip(written.seen.as_ref())?;
        Some(pointer.forward(pass, &written.states, seen, told, word))
    }
}

/// What enters a step from outside: the token before, and what the decoder is told of the source.
fn input(word: &Var, told: Option<&Var>) -> Var {
    told.map_or_else(|| word.clone(), |told| concat_columns(&[word, told]))
}

impl Decoder for RecurrentDecoder {
    type State = RecurrentState;

    fn step(&self, pass: &Pass, tokens: &[u32], state: &RecurrentState) -> Stepped<RecurrentState> {
        let told = state.told.as_ref(); // [rows, context]
        let word = self.embedding.forward(pass, tokens); // [rows, embedding]
        let (written, layers) = self.layers.step(pass, &input(&word, told), &state.layers);
        let features = self.features(pass, &written, told, &word); // [rows, hidden]
        let logits = self.output.forward(pass, &features); // [rows, vocabulary]
        let pointing = self.pointing(pass, &written, told, &word);
        let state = RecurrentState { layers, told: state.told.clone() };
        let weights = written.seen.map(|seen| Tensor::clone(seen.weights.value()));
        Stepped { logits, state, weights, pointing }
    }

    fn sequence(&self, pass: &Pass, target: &Packed, state: &RecurrentState) -> Sequence {
        let rows = &target.rows;
        let told = state.told.as_ref().map(|told| repeat_over_steps(told, rows)); // [target rows, context]
        let word = self.embedding.forward(pass, &target.tokens);
        let word = pass.dropout(word, rows, &self.dropouts.embedding); // [target rows, embedding]
        let written = self.layers.sequence(pass, &input(&word, told.as_ref()), rows, &state.layers);
        let features = self.features(pass, &written, told.as_ref(), &word); // [target rows, hidden]
        let features = pass.dropout(features, rows, &self.dropouts.output);
        let pointing = self.pointing(pass, &written, told.as_ref(), &word);
        Sequence { features, weights: written.seen.map(|seen| seen.weights), pointing }
    }
}
