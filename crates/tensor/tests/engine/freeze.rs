//! Parameters that stay as they are, for some steps or for ever.

use crate::optimizer::{numbers_of, set_gradient, weights};
use crate::support::{HAND, any_device, assert_close, devices, numbers};
use couplet_tensor::optimizer::{Average, Optimizer, Rule, gradient_norm};
use couplet_tensor::{Device, Init, Param, Params, Tape};

const RULES: [Rule; 5] = [
    Rule::ADAM,
    Rule::Adam { betas: [0.8, 0.95], epsilon: 1e-6, decay: 0.3 },
    Rule::Sgd { momentum: 0.9 },
    Rule::Lion { betas: [0.9, 0.95], decay: 0.1 },
    Rule::Adafactor { decay: 0.1 },
];

/// A matrix between two others.
fn model(device: &Device) -> (Params, [Param; 3]) {
    let mut params = Params::new(device, 3);
    let shapes = [("before", 3, 7), ("frozen", 5, 9), ("later", 1, 70)];
    let added = shapes.map(|(name, rows, columns)| params.add(name, rows, columns, Init::Uniform(1.0)));
    (params, added)
}

fn step(params: &mut Params, optimizer: &mut Optimizer, number: usize) {
    for param in params.iter() {
        let length = params.tensor(param).to_vec().len();
        let gradient = numbers(&format!("gradient of {} in step {number}", params.name(param)), length);
        set_gradient(params, param, &gradient);
    }
    optimizer.step(params, 0.1);
}

/// Momentum, decay, clipping and the moving average leave it alone, and all others are as they would be without it.
#[test]
fn what_is_frozen_keeps_its_bits() {
    for (rule, device) in RULES.into_iter().flat_map(|rule| devices().into_iter().map(move |on| (rule, on))) {
        let (mut params, [_, frozen, _]) = model(&device);
        params.freeze(frozen, None);
        let before = params.tensor(frozen).to_vec();
        let mut optimizer = Optimizer::new(rule).clipped(0.5);
        let mut average = Average::new(&params, 0.9);
        for number in 1..=4 {
            step(&mut params, &mut optimizer, number);
            average.update(&params, optimizer.steps());
        }
        let name = format!("{rule:?} on {device:?}");
        assert_eq!(params.tensor(frozen).to_vec(), before, "{name}");
        average.swap(&mut params);
        assert_eq!(params.tensor(frozen).to_vec(), before, "the average of {name}");
        average.swap(&mut params);

        let mut alone = Params::new(&device, 0);
        let (others, _) = model(&device);
        for name in ["before", "later"] {
            let tensor = others.tensor(others.find(name).unwrap());
            let param = alone.add(name, tensor.rows(), tensor.columns(), Init::Constant(0.0));
            alone.set(param, &tensor.to_vec());
        }
        let mut optimizer = Optimizer::new(rule).clipped(0.5);
        (1..=4).for_each(|number| step(&mut alone, &mut optimizer, number));
        let trained: Vec<f32> = params
            .iter()
            .filter(|&param| param != frozen)
            .flat_map(|param| params.tensor(param).to_vec())
            .collect();
        assert_eq!(trained, weights(&alone), "{name}");
    }
}

/// A weight of 1 and a rate of 0.5. While it is frozen for two steps, Adam's first step of it, the third of all, is as large as the
/// rate: 1 − 0.5 = 0.5, as if nothing had been before. A first step with the correction of the third would be 0.1/0.271 of a
/// moment over √(0.001/0.002997): 0.319 in place of 0.5.
#[test]
fn what_thaws_begins_with_a_first_step_by_hand() {
    let mut params = Params::new(&any_device(), 0);
    let [free, frozen] = ["free", "frozen"].map(|name| params.add(name, 1, 1, Init::Constant(1.0)));
    params.freeze(frozen, Some(2));
    let mut adam = Optimizer::adam();
    let mut after = Vec::new();
    for _ in 0..3 {
        [free, frozen].into_iter().for_each(|param| set_gradient(&mut params, param, &[2.0]));
        adam.step(&mut params, 0.5);
        after.push(params.tensor(frozen).item());
    }
    assert_eq!(after[..2], [1.0, 1.0]);
    assert_close("the first step of its own", &after[2..], &[0.5], HAND);
}

/// Thawed after three steps, all rules go on with it as with a model that is new then.
#[test]
fn what_thaws_is_trained_as_if_it_were_new() {
    for rule in RULES {
        let (mut params, [_, frozen, _]) = model(&any_device());
        params.freeze(frozen, Some(3));
        let mut optimizer = Optimizer::new(rule);
        (1..=6).for_each(|number| step(&mut params, &mut optimizer, number));

        let (mut fresh, [_, same, _]) = model(&any_device());
        let mut optimizer = Optimizer::new(rule);
        (4..=6).for_each(|number| step(&mut fresh, &mut optimizer, number));
        assert_eq!(params.tensor(frozen).to_vec(), fresh.tensor(same).to_vec(), "{rule:?}");
    }
}

/// Six steps, with another optimizer after each of them: the same bits, whether anything is frozen then or no longer.
#[test]
fn an_optimizer_goes_on_with_what_is_frozen() {
    for rule in RULES {
        let run = |changes: bool| {
            let (mut params, [_, frozen, _]) = model(&any_device());
            params.freeze(frozen, Some(3));
            let mut optimizer = Optimizer::new(rule).clipped(1.0);
            for number in 1..=6 {
                step(&mut params, &mut optimizer, number);
                if changes {
                    let state = numbers_of(&optimizer.state(&params));
                    let numbers: Vec<Vec<f32>> =
                        params.iter().map(|param| params.tensor(param).to_vec()).collect();
                    let (mut next, [_, frozen, _]) = model(&any_device());
                    next.freeze(frozen, Some(3));
                    next.iter().zip(&numbers).for_each(|(param, numbers)| next.set(param, numbers));
                    let steps = optimizer.steps();
                    optimizer = Optimizer::new(rule).clipped(1.0);
                    assert!(optimizer.restore(&mut next, steps, &state));
                    params = next;
                }
            }
            weights(&params)
        };
        assert_eq!(run(true), run(false), "{rule:?}");
    }
}

/// √(3² + 4²) = 5: what is frozen would have added 12².
#[test]
fn what_is_frozen_is_no_part_of_the_norm() {
    let mut params = Params::new(&any_device(), 0);
    let [free, frozen] =
        [("free", 2), ("frozen", 1)].map(|(name, n)| params.add(name, 1, n, Init::Constant(1.0)));
    params.freeze(frozen, None);
    set_gradient(&mut params, free, &[3.0, 4.0]);
    set_gradient(&mut params, frozen, &[12.0]);
    assert_eq!(gradient_norm(&mut params).item(), 5.0);
    assert_eq!(params.gradient(frozen), [0.0]);
}

/// No gradient is computed for what is frozen: to a tape it is a constant.
#[test]
fn what_is_frozen_is_on_no_tape() {
    let (mut params, [before, frozen, _]) = model(&any_device());
    params.freeze(frozen, Some(1));
    let tape = Tape::new();
    assert!(tape.param(&params, before).is_tracked() && !tape.param(&params, frozen).is_tracked());
    assert!(params.is_frozen(frozen) && !params.is_frozen(before));
    step(&mut params, &mut Optimizer::adam(), 1);
    assert!(!params.is_frozen(frozen) && tape.param(&params, frozen).is_tracked());
}
