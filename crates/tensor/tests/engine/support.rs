//! The harness: devices, numbers, and an operation's values and gradients beside what they should be.

use couplet_tensor::ops::recurrent::reference::{self, Weights};
use couplet_tensor::ops::{AnyCell, GateNorm, LayerWeights, Norm};
use couplet_tensor::random::{Stream, unit};
use couplet_tensor::{Device, Isa, Params, SequenceLayout, Tape, Tensor, Var};

/// How far a value may be off, relative to the largest: a few roundings of `f32`.
pub(crate) const VALUES: f64 = 5e-6;
/// How far a gradient may be off: rounding, once forward and once back.
pub(crate) const GRADIENTS: f64 = 2e-5;
/// How far two orders of the same sums may lie apart.
pub(crate) const FUSED: f64 = 1e-5;
/// How far six digits worked out by hand may be off.
pub(crate) const HAND: f64 = 3e-6;

/// How many places of an input are differentiated numerically; a larger one is sampled.
const PLACES: usize = 32;
/// The step of a central difference in `f64`: near the cube root of its precision, where the error is smallest.
const STEP: f64 = 1e-5;

/// The sets of instructions that this machine has.
pub(crate) fn isas() -> Vec<Isa> {
    if Isa::detect() == Isa::Portable { vec![Isa::Portable] } else { vec![Isa::Portable, Isa::detect()] }
}

/// Every set of instructions with one thread and with two, which share even the smallest work.
pub(crate) fn devices() -> Vec<Device> {
    isas().into_iter().flat_map(|isa| [1, 2].map(|threads| Device::cpu_with_grain(threads, isa, 1))).collect()
}

/// The device of tests where it does not matter which one it is.
pub(crate) fn any_device() -> Device {
    Device::cpu_with(1, Isa::detect())
}

/// `n` numbers between −1 and 1, the same ones for a name whenever they are asked for.
pub(crate) fn numbers(name: &str, n: usize) -> Vec<f32> {
    let seed = name.bytes().fold(0u64, |seed, byte| seed.wrapping_mul(257).wrapping_add(u64::from(byte)));
    let stream = Stream::new(seed, 0);
    (0..n).map(|i| unit(stream.at([i as u32, 0, 0, 0])[0]) * 2.0 - 1.0).collect()
}

pub(crate) fn widen(numbers: &[f32]) -> Vec<f64> {
    numbers.iter().copied().map(f64::from).collect()
}

/// An input of an operation under test.
#[derive(Clone, Debug)]
pub(crate) struct Input {
    pub(crate) name: String,
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    pub(crate) numbers: Vec<f32>,
}

impl Input {
    /// Random numbers, which follow from the name.
    pub(crate) fn random(name: &str, rows: usize, columns: usize) -> Input {
        Input { name: name.to_owned(), rows, columns, numbers: numbers(name, rows * columns) }
    }

    /// Random numbers that shrink with the number of inputs, as a model's do: larger ones make a recurrence chaotic, and then
    /// the smallest rounding grows from step to step.
    pub(crate) fn weight(name: &str, rows: usize, columns: usize) -> Input {
        let mut input = Input::random(name, rows, columns);
        input.numbers.iter_mut().for_each(|x| *x /= (columns as f32).sqrt());
        input
    }

    pub(crate) fn new(name: &str, rows: usize, columns: usize, numbers: &[f32]) -> Input {
        Input { name: name.to_owned(), rows, columns, numbers: numbers.to_vec() }
    }

    pub(crate) fn tensor(&self, device: &Device) -> Tensor {
        Tensor::new(device, self.rows, self.columns, &self.numbers)
    }
}

/// What an operation gave.
pub(crate) struct Pass {
    pub(crate) outputs: Vec<Vec<f32>>,
    /// Of `Σ upstream · output`, for each input.
    pub(crate) gradients: Vec<Vec<f32>>,
}

/// Runs an operation forward and back.
///
/// It is applied once with gradients for all of its outputs, and once more for each output alone. So one pass meets outputs
/// that nothing depends on, and gradients that begin as well as gradients that are added to; since gradients are linear, they
/// come out doubled.
pub(crate) fn pass(
    device: &Device,
    inputs: &[Input],
    op: &dyn Fn(&[Var]) -> Vec<Var>,
    upstream: &[Vec<f32>],
) -> Pass {
    let tape = Tape::new();
    let leaves: Vec<Var> = inputs.iter().map(|input| tape.leaf(input.tensor(device))).collect();
    let together = op(&leaves);
    let alone: Vec<Vec<Var>> = together.iter().map(|_| op(&leaves)).collect();
    assert_eq!(together.len(), upstream.len(), "a gradient for each output");

    let alone = alone.iter().enumerate().map(|(i, outputs)| &outputs[i]);
    let from: Vec<(&Var, Tensor)> = together
        .iter()
        .zip(upstream)
        .chain(alone.zip(upstream))
        .map(|(output, upstream)| (output, Tensor::new(device, output.rows(), output.columns(), upstream)))
        .collect();
    let gradients = tape.backward_from(&from, &mut Params::new(device, 0));
    let of = |leaf: &Var| match gradients.of(leaf) {
        Some(doubled) => doubled.to_vec().into_iter().map(|x| x / 2.0).collect(),
        None => vec![0.0; leaf.rows() * leaf.columns()],
    };
    Pass {
        outputs: together.iter().map(|output| output.value().to_vec()).collect(),
        gradients: leaves.iter().map(of).collect(),
    }
}

