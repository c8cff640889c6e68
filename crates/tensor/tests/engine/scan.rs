//! The decoder's scan, against the reference and against the loop over single steps.

use crate::support::{
    FUSED, HAND, Input, agree, assert_close, by_hand, check, devices, layer_inputs, layer_reference,
    layer_weights, sequence, widen,
};
use couplet_tensor::cell::{Cell, Gru, Lstm, Simple};
use couplet_tensor::ops::scan::reference;
use couplet_tensor::ops::{
    AnyCell, AnyScore, Memory, MemorySegment, ModifierWeights, Scan, ScanOutput, ScanState, gather_rows,
};
use couplet_tensor::score::{Additive, Dot, Score};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

/// Targets that read sources.
#[derive(Clone, Debug)]
struct Case {
    targets: Arc<SequenceLayout>,
    sources: Arc<SequenceLayout>,
    of: Arc<[u32]>,
    layers: usize,
    /// Whether the gates are normalized.
    norm: bool,
    /// Whether there is a `W_query`.
    projected: bool,
    inputs: usize,
    hidden: usize,
    heads: usize,
    /// Of the keys of all heads, where the query is projected; else it is that of the states.
    projection: usize,
    width: usize,
}

impl Case {
    fn depth(&self) -> usize {
        if self.projected { self.projection } else { self.hidden }
    }

    /// x, keys, values, first context; the weights of each layer; its first state; W_query and vector where there are any.
    fn inputs(&self, cell: AnyCell, score: AnyScore) -> Vec<Input> {
        let (batch, total) = (self.targets.batch(), self.sources.total());
        let mut inputs = vec![
            Input::random("x", self.targets.total(), self.inputs),
            Input::random("keys", total, self.depth()),
            Input::random("values", total, self.width),
            Input::random("context", batch, self.width),
        ];
        for layer in 0..self.layers {
            let read = if layer == 0 { self.inputs + self.width } else { self.hidden };
            inputs.extend(layer_inputs(cell, layer, read, self.hidden, self.norm));
        }
        for layer in 0..self.layers {
            let name = |part| format!("start {part} of layer {layer}");
            inputs.extend((0..cell.parts()).map(|part| Input::random(&name(part), batch, self.hidden)));
        }
        inputs.extend(self.projected.then(|| Input::weight("W_query", self.projection, self.hidden)));
        inputs.extend(score.has_vector().then(|| Input::random("vector", 1, self.depth())));
        inputs
    }

    /// States, contexts and weights.
    fn run(
        &self,
        cell: AnyCell,
        score: AnyScore,
        vars: &[Var],
        sequence: impl Fn(&Scan, &Var, &Arc<SequenceLayout>, &ScanState, &Memory) -> ScanOutput,
    ) -> Vec<Var> {
        let mut vars = vars.iter();
        let [x, keys, values, context] = std::array::from_fn(|_| vars.next().expect("a variable").clone());
        let layers = (0..self.layers).map(|_| layer_weights(cell, &mut vars, self.norm)).collect();
        let start = (0..self.layers).map(|_| vars.by_ref().take(cell.parts()).cloned().collect()).collect();
        let query = if self.projected { vars.next().cloned() } else { None };
        let scan = Scan {
            cell,
            score,
            layers,
            query,
            vector: vars.next().cloned(),
            focus: ModifierWeights::default(),
        };
        let start = ScanState::new(start, context);
        let (rows, of) = (Arc::clone(&self.sources), Arc::clone(&self.of));
        let memory = Memory::new(MemorySegment { keys, values, layout: rows }, self.heads, of);
        let result = sequence(&scan, &x, &self.targets, &start, &memory);
        vec![result.states, result.contexts, result.weights]
    }

    fn reference<C: Cell, S: Score>(&self, numbers: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let mut numbers = numbers.iter();
        let [x, keys, values, context] = std::array::from_fn(|_| numbers.next().expect("numbers"));
        let layers: Vec<_> =
            (0..self.layers).map(|_| layer_reference(AnyCell::of::<C>(), &mut numbers, self.norm)).collect();
        let start: Vec<Vec<&Vec<f64>>> =
            (0..self.layers).map(|_| numbers.by_ref().take(C::STATE_TENSORS).collect()).collect();
        let query = if self.projected { numbers.next().expect("W_query") } else { &[][..] };
        let vector = numbers.next().map_or(&[][..], Vec::as_slice);

        let columns = [self.hidden, self.width, self.heads * self.sources.steps()];
        let mut outputs = columns.map(|columns| vec![0.0; self.targets.total() * columns]);
        for place in 0..self.targets.batch() {
            let source = self.of[place] as usize;
            let decoder = reference::Decoder {
                layers: layers.clone(),
                query,
                vector,
                heads: self.heads,
                keys: sequence(&self.sources, keys, self.depth(), source),
                values: sequence(&self.sources, values, self.width, source),
            };
            let x = sequence(&self.targets, x, self.inputs, place);
            let first = |part: &&Vec<f64>| part[place * self.hidden..][..self.hidden].to_vec();
            let state = start.iter().map(|layer| layer.iter().map(first).collect()).collect();
            let context = context[place * self.width..][..self.width].to_vec();
            let steps = reference::sequence::<C, S>(&decoder, &x, state, context);
            for (step, (state, context, weights)) in steps.into_iter().enumerate() {
                let row = self.targets.row(place, step);
                let of_all = |mut of_head: Vec<f64>| {
                    of_head.resize(self.sources.steps(), 0.0);
                    of_head
                };
                let weights = weights.into_iter().flat_map(of_all).collect();
                for ((all, columns), own) in outputs.iter_mut().zip(columns).zip([state, context, weights]) {
                    all[row * columns..][..own.len()].copy_from_slice(&own);
                }
            }
        }
        outputs.to_vec()
    }
}

