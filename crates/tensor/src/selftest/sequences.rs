//! The cases of cells, attention, recurrent layers and decoders.

use super::case::{Case, Expect, Input, random, weight};
use crate::activation::{Identity, Relu, Sigmoid, Tanh};
use crate::cell::{Cell, Gru, Lstm, Simple};
use crate::ops::{GateNorm, LayerWeights, Memory, Norm, Scan, ScanState, attend, cell_step, recurrent};
use crate::rows::{Direction, Rows};
use crate::score::{Additive, Dot, Linear, Score};
use crate::tape::Var;
use std::marker::PhantomData;
use std::sync::Arc;

pub(super) fn cases() -> Vec<Case> {
    let groups = [
        cell_steps::<Simple>("cell_step, simple"),
        cell_steps::<Simple<Relu>>("cell_step, simple relu"),
        cell_steps::<Simple<Sigmoid>>("cell_step, simple sigmoid"),
        cell_steps::<Simple<Identity>>("cell_step, simple identity"),
        cell_steps::<Gru>("cell_step, gru"),
        cell_steps::<Lstm>("cell_step, lstm"),
        attentions::<Additive>("attend, additive", 300),
        attentions::<Dot>("attend, dot", 300),
        attentions::<Linear<Sigmoid>>("attend, linear sigmoid", 1),
        attentions::<Linear<Tanh>>("attend, linear tanh", 1),
        attentions::<Linear<Relu>>("attend, linear relu", 1),
        layers::<Simple>("recurrent, simple"),
        // No relu behind a product: where products round otherwise, its slope jumps.
        layers::<Simple<Identity>>("recurrent, simple identity"),
        layers::<Gru>("recurrent, gru"),
        layers::<Lstm>("recurrent, lstm"),
        normalised_layers::<Gru>("recurrent, gru, layer norm"),
        normalised_layers::<Lstm>("recurrent, lstm, layer norm"),
        decoders::<Simple, Additive>("simple additive"),
        decoders::<Simple, Dot>("simple dot"),
        decoders::<Gru, Additive>("gru additive"),
        decoders::<Gru, Dot>("gru dot"),
        decoders::<Lstm, Additive>("lstm additive"),
        decoders::<Lstm, Dot>("lstm dot"),
    ];
    let with_large_products = [
        layers::<Gru>("recurrent, gru"),
        layers::<Lstm>("recurrent, lstm"),
        decoders::<Gru, Dot>("gru dot"),
        decoders::<Lstm, Additive>("lstm additive"),
    ];
    let large = with_large_products.into_iter().flatten().map(Case::with_large_products);
    groups.into_iter().flatten().chain(large).collect()
}

/// The variables of a case, one after the other.
type Vars<'a> = std::slice::Iter<'a, Var>;

fn next(vars: &mut Vars<'_>) -> Var {
    vars.next().expect("a variable for each input").clone()
}

fn cell_steps<C: Cell>(name: &'static str) -> Vec<Case> {
    let case = |[rows, hidden]: [usize; 2], bias: bool| {
        let mut inputs =
            vec![random("of_input", rows, C::GATES * hidden), random("of_state", rows, C::GATES * hidden)];
        inputs.extend(state(rows, hidden, 0, C::PARTS));
        inputs.extend(bias.then(|| random("state_bias", 1, C::APART * hidden)));
        let sizes = format!("{rows} × {hidden}{}", if bias { ", bias of the state" } else { "" });
        Case::new(name, Expect::Rounding, sizes, inputs, move |vars| {
            let (before, bias) = vars[2..].split_at(C::PARTS);
            cell_step::<C>(&vars[0], &vars[1], bias.first(), before)
        })
    };
    let sizes = [[0, 7], [1, 1], [5, 7], [3, 33], [9, 130], [1030, 3], [2, 259]];
    let biases: &[bool] = if C::APART > 0 { &[false, true] } else { &[false] };
    sizes.into_iter().flat_map(|size| biases.iter().map(move |&bias| case(size, bias))).collect()
}

/// Keys of which the score makes energies around one.
fn keys<S: Score>(rows: usize, depth: usize) -> Input {
    if S::VECTOR { random("keys", rows, depth) } else { weight("keys", rows, depth) }
}

