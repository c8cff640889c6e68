//! A translator: bidirectional LSTM encoder, additive attention, LSTM decoder.
//!
//! The whole forward pass is [`Model::features`] and [`Model::loss`]; each line is one operation of the engine.

use couplet_tensor::cell::Lstm;
use couplet_tensor::ops::{
    AnyCell, AnyScore, CrossEntropy, LayerWeights, Memory, MemorySegment, ModifierWeights, Scan, ScanState,
    concat_columns, cross_entropy, embedding, gather_rows, linear, recurrent, tanh,
};
use couplet_tensor::score::Additive;
use couplet_tensor::{Direction, Init, Param, Params, SequenceLayout, Tape, Var};
use std::sync::Arc;

/// How large the model is. The decoder has twice the encoder's units, so that both directions' states fit its own.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) source_vocabulary: usize,
    pub(crate) target_vocabulary: usize,
    pub(crate) embedding: usize,
    /// Units of each direction of the encoder.
    pub(crate) encoder: usize,
    pub(crate) attention: usize,
    pub(crate) layers: usize,
}

impl Sizes {
    fn decoder(&self) -> usize {
        2 * self.encoder
    }
}

/// The parameters of a recurrent layer, under PyTorch's names.
struct Layer {
    input: Param,
    state: Param,
    bias: Param,
}

impl Layer {
    fn new(params: &mut Params, name: impl Fn(&str) -> String, inputs: usize, hidden: usize) -> Layer {
        let init = Init::Uniform(1.0 / (hidden as f32).sqrt());
        Layer {
            input: params.add(&name("weight_ih"), 4 * hidden, inputs, init),
            state: params.add(&name("weight_hh"), 4 * hidden, hidden, init),
            bias: params.add(&name("bias_ih"), 1, 4 * hidden, init),
        }
    }

    fn weights(&self, on: impl Fn(Param) -> Var) -> LayerWeights {
        LayerWeights {
            input: on(self.input),
            state: on(self.state),
            bias: on(self.bias),
            state_bias: None,
            norm: None,
        }
    }
}

/// The translator's parameters.
pub(crate) struct Model {
    source_embedding: Param,
    target_embedding: Param,
    /// For each layer, the two directions.
    encoder: Vec<[Layer; 2]>,
    decoder: Vec<Layer>,
    key: Param,
    query: Param,
    vector: Param,
    mix: [Param; 2],
    out: [Param; 2],
}

/// Sentence pairs, packed.
pub(crate) struct Batch {
    source: Vec<u32>,
    source_rows: Arc<SequenceLayout>,
    /// What the decoder reads: the start token and all but the last of its own output.
    input: Vec<u32>,
    output: Vec<u32>,
    /// How the targets are packed.
    pub(crate) target_rows: Arc<SequenceLayout>,
    /// The place in the source's order for each place in the target's.
    source_of: Arc<[u32]>,
}

impl Batch {
    /// Packs sentence pairs. A target begins with the start token and ends with the end token.
    pub(crate) fn new(pairs: &[(Vec<u32>, Vec<u32>)]) -> Batch {
        let source_rows =
            SequenceLayout::new(&pairs.iter().map(|(source, _)| source.len()).collect::<Vec<_>>());
        let target_rows =
            SequenceLayout::new(&pairs.iter().map(|(_, target)| target.len() - 1).collect::<Vec<_>>());
        let pack = |rows: &SequenceLayout, token: &dyn Fn(usize, usize) -> u32| -> Vec<u32> {
            rows.places().map(|(place, step)| token(rows.sorted_indices()[place] as usize, step)).collect()
        };
        let place_of = source_rows.unsorted_indices();
        let source_of = target_rows.sorted_indices().iter().map(|&pair| place_of[pair as usize]);
        Batch {
            source: pack(&source_rows, &|pair, step| pairs[pair].0[step]),
            input: pack(&target_rows, &|pair, step| pairs[pair].1[step]),
            output: pack(&target_rows, &|pair, step| pairs[pair].1[step + 1]),
            source_of: source_of.collect(),
            source_rows: Arc::new(source_rows),
            target_rows: Arc::new(target_rows),
        }
    }

    /// How many tokens the decoder has to predict.
    pub(crate) fn targets(&self) -> usize {
        self.output.len()
    }
}

