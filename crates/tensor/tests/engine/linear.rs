//! `x·Wᵀ + b`, with weights from a tape and from a store of parameters.

use crate::support::{
    GRADIENTS, HAND, Input, VALUES, any_device, assert_close, by_hand, check, devices, pass, widen,
};
use couplet_tensor::ops::{linear, linear::reference};
use couplet_tensor::{Init, Params, Tape, Tensor, Var};

fn inputs([rows, inputs, outputs]: [usize; 3], bias: bool) -> Vec<Input> {
    let bias = bias.then(|| Input::random("b", 1, outputs));
    [Input::random("x", rows, inputs), Input::random("W", outputs, inputs)].into_iter().chain(bias).collect()
}

fn run(vars: &[Var]) -> Vec<Var> {
    vec![linear(&vars[0], &vars[1], vars.get(2))]
}

#[test]
fn equals_the_reference() {
    let shapes = [[0, 7, 9], [1, 1, 1], [7, 8, 9], [8, 9, 7], [9, 7, 8], [33, 33, 33], [97, 33, 130]];
    for shape in shapes {
        let [_, width, outputs] = shape;
        let none = vec![0.0; outputs];
        for bias in [false, true] {
            check(&inputs(shape, bias), run, |numbers| {
                let bias = numbers.get(2).unwrap_or(&none);
                vec![reference::linear(&numbers[0], &numbers[1], bias, width)]
            });
        }
    }
}

#[test]
fn a_layer_by_hand() {
    // x = (1, 2), W = (3 4 / 5 6), b = (0.5, −0.5)
    // y = (1·3 + 2·4 + 0.5, 1·5 + 2·6 − 0.5) = (11.5, 16.5)
    let inputs = [
        Input::new("x", 1, 2, &[1.0, 2.0]),
        Input::new("W", 2, 2, &[3.0, 4.0, 5.0, 6.0]),
        Input::new("b", 1, 2, &[0.5, -0.5]),
    ];
    let pass = by_hand(&inputs, run);
    assert_close("y", &pass.outputs[0], &[11.5, 16.5], HAND);
    // Of y's sum: dx = the sums of W's columns, dW = x in each row, db = 1
    assert_close("gradient of x", &pass.gradients[0], &[8.0, 10.0], HAND);
    assert_close("gradient of W", &pass.gradients[1], &[1.0, 2.0, 1.0, 2.0], HAND);
    assert_close("gradient of b", &pass.gradients[2], &[1.0, 1.0], HAND);
}

#[test]
fn a_parameter_is_like_a_leaf() {
    let inputs = inputs([7, 9, 8], true);
    for device in devices() {
        let upstream = Input::random("upstream 0", 7, 8);
        let want = pass(&device, &inputs, &run, std::slice::from_ref(&upstream.numbers));

        let mut params = Params::new(&device, 0);
        let [weight, bias] = [&inputs[1], &inputs[2]].map(|input| {
            let param = params.add(&input.name, input.rows, input.columns, Init::Constant(0.0));
            params.set(param, &input.numbers);
            param
        });
        // Two passes on two tapes: gradients gather in the store until it is told that a new step begins.
        for times in [1.0, 2.0] {
            let tape = Tape::new();
            let x = tape.leaf(inputs[0].tensor(&device));
            let [w, b] = [weight, bias].map(|param| tape.param(&params, param));
            let y = linear(&x, &w, Some(&b));
            assert_close("y", &y.value().to_vec(), &widen(&want.outputs[0]), VALUES);
            let gradients = tape.backward_from(&[(&y, upstream.tensor(&device))], &mut params);
            let dx = gradients.of(&x).expect("x is a leaf").to_vec();
            assert_close("gradient of x", &dx, &widen(&want.gradients[0]), GRADIENTS);
            for (param, want) in [weight, bias].into_iter().zip(&want.gradients[1..]) {
                let want: Vec<f64> = want.iter().map(|&x| times * f64::from(x)).collect();
                assert_close(params.name(param), &params.gradient(param), &want, GRADIENTS);
            }
        }
        params.zero_gradients();
        assert_eq!(params.gradient(bias), [0.0; 8]);
    }
}

#[test]
fn without_a_tape_nothing_is_kept() {
    let device = any_device();
    let x = Var::constant(Tensor::zeros(&device, 2, 3));
    let weight = Var::constant(Tensor::zeros(&device, 4, 3));
    assert!(!linear(&x, &weight, None).is_tracked());
}

#[test]
#[should_panic(expected = "x is (2, 3), W is (4, 5)")]
fn widths_that_differ_are_named() {
    by_hand(&[Input::random("x", 2, 3), Input::random("W", 4, 5)], run);
}

#[test]
#[should_panic(expected = "b is (1, 3), W is (4, 5)")]
fn a_bias_that_does_not_fit_is_named() {
    by_hand(&[Input::random("x", 2, 5), Input::random("W", 4, 5), Input::random("b", 1, 3)], run);
}
