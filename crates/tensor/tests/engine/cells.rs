//! The cells: each by hand, and the operation of one step against their formulas.

use crate::support::{HAND, Input, agree, assert_close, by_hand, check};
use couplet_tensor::Var;
use couplet_tensor::activation::{Activation, Identity, Relu, Sigmoid};
use couplet_tensor::cell::{Cell, Gru, Lstm, Simple, slots};
use couplet_tensor::ops::{AnyCell, cell_step, scale};

/// The input's share, the state's share, the bias of the state where there is use for one, the state before.
fn inputs(cell: AnyCell, rows: usize, hidden: usize) -> Vec<Input> {
    let shares = ["of_input", "of_state"].map(|name| Input::random(name, rows, cell.gates() * hidden));
    let bias = (cell.apart() > 0).then(|| Input::random("state_bias", 1, cell.apart() * hidden));
    let before = (0..cell.parts()).map(|part| Input::random(&format!("before {part}"), rows, hidden));
    shares.into_iter().chain(bias).chain(before).collect()
}

fn run<C: Cell>(vars: &[Var]) -> Vec<Var> {
    let (bias, before) = vars[2..].split_at(usize::from(C::SPLIT_GATES > 0));
    cell_step(AnyCell::of::<C>(), &vars[0], &vars[1], bias.first(), before)
}

/// A unit at a time: its gates, those that are apart twice, and the cell's formula in `f64`.
fn reference<C: Cell>(numbers: &[Vec<f64>], hidden: usize) -> Vec<Vec<f64>> {
    let (bias, before) = numbers[2..].split_at(usize::from(C::SPLIT_GATES > 0));
    let mut after = vec![Vec::new(); C::STATE_TENSORS];
    for row in 0..before[0].len() / hidden {
        for unit in 0..hidden {
            let mut gates = vec![0.0; slots::<C>()];
            for gate in 0..C::GATES {
                let place = (row * C::GATES + gate) * hidden + unit;
                let apart = (gate + C::SPLIT_GATES).checked_sub(C::GATES);
                gates[gate] += numbers[0][place];
                gates[apart.map_or(gate, |apart| C::GATES + apart)] += numbers[1][place];
                if let (Some(apart), Some(bias)) = (apart, bias.first()) {
                    gates[C::GATES + apart] += bias[apart * hidden + unit];
                }
            }
            let mut state: Vec<f64> = before.iter().map(|part| part[row * hidden + unit]).collect();
            C::forward(&mut gates, &mut state);
            after.iter_mut().zip(state).for_each(|(after, part)| after.push(part));
        }
    }
    after
}

fn equals_formula<C: Cell>() {
    // The last is enough for two workers.
    for [rows, hidden] in [[0, 7], [1, 1], [2, 7], [3, 8], [7, 9], [9, 33], [70, 33]] {
        check(&inputs(AnyCell::of::<C>(), rows, hidden), run::<C>, |numbers| reference::<C>(numbers, hidden));
    }
}

#[test]
fn simple_equals_its_formula() {
    equals_formula::<Simple>();
}

#[test]
fn simple_with_any_activation_equals_its_formula() {
    equals_formula::<Simple<Relu>>();
    equals_formula::<Simple<Sigmoid>>();
    equals_formula::<Simple<Identity>>();
}

#[test]
fn gru_equals_its_formula() {
    equals_formula::<Gru>();
}

#[test]
fn lstm_equals_its_formula() {
    equals_formula::<Lstm>();
}

#[test]
fn simple_by_hand() {
    // h' = tanh(0.3 + 0.2) = tanh(0.5) = 0.462117, whatever h was
    let inputs = [
        Input::new("of_input", 1, 1, &[0.3]),
        Input::new("of_state", 1, 1, &[0.2]),
        Input::new("h", 1, 1, &[9.0]),
    ];
    let pass = by_hand(&inputs, run::<Simple>);
    assert_close("h'", &pass.outputs[0], &[0.462117], HAND);
    // dh'/dgate = 1 − 0.462117² = 0.786448; h enters only through the product that made of_state
    assert_close("gradient of of_input", &pass.gradients[0], &[0.786448], HAND);
    assert_close("gradient of of_state", &pass.gradients[1], &[0.786448], HAND);
    assert_eq!(pass.gradients[2], [0.0]);
}

/// The state after the gate `of_input + of_state` = −0.7 + 0.2 = −0.5 and after 0.3 + 0.2 = 0.5, and the slopes there.
fn simple_at_both_sides_of_zero<A: Activation>(values: [f64; 2], slopes: [f64; 2]) {
    let inputs = [
        Input::new("of_input", 2, 1, &[-0.7, 0.3]),
        Input::new("of_state", 2, 1, &[0.2, 0.2]),
        Input::new("h", 2, 1, &[9.0, 9.0]),
    ];
    let pass = by_hand(&inputs, run::<Simple<A>>);
    assert_close("h'", &pass.outputs[0], &values, HAND);
    assert_close("gradient of of_input", &pass.gradients[0], &slopes, HAND);
    assert_eq!(pass.gradients[2], [0.0, 0.0]);
}

