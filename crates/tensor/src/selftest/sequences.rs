//! The cases of cells, attention, recurrent layers and decoders.

use super::case::{Case, Expect, Input, in_words, random, weight, wide};
use crate::layout::{Direction, SequenceLayout};
use crate::ops::dense::GatedLinear;
use crate::ops::{
    AnyCell, AnyScore, AttentionModifiers, Coverage, Dropout, DropoutMask, DropoutScope, GateNorm, KvView,
    LayerWeights, LocalAttention, LocalWindow, Memory, MemorySegment, ModifierWeights, MultiHead, Norm, Scan,
    ScanState, Window, WindowCenter, attend, attend_cached, attend_focused, cell_step, convolution,
    cross_attention, recurrent, rotary, rotary::RotaryConfig, rotary_step, self_attention, sigmoid,
};
use crate::tape::Var;
use crate::{cell, score};
use std::fmt::Debug;
use std::sync::Arc;

/// Cases of every cell and score there is: a new one is in `cell::all` or `score::all`, and needs no line here.
pub(super) fn cases() -> Vec<Case> {
    let (cells, scores) = (cell::all(), scores());
    // One activation of the simple cell is enough in a decoder.
    let decoder_cells: Vec<AnyCell> =
        cells.iter().copied().filter(|&cell| cell.gates() > 1 || name(cell) == "simple tanh").collect();
    let decoder_scores: Vec<AnyScore> = scores.iter().copied().filter(|score| !score.is_scalar()).collect();
    let gated: Vec<AnyCell> = cells.iter().copied().filter(|cell| cell.gates() > 1).collect();
    // Every such score once, with one cell or another.
    let pairs: Vec<(AnyCell, AnyScore)> =
        gated.iter().rev().copied().cycle().zip(decoder_scores.iter().copied()).collect();

    let mut cases: Vec<Case> = cells.iter().flat_map(|&cell| cell_steps(cell)).collect();
    cases.extend(scores.iter().flat_map(|&score| attentions(score)));
    cases.extend(scores.iter().flat_map(|&score| focused_attentions(score)));
    cases.extend(self_attentions("self_attention", false));
    cases.extend(self_attentions("self_attention, causal", true));
    cases.extend(cross_attentions());
    cases.extend(pasts());
    cases.extend(rotations());
    cases.extend(convolutions("convolution, around", Window { before: 2, after: 2 }));
    cases.extend(convolutions("convolution, before", Window { before: 3, after: 0 }));
    // No relu after a product: where products round otherwise, its slope jumps.
    let smooth = cells.iter().filter(|&&cell| name(cell) != "simple relu");
    cases.extend(smooth.flat_map(|&cell| layers(cell)));
    cases.extend(gated.iter().flat_map(|&cell| normalized_layers(cell)));
    for &cell in &decoder_cells {
        cases.extend(decoder_scores.iter().flat_map(|&score| decoders(cell, score)));
    }
    cases.extend(pairs.iter().flat_map(|&(cell, score)| focused_decoders(cell, score)));
    let large = gated.iter().flat_map(|&cell| layers(cell));
    let large = large.chain(pairs.iter().flat_map(|&(cell, score)| decoders(cell, score)));
    cases.extend(large.map(Case::with_large_products));
    cases
}

/// The scores that can be compared: of the sum of query and key itself, the gradient of the query is rounding alone.
fn scores() -> Vec<AnyScore> {
    score::all().into_iter().filter(|&score| name(score) != "linear identity").collect()
}

/// The name of a cell or a score.
fn name(of: impl Debug) -> String {
    in_words(&format!("{of:?}"))
}

/// The variables of a case, one after the other.
type Vars<'a> = std::slice::Iter<'a, Var>;

fn next(vars: &mut Vars<'_>) -> Var {
    vars.next().expect("a variable for each input").clone()
}

