//! Adam and clipping, over several steps.

use crate::support::{HAND, VALUES, any_device, assert_close, devices, numbers, widen};
use couplet_tensor::ops::scale;
use couplet_tensor::optimiser::{Adam, gradient_norm, reference};
use couplet_tensor::{Device, Init, Param, Params, Tape, Tensor};

/// Gives a parameter these gradients: those of `Σ gradient · weight`.
fn set_gradient(params: &mut Params, param: Param, gradient: &[f32]) {
    let tape = Tape::new();
    let weight = tape.param(params, param);
    let (rows, columns) = weight.shape();
    // The parameter itself holds no gradient of its own: it needs an operation to go back through.
    let same = scale(&weight, 1.0);
    let upstream = Tensor::new(params.device(), rows, columns, gradient);
    tape.backward_from(&[(&same, upstream)], params);
}

fn weights(params: &Params) -> Vec<f32> {
    params.iter().flat_map(|param| params.tensor(param).to_vec()).collect()
}

/// Three parameters of odd sizes; the last is large enough that with the others it makes several blocks and two workers.
fn model(device: &Device, large: usize) -> (Params, [Param; 3]) {
    let mut params = Params::new(device, 3);
    let shapes = [("a", 3, 7), ("b", 1, 1), ("c", 1, large)];
    let added = shapes.map(|(name, rows, columns)| params.add(name, rows, columns, Init::Uniform(1.0)));
    (params, added)
}

/// The gradient of all parameters at a step. Every third step, the second one gets none.
fn gradients(step: usize, lengths: [usize; 3]) -> [Option<Vec<f32>>; 3] {
    std::array::from_fn(|i| {
        let reached = i != 1 || !step.is_multiple_of(3);
        reached.then(|| numbers(&format!("gradient {i} of step {step}"), lengths[i]))
    })
}

fn equals_reference(clip: Option<f32>, large: usize) {
    let (betas, epsilon, rate) = ([0.8f32, 0.95f32], 1e-6f32, 0.01f32);
    for device in devices() {
        let (mut params, added) = model(&device, large);
        let lengths = [21, 1, large];
        let mut adam = Adam::default();
        (adam.betas, adam.epsilon, adam.clip) = (betas, epsilon, clip);
        let mut want: Vec<reference::Weight> =
            weights(&params).into_iter().map(|w| [f64::from(w), 0.0, 0.0]).collect();
        for step in 1..=6 {
            let gradients = gradients(step, lengths);
            let mut all = Vec::new();
            for ((&param, gradient), length) in added.iter().zip(&gradients).zip(lengths) {
                all.extend(gradient.as_ref().map_or_else(|| vec![0.0; length], |gradient| widen(gradient)));
                gradient.iter().for_each(|gradient| set_gradient(&mut params, param, gradient));
            }
            let norm = all.iter().map(|g| g * g).sum::<f64>().sqrt();
            let got = adam.step(&mut params, rate);
            assert_eq!(got.is_some(), clip.is_some(), "a norm where there is a limit");
            got.into_iter().for_each(|got| assert_close("norm", &got.to_vec(), &[norm], VALUES));
            let clipped = clip.map_or_else(|| all.clone(), |limit| reference::clip(&all, f64::from(limit)));
            for (weight, g) in want.iter_mut().zip(clipped) {
                let (betas, epsilon) = (betas.map(f64::from), f64::from(epsilon));
                *weight = reference::adam(*weight, g, f64::from(rate), betas, epsilon, step as i32);
            }
            let want: Vec<f64> = want.iter().map(|weight| weight[0]).collect();
            assert_close(
                &format!("weights after step {step} on {device:?}"),
                &weights(&params),
                &want,
                VALUES,
            );
        }
    }
}

#[test]
fn adam_equals_the_reference() {
    equals_reference(None, 33);
    equals_reference(None, 40_000);
}

#[test]
fn clipped_adam_equals_the_reference() {
    // Norms are near 6: one limit is far below them, the other above.
    equals_reference(Some(0.5), 33);
    equals_reference(Some(50.0), 33);
    equals_reference(Some(2.0), 40_000);
}

#[test]
fn the_first_step_by_hand() {
    // m = 0.1·2 = 0.2, v = 0.001·4 = 0.004; corrected, m / 0.1 = 2 and v / 0.001 = 4.
    // w = 1 − 0.5·2/√4 = 0.5: the first step is the rate, in the direction of the gradient.
    let mut params = Params::new(&any_device(), 0);
    let param = params.add("w", 1, 1, Init::Constant(1.0));
    let mut adam = Adam::default();
    set_gradient(&mut params, param, &[2.0]);
    adam.step(&mut params, 0.5);
    assert_close("first step", &weights(&params), &[0.5], HAND);
    // g = −1: m = 0.9·0.2 − 0.1 = 0.08, v = 0.999·0.004 + 0.001 = 0.004996
    // corrected, m / (1 − 0.81) = 0.421053 and v / (1 − 0.998001) = 2.499250, of which the root is 1.580902
    // w = 0.5 − 0.5·0.421053/1.580902 = 0.366831
    set_gradient(&mut params, param, &[-1.0]);
    adam.step(&mut params, 0.5);
    assert_close("second step", &weights(&params), &[0.366831], 1e-5);
}

#[test]
fn a_norm_by_hand() {
    // √(3² + 4² + 12²) = 13, over two parameters; the third has no gradient.
    let mut params = Params::new(&any_device(), 0);
    let [a, b, _] =
        [("a", 2), ("b", 1), ("c", 5)].map(|(name, n)| params.add(name, 1, n, Init::Constant(1.0)));
    set_gradient(&mut params, a, &[3.0, 4.0]);
    set_gradient(&mut params, b, &[12.0]);
    assert_eq!(gradient_norm(&mut params).item(), 13.0);
    // It is asked for, not changed.
    assert_eq!(gradient_norm(&mut params).item(), 13.0);
    assert_eq!(params.gradient(a), [3.0, 4.0]);
}

#[test]
fn what_gets_no_gradient_stays() {
    let (mut params, added) = model(&any_device(), 9);
    let before = weights(&params);
    set_gradient(&mut params, added[0], &[1.0; 21]);
    Adam::default().step(&mut params, 0.1);
    let after = weights(&params);
    assert!(before[..21].iter().zip(&after[..21]).all(|(before, after)| before != after));
    assert_eq!(before[21..], after[21..]);
}

#[test]
fn a_step_begins_anew() {
    let (mut params, added) = model(&any_device(), 9);
    set_gradient(&mut params, added[1], &[5.0]);
    assert_eq!(params.gradient(added[1]), [5.0]);
    Adam::default().step(&mut params, 0.1);
    assert_eq!(params.gradient(added[1]), [0.0]);
    set_gradient(&mut params, added[1], &[2.0]);
    assert_eq!(params.gradient(added[1]), [2.0]);
}

#[test]
#[should_panic(expected = "two parameters called \"a\"")]
fn a_name_that_is_taken_is_named() {
    let (mut params, _) = model(&any_device(), 1);
    params.add("a", 1, 1, Init::Constant(0.0));
}

#[test]
#[should_panic(expected = "2 numbers for \"b\"")]
fn values_that_do_not_fit_are_named() {
    let (mut params, added) = model(&any_device(), 1);
    params.set(added[1], &[1.0, 2.0]);
}