impl Model {
    /// Adds the model's parameters to `params`.
    pub(crate) fn new(params: &mut Params, sizes: &Sizes) -> Model {
        let (width, encoder, decoder) = (sizes.embedding, sizes.encoder, sizes.decoder());
        let table = Init::Uniform(0.1);
        let near_zero = |inputs: usize| Init::Uniform(1.0 / (inputs as f32).sqrt());
        let mut matrix = |name: &str, rows, columns, init| params.add(name, rows, columns, init);
        Model {
            source_embedding: matrix("source_embedding", sizes.source_vocabulary, width, table),
            target_embedding: matrix("target_embedding", sizes.target_vocabulary, width, table),
            key: matrix("attention.key", sizes.attention, decoder, near_zero(decoder)),
            query: matrix("attention.query", sizes.attention, decoder, near_zero(decoder)),
            vector: matrix("attention.vector", 1, sizes.attention, near_zero(sizes.attention)),
            mix: [
                matrix("mix.weight", decoder, 2 * decoder, near_zero(2 * decoder)),
                matrix("mix.bias", 1, decoder, Init::Constant(0.0)),
            ],
            out: [
                matrix("out.weight", sizes.target_vocabulary, decoder, near_zero(decoder)),
                matrix("out.bias", 1, sizes.target_vocabulary, Init::Constant(0.0)),
            ],
            encoder: (0..sizes.layers)
                .map(|layer| {
                    let inputs = if layer == 0 { width } else { 2 * encoder };
                    ["", "_reverse"].map(|direction| {
                        Layer::new(
                            params,
                            |part| format!("encoder.{part}_l{layer}{direction}"),
                            inputs,
                            encoder,
                        )
                    })
                })
                .collect(),
            decoder: (0..sizes.layers)
                .map(|layer| {
                    let inputs = if layer == 0 { width + decoder } else { decoder };
                    Layer::new(params, |part| format!("decoder.{layer}.{part}"), inputs, decoder)
                })
                .collect(),
        }
    }

    /// The attention vector of every target token, from which the next one is predicted.
    pub(crate) fn features(&self, on: impl Fn(Param) -> Var + Copy, batch: &Batch) -> Var {
        let lstm = AnyCell::of::<Lstm>();
        // The encoder: each layer reads the states of the one below, in both directions.
        let mut states = embedding(&on(self.source_embedding), &batch.source); // [source rows, embedding]
        let mut starts = Vec::new();
        for directions in &self.encoder {
            let [forward, backward] = directions.each_ref().map(|layer| layer.weights(on));
            let forward = recurrent(lstm, &states, &batch.source_rows, Direction::Forward, &forward, None);
            let backward = recurrent(lstm, &states, &batch.source_rows, Direction::Backward, &backward, None);
            states = concat_columns(&[&forward.states, &backward.states]); // [source rows, decoder]
            // Each decoder layer begins where both directions of its encoder layer ended, in the target's order.
            let join = |(a, b)| gather_rows(&concat_columns(&[a, b]), &batch.source_of); // [batch, decoder]
            starts.push(forward.last.iter().zip(&backward.last).map(join).collect());
        }

        // The decoder: keys are made once; the context of each step enters the next one.
        let segment = MemorySegment {
            keys: linear(&states, &on(self.key), None), // [source rows, attention]
            values: states,
            layout: Arc::clone(&batch.source_rows),
        };
        let memory = Memory::new(segment, 1, Arc::clone(&batch.source_of));
        let scan = Scan {
            cell: lstm,
            score: AnyScore::of::<Additive>(),
            layers: self.decoder.iter().map(|layer| layer.weights(on)).collect(),
            query: Some(on(self.query)),
            vector: Some(on(self.vector)),
            focus: ModifierWeights::default(),
        };
        let zero = scan.zero_state(batch.target_rows.batch(), &memory);
        let start = ScanState { layers: starts, ..zero };
        let x = embedding(&on(self.target_embedding), &batch.input); // [target rows, embedding]
        let scanned = scan.sequence(&x, &batch.target_rows, &start, &memory);

        let joined = concat_columns(&[&scanned.states, &scanned.contexts]); // [target rows, 2·decoder]
        tanh(&linear(&joined, &on(self.mix[0]), Some(&on(self.mix[1])))) // [target rows, decoder]
    }

    /// The mean cross-entropy of a batch's target tokens. With a tape it can go back.
    pub(crate) fn loss(&self, params: &Params, tape: Option<&Tape>, batch: &Batch, smoothing: f32) -> Var {
        let on = |param| match tape {
            Some(tape) => tape.param(params, param),
            None => Var::constant(params.tensor(param)),
        };
        let features = self.features(on, batch);
        let how = CrossEntropy { scale: 1.0 / batch.targets() as f32, smoothing };
        cross_entropy(&features, &on(self.out[0]), Some(&on(self.out[1])), &batch.output, how).0
    }
}
