use super::layers::Seen;
use super::pointer::Pointer;
use super::{Decoder, Sequence, Sights, Stepped, beside, embedding_of, output_of};
use crate::config::DecoderConfig;
use crate::encoder::Encoded;
use crate::layer::{Dropout, DropoutSite, Embedding, Linear};
use crate::pass::Pass;
use crate::tokens::Packed;
use crate::transformer::{Before, FeedForward, OwnAttention, Positions, Read, Residual, SourceAttention};
use couplet_tensor::ops::PointerOutput;
use couplet_tensor::{Params, SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// A Transformer's decoder: in each layer every token looks at those before it, then at the source, and a feed-forward layer follows.
/// One that copies points to where its last layer looks.
#[derive(Clone, Debug)]
pub struct TransformerDecoder {
    embedding: Embedding,
    positions: Positions,
    /// Of the tokens' vectors.
    dropout: DropoutSite,
    layers: Vec<Layer>,
    residual: Residual,
    /// From the states to the vocabulary.
    output: Linear,
    /// Of a decoder that copies.
    pointer: Option<Pointer>,
    heads: usize,
}

#[derive(Clone, Debug)]
struct Layer {
    own: OwnAttention,
    source: SourceAttention,
    feed_forward: FeedForward,
}

/// Where a Transformer's decoder stands, a row for each hypothesis.
#[derive(Clone, Debug)]
pub(crate) struct TransformerState {
    /// Keys and values of the source, for each layer: source rows × 2·width.
    memory: Vec<Var>,
    sources: Arc<SequenceLayout>,
    /// The place of each row's source.
    of: Arc<[u32]>,
    /// What the steps before left, for each layer and each step: it stays where it was written.
    past: Vec<Vec<Tensor>>,
    /// Where each row was in each step.
    rows: Vec<Vec<u32>>,
}

impl TransformerState {
    /// Row `rows[i]` as row `i`. Neither sources nor what was written is copied.
    pub(crate) fn select(&self, rows: &[u32]) -> TransformerState {
        TransformerState {
            of: rows.iter().map(|&row| self.of[row as usize]).collect(),
            rows: rows.iter().map(|&row| self.rows[row as usize].clone()).collect(),
            ..self.clone()
        }
    }

    /// What a layer reads of the source.
    fn read(&self, layer: usize) -> Read<'_> {
        Read { memory: &self.memory[layer], sources: &self.sources, of: &self.of }
    }
}

impl TransformerDecoder {
    /// Adds `decoder.layers.0.self_attn.in_proj_weight` and so on, for encoder states of `of_source` numbers; `shared` is the
    /// source's embedding, for a decoder that is tied to it.
    pub fn new(
        params: &mut Params,
        config: &DecoderConfig,
        of_source: usize,
        vocabulary: usize,
        shared: Option<&Embedding>,
    ) -> Self {
        let (width, heads) = (config.embedding.size, config.heads());
        let embedding = embedding_of(params, config, vocabulary, shared);
        let scale = (width as f32).sqrt();
        let positions = Positions::new(params, "decoder", config.positions(), Some(scale), width);
        let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
        let mut residual = Residual::new(config.norm.unwrap_or_default(), dropout);
        let layer = |layer: usize| {
            let name = format!("decoder.layers.{layer}");
            let [own, source] = ["self_attn", "multihead_attn"].map(|part| format!("{name}.{part}"));
            let kind = config.feed_forward.unwrap_or_default();
            let layer = Layer {
                own: OwnAttention::new(params, &own, width, heads, true, config.positions()),
                source: SourceAttention::new(params, &source, width, heads, of_source),
                feed_forward: FeedForward::new(params, &name, width, config.hidden, kind, dropout),
            };
            residual.add_sublayers(params, &name, 3, width);
            layer
        };
        let layers = (0..config.layers).map(layer).collect();
        residual.add_norm(params, "decoder.norm", width);
        let pointer = config.copy.then(|| Pointer::new(params, width, width, width, heads));
        let output = output_of(params, config, vocabulary, &embedding);
        let dropout = DropoutSite::new(params, "decoder.embedding.dropout", dropout);
        TransformerDecoder { embedding, positions, dropout, layers, residual, output, pointer, heads }
    }

    /// Whether it copies.
    pub(crate) fn copies(&self) -> bool {
        self.pointer.is_some()
    }