fn cell_steps(cell: AnyCell) -> Vec<Case> {
    let name = format!("cell_step, {}", name(cell));
    let case = |[rows, hidden]: [usize; 2], bias: bool| {
        let mut inputs = vec![
            random("of_input", rows, cell.gates() * hidden),
            random("of_state", rows, cell.gates() * hidden),
        ];
        inputs.extend(state(rows, hidden, 0, cell.parts()));
        inputs.extend(bias.then(|| random("state_bias", 1, cell.apart() * hidden)));
        let sizes = format!("{rows} × {hidden}{}", if bias { ", bias of the state" } else { "" });
        Case::new(name.as_str(), Expect::Rounding, sizes, inputs, move |vars| {
            let (before, bias) = vars[2..].split_at(cell.parts());
            cell_step(cell, &vars[0], &vars[1], bias.first(), before)
        })
    };
    let sizes = [[0, 7], [1, 1], [5, 7], [3, 33], [9, 130], [1030, 3], [2, 259]];
    let biases: &[bool] = if cell.apart() > 0 { &[false, true] } else { &[false] };
    sizes.into_iter().flat_map(|size| biases.iter().map(move |&bias| case(size, bias))).collect()
}

/// Lengths of sequences, heads, columns of a head.
const HEADS: [(&[usize], usize, usize); 6] = [
    (&[1], 1, 1),
    (&[0, 0], 1, 4),
    (&[2, 0, 3], 2, 5),
    (&[33, 17, 1], 3, 8),
    (&[30, 70], 2, 64),
    (&[5, 9], 1, 259),
];

fn multi_head(heads: usize, depth: usize, causal: bool) -> MultiHead {
    MultiHead { heads, scale: 1.0 / (depth as f32).sqrt(), causal }
}

fn self_attentions(name: &'static str, causal: bool) -> Vec<Case> {
    let case = |(lengths, heads, depth): (&[usize], usize, usize)| {
        let rows = Arc::new(SequenceLayout::new(lengths));
        let sizes = format!("{lengths:?} steps, {heads} × {depth}");
        let inputs = vec![random("queries, keys and values", rows.total(), 3 * heads * depth)];
        Case::new(name, Expect::Rounding, sizes, inputs, move |vars| {
            vec![self_attention(&vars[0], &rows, multi_head(heads, depth, causal), false).0]
        })
    };
    HEADS.into_iter().map(case).collect()
}

/// The sources are those of [`HEADS`]; the last one of three readers has no steps, and the first source has two readers.
fn cross_attentions() -> Vec<Case> {
    let case = |(lengths, heads, depth): (&[usize], usize, usize)| {
        let (rows, sources) =
            (Arc::new(SequenceLayout::new(&[40, 3, 0])), Arc::new(SequenceLayout::new(lengths)));
        let of: Arc<[u32]> = [0, sources.batch() as u32 - 1, 0].into();
        let sizes = format!("{lengths:?} steps, {heads} × {depth}");
        let inputs = vec![
            random("queries", rows.total(), heads * depth),
            random("keys and values", sources.total(), 2 * heads * depth),
        ];
        Case::new("cross_attention", Expect::Rounding, sizes, inputs, move |vars| {
            let how = multi_head(heads, depth, false);
            let (context, weights) = cross_attention((&vars[0], &rows), (&vars[1], &sources), &of, how, true);
            vec![context, Var::constant(weights.expect("they were asked for"))]
        })
    };
    HEADS.into_iter().map(case).collect()
}

/// One step of four rows over sources, and over three earlier steps whose rows have changed their order.
fn pasts() -> Vec<Case> {
    let case = |(lengths, heads, depth): (&[usize], usize, usize)| {
        let (sources, width) = (SequenceLayout::new(lengths), heads * depth);
        let last = sources.batch() as u32 - 1;
        let sizes = format!("{lengths:?} steps, {heads} × {depth}");
        let names = ["now", "before", "long before"];
        let mut inputs: Vec<Input> = names.map(|name| random(name, 4, 3 * width)).into();
        inputs.push(random("keys and values", sources.total(), 2 * width));
        Case::new("attend_past", Expect::Rounding, sizes, inputs, move |vars| {
            let how = multi_head(heads, depth, false);
            let [now, before, long_before, memory] = [0, 1, 2, 3].map(|i: usize| vars[i].value().clone());
            // The last row joined later: it has two positions only.
            let rows = [
                vec![[0, 0], [1, 1], [2, 0]],
                vec![[0, 3], [1, 2], [2, 1]],
                vec![[0, 1], [1, 1], [2, 2]],
                vec![[1, 0], [2, 3]],
            ];
            let steps = [long_before, before, now.clone()];
            let own = attend_cached(&now, width, KvView::Steps { steps: &steps, rows: &rows }, how);
            let segments = [(&memory, &sources), (&memory, &sources)];
            let past = KvView::Sources { segments: &segments, of: &[0, last, last + 1, 0] };
            let others = attend_cached(&now, width, past, how);
            own.into_iter().chain(others).map(Var::constant).collect()
        })
    };
    HEADS.into_iter().map(case).collect()
}

