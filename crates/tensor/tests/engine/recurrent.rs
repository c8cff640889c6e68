//! Recurrent layers, against the reference and against the loop over single steps.

use crate::support::{
    HAND, Input, agree, assert_close, by_hand, check, layer_inputs, layer_reference, layer_weights, sequence,
};
use couplet_tensor::cell::{Cell, Gru, Lstm, Simple};
use couplet_tensor::ops::recurrent::{by_steps, reference};
use couplet_tensor::ops::{AnyCell, LayerWeights, Recurrent, recurrent};
use couplet_tensor::{Direction, SequenceLayout, Var};
use std::sync::Arc;

/// A layer over a batch.
#[derive(Clone, Debug)]
struct Case {
    rows: Arc<SequenceLayout>,
    inputs: usize,
    hidden: usize,
    direction: Direction,
    start: bool,
    /// Whether the gates are normalized.
    norm: bool,
}

/// [`recurrent`], or the loop that it must equal.
type Layer = fn(AnyCell, &Var, &Arc<SequenceLayout>, Direction, &LayerWeights, Option<&[Var]>) -> Recurrent;

impl Case {
    fn inputs(&self, cell: AnyCell) -> Vec<Input> {
        let mut inputs = vec![Input::random("x", self.rows.total(), self.inputs)];
        inputs.extend(layer_inputs(cell, 0, self.inputs, self.hidden, self.norm));
        if self.start {
            let part = |part| Input::random(&format!("start {part}"), self.rows.batch(), self.hidden);
            inputs.extend((0..cell.parts()).map(part));
        }
        inputs
    }

    /// The states, and the parts of the last state.
    fn run(&self, cell: AnyCell, vars: &[Var], layer: Layer) -> Vec<Var> {
        let mut vars = vars.iter();
        let x = vars.next().expect("an input");
        let weights = layer_weights(cell, &mut vars, self.norm);
        let start: Vec<Var> = vars.cloned().collect();
        let result = layer(cell, x, &self.rows, self.direction, &weights, self.start.then_some(&start));
        [vec![result.states], result.last].concat()
    }

    fn reference<C: Cell>(&self, numbers: &[Vec<f64>]) -> Vec<Vec<f64>> {
        let (rows, hidden) = (&self.rows, self.hidden);
        let mut numbers = numbers.iter();
        let x = numbers.next().expect("an input");
        let weights = layer_reference(AnyCell::of::<C>(), &mut numbers, self.norm);
        let start: Vec<&Vec<f64>> = numbers.collect();
        let mut states = vec![0.0; rows.total() * hidden];
        let mut last = vec![Vec::new(); C::STATE_TENSORS];
        for place in 0..rows.batch() {
            let first = |part: usize| match start.get(part) {
                Some(start) => start[place * hidden..][..hidden].to_vec(),
                None => vec![0.0; hidden],
            };
            let mut state: Vec<Vec<f64>> = (0..C::STATE_TENSORS).map(first).collect();
            let mut steps: Vec<usize> = (0..rows.length(place)).collect();
            let mut x = sequence(rows, x, self.inputs, place);
            if self.direction == Direction::Backward {
                steps.reverse();
                x.reverse();
            }
            for (step, output) in steps.into_iter().zip(reference::sequence::<C>(&x, &mut state, &weights)) {
                states[rows.row(place, step) * hidden..][..hidden].copy_from_slice(&output);
            }
            last.iter_mut().zip(state).for_each(|(last, part)| last.extend(part));
        }
        [vec![states], last].concat()
    }
}

fn cases(batches: &[&[usize]], sizes: &[[usize; 2]]) -> Vec<Case> {
    let mut cases = Vec::new();
    for lengths in batches {
        for &[inputs, hidden] in sizes {
            for direction in [Direction::Forward, Direction::Backward] {
                for start in [false, true] {
                    let rows = Arc::new(SequenceLayout::new(lengths));
                    cases.push(Case { rows, inputs, hidden, direction, start, norm: false });
                }
            }
        }
    }
    cases
}

const BATCHES: [&[usize]; 5] = [&[], &[0, 0], &[1], &[2, 4, 0, 1], &[3, 3, 1]];
const SIZES: [[usize; 2]; 5] = [[1, 1], [7, 8], [8, 9], [9, 7], [33, 33]];

