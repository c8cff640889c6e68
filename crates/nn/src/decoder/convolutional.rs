use super::{Decoder, DecoderDropout, Sequence, Sights, Stepped, beside, embedding_of, output_of};
use crate::config::DecoderConfig;
use crate::convolution::{GatedConvolution, projection};
use crate::encoder::Encoded;
use crate::layer::{Dropout, DropoutSite, Embedding, Linear};
use crate::pass::Pass;
use crate::tokens::Packed;
use crate::transformer::Positions;
use couplet_tensor::ops::{
    KvView, MultiHead, Window, attend_cached, concat_columns, cross_attention, gather_rows, linear,
    multiply_elements, scaled_residual,
};
use couplet_tensor::{Params, SequenceLayout, Tensor, Var};
use std::sync::Arc;

/// Layers of gated convolutions that write: each token sees those before it, and in every layer looks at the source. There,
///
/// 1. the layer's output and the token's own vector make a query;
/// 2. keys are the source's states; values are these too, of a convolutional reader with the tokens' vectors added;
/// 3. what was seen is added to the layer's output, and that to what the layer read.
///
/// A mean of `m` values varies `√m` times less than each: so they are multiplied by it before.
#[derive(Clone, Debug)]
pub struct ConvolutionalDecoder {
    embedding: Embedding,
    positions: Positions,
    /// From the tokens' vectors to the layers' width.
    first: Linear,
    layers: Vec<Layer>,
    /// Back to the width of the tokens' vectors.
    last: Linear,
    /// From the source's states to that width, where they have another.
    source: Option<Linear>,
    output: Linear,
    how: MultiHead,
    dropouts: DecoderDropout,
    hidden: usize,
    window: Window,
}

#[derive(Clone, Debug)]
struct Layer {
    /// Of what it reads.
    dropout: DropoutSite,
    convolution: GatedConvolution,
    /// From the layer's output to a query, and from what was seen back.
    query: Linear,
    seen: Linear,
}

/// Where a convolutional decoder stands, a row for each hypothesis.
#[derive(Clone, Debug)]
pub(crate) struct ConvolutionalState {
    /// Keys and values of the source: source rows × 2·embedding.
    memory: Var,
    sources: Arc<SequenceLayout>,
    /// The place of each row's source.
    of: Arc<[u32]>,
    /// What each layer read in the steps before that its window holds, the earliest first: rows × hidden each, zeros at first.
    before: Vec<Vec<Var>>,
    step: usize,
}

impl ConvolutionalState {
    /// Row `rows[i]` as row `i`. The sources are not copied.
    pub(crate) fn select(&self, rows: &[u32]) -> ConvolutionalState {
        let select = |steps: &Vec<Var>| steps.iter().map(|step| gather_rows(step, rows)).collect();
        ConvolutionalState {
            of: rows.iter().map(|&row| self.of[row as usize]).collect(),
            before: self.before.iter().map(select).collect(),
            ..self.clone()
        }
    }
}

impl ConvolutionalDecoder {
    /// Adds `decoder.fc1.weight`, `decoder.layers.0.convolution.weight` and so on, for encoder states of `of_source` numbers; `shared` is
    /// the source's embedding, for a decoder that is tied to it.
    pub fn new(
        params: &mut Params,
        config: &DecoderConfig,
        of_source: usize,
        vocabulary: usize,
        shared: Option<&Embedding>,
    ) -> Self {
        let (width, hidden) = (config.embedding.size, config.hidden);
        let dropout = Dropout::of_numbers(config.dropout, config.variational_dropout);
        let none = Dropout { rate: 0.0, ..dropout };
        let window = Window { before: config.kernel() - 1, after: 0 };
        let embedding = embedding_of(params, config, vocabulary, shared);
        let positions = Positions::new(params, "decoder", config.positions(), None, width);
        let first = projection(params, "decoder.fc1", width, hidden, dropout);
        let layer = |layer: usize| {
            let [convolution, query, seen] =
                ["convolution", "query", "context"].map(|part| format!("decoder.layers.{layer}.{part}"));
            Layer {
                dropout: DropoutSite::new(params, &format!("decoder.layers.{layer}.dropout"), dropout),
                convolution: GatedConvolution::new(params, &convolution, window, hidden, dropout.rate),
                query: projection(params, &query, hidden, width, none),
                seen: projection(params, &seen, width, hidden, none),
            }
        };
        let layers = (0..config.layers).map(layer).collect();
        let last = projection(params, "decoder.fc2", hidden, width, none);
        let source =
            (of_source != width).then(|| projection(params, "decoder.source_proj", of_source, width, none));
        let output = output_of(params, config, vocabulary, &embedding);
        let how = MultiHead { heads: config.heads(), scale: 1.0, causal: false };
        ConvolutionalDecoder {
            dropouts: DecoderDropout::new(params, config),
            embedding,
            positions,
            first,
            layers,
            last,
            source,
            output,
            how,
            hidden,
            window,
        }
    }

