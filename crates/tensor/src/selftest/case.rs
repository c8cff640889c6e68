//! An operation with its inputs, and how its values and gradients are found on a device.

use crate::device::Device;
use crate::params::{Init, Param, Params};
use crate::random::{Stream, unit};
use crate::tape::{Tape, Var};
use crate::tensor::Tensor;

/// Of all numbers.
const SEED: u64 = 29;

/// What a device gave: a name for each result, and its numbers.
pub(super) type Results = Vec<(String, Vec<f32>)>;

/// One thing that is computed on both devices.
pub(super) struct Case {
    pub(super) operation: String,
    pub(super) expect: Expect,
    pub(super) sizes: String,
    pub(super) results: Box<dyn Fn(&Device) -> Results>,
}

/// How near to the reference results should be.
#[derive(Clone, Copy)]
pub(super) enum Expect {
    /// The same numbers.
    Equal,
    /// Off by rounding in `f32`.
    Rounding,
    /// Off by as much as the device's products of matrices are.
    Products,
}

/// An input of an operation: random numbers between `-bound` and `bound`.
pub(super) struct Input {
    name: String,
    rows: usize,
    columns: usize,
    bound: f32,
}

/// Numbers between −1 and 1.
pub(super) fn random(name: &str, rows: usize, columns: usize) -> Input {
    Input { name: name.to_owned(), rows, columns, bound: 1.0 }
}

/// Numbers that shrink with the number of inputs, as a model's do: larger ones make a recurrence chaotic, and then the
/// smallest rounding grows from step to step.
pub(super) fn weight(name: &str, rows: usize, columns: usize) -> Input {
    Input { bound: 1.0 / (columns.max(1) as f32).sqrt(), ..random(name, rows, columns) }
}

/// Numbers far enough from zero that a sigmoid levels off.
pub(super) fn wide(name: &str, rows: usize, columns: usize) -> Input {
    Input { bound: 12.0, ..random(name, rows, columns) }
}

impl Case {
    /// An operation on these inputs.
    pub(super) fn new(
        operation: impl Into<String>,
        expect: Expect,
        sizes: String,
        inputs: Vec<Input>,
        op: impl Fn(&[Var]) -> Vec<Var> + 'static,
    ) -> Case {
        let results = move |device: &Device| {
            let mut results = pass(device, &inputs, &op, false);
            results.extend(pass(device, &inputs, &op, true));
            results
        };
        Case { operation: operation.into(), expect, sizes, results: Box::new(results) }
    }

    /// The same, with all products as a device computes large ones.
    pub(super) fn with_large_products(self) -> Case {
        let results = move |device: &Device| {
            device.treat_all_as_large(true);
            let results = (self.results)(device);
            device.treat_all_as_large(false);
            results
        };
        Case { operation: format!("{}, large products", self.operation), results: Box::new(results), ..self }
    }
}

/// The name of a type in words: `linear sigmoid` of `Linear<Sigmoid>`, `gated gelu` of `GatedGelu`.
pub(super) fn in_words(type_name: &str) -> String {
    let mut words = String::new();
    for c in type_name.chars().filter(|&c| c != '>') {
        if c == '<' || (c.is_uppercase() && !words.is_empty() && !words.ends_with(' ')) {
            words.push(' ');
        }
        words.extend(c.to_lowercase().filter(|&c| c != '<'));
    }
    words
}

/// Runs an operation forward and backward. Its inputs are leaves of the tape, or parameters, each of which begins in the flat store
/// where the one before it ends.
///
/// The operation is applied once with gradients for all of its outputs, and once more for each output alone: so it meets
/// outputs that nothing depends on, and gradients that begin as well as gradients that are added to.
fn pass(device: &Device, inputs: &[Input], op: &dyn Fn(&[Var]) -> Vec<Var>, stored: bool) -> Results {
    let mut params = Params::new(device, SEED);
    // Not even the first parameter begins where a vector would.
    params.add("0: a number before all others", 1, 1, Init::Constant(0.0));
    let add = |input: &Input| params.add(&input.name, input.rows, input.columns, Init::Uniform(input.bound));
    let added: Vec<Param> = inputs.iter().map(add).collect();
    let tape = Tape::new();
    let track =
        |&param: &Param| if stored { tape.param(&params, param) } else { leaf(&tape, &params, param) };
    let vars: Vec<Var> = added.iter().map(track).collect();

    let together = op(&vars);
    let alone: Vec<Var> = (0..together.len()).map(|i| op(&vars).swap_remove(i)).collect();
    let upstream = |(i, output): (usize, &Var)| numbers(device, i as u32, output.shape());
    let from: Vec<(&Var, Tensor)> = [&together, &alone]
        .into_iter()
        .flat_map(|outputs| outputs.iter().zip(outputs.iter().enumerate().map(upstream)))
        .collect();
    let gradients = tape.backward_from(&from, &mut params);

    let value = |(i, output): (usize, &Var)| (format!("value {i}"), output.value().to_vec());
    let gradient = |(input, (var, &param)): (&Input, (&Var, &Param))| {
        if stored {
            return (format!("gradient of parameter {}", input.name), params.gradient(param));
        }
        let zeros = || vec![0.0; input.rows * input.columns];
        (format!("gradient of {}", input.name), gradients.of(var).map_or_else(zeros, Tensor::to_vec))
    };
    let values = together.iter().enumerate().map(value);
    values.chain(inputs.iter().zip(vars.iter().zip(&added)).map(gradient)).collect()
}

/// A value of its own, with the numbers of a parameter.
fn leaf(tape: &Tape, params: &Params, param: Param) -> Var {
    let stored = params.tensor(param);
    tape.leaf(Tensor::new(params.device(), stored.rows(), stored.columns(), &stored.to_vec()))
}

/// The gradient of an output.
pub(super) fn numbers(device: &Device, purpose: u32, (rows, columns): (usize, usize)) -> Tensor {
    let stream = Stream::new(!SEED, u64::from(purpose));
    let number = |i: usize| unit(stream.at([i as u32, 0, 0, 0])[0]) * 2.0 - 1.0;
    let numbers: Vec<f32> = (0..rows * columns).map(number).collect();
    Tensor::new(device, rows, columns, &numbers)
}