fn equals_reference<C: Cell>() {
    let cell = AnyCell::of::<C>();
    for case in cases(&BATCHES, &SIZES) {
        check(
            &case.inputs(cell),
            |vars| case.run(cell, vars, recurrent),
            |numbers| case.reference::<C>(numbers),
        );
    }
}

/// With normalized gates, of more than one input: one input alone does not matter but for its sign, and its gradient is rounding.
fn normalized_equals_reference<C: Cell>() {
    let cell = AnyCell::of::<C>();
    for case in cases(&BATCHES, &SIZES[1..]) {
        let case = Case { norm: true, ..case };
        check(
            &case.inputs(cell),
            |vars| case.run(cell, vars, recurrent),
            |numbers| case.reference::<C>(numbers),
        );
    }
}

fn equals_loop<C: Cell>() {
    let cell = AnyCell::of::<C>();
    // The last is large enough for two workers: rows · hidden² · gates counts.
    let large: Vec<usize> = (0..130).map(|i| 1 + i % 3).collect();
    let small = cases(&BATCHES, &SIZES);
    for case in small.into_iter().chain(cases(&[&large], &[[9, 81]])) {
        agree(
            &case.inputs(cell),
            |vars| case.run(cell, vars, recurrent),
            |vars| case.run(cell, vars, by_steps),
        );
    }
}

#[test]
fn simple_equals_the_reference() {
    equals_reference::<Simple>();
}

#[test]
fn gru_equals_the_reference() {
    equals_reference::<Gru>();
}

#[test]
fn lstm_equals_the_reference() {
    equals_reference::<Lstm>();
}

#[test]
fn normalized_layers_equal_the_reference() {
    normalized_equals_reference::<Simple>();
    normalized_equals_reference::<Gru>();
    normalized_equals_reference::<Lstm>();
}

#[test]
fn simple_equals_the_loop() {
    equals_loop::<Simple>();
}

#[test]
fn gru_equals_the_loop() {
    equals_loop::<Gru>();
}

#[test]
fn lstm_equals_the_loop() {
    equals_loop::<Lstm>();
}

/// One unit, one input, weights 1 and no bias, over the sequence 0.5, −0.3.
fn two_steps(direction: Direction) -> Vec<f32> {
    let case = Case {
        rows: Arc::new(SequenceLayout::new(&[2])),
        inputs: 1,
        hidden: 1,
        direction,
        start: false,
        norm: false,
    };
    let inputs = [
        Input::new("x", 2, 1, &[0.5, -0.3]),
        Input::new("W_input", 1, 1, &[1.0]),
        Input::new("W_state", 1, 1, &[1.0]),
        Input::new("bias", 1, 1, &[0.0]),
    ];
    by_hand(&inputs, |vars| case.run(AnyCell::of::<Simple>(), vars, recurrent)).outputs.concat()
}

#[test]
fn a_sequence_by_hand() {
    // h_1 = tanh(0.5) = 0.462117
    // h_2 = tanh(−0.3 + 0.462117) = tanh(0.162117) = 0.160712
    // The last state is h_2.
    assert_close("forward", &two_steps(Direction::Forward), &[0.462117, 0.160712, 0.160712], HAND);
    // h_2 = tanh(−0.3) = −0.291313
    // h_1 = tanh(0.5 − 0.291313) = tanh(0.208687) = 0.205710
    // The last state is h_1.
    assert_close("backward", &two_steps(Direction::Backward), &[0.205710, -0.291313, 0.205710], HAND);
}

