//! Functions of single numbers and of pairs.

use crate::support::{HAND, Input, assert_close, by_hand, check};
use couplet_tensor::Var;
use couplet_tensor::ops::{add, multiply_elements, relu, scale, sigmoid, tanh};

/// Odd shapes, nothing, and enough for two workers.
const SHAPES: [[usize; 2]; 7] = [[0, 5], [1, 1], [7, 1], [8, 1], [3, 3], [3, 11], [65, 97]];

fn check_unary(op: impl Fn(&Var) -> Var, reference: impl Fn(f64) -> f64) {
    for [rows, columns] in SHAPES {
        check(
            &[Input::random("x", rows, columns)],
            |vars| vec![op(&vars[0])],
            |numbers| vec![numbers[0].iter().copied().map(&reference).collect()],
        );
    }
}

fn check_binary(op: impl Fn(&Var, &Var) -> Var, reference: impl Fn(f64, f64) -> f64) {
    for [rows, columns] in SHAPES {
        check(
            &[Input::random("a", rows, columns), Input::random("b", rows, columns)],
            |vars| vec![op(&vars[0], &vars[1])],
            |numbers| vec![numbers[0].iter().zip(&numbers[1]).map(|(&a, &b)| reference(a, b)).collect()],
        );
    }
}

#[test]
fn equal_their_definitions() {
    check_unary(tanh, f64::tanh);
    check_unary(sigmoid, |x| 1.0 / (1.0 + (-x).exp()));
    check_unary(relu, |x| x.max(0.0));
    check_unary(|x| scale(x, -2.5), |x| -2.5 * x);
    check_binary(add, |a, b| a + b);
    check_binary(multiply_elements, |a, b| a * b);
}

/// `y` and `dy/dx` of two numbers.
fn two(op: impl Fn(&Var) -> Var, x: [f32; 2]) -> [Vec<f32>; 2] {
    let pass = by_hand(&[Input::new("x", 1, 2, &x)], |vars| vec![op(&vars[0])]);
    [pass.outputs[0].clone(), pass.gradients[0].clone()]
}

#[test]
fn by_hand_of_one_number() {
    // tanh 0.5 = 0.462117, its slope 1 − 0.462117² = 0.786448
    let [y, slope] = two(tanh, [0.0, 0.5]);
    assert_close("tanh", &y, &[0.0, 0.462117], HAND);
    assert_close("slope of tanh", &slope, &[1.0, 0.786448], HAND);
    // σ(1) = 1 / (1 + 0.367879) = 0.731059, its slope 0.731059·0.268941 = 0.196612
    let [y, slope] = two(sigmoid, [0.0, 1.0]);
    assert_close("sigmoid", &y, &[0.5, 0.731059], HAND);
    assert_close("slope of sigmoid", &slope, &[0.25, 0.196612], HAND);
    // Below zero nothing, above it the number itself.
    assert_eq!(two(relu, [-2.0, 3.0]), [[0.0, 3.0], [0.0, 1.0]]);
    assert_eq!(two(|x| scale(x, 4.0), [-2.0, 3.0]), [[-8.0, 12.0], [4.0, 4.0]]);
}

#[test]
fn by_hand_of_two_numbers() {
    let inputs = [Input::new("a", 1, 2, &[2.0, 3.0]), Input::new("b", 1, 2, &[5.0, -1.0])];
    let sum = by_hand(&inputs, |vars| vec![add(&vars[0], &vars[1])]);
    assert_eq!(sum.outputs[0], [7.0, 2.0]);
    assert_eq!(sum.gradients, [[1.0, 1.0], [1.0, 1.0]]);
    let product = by_hand(&inputs, |vars| vec![multiply_elements(&vars[0], &vars[1])]);
    assert_eq!(product.outputs[0], [10.0, -3.0]);
    // The slope by one factor is the other.
    assert_eq!(product.gradients, [[5.0, -1.0], [2.0, 3.0]]);
}

#[test]
fn a_number_with_itself() {
    // d(x·x)/dx = 2x: both factors' gradients go to the same place.
    let square =
        by_hand(&[Input::new("x", 1, 1, &[3.0])], |vars| vec![multiply_elements(&vars[0], &vars[0])]);
    assert_eq!((square.outputs[0][0], square.gradients[0][0]), (9.0, 6.0));
}

#[test]
#[should_panic(expected = "element by element\n  left: (2, 3)\n right: (3, 2)")]
fn shapes_that_differ_are_named() {
    by_hand(&[Input::random("a", 2, 3), Input::random("b", 3, 2)], |vars| vec![add(&vars[0], &vars[1])]);
}
