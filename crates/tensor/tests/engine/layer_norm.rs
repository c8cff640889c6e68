//! Normalized rows.

use crate::support::{HAND, Input, assert_close, by_hand, check};
use couplet_tensor::Var;
use couplet_tensor::ops::{layer_norm, layer_norm::reference};

fn inputs(rows: usize, width: usize) -> [Input; 3] {
    [Input::random("x", rows, width), Input::random("gain", 1, width), Input::random("bias", 1, width)]
}

fn run(vars: &[Var]) -> Vec<Var> {
    vec![layer_norm(&vars[0], &vars[1], &vars[2])]
}

#[test]
fn equals_the_reference() {
    // The last is enough for two workers.
    for [rows, width] in [[0, 7], [1, 1], [1, 7], [7, 8], [8, 9], [9, 33], [130, 97]] {
        check(&inputs(rows, width), run, |numbers| {
            vec![reference::layer_norm(&numbers[0], &numbers[1], &numbers[2])]
        });
    }
}

#[test]
fn a_row_by_hand() {
    // x = (1, 3): mean 2, variance ((−1)² + 1²) / 2 = 1, normalized (−1, 1) / √(1 + 0.00001) = (−0.999995, 0.999995)
    // y = (−0.999995·2 + 0.5, 0.999995·3 − 0.5) = (−1.499990, 2.499985)
    let inputs = [
        Input::new("x", 1, 2, &[1.0, 3.0]),
        Input::new("gain", 1, 2, &[2.0, 3.0]),
        Input::new("bias", 1, 2, &[0.5, -0.5]),
    ];
    let pass = by_hand(&inputs, run);
    assert_close("y", &pass.outputs[0], &[-1.499990, 2.499985], HAND);
    // Of y's sum: db = 1, dgain = the normalized numbers.
    assert_close("gradient of the bias", &pass.gradients[2], &[1.0, 1.0], HAND);
    assert_close("gradient of the gain", &pass.gradients[1], &[-0.999995, 0.999995], HAND);
}

#[test]
fn a_far_away_mean_does_not_eat_the_differences() {
    // (10000, 10001, 10002): mean 10001, variance 2/3, so (−1, 0, 1)·√1.5 but for ε.
    let x = Input::new("x", 1, 3, &[10_000.0, 10_001.0, 10_002.0]);
    let inputs = [x, Input::new("gain", 1, 3, &[1.0; 3]), Input::new("bias", 1, 3, &[0.0; 3])];
    assert_close("y", &by_hand(&inputs, run).outputs[0], &[-1.224736, 0.0, 1.224736], HAND);
}

#[test]
#[should_panic(expected = "x is (2, 3)\n  left: ((1, 4), (1, 4))\n right: ((1, 3), (1, 3))")]
fn a_gain_that_does_not_fit_is_named() {
    let [_, gain, bias] = inputs(2, 4);
    by_hand(&[Input::random("x", 2, 3), gain, bias], run);
}
