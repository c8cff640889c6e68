//! The store of parameters: their order, their initial values, and their names in what an optimizer remembers.

use crate::optimizer::{numbers_of, set_gradient};
use crate::support::{any_device, devices, numbers};
use couplet_tensor::optimizer::{Average, Optimizer, Rule};
use couplet_tensor::random::{Stream, hash_path, unit};
use couplet_tensor::{Device, Init, Param, Params, Tensor};
use proptest::prelude::*;
use std::collections::BTreeMap;

const SHAPES: [(&str, usize, usize); 5] = [
    ("encoder.weight", 30, 70),
    ("attention", 3, 7),
    ("decoder.weight", 40, 33),
    ("encoder.bias", 1, 70),
    ("b", 1, 1),
];

const RULES: [Rule; 4] = [
    Rule::ADAM,
    Rule::Sgd { momentum: 0.9 },
    Rule::Lion { betas: [0.9, 0.95], decay: 0.1 },
    Rule::Adafactor { decay: 0.1 },
];

/// The same parameters, added in some order.
fn model(device: &Device, order: &[usize]) -> Params {
    let mut params = Params::new(device, 3);
    for &which in order {
        let (name, rows, columns) = SHAPES[which];
        params.add(name, rows, columns, Init::Uniform(1.0));
    }
    params
}

fn bits(row: &Tensor) -> Vec<u32> {
    row.to_vec().into_iter().map(f32::to_bits).collect()
}

fn step(params: &mut Params, optimizer: &mut Optimizer, number: usize) -> f32 {
    for param in params.iter().collect::<Vec<Param>>() {
        let (rows, columns) = params.shape(param);
        let name = format!("gradient of {} in step {number}", params.name(param));
        set_gradient(params, param, &numbers(&name, rows * columns));
    }
    optimizer.step(params, 0.1).map_or(0.0, |norm| norm.item())
}

/// A name decides the values: 2u − 1 of the first words of its own stream.
#[test]
fn initial_values_follow_from_the_name() {
    let mut params = Params::new(&any_device(), 9);
    params.add("another", 3, 3, Init::Uniform(1.0));
    let param = params.add("decoder.weight", 1, 2, Init::Uniform(0.5));
    let words = Stream::new(9, hash_path("decoder.weight")).at([0; 4]);
    let wanted = [words[0], words[1]].map(|word| (unit(word) * 2.0 - 1.0) * 0.5);
    assert_eq!(params.tensor(param).to_vec(), wanted);
}

/// Of c, a and b with 1, 2 and 1 elements, the row has a, b and c, each at a multiple of 64.
#[test]
fn the_store_lies_in_the_order_of_names() {
    let mut params = Params::new(&any_device(), 0);
    for (name, columns, value) in [("c", 1, 3.0), ("a", 2, 1.0), ("b", 1, 2.0)] {
        params.add(name, 1, columns, Init::Constant(value));
    }
    let row = params.flat().to_vec();
    assert_eq!(row.len(), 192);
    assert_eq!((&row[..3], row[64], row[128], row[129]), (&[1.0, 1.0, 0.0][..], 2.0, 3.0, 0.0));
    let names: Vec<&str> = params.iter().map(|param| params.name(param)).collect();
    assert_eq!(names, ["c", "a", "b"], "they are listed as they were added");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    /// The same weights, norms, clipped updates and averages, bit for bit, and the same state by name.
    #[test]
    fn the_order_of_construction_changes_nothing(
        order in Just((0..SHAPES.len()).collect::<Vec<usize>>()).prop_shuffle(),
        rule in prop::sample::select(&RULES[..]),
    ) {
        for device in devices() {
            let in_order: Vec<usize> = (0..SHAPES.len()).collect();
            let run = |order: &[usize]| {
                let mut params = model(&device, order);
                let initial = bits(&params.flat());
                let mut optimizer = Optimizer::new(rule).clipped(0.5);
                let mut average = Average::new(&params, 0.9);
                let norms: Vec<u32> = (1..=3)
                    .map(|number| {
                        let norm = step(&mut params, &mut optimizer, number).to_bits();
                        average.update(&params, optimizer.steps());
                        norm
                    })
                    .collect();
                let state = numbers_of(&optimizer.state(&params));
                (initial, norms, bits(&params.flat()), bits(average.weights()), state)
            };
            prop_assert_eq!(run(&order), run(&in_order));
        }
    }
}