    /// How it looks at the source.
    pub(crate) fn sights(&self) -> Sights {
        Sights { layers: self.layers.len(), heads: self.how.heads }
    }

    /// Where it stands before the first step; row `i` reads the source at place `of[i]`.
    pub(crate) fn start(&self, pass: &Pass, encoded: &Encoded, of: Arc<[u32]>) -> ConvolutionalState {
        let project = |states: &Var| match &self.source {
            Some(source) => source.forward(pass, states),
            None => states.clone(),
        };
        let keys = project(&encoded.states); // [source rows, embedding]
        let values = encoded.values.as_ref().map_or_else(|| keys.clone(), project);
        let roots = roots_of_lengths(&values, &encoded.rows);
        let zeros = Var::constant(Tensor::zeros(keys.device(), of.len(), self.hidden));
        ConvolutionalState {
            memory: concat_columns(&[&keys, &multiply_elements(&values, &roots)]),
            sources: Arc::clone(&encoded.rows),
            of,
            before: vec![vec![zeros; self.window.before]; self.layers.len()],
            step: 0,
        }
    }

    /// The weight and the bias of the output, for the loss.
    pub(crate) fn output(&self, pass: &Pass) -> (Var, Option<Var>) {
        self.output.weights(pass)
    }
}

/// The square root of its sequence's length for each number of packed rows.
fn roots_of_lengths(x: &Var, rows: &SequenceLayout) -> Var {
    let constant =
        |rows, columns, numbers: &[f32]| Var::constant(Tensor::new(x.device(), rows, columns, numbers));
    let roots: Vec<f32> = rows.places().map(|(place, _)| (rows.length(place) as f32).sqrt()).collect();
    // A product spreads the column over all columns, where they are needed.
    let ones = constant(x.columns(), 1, &vec![1.0; x.columns()]);
    linear(&constant(roots.len(), 1, &roots), &ones, None)
}

impl Decoder for ConvolutionalDecoder {
    type State = ConvolutionalState;

    fn step(&self, pass: &Pass, tokens: &[u32], state: &ConvolutionalState) -> Stepped<ConvolutionalState> {
        let rows = SequenceLayout::new(&vec![1; tokens.len()]);
        let mut after = ConvolutionalState { step: state.step + 1, ..state.clone() };
        let word = self.embedding.forward(pass, tokens); // [rows, embedding]
        let word = self.positions.forward(pass, &word, &rows, state.step);
        let segments = [(state.memory.value(), &*state.sources)];
        let past = KvView::Sources { segments: &segments, of: &state.of };
        let (mut x, mut weights) = (self.first.forward(pass, &word), Vec::new()); // [rows, hidden]
        for (layer, before) in self.layers.iter().zip(&mut after.before) {
            let made = layer.convolution.step(pass, before, &x); // [rows, hidden]
            let query = scaled_residual(&layer.query.forward(pass, &made), &word); // [rows, embedding]
            let [context, looked] = attend_cached(query.value(), query.columns(), past, self.how);
            weights.push(looked);
            let seen = layer.seen.forward(pass, &Var::constant(context)); // [rows, hidden]
            before.push(x.clone());
            before.remove(0);
            x = scaled_residual(&scaled_residual(&seen, &made), &x);
        }
        let logits = self.output.forward(pass, &self.last.forward(pass, &x)); // [rows, vocabulary]
        Stepped { logits, state: after, weights: beside(weights), pointing: None }
    }

    fn sequence(&self, pass: &Pass, target: &Packed, state: &ConvolutionalState) -> Sequence {
        let rows = &target.rows;
        let word = self.embedding.forward(pass, &target.tokens);
        let word = self.positions.forward(pass, &word, rows, 0);
        let word = pass.dropout(word, rows, &self.dropouts.embedding); // [target rows, embedding]
        let memory = (&state.memory, &state.sources);
        let (mut x, mut weights) = (self.first.forward(pass, &word), Vec::new()); // [target rows, hidden]
        for layer in &self.layers {
            let read = pass.dropout(x.clone(), rows, &layer.dropout);
            let made = layer.convolution.sequence(pass, &read, rows); // [target rows, hidden]
            let query = scaled_residual(&layer.query.forward(pass, &made), &word); // [target rows, embedding]
            // While training, nobody asks where it looked.
            let (context, looked) =
                cross_attention((&query, rows), memory, &state.of, self.how, !pass.is_training());
            weights.extend(looked);
            let seen = layer.seen.forward(pass, &context); // [target rows, hidden]
            x = scaled_residual(&scaled_residual(&seen, &made), &x);
        }
        let features = self.last.forward(pass, &x); // [target rows, embedding]
        Sequence {
            features: pass.dropout(features, rows, &self.dropouts.output),
            weights: beside(weights).map(Var::constant),
            pointing: None,
        }
    }
}