fn rotations() -> Vec<Case> {
    let case = |(lengths, heads, depth): (&[usize], usize, usize)| {
        let (rows, depth) = (Arc::new(SequenceLayout::new(lengths)), depth.next_multiple_of(2));
        let sizes = format!("{lengths:?} steps, {heads} × {depth}");
        let inputs = vec![random("x", rows.total(), heads * depth + 3)];
        Case::new("rotary", Expect::Rounding, sizes, inputs, move |vars| {
            let config = RotaryConfig { depth, columns: heads * depth };
            let positions: Vec<u32> = (0..rows.total() as u32).map(|row| row * 7 % 30).collect();
            vec![rotary(&vars[0], &rows, config), rotary_step(&vars[0], &positions, config)]
        })
    };
    HEADS.into_iter().map(case).collect()
}

/// Gated units over windows, with dropout and without.
fn convolutions(name: &'static str, window: Window) -> Vec<Case> {
    let sizes: [(&[usize], usize, usize); 6] = [
        (&[1], 1, 1),
        (&[0, 0], 5, 7),
        (&[5, 3, 1, 0, 4], 7, 9),
        (&[2, 6, 1, 6, 0, 3], 33, 130),
        (&[40], 130, 3),
        (&[1; 1030], 3, 5),
    ];
    let case = |(lengths, inputs, units): (&[usize], usize, usize)| {
        let rows = Arc::new(SequenceLayout::new(lengths));
        let sizes = format!("{}, {inputs} → {units}", batch(&rows));
        let vars = vec![
            random("x", rows.total(), inputs),
            weight("W", 2 * units, window.taps() * inputs),
            random("b", 1, 2 * units),
        ];
        Case::new(name, Expect::Products, sizes, vars, move |vars| {
            let how = Dropout { rate: 0.3, seed: 7, update: 3, stream: 2, scope: DropoutScope::Element };
            [None, Some(DropoutMask { how, rows: Arc::clone(&rows) })]
                .map(|dropped| {
                    let weights = (&vars[1], &vars[2]);
                    convolution::<GatedLinear>(&vars[0], &rows, window, weights, dropped.as_ref())
                })
                .into()
        })
    };
    sizes.into_iter().map(case).collect()
}

/// Keys of which the score makes energies around one.
fn keys(score: AnyScore, rows: usize, depth: usize) -> Input {
    if score.has_vector() { random("keys", rows, depth) } else { weight("keys", rows, depth) }
}

/// By one head and by several. A sum of many terms that are all positive would leave few digits to the differences that a softmax
/// depends on; so scores of scalars get scalars.
fn attentions(score: AnyScore) -> Vec<Case> {
    let name = format!("attend, {}", name(score));
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
        let depth = if score.is_scalar() { 1 } else { depth };
        let sizes = format!("{} readers of {sources:?}, {heads} heads of {depth} and {width}", of.len());
        let (rows, of): (_, Arc<[u32]>) = (Arc::new(SequenceLayout::new(sources)), of.into());
        let mut inputs = vec![
            random("query", of.len(), heads * depth),
            keys(score, rows.total(), heads * depth),
            random("values", rows.total(), heads * width),
        ];
        inputs.extend(score.has_vector().then(|| weight("vector", 1, heads * depth)));
        Case::new(name.as_str(), Expect::Products, sizes, inputs, move |vars| {
            let (keys, values) = (vars[1].clone(), vars[2].clone());
            let segment = MemorySegment { keys, values, layout: Arc::clone(&rows) };
            let memory = Memory::new(segment, heads, Arc::clone(&of));
            attend(score, &vars[0], vars.get(3), &memory).to_vec()
        })
    };
    sizes.into_iter().flat_map(|size| [1, 3].map(|heads| case(size, heads))).collect()
}