/// By one head and by several. `deepest` bounds the depth of a head: a sum of many terms that are all positive leaves few digits
/// to the differences that a softmax sees.
fn attentions<S: Score>(name: &'static str, deepest: usize) -> Vec<Case> {
    let many: Vec<u32> = (0..70).map(|reader| reader % 3).collect();
    // Lengths of the sources, who reads which; depth and width of a head.
    let sizes: [(&[usize], &[u32], usize, usize); 7] = [
        (&[1], &[0], 1, 1),
        (&[5, 2], &[], 7, 9),                    // nobody reads
        (&[0, 0], &[0, 1], 7, 9),                // nothing is read
        (&[3, 0, 9, 1], &[3, 1, 0, 2], 33, 130), // another order, one of an empty source
        (&[8, 0, 7], &[1, 0, 1, 2, 1], 9, 7),    // several readers of one source
        (&[261, 5], &[0, 1, 0], 7, 259),
        (&[33, 7, 0], &many, 300, 5),
    ];
    let case = |(sources, of, depth, width): (&[usize], &[u32], usize, usize), heads: usize| {
        let depth = depth.min(deepest);
        let sizes = format!("{} readers of {sources:?}, {heads} heads of {depth} and {width}", of.len());
        let (rows, of): (_, Arc<[u32]>) = (Arc::new(Rows::new(sources)), of.into());
        let mut inputs = vec![
            random("query", of.len(), heads * depth),
            keys::<S>(rows.total(), heads * depth),
            random("values", rows.total(), heads * width),
        ];
        inputs.extend(S::VECTOR.then(|| weight("vector", 1, heads * depth)));
        Case::new(name, Expect::Products, sizes, inputs, move |vars| {
            let (keys, values) = (vars[1].clone(), vars[2].clone());
            let memory = Memory { keys, values, heads, rows: Arc::clone(&rows), of: Arc::clone(&of) };
            attend::<S>(&vars[0], vars.get(3), &memory).to_vec()
        })
    };
    sizes.into_iter().flat_map(|size| [1, 3].map(|heads| case(size, heads))).collect()
}

/// The weights of a recurrent layer, with a bias of the state where the cell has use for one, and with a norm of the gates where it
/// is asked for.
fn layer_inputs<C: Cell>(layer: usize, inputs: usize, hidden: usize, norm: bool) -> Vec<Input> {
    let name = |name: &str| format!("{name} of layer {layer}");
    let mut weights = vec![
        weight(&name("W_input"), C::GATES * hidden, inputs),
        weight(&name("W_state"), C::GATES * hidden, hidden),
        random(&name("bias"), 1, C::GATES * hidden),
    ];
    weights.extend((C::APART > 0).then(|| random(&name("state_bias"), 1, C::APART * hidden)));
    if norm {
        let parts = ["input's gain", "input's norm bias", "state's gain", "state's norm bias"];
        weights.extend(parts.map(|part| random(&name(part), 1, C::GATES * hidden)));
    }
    weights
}

fn layer_weights<C: Cell>(vars: &mut Vars<'_>, norm: bool) -> LayerWeights {
    let mut next = || next(vars);
    LayerWeights {
        input: next(),
        state: next(),
        bias: next(),
        state_bias: (C::APART > 0).then(&mut next),
        norm: norm.then(|| {
            let [input, state] = [(); 2].map(|()| Norm { gain: next(), bias: next() });
            GateNorm { input, state }
        }),
    }
}

/// The parts of a layer's state.
fn state(rows: usize, hidden: usize, layer: usize, parts: usize) -> impl Iterator<Item = Input> {
    (0..parts).map(move |part| random(&format!("state {part} of layer {layer}"), rows, hidden))
}

fn layers<C: Cell>(name: &'static str) -> Vec<Case> {
    all_layers::<C>(name, false)
}

/// Of which each is a loop over steps.
fn normalised_layers<C: Cell>(name: &'static str) -> Vec<Case> {
    all_layers::<C>(name, true)
}