/// What is added after the first use is laid out among the others, which keep what they have become.
#[test]
fn a_late_parameter_moves_the_others_with_their_values() {
    let mut params = Params::new(&any_device(), 3);
    let z = params.add("z", 1, 70, Init::Uniform(1.0));
    let m = params.add("m", 2, 2, Init::Uniform(1.0));
    let before = params.tensor(m).to_vec();
    params.set(z, &[5.0; 70]);
    let a = params.add("a", 3, 3, Init::Uniform(1.0));
    assert_eq!(params.tensor(z).to_vec(), [5.0; 70]);
    assert_eq!(params.tensor(m).to_vec(), before);
    let mut other = Params::new(&any_device(), 3);
    let same = other.add("a", 3, 3, Init::Uniform(1.0));
    assert_eq!(params.tensor(a).to_vec(), other.tensor(same).to_vec());
    assert_eq!(params.flat().to_vec()[..9], params.tensor(a).to_vec());
}

/// Before its first use and after it, some values of a parameter are replaced.
#[test]
fn some_values_are_filled() {
    let mut params = Params::new(&any_device(), 3);
    let param = params.add("a", 1, 4, Init::Constant(1.0));
    params.fill(param, 1..3, 2.0);
    assert_eq!(params.tensor(param).to_vec(), [1.0, 2.0, 2.0, 1.0]);
    params.fill(param, 2..4, 3.0);
    assert_eq!(params.tensor(param).to_vec(), [1.0, 2.0, 3.0, 3.0]);
}

/// All threads see the one store that the first of them makes.
#[test]
fn threads_share_a_store_that_none_has_used() {
    let params = model(&any_device(), &[0, 1, 2, 3, 4]);
    let rows: Vec<Vec<u32>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4).map(|_| scope.spawn(|| bits(&params.flat()))).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(rows.iter().all(|row| *row == rows[0]));
}

#[test]
#[should_panic(expected = "paths \"a\" and \"a\" share the random stream")]
fn a_dropout_site_has_a_path_of_its_own() {
    let mut params = Params::new(&any_device(), 0);
    params.add("a", 1, 1, Init::Constant(0.0));
    params.claim_stream("a");
}

#[test]
fn a_row_is_split_and_joined_again() {
    let params = model(&any_device(), &[4, 2, 0, 1, 3]);
    let row = params.flat();
    let parts: BTreeMap<Param, Vec<f32>> =
        params.split(&row).map(|(param, part)| (param, part.to_vec())).collect();
    assert!(params.iter().all(|param| parts[&param] == params.tensor(param).to_vec()));
    assert_eq!(bits(&params.join(|param| parts[&param].clone())), bits(&row));
}

/// A matrix of 3 × 7 and a vector of 70.
#[test]
fn state_has_names_and_shapes() {
    let shapes = |rule: Rule| {
        let mut params = model(&any_device(), &[3, 1]);
        let mut optimizer = Optimizer::new(rule);
        assert!(optimizer.state(&params).is_empty() && optimizer.state_shapes(&params, 0).is_empty());
        step(&mut params, &mut optimizer, 1);
        let state = optimizer.state(&params);
        let found: Vec<_> = state.iter().map(|(name, tensor)| (name.clone(), tensor.shape())).collect();
        assert_eq!(found, optimizer.state_shapes(&params, 1).into_iter().collect::<Vec<_>>());
        found
            .into_iter()
            .map(|(name, (rows, columns))| format!("{name} {rows} × {columns}"))
            .collect::<Vec<_>>()
    };
    let adam = [
        "moment0.attention 3 × 7",
        "moment0.encoder.bias 1 × 70",
        "moment1.attention 3 × 7",
        "moment1.encoder.bias 1 × 70",
    ];
    assert_eq!(shapes(Rule::ADAM), adam);
    let adafactor = [
        "moment_columns.attention 1 × 7",
        "moment_columns.encoder.bias 1 × 70",
        "moment_rows.attention 1 × 3",
    ];
    assert_eq!(shapes(Rule::Adafactor { decay: 0.0 }), adafactor);
}