#[test]
fn activations_by_hand() {
    // max(−0.5, 0) = 0 with the slope 0; max(0.5, 0) = 0.5 with the slope 1
    simple_at_both_sides_of_zero::<Relu>([0.0, 0.5], [0.0, 1.0]);
    // The number itself, with the slope 1
    simple_at_both_sides_of_zero::<Identity>([-0.5, 0.5], [1.0, 1.0]);
    // σ(−0.5) = 0.377541, σ(0.5) = 0.622459; the slope of both is 0.377541·0.622459 = 0.235004
    simple_at_both_sides_of_zero::<Sigmoid>([0.377541, 0.622459], [0.235004, 0.235004]);
}

#[test]
fn lstm_by_hand() {
    // The input 0.1 with the weights 0.5, 0.7, 0.9 and 1.1; the state h = 0 adds nothing, the memory is c = 2:
    // i = σ(0.5·0.1 + 0.5·0) = σ(0.05) = 0.512497
    // f = σ(0.7·0.1 + 0.7·0) = σ(0.07) = 0.517493
    // g = tanh(0.9·0.1) = tanh(0.09) = 0.089758
    // o = σ(1.1·0.1) = σ(0.11) = 0.527472
    // c' = f·c + i·g = 0.517493·2 + 0.512497·0.089758 = 1.080986
    // h' = o·tanh(c') = 0.527472·0.793565 = 0.418583
    let inputs = [
        Input::new("of_input", 1, 4, &[0.05, 0.07, 0.09, 0.11]),
        Input::new("of_state", 1, 4, &[0.0; 4]),
        Input::new("h", 1, 1, &[0.0]),
        Input::new("c", 1, 1, &[2.0]),
    ];
    let pass = by_hand(&inputs, run::<Lstm>);
    assert_close("h'", &pass.outputs[0], &[0.418583], HAND);
    assert_close("c'", &pass.outputs[1], &[1.080986], HAND);
    // Of h' + c': dc' = 1 + o·(1 − tanh²c') = 1.195299
    // dc = dc'·f = 0.618559
    assert_close("gradient of c", &pass.gradients[3], &[0.618559], HAND);
}

#[test]
fn gru_by_hand() {
    // r = σ(0.2 + 0.1) = σ(0.3) = 0.574443
    // z = σ(−0.4 + 0.1) = σ(−0.3) = 0.425557
    // n = tanh(0.5 + r·(0.6 + 0.4)) = tanh(0.5 + 0.574443) = 0.791129: r acts on the state's share and on its bias
    // h' = (1 − z)·n + z·h = 0.574443·0.791129 + 0.425557·0.5 = 0.667237
    let inputs = [
        Input::new("of_input", 1, 3, &[0.2, -0.4, 0.5]),
        Input::new("of_state", 1, 3, &[0.1, 0.1, 0.6]),
        Input::new("state_bias", 1, 1, &[0.4]),
        Input::new("h", 1, 1, &[0.5]),
    ];
    let pass = by_hand(&inputs, run::<Gru>);
    assert_close("h'", &pass.outputs[0], &[0.667237], HAND);
    // dh'/dh = z, but for the product that made of_state
    assert_close("gradient of h", &pass.gradients[3], &[0.425557], HAND);
    // d/d(x's share of n) = (1 − z)·(1 − n²) = 0.214907; of the state's share and its bias r times that: 0.123452
    assert_close("gradient of n's input share", &pass.gradients[0][2..], &[0.214907], HAND);
    assert_close("gradient of n's state share", &pass.gradients[1][2..], &[0.123452], HAND);
    assert_close("gradient of state_bias", &pass.gradients[2], &[0.123452], HAND);
}

#[test]
fn shares_of_gates_that_are_not_apart_may_be_exchanged() {
    let exchanged = |vars: &[Var]| {
        let vars: Vec<Var> = [1, 0, 2, 3].map(|i| vars[i].clone()).to_vec();
        run::<Lstm>(&vars)
    };
    agree(&inputs(AnyCell::of::<Lstm>(), 3, 9), run::<Lstm>, exchanged);
}

#[test]
fn a_missing_bias_of_the_state_counts_as_zero() {
    let gru = AnyCell::of::<Gru>();
    let inputs = inputs(gru, 3, 9);
    let with = |vars: &[Var]| cell_step(gru, &vars[0], &vars[1], Some(&scale(&vars[2], 0.0)), &vars[3..]);
    agree(&inputs, with, |vars| cell_step(gru, &vars[0], &vars[1], None, &vars[3..]));
}

#[test]
#[should_panic(expected = "gates of 2 × 3 units")]
fn gates_that_do_not_fit_the_state_are_named() {
    let mut inputs = inputs(AnyCell::of::<Lstm>(), 2, 3);
    inputs[0] = Input::random("of_input", 2, 11);
    by_hand(&inputs, run::<Lstm>);
}