/// Outputs, and the gradients of their sum, for examples that are worked out by hand.
pub(crate) fn by_hand(inputs: &[Input], op: impl Fn(&[Var]) -> Vec<Var>) -> Pass {
    let device = any_device();
    let vars: Vec<Var> = inputs.iter().map(|input| Var::constant(input.tensor(&device))).collect();
    let ones: Vec<Vec<f32>> = op(&vars).iter().map(|y| vec![1.0; y.rows() * y.columns()]).collect();
    pass(&device, inputs, &op, &ones)
}

/// Values and gradients of an operation against its reference, on every device.
pub(crate) fn check(
    inputs: &[Input],
    op: impl Fn(&[Var]) -> Vec<Var>,
    plain: impl Fn(&[Vec<f64>]) -> Vec<Vec<f64>>,
) {
    check_any(inputs, &op, &plain);
}

/// An operation in plain `f64`: numbers of each input to numbers of each output.
type Plain<'a> = dyn Fn(&[Vec<f64>]) -> Vec<Vec<f64>> + 'a;

/// Compiled once, not for every operation.
fn check_any(inputs: &[Input], op: &dyn Fn(&[Var]) -> Vec<Var>, plain: &Plain) {
    let wide: Vec<Vec<f64>> = inputs.iter().map(|input| widen(&input.numbers)).collect();
    let values = plain(&wide);
    let upstream = upstream(values.iter().map(Vec::len));
    let loss = |inputs: &[Vec<f64>]| -> f64 {
        let outputs = plain(inputs);
        let terms = outputs.iter().flatten().zip(upstream.iter().flatten());
        terms.map(|(y, &dy)| y * f64::from(dy)).sum()
    };
    let slopes = numeric_gradient(&loss, &wide);
    for device in devices() {
        let pass = pass(&device, inputs, op, &upstream);
        for (i, (got, want)) in pass.outputs.iter().zip(&values).enumerate() {
            assert_close(&format!("output {i} on {device:?}"), got, want, VALUES);
        }
        for ((input, got), slopes) in inputs.iter().zip(&pass.gradients).zip(&slopes) {
            let name =
                format!("gradient of {} ({} × {}) on {device:?}", input.name, input.rows, input.columns);
            let got: Vec<f32> = slopes.iter().map(|&(place, _)| got[place]).collect();
            let want: Vec<f64> = slopes.iter().map(|&(_, slope)| slope).collect();
            assert_close(&name, &got, &want, GRADIENTS);
        }
    }
}

/// Two ways to compute the same, values and all gradients, on every device.
pub(crate) fn agree(
    inputs: &[Input],
    fused: impl Fn(&[Var]) -> Vec<Var>,
    loops: impl Fn(&[Var]) -> Vec<Var>,
) {
    agree_any(inputs, &fused, &loops);
}

fn agree_any(inputs: &[Input], fused: &dyn Fn(&[Var]) -> Vec<Var>, loops: &dyn Fn(&[Var]) -> Vec<Var>) {
    for device in devices() {
        let vars: Vec<Var> = inputs.iter().map(|input| Var::constant(input.tensor(&device))).collect();
        let upstream = upstream(fused(&vars).iter().map(|y| y.rows() * y.columns()));
        let (got, want) = (pass(&device, inputs, fused, &upstream), pass(&device, inputs, loops, &upstream));
        for (i, (got, want)) in got.outputs.iter().zip(&want.outputs).enumerate() {
            assert_close(&format!("output {i} on {device:?}"), got, &widen(want), FUSED);
        }
        for ((input, got), want) in inputs.iter().zip(&got.gradients).zip(&want.gradients) {
            let name =
                format!("gradient of {} ({} × {}) on {device:?}", input.name, input.rows, input.columns);
            assert_close(&name, got, &widen(want), FUSED);
        }
    }
}