#[test]
fn normalized_gates_by_hand() {
    // One step of two units from h = (1, 0). ε = 10⁻⁵ makes 1/√(1 + ε) = 0.999995 of a variance of 1.
    // W_input·x = (1, 3): less its mean 2, (−1, 1); with the gain 0.5 and the norm's bias (0, 0.2): (−0.499998, 0.699998)
    // W_state·h = (2, 4): less its mean 3, (−1, 1); with the gain (1, 2) and no bias: (−0.999995, 1.999990)
    // Gates with the bias (0.1, −0.2): (−1.399993, 2.499988)
    // h' = tanh = (−0.885350, 0.986614)
    let rows = Arc::new(SequenceLayout::new(&[1]));
    let case = Case { rows, inputs: 1, hidden: 2, direction: Direction::Forward, start: true, norm: true };
    let inputs = [
        Input::new("x", 1, 1, &[1.0]),
        Input::new("W_input", 2, 1, &[1.0, 3.0]),
        Input::new("W_state", 2, 2, &[2.0, 0.0, 4.0, 0.0]),
        Input::new("bias", 1, 2, &[0.1, -0.2]),
        Input::new("input's gain", 1, 2, &[0.5, 0.5]),
        Input::new("input's norm bias", 1, 2, &[0.0, 0.2]),
        Input::new("state's gain", 1, 2, &[1.0, 2.0]),
        Input::new("state's norm bias", 1, 2, &[0.0, 0.0]),
        Input::new("start", 1, 2, &[1.0, 0.0]),
    ];
    let pass = by_hand(&inputs, |vars| case.run(AnyCell::of::<Simple>(), vars, recurrent));
    assert_close("h'", &pass.outputs[0], &[-0.885350, 0.986614], HAND);
    // Of states and last state, which are one: dgates = 2·(1 − h'²) = (0.432311, 0.053186), which is that of every bias;
    // a gain's is the normalized number times that.
    assert_close("gradient of the bias", &pass.gradients[3], &[0.432311, 0.053186], HAND);
    assert_close("gradient of the norm's bias", &pass.gradients[5], &[0.432311, 0.053186], HAND);
    assert_close("gradient of the gain", &pass.gradients[4], &[-0.432309, 0.053186], HAND);
}

#[test]
#[should_panic(expected = "gain and bias of the norm of 8 units")]
fn a_norm_of_another_width_is_named() {
    let cell = AnyCell::of::<Lstm>();
    let rows = Arc::new(SequenceLayout::new(&[2]));
    let case = Case { rows, inputs: 7, hidden: 8, direction: Direction::Forward, start: false, norm: true };
    let mut inputs = case.inputs(cell);
    // Of x, W_input, W_state and bias, what follows.
    inputs[4] = Input::random("input's gain", 1, 8);
    by_hand(&inputs, |vars| case.run(cell, vars, recurrent));
}

#[test]
fn a_missing_bias_of_the_state_counts_as_zero() {
    let cell = AnyCell::of::<Gru>();
    let rows = Arc::new(SequenceLayout::new(&[3, 2]));
    let case = Case { rows, inputs: 7, hidden: 9, direction: Direction::Forward, start: true, norm: false };
    let mut inputs = case.inputs(cell);
    // Of x, W_input, W_state, bias and state_bias, the last.
    inputs[4].numbers.fill(0.0);
    let without: Layer = |cell, x, rows, direction, weights, start| {
        recurrent(cell, x, rows, direction, &LayerWeights { state_bias: None, ..weights.clone() }, start)
    };
    let values = |layer| by_hand(&inputs, |vars| case.run(cell, vars, layer));
    let (with, without) = (values(recurrent), values(without));
    assert_eq!(with.outputs, without.outputs);
    assert_eq!(with.gradients[..4], without.gradients[..4]);
}

#[test]
#[should_panic(expected = "x is (4, 7) for 5 packed rows")]
fn rows_that_do_not_fit_the_batch_are_named() {
    let lstm = AnyCell::of::<Lstm>();
    let case = |lengths: &[usize]| Case {
        rows: Arc::new(SequenceLayout::new(lengths)),
        inputs: 7,
        hidden: 8,
        direction: Direction::Forward,
        start: false,
        norm: false,
    };
    let other = case(&[3, 2]);
    by_hand(&case(&[3, 1]).inputs(lstm), |vars| other.run(lstm, vars, recurrent));
}

#[test]
#[should_panic(expected = "W_input of 8 units, 7 inputs")]
fn weights_of_another_width_are_named() {
    let cell = AnyCell::of::<Lstm>();
    let rows = Arc::new(SequenceLayout::new(&[2]));
    let case = Case { rows, inputs: 7, hidden: 8, direction: Direction::Forward, start: false, norm: false };
    let mut inputs = case.inputs(cell);
    inputs[1] = Input::random("W_input", 4 * 8, 6);
    by_hand(&inputs, |vars| case.run(cell, vars, recurrent));
}
