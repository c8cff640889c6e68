//! The loss: by hand, and against the reference with and without smoothing and bias.

use crate::support::{HAND, Input, VALUES, assert_close, by_hand, check, devices, numbers, widen};
use couplet_tensor::ops::cross_entropy::reference;
use couplet_tensor::ops::{CrossEntropy, cross_entropy};
use couplet_tensor::{Tensor, Var};

fn inputs([rows, inputs, classes]: [usize; 3], bias: bool) -> Vec<Input> {
    let bias = bias.then(|| Input::random("b", 1, classes));
    [Input::random("x", rows, inputs), Input::random("W", classes, inputs)].into_iter().chain(bias).collect()
}

/// Targets all over the classes, the first and the last among them.
fn targets(rows: usize, classes: usize) -> Vec<u32> {
    (0..rows).map(|row| ((row + 1) * (classes - 1) % classes) as u32).collect()
}

fn loss(vars: &[Var], targets: &[u32], how: CrossEntropy) -> Vec<Var> {
    vec![cross_entropy(&vars[0], &vars[1], vars.get(2), targets, how).0]
}

fn reference(numbers: &[Vec<f64>], targets: &[u32], classes: usize, how: CrossEntropy) -> f64 {
    let none = vec![0.0; classes];
    let (x, weight, bias) = (&numbers[0], &numbers[1], numbers.get(2).unwrap_or(&none));
    reference::cross_entropy(x, weight, bias, targets, weight.len() / classes, how)
}

#[test]
fn equals_the_reference() {
    let shapes = [
        [0, 7, 9],
        [1, 1, 1],
        [7, 9, 8],
        [8, 7, 9],
        [9, 8, 7],
        [33, 33, 33],
        [70, 9, 97],  // enough for two workers
        [1030, 3, 9], // more rows than a block of logits holds
    ];
    for shape in shapes {
        let [rows, _, classes] = shape;
        let targets = targets(rows, classes);
        for (smoothing, bias) in [(0.0, true), (0.1, true), (0.1, false)] {
            let how = CrossEntropy { scale: 1.0 / rows.max(1) as f32, smoothing };
            check(
                &inputs(shape, bias),
                |vars| loss(vars, &targets, how),
                |numbers| vec![vec![reference(numbers, &targets, classes, how)]],
            );
        }
    }
}

#[test]
fn each_row_has_its_own_loss() {
    let [rows, width, classes] = [9, 7, 33];
    let (inputs, targets) = (inputs([rows, width, classes], true), targets(rows, classes));
    let how = CrossEntropy { scale: 0.5, smoothing: 0.1 };
    let [x, weight, bias] = [0, 1, 2].map(|i| widen(&inputs[i].numbers));
    // A row's loss is not scaled: the scale is that of the sum.
    let row = |(x, target): (&[f64], &u32)| {
        let unscaled = CrossEntropy { scale: 1.0, ..how };
        reference(&[x.to_vec(), weight.clone(), bias.clone()], &[*target], classes, unscaled)
    };
    let want: Vec<f64> = x.chunks(width).zip(&targets).map(row).collect();
    for device in devices() {
        let vars: Vec<Var> = inputs.iter().map(|input| Var::constant(input.tensor(&device))).collect();
        let (loss, of_rows) = cross_entropy(&vars[0], &vars[1], vars.get(2), &targets, how);
        assert_close("losses of rows", &of_rows.to_vec(), &want, VALUES);
        assert_close("loss", &[loss.value().item()], &[0.5 * want.iter().sum::<f64>()], VALUES);
        assert!(!loss.is_tracked());
    }
}

/// One row `x = 1` with the logits `ln 1`, `ln 2`, `ln 5` and target 1.
fn three_classes(smoothing: f32) -> crate::support::Pass {
    let weight = [1.0f32, 2.0, 5.0].map(f32::ln);
    let inputs =
        [Input::new("x", 1, 1, &[1.0]), Input::new("W", 3, 1, &weight), Input::new("b", 1, 3, &[0.0; 3])];
    by_hand(&inputs, |vars| loss(vars, &[1], CrossEntropy { scale: 1.0, smoothing }))
}

#[test]
fn a_loss_by_hand() {
    // P = (1, 2, 5) / 8 = (0.125, 0.25, 0.625); loss = −ln 0.25 = 1.386294
    let pass = three_classes(0.0);
    assert_close("loss", &pass.outputs[0], &[1.386294], HAND);
    // dlogits = P − (0, 1, 0) = (0.125, −0.75, 0.625), which with x = 1 is also dW and db
    assert_close("gradient of W", &pass.gradients[1], &[0.125, -0.75, 0.625], HAND);
    assert_close("gradient of b", &pass.gradients[2], &[0.125, -0.75, 0.625], HAND);
    // dx = Σ dlogits·W = −0.75·ln 2 + 0.625·ln 5 = −0.519860 + 1.005899 = 0.486039
    assert_close("gradient of x", &pass.gradients[0], &[0.486039], HAND);
}

#[test]
fn a_smoothed_loss_by_hand() {
    // −ln P = (2.079442, 1.386294, 0.470004), their mean 1.311913
    // loss = 0.7·1.386294 + 0.3·1.311913 = 0.970406 + 0.393574 = 1.363980
    let pass = three_classes(0.3);
    assert_close("loss", &pass.outputs[0], &[1.363980], HAND);
    // dlogits = P − (0.1, 0.1 + 0.7, 0.1) = (0.025, −0.55, 0.525)
    assert_close("gradient of b", &pass.gradients[2], &[0.025, -0.55, 0.525], HAND);
}

#[test]
fn far_apart_logits_neither_overflow_nor_vanish() {
    // Logits 1000 and −1000: the loss of the second class is their difference, that of the first is zero.
    let device = crate::support::any_device();
    let x = Var::constant(Tensor::new(&device, 2, 1, &[1.0, 1.0]));
    let weight = Var::constant(Tensor::new(&device, 2, 1, &[1000.0, -1000.0]));
    let how = CrossEntropy { scale: 1.0, smoothing: 0.0 };
    let (_, of_rows) = cross_entropy(&x, &weight, None, &[0, 1], how);
    assert_eq!(of_rows.to_vec(), [0.0, 2000.0]);
}

#[test]
#[should_panic(expected = "target 9 of 9 classes")]
fn a_target_outside_of_the_classes_is_named() {
    let how = CrossEntropy { scale: 1.0, smoothing: 0.0 };
    by_hand(&inputs([1, 7, 9], true), |vars| loss(vars, &[9], how));
}

#[test]
#[should_panic(expected = "x is (2, 7), W is (9, 8)")]
fn widths_that_differ_are_named() {
    let how = CrossEntropy { scale: 1.0, smoothing: 0.0 };
    let inputs = [Input::random("x", 2, 7), Input::new("W", 9, 8, &numbers("W", 72))];
    by_hand(&inputs, |vars| loss(vars, &[0, 1], how));
}