/// One and two layers, with and without `W_query`, over batches with empty sources and targets, sources in another order, and
/// two readers of one source.
fn cases() -> Vec<Case> {
    let batches: [(&[usize], &[usize], &[u32]); 5] = [
        (&[], &[], &[]),
        (&[0, 0], &[2, 1], &[0, 1]),
        (&[2, 1], &[0, 0], &[0, 1]),
        (&[3, 1, 2, 0], &[2, 5, 0, 4], &[2, 0, 3, 1]),
        (&[2, 3, 2], &[4, 1], &[1, 0, 1]),
    ];
    // heads, inputs, hidden, columns of the keys, columns of the values
    let sizes = [
        [1, 1, 1, 1, 1],
        [1, 7, 9, 8, 7],
        [1, 9, 8, 7, 33],
        [1, 8, 33, 9, 8],
        [3, 7, 9, 6, 15],
        [2, 5, 8, 18, 2],
    ];
    let mut cases = Vec::new();
    for (targets, sources, of) in batches {
        for [heads, inputs, hidden, projection, width] in sizes {
            for (layers, projected) in [(1, false), (1, true), (2, false), (2, true)] {
                cases.push(Case {
                    targets: Arc::new(SequenceLayout::new(targets)),
                    sources: Arc::new(SequenceLayout::new(sources)),
                    of: of.into(),
                    layers,
                    norm: false,
                    projected,
                    inputs,
                    hidden,
                    heads,
                    projection,
                    width,
                });
            }
        }
    }
    cases
}

/// Enough rows and units for two workers, more readers than sources, and an empty source.
fn large() -> Case {
    let targets: Vec<usize> = (0..90).map(|i| 1 + i % 3).collect();
    let sources: Vec<usize> = (0..31).collect();
    Case {
        targets: Arc::new(SequenceLayout::new(&targets)),
        sources: Arc::new(SequenceLayout::new(&sources)),
        of: (0..90).map(|reader| reader * 7 % 31).collect(),
        layers: 2,
        norm: false,
        projected: true,
        inputs: 9,
        hidden: 65,
        heads: 5,
        projection: 40,
        width: 50,
    }
}

fn equals_reference<C: Cell, S: Score>() {
    let (cell, score) = (AnyCell::of::<C>(), AnyScore::of::<S>());
    for case in cases() {
        check(
            &case.inputs(cell, score),
            |vars| case.run(cell, score, vars, Scan::sequence),
            |numbers| case.reference::<C, S>(numbers),
        );
    }
}

#[test]
fn normalized_layers_equal_the_reference() {
    let (cell, score) = (AnyCell::of::<Lstm>(), AnyScore::of::<Additive>());
    for case in cases().into_iter().filter(|case| case.hidden > 1 && case.targets.total() > 0) {
        let case = Case { norm: true, ..case };
        check(
            &case.inputs(cell, score),
            |vars| case.run(cell, score, vars, Scan::sequence),
            |numbers| case.reference::<Lstm, Additive>(numbers),
        );
    }
}

fn equals_loop<C: Cell, S: Score>() {
    let (cell, score) = (AnyCell::of::<C>(), AnyScore::of::<S>());
    for case in cases().into_iter().chain([large()]) {
        agree(
            &case.inputs(cell, score),
            |vars| case.run(cell, score, vars, Scan::sequence),
            |vars| case.run(cell, score, vars, Scan::sequence_by_steps),
        );
    }
}

/// One step by itself: top state, context and weights.
fn of_step((state, weights): (ScanState, Var)) -> ScanOutput {
    let top = &state.layers[state.layers.len() - 1];
    ScanOutput { states: top[0].clone(), contexts: state.context, weights }
}

/// The rows of a state that those of a step go on from.
fn select(state: &ScanState, from: &[u32]) -> ScanState {
    let pick = |part: &Var| gather_rows(part, from);
    let layers = state.layers.iter().map(|layer| layer.iter().map(pick).collect()).collect();
    ScanState::new(layers, pick(&state.context))
}