/// Kinds of attention modifiers.
#[derive(Clone, Copy)]
struct ModifierKinds {
    name: &'static str,
    window: Option<WindowKind>,
    covered: bool,
}

/// A window whose center is a fraction of the length, or a step.
#[derive(Clone, Copy)]
struct WindowKind {
    half_width: usize,
    is_fraction: bool,
}

const AROUND_STEP: WindowKind = WindowKind { half_width: 2, is_fraction: false };
const AROUND_FRACTION: WindowKind = WindowKind { half_width: 3, is_fraction: true };
const WIDER: WindowKind = WindowKind { half_width: 4, is_fraction: true };
const MODIFIERS: [ModifierKinds; 4] = [
    ModifierKinds { name: "window around a step", window: Some(AROUND_STEP), covered: false },
    ModifierKinds { name: "window around a fraction", window: Some(AROUND_FRACTION), covered: false },
    ModifierKinds { name: "covered", window: None, covered: true },
    ModifierKinds { name: "window and coverage", window: Some(WIDER), covered: true },
];

fn focused_attentions(score: AnyScore) -> Vec<Case> {
    let name = name(score);
    let many: Vec<u32> = (0..70).map(|reader| reader % 3).collect();
    // Lengths of the sources, who reads which; depth and width of a head.
    let sizes: [(&[usize], &[u32], usize, usize); 5] = [
        (&[1], &[0], 1, 1),
        (&[0, 0], &[0, 1], 7, 9),
        (&[3, 0, 9, 1], &[3, 1, 0, 2], 33, 130),
        (&[8, 0, 7], &[1, 0, 1, 2, 1], 9, 7),
        (&[33, 7, 0], &many, 40, 5),
    ];
    let case = |modifiers: ModifierKinds, size: usize| {
        let (sources, of, depth, width) = sizes[size];
        let (heads, depth) = (1 + size % 3, if score.is_scalar() { 1 } else { depth });
        let sizes = format!("{} readers of {sources:?}, {heads} heads of {depth} and {width}", of.len());
        let (rows, of): (_, Arc<[u32]>) = (Arc::new(SequenceLayout::new(sources)), of.into());
        let mut inputs = vec![
            random("query", of.len(), heads * depth),
            keys(score, rows.total(), heads * depth),
            random("values", rows.total(), heads * width),
            wide("center", of.len(), heads),
            random("so far", of.len(), heads * rows.steps()),
            weight("cover", 1, heads * depth),
        ];
        inputs.extend(score.has_vector().then(|| weight("vector", 1, heads * depth)));
        Case::new(
            format!("attend, {name}, {}", modifiers.name),
            Expect::Products,
            sizes,
            inputs,
            move |vars| {
                let (keys, values) = (vars[1].clone(), vars[2].clone());
                let segment = MemorySegment { keys, values, layout: Arc::clone(&rows) };
                let memory = Memory::new(segment, heads, Arc::clone(&of));
                let center = |is_fraction| {
                    if is_fraction {
                        WindowCenter::Fraction(sigmoid(&vars[3]))
                    } else {
                        WindowCenter::Step(vars[3].clone())
                    }
                };
                let window = |WindowKind { half_width, is_fraction }| LocalWindow {
                    half_width,
                    center: center(is_fraction),
                };
                let focus = AttentionModifiers {
                    window: modifiers.window.map(window),
                    coverage: modifiers
                        .covered
                        .then(|| Coverage { so_far: vars[4].clone(), weight: vars[5].clone() }),
                };
                attend_focused(score, &vars[0], vars.get(6), &memory, &focus).to_vec()
            },
        )
    };
    MODIFIERS
        .into_iter()
        .flat_map(|modifiers| (0..sizes.len()).map(move |size| (modifiers, size)))
        .map(|(modifiers, size)| case(modifiers, size))
        .collect()
}

