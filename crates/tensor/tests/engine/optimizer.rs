//! The rules, clipping and averaging, over several steps.

use crate::support::{HAND, VALUES, any_device, assert_close, devices, numbers, widen};
use couplet_tensor::ops::scale;
use couplet_tensor::optimizer::{Average, Optimizer, Rule, adafactor, gradient_norm, reference};
use couplet_tensor::{Device, Init, Param, Params, Tape, Tensor};
use std::collections::BTreeMap;

/// Gives a parameter these gradients: those of `Σ gradient · weight`.
pub(crate) fn set_gradient(params: &mut Params, param: Param, gradient: &[f32]) {
    let tape = Tape::new();
    let weight = tape.param(params, param);
    let (rows, columns) = weight.shape();
    // The parameter itself holds no gradient of its own: it needs an operation to go back through.
    let same = scale(&weight, 1.0);
    let upstream = Tensor::new(params.device(), rows, columns, gradient);
    tape.backward_from(&[(&same, upstream)], params);
}

pub(crate) fn weights(params: &Params) -> Vec<f32> {
    params.iter().flat_map(|param| params.tensor(param).to_vec()).collect()
}

/// The state of an optimizer as numbers.
pub(crate) fn numbers_of(state: &BTreeMap<String, Tensor>) -> BTreeMap<String, Vec<f32>> {
    state.iter().map(|(name, tensor)| (name.clone(), tensor.to_vec())).collect()
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

/// The weights of all parameters as a rule's definition has them, one after the other.
trait Definition {
    /// Step `t` with these gradients, which have been clipped.
    fn step(&mut self, gradients: &[f64], t: i32);
    fn weights(&self) -> Vec<f64>;
}

/// A rule that looks at one weight and its moments at a time.
struct OfWeights<const N: usize, F> {
    weights: Vec<[f64; N]>,
    rule: F,
}

impl<const N: usize, F: Fn([f64; N], f64, i32) -> [f64; N]> Definition for OfWeights<N, F> {
    fn step(&mut self, gradients: &[f64], t: i32) {
        for (weight, &g) in self.weights.iter_mut().zip(gradients) {
            *weight = (self.rule)(*weight, g, t);
        }
    }

    fn weights(&self) -> Vec<f64> {
        self.weights.iter().map(|weight| weight[0]).collect()
    }
}

fn of_weights<const N: usize>(
    weights: &[f32],
    rule: impl Fn([f64; N], f64, i32) -> [f64; N] + 'static,
) -> Box<dyn Definition> {
    let alone = |&w: &f32| {
        let mut weight = [0.0; N];
        weight[0] = f64::from(w);
        weight
    };
    Box::new(OfWeights { weights: weights.iter().map(alone).collect(), rule })
}

/// Adafactor looks at a whole parameter.
struct OfParameters(Vec<adafactor::reference::Parameter>);

impl Definition for OfParameters {
    fn step(&mut self, gradients: &[f64], t: i32) {
        let mut rest = gradients;
        for parameter in &mut self.0 {
            let (gradients, behind) = rest.split_at(parameter.weights.len());
            parameter.step(gradients, f64::from(RATE), 0.1f32.into(), t);
            rest = behind;
        }
    }

    fn weights(&self) -> Vec<f64> {
        self.0.iter().flat_map(|parameter| parameter.weights.clone()).collect()
    }
}

const RATE: f32 = 0.01;

fn definition(rule: Rule, params: &Params) -> Box<dyn Definition> {
    let (weights, rate) = (weights(params), f64::from(RATE));
    match rule {
        Rule::Adam { betas, epsilon, decay } => {
            let (betas, epsilon, decay) = (betas.map(f64::from), f64::from(epsilon), f64::from(decay));
            of_weights(&weights, move |w, g, t| reference::adam(w, g, rate, betas, epsilon, decay, t))
        }
        Rule::Sgd { momentum } => {
            of_weights(&weights, move |w, g, _| reference::sgd(w, g, rate, f64::from(momentum)))
        }
        Rule::Lion { betas, decay } => of_weights(&weights, move |w, g, _| {
            reference::lion(w, g, rate, betas.map(f64::from), f64::from(decay))
        }),
        Rule::Adafactor { .. } => {
            let parameter = |param| {
                let tensor = params.tensor(param);
                adafactor::reference::Parameter::new(widen(&tensor.to_vec()), tensor.columns())
            };
            Box::new(OfParameters(params.iter().map(parameter).collect()))
        }
    }
}

fn equals_reference(rule: Rule, clip: Option<f32>, large: usize) {
    for device in devices() {
        let (mut params, added) = model(&device, large);
        let lengths = [21, 1, large];
        let new = Optimizer::new(rule);
        let mut optimizer = match clip {
            Some(limit) => new.clipped(limit),
            None => new,
        };
        let mut want = definition(rule, &params);
        for step in 1..=6 {
            let gradients = gradients(step, lengths);
            let mut all = Vec::new();
            for ((&param, gradient), length) in added.iter().zip(&gradients).zip(lengths) {
                all.extend(gradient.as_ref().map_or_else(|| vec![0.0; length], |gradient| widen(gradient)));
                gradient.iter().for_each(|gradient| set_gradient(&mut params, param, gradient));
            }
            let norm = all.iter().map(|g| g * g).sum::<f64>().sqrt();
            let got = optimizer.step(&mut params, RATE);
            assert_eq!(got.is_some(), clip.is_some(), "a norm where there is a limit");
            got.into_iter().for_each(|got| assert_close("norm", &got.to_vec(), &[norm], VALUES));
            let clipped = clip.map_or_else(|| all.clone(), |limit| reference::clip(&all, f64::from(limit)));
            want.step(&clipped, step as i32);
            let name = format!("weights after step {step} of {rule:?} on {device:?}");
            assert_close(&name, &weights(&params), &want.weights(), VALUES);
        }
    }
}

fn adam(decay: f32) -> Rule {
    Rule::Adam { betas: [0.8, 0.95], epsilon: 1e-6, decay }
}

#[test]
fn adam_equals_the_reference() {
    equals_reference(adam(0.0), None, 33);
    equals_reference(adam(0.0), None, 40_000);
    equals_reference(adam(0.3), None, 33);
}

#[test]
fn clipped_adam_equals_the_reference() {
    // Norms are near 6: one limit is far below them, the other above.
    equals_reference(adam(0.0), Some(0.5), 33);
    equals_reference(adam(0.0), Some(50.0), 33);
    equals_reference(adam(0.0), Some(2.0), 40_000);
}

#[test]
fn the_other_rules_equal_their_references() {
    let (sgd, lion) = (Rule::Sgd { momentum: 0.8 }, Rule::Lion { betas: [0.9, 0.95], decay: 0.1 });
    for rule in [sgd, lion, Rule::Adafactor { decay: 0.1 }] {
        equals_reference(rule, None, 33);
        equals_reference(rule, Some(0.5), 33);
        equals_reference(rule, Some(2.0), 40_000);
    }
}

/// One weight of 1, a rate of 0.5, gradients 2 and −1, a momentum of 0.9: m = 2, w = 1 − 0.5·2 = 0; m = 0.9·2 − 1 = 0.8,
/// w = 0 − 0.5·0.8 = −0.4.
#[test]
fn two_steps_of_sgd_by_hand() {
    let steps = two_steps(Rule::Sgd { momentum: 0.9 }, 1);
    assert_close("two steps", &steps, &[0.0, -0.4], HAND);
}

/// A decay of 0.2 leaves 1 − 0.5·0.2 = 0.9 of a weight. The first step goes down: 0.9·1 − 0.5 = 0.4, and m = 0.01·2 = 0.02. Then
/// 0.9·0.02 − 0.1 = −0.082 is below zero, and it goes up: 0.9·0.4 + 0.5 = 0.86.
#[test]
fn two_steps_of_lion_by_hand() {
    let steps = two_steps(Rule::Lion { betas: [0.9, 0.99], decay: 0.2 }, 1);
    assert_close("two steps", &steps, &[0.4, 0.86], HAND);
}

/// Of one weight, the first step's second moment is 2² = 4, the direction 2/√4 = 1, its size the weight's own: with a rate of 0.5
/// the weight becomes 1 − 0.5·1 = 0.5. In the second step β = 1 − 2^−0.8 = 0.425651 and the moment is 0.425651·4 + 0.574349 =
/// 2.276953, the direction −1/1.508958 = −0.662709, and the weight 0.5 + 0.5·0.5·0.662709 = 0.665677.
#[test]
fn two_steps_of_adafactor_by_hand() {
    let [first, second] = two_steps(Rule::Adafactor { decay: 0.0 }, 1);
    assert_close("first step", &[first], &[0.5], HAND);
    assert_close("second step", &[second], &[0.665_677], 1e-5);
}

/// A matrix of which all rows and columns are alike: each statistic is 2² = 4, and so is 4·4/4. As by hand above.
#[test]
fn a_matrix_of_one_number_is_that_number_to_adafactor() {
    let [first, second] = two_steps(Rule::Adafactor { decay: 0.0 }, 3);
    assert_close("first step", &[first], &[0.5], HAND);
    assert_close("second step", &[second], &[0.665_677], 1e-5);
}

/// The first weight of a square of ones after a step with the gradient 2 everywhere, and after another one with −1.
fn two_steps(rule: Rule, side: usize) -> [f32; 2] {
    let mut params = Params::new(&any_device(), 0);
    let param = params.add("w", side, side, Init::Constant(1.0));
    let mut optimizer = Optimizer::new(rule);
    [2.0, -1.0].map(|gradient| {
        set_gradient(&mut params, param, &vec![gradient; side * side]);
        optimizer.step(&mut params, 0.5);
        weights(&params)[0]
    })
}

/// Two runs of six steps, one of them with another optimizer after the third: the same bits.
#[test]
fn an_optimizer_goes_on_where_another_one_was() {
    let rules = [adam(0.1), Rule::Sgd { momentum: 0.9 }, Rule::Adafactor { decay: 0.0 }];
    for rule in rules {
        let run = |change_after: usize| {
            let (mut params, added) = model(&any_device(), 50);
            let mut optimizer = Optimizer::new(rule).clipped(1.0);
            for step in 1..=6 {
                for (&param, gradient) in added.iter().zip(gradients(step, [21, 1, 50])) {
                    gradient.iter().for_each(|gradient| set_gradient(&mut params, param, gradient));
                }
                optimizer.step(&mut params, 0.1);
                if step == change_after {
                    let state = numbers_of(&optimizer.state(&params));
                    let mut next = Optimizer::new(rule).clipped(1.0);
                    assert!(!next.restore(&mut params, 3, &BTreeMap::new()), "without what it needs");
                    assert!(next.restore(&mut params, optimizer.steps(), &state));
                    optimizer = next;
                }
            }
            weights(&params)
        };
        assert_eq!(run(3), run(0), "{rule:?}");
    }
}

/// With a decay of 0.75, an average of 1 that sees 3 keeps (1 + 2) / (10 + 2) = 0.25 of itself in the second step,
/// 0.25·1 + 0.75·3 = 2.5, and never more than 0.75: (1 + 90) / (10 + 90) is 0.91, and it is 0.75·2.5 + 0.25·3 = 2.625.
#[test]
fn an_average_by_hand() {
    let mut params = Params::new(&any_device(), 0);
    let param = params.add("w", 1, 1, Init::Constant(1.0));
    let mut average = Average::new(&params, 0.75);
    params.set(param, &[3.0]);
    average.update(&params, 2);
    assert_eq!(average.weights().to_vec()[0], 2.5);
    average.update(&params, 90);
    average.swap(&mut params);
    assert_eq!(weights(&params), [2.625]);
    average.swap(&mut params);
    assert_eq!((weights(&params), average.weights().to_vec()[0]), (vec![3.0], 2.625));
    let length = average.weights().columns();
    average.set_weights(Tensor::new(params.device(), 1, length, &vec![2.0; length]));
    assert_eq!(average.weights().to_vec()[0], 2.0);
}

#[test]
#[should_panic(expected = "an average of another model's weights")]
fn an_average_of_another_length_is_rejected() {
    let mut params = Params::new(&any_device(), 0);
    params.add("w", 1, 1, Init::Constant(1.0));
    Average::new(&params, 0.75).set_weights(Tensor::new(params.device(), 1, 1, &[2.0]));
}

#[test]
fn the_first_step_by_hand() {
    // m = 0.1·2 = 0.2, v = 0.001·4 = 0.004; corrected, m / 0.1 = 2 and v / 0.001 = 4.
    // w = 1 − 0.5·2/√4 = 0.5: the first step is the rate, in the direction of the gradient.
    let mut params = Params::new(&any_device(), 0);
    let param = params.add("w", 1, 1, Init::Constant(1.0));
    let mut adam = Optimizer::adam();
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
    Optimizer::adam().step(&mut params, 0.1);
    let after = weights(&params);
    assert!(before[..21].iter().zip(&after[..21]).all(|(before, after)| before != after));
    assert_eq!(before[21..], after[21..]);
}

#[test]
fn a_step_begins_anew() {
    let (mut params, added) = model(&any_device(), 9);
    set_gradient(&mut params, added[1], &[5.0]);
    assert_eq!(params.gradient(added[1]), [5.0]);
    Optimizer::adam().step(&mut params, 0.1);
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