    /// Where it points, given what its last layer saw, if it copies.
    fn pointing(&self, pass: &Pass, features: &Var, seen: Option<Seen>, word: &Var) -> Option<PointerOutput> {
        let (pointer, seen) = self.pointer.as_ref().zip(seen)?;
        Some(pointer.forward(pass, features, &seen, None, word))
    }

    /// How it looks at the source.
    pub(crate) fn sights(&self) -> Sights {
        Sights { layers: self.layers.len(), heads: self.heads }
    }

    /// Where it stands before the first step; row `i` reads the source at place `of[i]`.
    pub(crate) fn start(&self, pass: &Pass, encoded: &Encoded, of: Arc<[u32]>) -> TransformerState {
        TransformerState {
            memory: self.layers.iter().map(|layer| layer.source.memory(pass, &encoded.states)).collect(),
            sources: Arc::clone(&encoded.rows),
            past: vec![Vec::new(); self.layers.len()],
            rows: vec![Vec::new(); of.len()],
            of,
        }
    }

    /// The weight and the bias of the output, for the loss.
    pub(crate) fn output(&self, pass: &Pass) -> (Var, Option<Var>) {
        self.output.weights(pass)
    }
}

impl Decoder for TransformerDecoder {
    type State = TransformerState;

    fn step(&self, pass: &Pass, tokens: &[u32], state: &TransformerState) -> Stepped<TransformerState> {
        let rows = Arc::new(SequenceLayout::new(&vec![1; tokens.len()]));
        let step = state.past.first().map_or(0, Vec::len);
        let mut after = state.clone();
        (0..).zip(&mut after.rows).for_each(|(row, places): (u32, _)| places.push(row));
        let word = self.embedding.forward(pass, tokens); // [rows, width]
        let word = self.positions.forward(pass, &word, &rows, step);
        let (residual, mut weights, mut last) = (&self.residual, Vec::new(), None);
        let mut stream = residual.begin(pass, word.clone());
        for (i, layer) in self.layers.iter().enumerate() {
            let before = Before { steps: &state.past[i], rows: &after.rows };
            let (written, steps) = layer.own.step(pass, &stream.read, &rows, before); // [rows, width]
            after.past[i] = steps;
            stream = residual.join(pass, &stream, &written, &rows);
            let (seen, looked) = layer.source.step(pass, &stream.read, state.read(i)); // [rows, width]
            stream = residual.join(pass, &stream, &seen, &rows);
            last = Some(Seen { context: seen, weights: Var::constant(looked.clone()) });
            weights.push(looked);
            let fed = layer.feed_forward.forward(pass, &stream.read, &rows);
            stream = residual.join(pass, &stream, &fed, &rows); // [rows, width]
        }
        let features = residual.end(pass, stream); // [rows, width]
        let logits = self.output.forward(pass, &features); // [rows, vocabulary]
        let pointing = self.pointing(pass, &features, last, &word);
        Stepped { logits, state: after, weights: beside(weights), pointing }
    }

    fn sequence(&self, pass: &Pass, target: &Packed, state: &TransformerState) -> Sequence {
        let rows = &target.rows;
        let word = self.embedding.forward(pass, &target.tokens);
        let word = self.positions.forward(pass, &word, rows, 0);
        let (residual, mut weights, mut last) = (&self.residual, Vec::new(), None);
        let word = pass.dropout(word, rows, &self.dropout); // [target rows, width]
        let mut stream = residual.begin(pass, word.clone());
        for (i, layer) in self.layers.iter().enumerate() {
            let written = layer.own.sequence(pass, &stream.read, rows); // [target rows, width]
            stream = residual.join(pass, &stream, &written, rows);
            let seen = if self.copies() && i + 1 == self.layers.len() {
                let [seen, looked] = layer.source.pointing(pass, &stream.read, rows, state.read(i));
                weights.push(looked.value().clone());
                last = Some(Seen { context: seen.clone(), weights: looked });
                seen // [target rows, width]
            } else {
                let (seen, looked) =
                    layer.source.sequence(pass, &stream.read, rows, state.read(i), !pass.is_training());
                weights.extend(looked);
                seen
            };
            stream = residual.join(pass, &stream, &seen, rows);
            let fed = layer.feed_forward.forward(pass, &stream.read, rows);
            stream = residual.join(pass, &stream, &fed, rows); // [target rows, width]
        }
        let features = residual.end(pass, stream);
        let pointing = self.pointing(pass, &features, last, &word);
        // While training, nobody asks where it looked.
        let weights = if pass.is_training() { None } else { beside(weights) };
        Sequence { features, weights: weights.map(Var::constant), pointing }
    }
}