/// Decoders with attention modifiers, whose weights come after all others.
fn focused_decoders(cell: AnyCell, score: AnyScore) -> Vec<Case> {
    let name = format!("scan, {} {}", name(cell), name(score));
    let case = |decoder: Decoder, predicted: bool| {
        let mut inputs = decoder.all_inputs(cell, score, decoder.targets.total());
        let own = inputs.len();
        inputs.extend([
            weight("W_place", 5, decoder.hidden),
            weight("v_place", decoder.heads, 5),
            weight("cover", 1, decoder.depth),
        ]);
        let name = format!("{name}, {}", if predicted { "a predicted center" } else { "its own step" });
        let sizes = decoder.sizes();
        Case::new(name, Expect::Products, sizes, inputs, move |vars| {
            let (x, start, memory, scan) = decoder.parts(cell, score, &vars[..own]);
            let predict = predicted.then(|| [vars[own].clone(), vars[own + 1].clone()]);
            // Behind a product, a window is so large that it ends nowhere: where products round otherwise, its end jumps.
            let reach = if predicted { 1000 } else { 3 };
            let focus = ModifierWeights {
                local: Some(LocalAttention { half_width: reach, predict }),
                coverage: Some(vars[own + 2].clone()),
            };
            let result = Scan { focus, ..scan }.sequence(&x, &decoder.targets, &start, &memory);
            vec![result.states, result.contexts, result.weights]
        })
    };
    [false, true]
        .into_iter()
        .flat_map(|predicted| all_decoders().into_iter().map(move |decoder| (decoder, predicted)))
        .map(|(decoder, predicted)| case(decoder, predicted))
        .collect()
}

/// The weights of a recurrent layer, with a bias of the state where the cell has use for one, and with a norm of the gates where it
/// is asked for.
fn layer_inputs(cell: AnyCell, layer: usize, inputs: usize, hidden: usize, norm: bool) -> Vec<Input> {
    let name = |name: &str| format!("{name} of layer {layer}");
    let mut weights = vec![
        weight(&name("W_input"), cell.gates() * hidden, inputs),
        weight(&name("W_state"), cell.gates() * hidden, hidden),
        random(&name("bias"), 1, cell.gates() * hidden),
    ];
    weights.extend((cell.apart() > 0).then(|| random(&name("state_bias"), 1, cell.apart() * hidden)));
    if norm {
        let parts = ["input's gain", "input's norm bias", "state's gain", "state's norm bias"];
        weights.extend(parts.map(|part| random(&name(part), 1, cell.gates() * hidden)));
    }
    weights
}