fn all_layers<C: Cell>(name: &'static str, norm: bool) -> Vec<Case> {
    let many = [1; 1030];
    // Lengths, inputs, hidden.
    let sizes: [(&[usize], usize, usize); 7] = [
        (&[1], 1, 1),
        (&[0, 0], 5, 7),
        (&[5, 3, 1, 0, 4], 7, 9),
        (&[5, 3, 1, 0, 4], 33, 33),
        (&[2, 6, 1, 6, 0, 3], 9, 130),
        (&[2, 1], 5, 261),
        (&many, 3, 5),
    ];
    let variants = [Direction::Forward, Direction::Backward].map(|way| [(way, false), (way, true)]).concat();
    let case = |&(lengths, inputs, hidden): &(&[usize], usize, usize),
                &(direction, start): &(Direction, bool)| {
        let rows = Arc::new(Rows::new(lengths));
        let mut all = vec![random("x", rows.total(), inputs)];
        all.extend(layer_inputs::<C>(0, inputs, hidden, norm));
        all.extend(state(rows.batch(), hidden, 0, if start { C::PARTS } else { 0 }));
        let from = if start { "given" } else { "zero" };
        let sizes = format!("{direction:?} from a {from} state, {}, {inputs} → {hidden}", batch(&rows));
        Case::new(name, Expect::Products, sizes, all, move |vars| {
            let mut vars = vars.iter();
            let (x, weights) = (next(&mut vars), layer_weights::<C>(&mut vars, norm));
            let result = recurrent::<C>(&x, &rows, direction, &weights, start.then_some(vars.as_slice()));
            std::iter::once(result.states).chain(result.last).collect()
        })
    };
    // Normalised, one input alone does not matter but for its sign: its gradient is rounding.
    let sizes = sizes.iter().filter(|&&(_, inputs, _)| !norm || inputs > 1);
    sizes.flat_map(|size| variants.iter().map(move |variant| case(size, variant))).collect()
}

fn batch(rows: &Rows) -> String {
    format!("{} rows of {} sequences", rows.total(), rows.batch())
}

/// A decoder over a batch of targets that read sources.
#[derive(Clone)]
struct Decoder {
    targets: Arc<Rows>,
    sources: Arc<Rows>,
    of: Arc<[u32]>,
    layers: usize,
    /// Whether there is a `W_query`; without it, the keys are as deep as the states.
    projected: bool,
    inputs: usize,
    hidden: usize,
    heads: usize,
    /// Of all heads.
    depth: usize,
    width: usize,
}

/// Lengths of targets and sources, who reads which; heads, inputs, hidden, depth, width.
type Size<'a> = (&'a [usize], &'a [usize], &'a [u32], [usize; 5]);

/// One and two layers, with and without `W_query`, over several batches.
fn all_decoders() -> Vec<Decoder> {
    let many: Vec<usize> = (0..70).map(|i| 1 + i % 3).collect();
    let readers: Vec<u32> = (0..70).map(|i| i * 7 % 5).collect();
    let sizes: [Size<'_>; 8] = [
        (&[1], &[1], &[0], [1, 1, 1, 1, 1]),
        (&[0, 0], &[2, 1], &[0, 1], [1, 7, 9, 5, 3]),
        (&[2, 1], &[0, 0], &[0, 1], [1, 7, 9, 5, 3]),
        (&[5, 3, 1, 0, 4], &[4, 0, 6, 1, 3], &[2, 0, 3, 1, 4], [1, 7, 33, 9, 5]),
        (&[5, 3, 1, 0, 4], &[4, 0, 6, 1, 3], &[2, 0, 3, 1, 4], [3, 7, 33, 21, 15]),
        (&[2, 3, 2], &[4, 1], &[1, 0, 1], [1, 9, 7, 33, 130]),
        (&[3, 1], &[40, 2], &[1, 0], [1, 5, 261, 130, 31]),
        (&many, &[3, 0, 7, 1, 5], &readers, [1, 3, 5, 7, 9]),
    ];
    let mut decoders = Vec::new();
    for (targets, sources, of, [heads, inputs, hidden, depth, width]) in sizes {
        let (targets, sources) = (Arc::new(Rows::new(targets)), Arc::new(Rows::new(sources)));
        for (layers, projected) in [(1, false), (1, true), (2, false), (2, true)] {
            let (targets, sources, of) = (Arc::clone(&targets), Arc::clone(&sources), of.into());
            let depth = if projected { depth } else { hidden };
            decoders.push(Decoder {
                targets,
                sources,
                of,
                layers,
                projected,
                inputs,
                hidden,
                heads,
                depth,
                width,
            });
        }
    }
    decoders
}