/// Each row goes on from its own, or two from one.
fn a_search_takes_the_same_step<C: Cell, S: Score>() {
    let (cell, score) = (AnyCell::of::<C>(), AnyScore::of::<S>());
    for case in cases() {
        let places = case.targets.batch();
        let case = Case { targets: Arc::new(SequenceLayout::new(&vec![1; places])), ..case };
        for (device, rows_from_one) in
            devices().into_iter().flat_map(|device| [(device.clone(), 1), (device, 2)])
        {
            let from: Vec<u32> = (0..places as u32).map(|row| row / rows_from_one).collect();
            let inputs = case.inputs(cell, score);
            let vars: Vec<Var> = inputs.iter().map(|input| Var::constant(input.tensor(&device))).collect();
            let found = case.run(cell, score, &vars, |scan, x, _, start, memory| {
                of_step(scan.advance(x, start, &from, memory))
            });
            let wanted = case.run(cell, score, &vars, |scan, x, _, start, memory| {
                of_step(scan.step(x, &select(start, &from), memory))
            });
            for (found, wanted) in found.iter().zip(&wanted) {
                assert_close("a step", &found.value().to_vec(), &widen(&wanted.value().to_vec()), FUSED);
            }
        }
    }
}

/// The tests of one cell with one score.
macro_rules! decoder {
    ($name:ident, $cell:ty, $score:ty) => {
        mod $name {
            use super::*;

            #[test]
            fn equals_the_reference() {
                equals_reference::<$cell, $score>();
            }

            #[test]
            fn equals_the_loop() {
                equals_loop::<$cell, $score>();
            }

            #[test]
            fn a_search_takes_the_same_step() {
                super::a_search_takes_the_same_step::<$cell, $score>();
            }
        }
    };
}
decoder!(lstm_additive, Lstm, Additive);
decoder!(lstm_dot, Lstm, Dot);
decoder!(gru_additive, Gru, Additive);
decoder!(gru_dot, Gru, Dot);

/// One target of two steps and one source of one step, one number of everything; the state is the query.
fn smallest() -> Case {
    Case {
        targets: Arc::new(SequenceLayout::new(&[2])),
        sources: Arc::new(SequenceLayout::new(&[1])),
        of: [0].into(),
        layers: 1,
        norm: false,
        projected: false,
        inputs: 1,
        hidden: 1,
        heads: 1,
        projection: 1,
        width: 1,
    }
}

#[test]
fn two_steps_by_hand() {
    let (cell, score) = (AnyCell::of::<Simple>(), AnyScore::of::<Dot>());
    // The only key gets the weight 1, so every context is the value 0.4, and W_input = (1, 0.5) reads token and context:
    // s_1 = tanh(0.2 + 0.5·0 + 1·0) = tanh(0.2) = 0.197375
    // s_2 = tanh(−0.1 + 0.5·0.4 + 1·0.197375) = tanh(0.297375) = 0.288909
    let inputs = [
        Input::new("x", 2, 1, &[0.2, -0.1]),
        Input::new("keys", 1, 1, &[3.0]),
        Input::new("values", 1, 1, &[0.4]),
        Input::new("context", 1, 1, &[0.0]),
        Input::new("W_input", 1, 2, &[1.0, 0.5]),
        Input::new("W_state", 1, 1, &[1.0]),
        Input::new("bias", 1, 1, &[0.0]),
        Input::new("start", 1, 1, &[0.0]),
    ];
    let pass = by_hand(&inputs, |vars| smallest().run(cell, score, vars, Scan::sequence));
    assert_close("states", &pass.outputs[0], &[0.197375, 0.288909], HAND);
    assert_close("contexts", &pass.outputs[1], &[0.4, 0.4], HAND);
    assert_close("weights", &pass.outputs[2], &[1.0, 1.0], HAND);
    // d(s_1 + s_2 + contexts + weights)/dvalue = ∂s_2/∂c_1 + 1 + 1 = 0.5·(1 − 0.288909²) + 2 = 2.458266
    assert_close("gradient of the value", &pass.gradients[2], &[2.458266], HAND);
}

#[test]
fn a_zero_state_is_where_nothing_has_been_read() {
    let (cell, score) = (AnyCell::of::<Lstm>(), AnyScore::of::<Dot>());
    let inputs = smallest().inputs(cell, score);
    let pass = by_hand(&inputs, |vars| {
        smallest().run(cell, score, vars, |scan, x, rows, _, memory| {
            scan.sequence(x, rows, &scan.zero_state(1, memory), memory)
        })
    });
    let mut zeroed = inputs;
    for input in zeroed.iter_mut().filter(|input| input.name.starts_with("start") || input.name == "context")
    {
        input.numbers.fill(0.0);
    }
    let want = by_hand(&zeroed, |vars| smallest().run(cell, score, vars, Scan::sequence));
    assert_eq!(pass.outputs, want.outputs);
}

#[test]
#[should_panic(expected = "the first context")]
fn a_first_context_of_another_shape_is_refused() {
    let (cell, score) = (AnyCell::of::<Gru>(), AnyScore::of::<Dot>());
    let mut inputs = smallest().inputs(cell, score);
    inputs[3] = Input::random("context", 2, 1);
    by_hand(&inputs, |vars| smallest().run(cell, score, vars, Scan::sequence));
}