fn layer_weights(cell: AnyCell, vars: &mut Vars<'_>, norm: bool) -> LayerWeights {
    let mut next = || next(vars);
    LayerWeights {
        input: next(),
        state: next(),
        bias: next(),
        state_bias: (cell.apart() > 0).then(&mut next),
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

fn layers(cell: AnyCell) -> Vec<Case> {
    all_layers(cell, false)
}

/// Each is a loop over steps.
fn normalized_layers(cell: AnyCell) -> Vec<Case> {
    all_layers(cell, true)
}

fn all_layers(cell: AnyCell, norm: bool) -> Vec<Case> {
    let name = format!("recurrent, {}{}", name(cell), if norm { ", layer norm" } else { "" });
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
        let rows = Arc::new(SequenceLayout::new(lengths));
        let mut all = vec![random("x", rows.total(), inputs)];
        all.extend(layer_inputs(cell, 0, inputs, hidden, norm));
        all.extend(state(rows.batch(), hidden, 0, if start { cell.parts() } else { 0 }));
        let from = if start { "given" } else { "zero" };
        let sizes = format!("{direction:?} from a {from} state, {}, {inputs} → {hidden}", batch(&rows));
        Case::new(name.as_str(), Expect::Products, sizes, all, move |vars| {
            let mut vars = vars.iter();
            let (x, weights) = (next(&mut vars), layer_weights(cell, &mut vars, norm));
            let result = recurrent(cell, &x, &rows, direction, &weights, start.then_some(vars.as_slice()));
            std::iter::once(result.states).chain(result.last).collect()
        })
    };
    // Normalized, one input alone does not matter but for its sign: its gradient is rounding.
    let sizes = sizes.iter().filter(|&&(_, inputs, _)| !norm || inputs > 1);
    sizes.flat_map(|size| variants.iter().map(move |variant| case(size, variant))).collect()
}

fn batch(rows: &SequenceLayout) -> String {
    format!("{} rows of {} sequences", rows.total(), rows.batch())
}

/// A decoder over a batch of targets that read sources.
#[derive(Clone)]
struct Decoder {
    targets: Arc<SequenceLayout>,
    sources: Arc<SequenceLayout>,
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
        let (targets, sources) =
            (Arc::new(SequenceLayout::new(targets)), Arc::new(SequenceLayout::new(sources)));
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
fn decoders(cell: AnyCell, score: AnyScore) -> Vec<Case> {
    let name = format!("{} {}", name(cell), name(score));
    let all = all_decoders();
    let sequences = all.iter().map(|decoder| decoder.sequence(cell, score, format!("scan, {name}")));
    let steps = all.iter().map(|decoder| decoder.step(cell, score, format!("scan step, {name}")));
    sequences.chain(steps).collect()
}

impl Decoder {
    fn sequence(&self, cell: AnyCell, score: AnyScore, name: String) -> Case {
        let decoder = self.clone();
        let inputs = self.all_inputs(cell, score, self.targets.total());
        Case::new(name, Expect::Products, self.sizes(), inputs, move |vars| {
            let (x, start, memory, scan) = decoder.parts(cell, score, vars);
            let result = scan.sequence(&x, &decoder.targets, &start, &memory);
            vec![result.states, result.contexts, result.weights]
        })
    }

    fn step(&self, cell: AnyCell, score: AnyScore, name: String) -> Case {
        let decoder = self.clone();
        let inputs = self.all_inputs(cell, score, self.targets.batch());
        Case::new(name, Expect::Products, self.sizes(), inputs, move |vars| {
            let (x, start, memory, scan) = decoder.parts(cell, score, vars);
            let from: Vec<u32> = (0..x.rows() as u32).map(|row| row / 2).collect();
            let steps = [scan.step(&x, &start, &memory), scan.advance(&x, &start, &from, &memory)];
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
    fn all_inputs(&self, cell: AnyCell, score: AnyScore, rows: usize) -> Vec<Input> {
        let (batch, total) = (self.targets.batch(), self.sources.total());
        let mut inputs = vec![
            random("x", rows, self.inputs),
            keys(score, total, self.depth),
            random("values", total, self.width),
            random("context", batch, self.width),
        ];
        for layer in 0..self.layers {
            let read = if layer == 0 { self.inputs + self.width } else { self.hidden };
            inputs.extend(layer_inputs(cell, layer, read, self.hidden, false));
        }
        inputs.extend((0..self.layers).flat_map(|layer| state(batch, self.hidden, layer, cell.parts())));
        inputs.extend(self.projected.then(|| weight("W_query", self.depth, self.hidden)));
        inputs.extend(score.has_vector().then(|| weight("vector", 1, self.depth)));
        inputs
    }

    /// The same, as the scan takes them.
    fn parts(&self, cell: AnyCell, score: AnyScore, vars: &[Var]) -> (Var, ScanState, Memory, Scan) {
        let mut vars = vars.iter();
        let [x, keys, values, context] = std::array::from_fn(|_| next(&mut vars));
        let layers = (0..self.layers).map(|_| layer_weights(cell, &mut vars, false)).collect();
        let first = (0..self.layers).map(|_| vars.by_ref().take(cell.parts()).cloned().collect()).collect();
        let query = self.projected.then(|| next(&mut vars));
        let segment = MemorySegment { keys, values, layout: Arc::clone(&self.sources) };
        let memory = Memory::new(segment, self.heads, Arc::clone(&self.of));
        let scan = Scan {
            cell,
            score,
            layers,
            query,
            vector: vars.next().cloned(),
            focus: ModifierWeights::default(),
        };
        (x, ScanState::new(first, context), memory, scan)
    }
}