/// Whole sequences, and single steps as a search takes them.
fn decoders<C: Cell, S: Score>(name: &str) -> Vec<Case> {
    let all = all_decoders();
    let sequences = all.iter().map(|decoder| decoder.sequence::<C, S>(format!("scan, {name}")));
    let steps = all.iter().map(|decoder| decoder.step::<C, S>(format!("scan step, {name}")));
    sequences.chain(steps).collect()
}

impl Decoder {
    fn sequence<C: Cell, S: Score>(&self, name: String) -> Case {
        let decoder = self.clone();
        let inputs = self.all_inputs::<C, S>(self.targets.total());
        Case::new(name, Expect::Products, self.sizes(), inputs, move |vars| {
            let (x, start, memory, scan) = decoder.parts::<C, S>(vars);
            let result = scan.sequence(&x, &decoder.targets, &start, &memory);
            vec![result.states, result.contexts, result.weights]
        })
    }

    fn step<C: Cell, S: Score>(&self, name: String) -> Case {
        let decoder = self.clone();
        let inputs = self.all_inputs::<C, S>(self.targets.batch());
        Case::new(name, Expect::Products, self.sizes(), inputs, move |vars| {
            let (x, start, memory, scan) = decoder.parts::<C, S>(vars);
            let steps = [scan.step(&x, &start, &memory), scan.advance(&x, &start, &memory)];
            let all = |(after, weights): (ScanState, Var)| {
                after.layers.into_iter().flatten().chain([after.context, weights])
            };
            steps.into_iter().flat_map(all).collect()
        })
    }

    fn sizes(&self) -> String {
        let Decoder { layers, inputs, hidden, heads, depth, width, .. } = self;
        let query = if self.projected { "W_query" } else { "no W_query" };
        let [targets, sources] = [&self.targets, &self.sources].map(|rows| batch(rows));
        format!(
            "{layers} layers, {query}, {targets} read {sources}, {inputs} → {hidden}, \
             {heads} heads of {depth} and {width}"
        )
    }

    /// x, keys, values, first context; the weights of each layer; its first state; W_query and vector where there are any.
    fn all_inputs<C: Cell, S: Score>(&self, rows: usize) -> Vec<Input> {
        let (batch, total) = (self.targets.batch(), self.sources.total());
        let mut inputs = vec![
            random("x", rows, self.inputs),
            keys::<S>(total, self.depth),
            random("values", total, self.width),
            random("context", batch, self.width),
        ];
        for layer in 0..self.layers {
            let read = if layer == 0 { self.inputs + self.width } else { self.hidden };
            inputs.extend(layer_inputs::<C>(layer, read, self.hidden, false));
        }
        inputs.extend((0..self.layers).flat_map(|layer| state(batch, self.hidden, layer, C::PARTS)));
        inputs.extend(self.projected.then(|| weight("W_query", self.depth, self.hidden)));
        inputs.extend(S::VECTOR.then(|| weight("vector", 1, self.depth)));
        inputs
    }

    /// The same, as the scan takes them.
    fn parts<C: Cell, S: Score>(&self, vars: &[Var]) -> (Var, ScanState, Memory, Scan<C, S>) {
        let mut vars = vars.iter();
        let [x, keys, values, context] = std::array::from_fn(|_| next(&mut vars));
        let layers = (0..self.layers).map(|_| layer_weights::<C>(&mut vars, false)).collect();
        let first = (0..self.layers).map(|_| vars.by_ref().take(C::PARTS).cloned().collect()).collect();
        let query = self.projected.then(|| next(&mut vars));
        let (rows, of) = (Arc::clone(&self.sources), Arc::clone(&self.of));
        let memory = Memory { keys, values, heads: self.heads, rows, of };
        let scan = Scan { layers, query, vector: vars.next().cloned(), kind: PhantomData };
        (x, ScanState { layers: first, context }, memory, scan)
    }
}