fn upstream(lengths: impl Iterator<Item = usize>) -> Vec<Vec<f32>> {
    lengths.enumerate().map(|(i, length)| numbers(&format!("upstream {i}"), length)).collect()
}

/// The slope of `f` at up to [`PLACES`] places of each input, by central differences: place and slope.
pub(crate) fn numeric_gradient(
    f: &dyn Fn(&[Vec<f64>]) -> f64,
    inputs: &[Vec<f64>],
) -> Vec<Vec<(usize, f64)>> {
    let mut moved = inputs.to_vec();
    let mut slope = |input: usize, place: usize| {
        let mut at = |x: f64| {
            moved[input][place] = x;
            f(&moved)
        };
        let x = inputs[input][place];
        let slope = (at(x + STEP) - at(x - STEP)) / (2.0 * STEP);
        moved[input][place] = x;
        slope
    };
    let places = |input: &Vec<f64>| {
        // An odd distance, so that a sample of a matrix does not stay in some of its columns.
        let distance = if input.len() > PLACES { input.len().div_ceil(PLACES) | 1 } else { 1 };
        (0..input.len()).step_by(distance)
    };
    inputs
        .iter()
        .enumerate()
        .map(|(i, input)| places(input).map(|place| (place, slope(i, place))).collect())
        .collect()
}

/// Panics where a number is further off than `tolerance` times the largest, or than a thousandth of it where all are small.
pub(crate) fn assert_close(name: &str, got: &[f32], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{name}: so many numbers");
    let largest = want.iter().fold(1e-3f64, |largest, want| largest.max(want.abs()));
    let off = |&(_, (&got, &want)): &(usize, (&f32, &f64))| {
        let off = (f64::from(got) - want).abs();
        if off.is_nan() { f64::INFINITY } else { off }
    };
    let worst = got.iter().zip(want).enumerate().max_by(|a, b| off(a).total_cmp(&off(b)));
    let Some(worst) = worst else { return };
    let (place, (got, want)) = worst;
    assert!(
        off(&worst) <= tolerance * largest,
        "{name}: {got} for {want} at {place}, {:.1e} off, {:.1e} of the largest; allowed {tolerance:.0e}",
        off(&worst),
        off(&worst) / largest,
    );
}

/// The rows of the sequence at a place, out of packed ones.
pub(crate) fn sequence(rows: &SequenceLayout, packed: &[f64], columns: usize, place: usize) -> Vec<Vec<f64>> {
    (0..rows.length(place))
        .map(|step| packed[rows.row(place, step) * columns..][..columns].to_vec())
        .collect()
}

/// The weights of a recurrent layer, with a bias of the state where the cell has use for one, and with a norm of the gates where it
/// is asked for.
pub(crate) fn layer_inputs(
    cell: AnyCell,
    layer: usize,
    inputs: usize,
    hidden: usize,
    norm: bool,
) -> Vec<Input> {
    let name = |name: &str| format!("{name} of layer {layer}");
    let mut weights = vec![
        Input::weight(&name("W_input"), cell.gates() * hidden, inputs),
        Input::weight(&name("W_state"), cell.gates() * hidden, hidden),
        Input::random(&name("bias"), 1, cell.gates() * hidden),
    ];
    if cell.apart() > 0 {
        weights.push(Input::random(&name("state_bias"), 1, cell.apart() * hidden));
    }
    if norm {
        let parts = ["input's gain", "input's norm bias", "state's gain", "state's norm bias"];
        weights.extend(parts.map(|part| Input::random(&name(part), 1, cell.gates() * hidden)));
    }
    weights
}

/// A layer's weights, as [`layer_inputs`] has them, from all that follow.
pub(crate) fn layer_weights<'a>(
    cell: AnyCell,
    vars: &mut impl Iterator<Item = &'a Var>,
    norm: bool,
) -> LayerWeights {
    let mut next = || vars.next().expect("a variable for each weight").clone();
    LayerWeights {
        input: next(),
        state: next(),
        bias: next(),
        state_bias: (cell.apart() > 0).then(&mut next),
        norm: norm.then(|| {
            let [input, state] = [(); 2].map(|()| Norm { gain: next(), bias: next() });
            GateNorm { input, state }
        }),
    }
}

/// The same for the reference.
pub(crate) fn layer_reference<'a>(
    cell: AnyCell,
    numbers: &mut impl Iterator<Item = &'a Vec<f64>>,
    norm: bool,
) -> Weights<'a> {
    let mut next = || numbers.next().expect("numbers for each weight").as_slice();
    let (input, state, bias) = (next(), next(), next());
    Weights {
        input,
        state,
        bias,
        state_bias: if cell.apart() > 0 { next() } else { &[] },
        norm: norm.then(|| reference::Norm { input: [next(), next()], state: [next(), next()] }),
    }
}
