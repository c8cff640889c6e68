//! Batch mates and threads change no bit of what a sequence gives: the operations that the model of `whole.rs` does not have.

use crate::support::{Input, isas, layer_inputs, layer_weights, numbers};
use couplet_tensor::activation::{Relu, Sigmoid};
use couplet_tensor::cell::{Gru, Lstm, Simple};
use couplet_tensor::ops::{
    AnyCell, AnyScore, Memory, MemorySegment, ModifierWeights, Pooling, Scan, flatten_steps, linear,
    logistic_loss, pool, recurrent, repeat_over_steps, steps_before,
};
use couplet_tensor::score::{Additive, Linear};
use couplet_tensor::{Device, Direction, Isa, Params, SequenceLayout, Tape, Tensor, Var};
use std::sync::Arc;

const LENGTHS: [usize; 6] = [3, 9, 0, 1, 7, 5];
const STEPS: usize = 9;
const INPUTS: usize = 7;
const HIDDEN: usize = 18;

const RELU: AnyCell = AnyCell::of::<Simple<Relu>>();
const GRU: AnyCell = AnyCell::of::<Gru>();
const LSTM: AnyCell = AnyCell::of::<Lstm>();

/// One to three threads, which share even the smallest work.
fn devices(isa: Isa) -> [Device; 3] {
    [1, 2, 3].map(|threads| Device::cpu_with_grain(threads, isa, 1))
}

/// What a batch gives: for each packed row, and for each place.
struct Given {
    of_rows: Vec<Var>,
    of_places: Vec<Var>,
    loss: Var,
}

/// The weights of everything, in the order in which [`give`] takes them.
fn weights() -> Vec<Input> {
    let mut weights = layer_inputs(RELU, 0, INPUTS, HIDDEN, false);
    weights.extend(layer_inputs(LSTM, 1, HIDDEN, HIDDEN, true));
    weights.extend(layer_inputs(GRU, 2, 2 * HIDDEN, HIDDEN, false));
    weights.extend(layer_inputs(LSTM, 3, 2 * HIDDEN, HIDDEN, false));
    weights.extend([
        Input::weight("keys", 3, HIDDEN),
        Input::weight("query", 3, HIDDEN),
        Input::random("vector", 1, HIDDEN),
        Input::weight("logit", 1, HIDDEN),
    ]);
    weights
}

fn give(x: &Var, rows: &Arc<SequenceLayout>, weights: &[Var]) -> Given {
    let mut left = weights.iter();
    let relu = layer_weights(RELU, &mut left, false);
    let normalized = layer_weights(LSTM, &mut left, true);
    let [gru, lstm] = [layer_weights(GRU, &mut left, false), layer_weights(LSTM, &mut left, false)];
    let [keys, query, vector, logit] = std::array::from_fn(|_| left.next().expect("a weight").clone());

    let below = recurrent(RELU, x, rows, Direction::Backward, &relu, None).states;
    let states = recurrent(LSTM, &below, rows, Direction::Forward, &normalized, None).states;
    let [mean, largest] = [Pooling::Mean, Pooling::Max].map(|how| pool(&states, rows, how));
    let flat = flatten_steps(&states, rows, STEPS);
    let before = steps_before(&states, rows, &mean);
    let repeated = repeat_over_steps(&largest, rows);
    let (loss, losses) = logistic_loss(&linear(&mean, &logit, None), &vec![true; rows.batch()], 1.0);

    let of: Arc<[u32]> = (0..rows.batch() as u32).collect();
    let memory = |keys: Var, heads| {
        let segment = MemorySegment { keys, values: states.clone(), layout: Arc::clone(rows) };
        Memory::new(segment, heads, Arc::clone(&of))
    };
    let by_linear = memory(linear(&states, &keys, None), 3);
    let scan = Scan {
        cell: GRU,
        score: AnyScore::of::<Linear<Sigmoid>>(),
        layers: vec![gru],
        query: Some(query),
        vector: None,
        focus: ModifierWeights::default(),
    };
    let first = scan.sequence(&before, rows, &scan.zero_state(rows.batch(), &by_linear), &by_linear);
    let by_additive = memory(states.clone(), 2);
    let scan = Scan {
        cell: LSTM,
        score: AnyScore::of::<Additive>(),
        layers: vec![lstm],
        query: None,
        vector: Some(vector),
        focus: ModifierWeights::default(),
    };
    let second = scan.sequence(&before, rows, &scan.zero_state(rows.batch(), &by_additive), &by_additive);
    Given {
        of_rows: vec![
            below,
            states,
            before,
            repeated,
            first.states,
            first.contexts,
            second.states,
            second.contexts,
        ],
        of_places: vec![mean, largest, flat, Var::constant(losses)],
        loss,
    }
}

/// The packed inputs of some of the sequences.
fn packed(device: &Device, sequences: &[usize]) -> (Tensor, Arc<SequenceLayout>) {
    let rows = SequenceLayout::new(&sequences.iter().map(|&sequence| LENGTHS[sequence]).collect::<Vec<_>>());
    let row = |(place, step): (usize, usize)| {
        let sequence = sequences[rows.sorted_indices()[place] as usize];
        numbers(&format!("step {step} of sequence {sequence}"), INPUTS)
    };
    let x: Vec<f32> = rows.places().flat_map(row).collect();
    (Tensor::new(device, rows.total(), INPUTS, &x), Arc::new(rows))
}

/// All that each of some sequences gets: the bits of its rows.
fn of_sequences(device: &Device, sequences: &[usize]) -> Vec<Vec<u32>> {
    let (x, rows) = packed(device, sequences);
    let weights: Vec<Var> = weights().iter().map(|input| Var::constant(input.tensor(device))).collect();
    let given = give(&Var::constant(x), &rows, &weights);
    let own = |place: usize| {
        let of_rows = given.of_rows.iter().flat_map(|all| {
            (0..rows.length(place)).flat_map(|step| bits(all, rows.row(place, step))).collect::<Vec<u32>>()
        });
        let of_places = given.of_places.iter().flat_map(|all| bits(all, place));
        of_rows.chain(of_places).collect()
    };
    rows.unsorted_indices().into_iter().map(|place| own(place as usize)).collect()
}

fn bits(all: &Var, row: usize) -> Vec<u32> {
    let width = all.columns();
    all.value().to_vec()[row * width..][..width].iter().map(|x| x.to_bits()).collect()
}

#[test]
fn a_sequence_has_the_same_bits_alone_and_in_any_batch() {
    for device in isas().into_iter().flat_map(devices) {
        let together = of_sequences(&device, &[0, 1, 2, 3, 4, 5]);
        let in_other_order = of_sequences(&device, &[5, 3, 1, 4, 2, 0]);
        for (sequence, own) in together.iter().enumerate() {
            assert_eq!(*own, of_sequences(&device, &[sequence])[0], "sequence {sequence} alone, {device:?}");
        }
        for (place, sequence) in [5, 3, 1, 4, 2, 0].into_iter().enumerate() {
            assert_eq!(together[sequence], in_other_order[place], "sequence {sequence}, {device:?}");
        }
    }
}

/// The gradients of the input and of all weights.
fn gradients(device: &Device) -> Vec<Vec<u32>> {
    let tape = Tape::new();
    let (x, rows) = packed(device, &[0, 1, 2, 3, 4, 5]);
    let x = tape.leaf(x);
    let weights: Vec<Var> = weights().iter().map(|input| tape.leaf(input.tensor(device))).collect();
    let given = give(&x, &rows, &weights);
    let outputs = given.of_rows.iter().chain(&given.of_places).chain([&given.loss]);
    let upstream = |(i, output): (usize, &Var)| {
        let (rows, columns) = output.shape();
        Tensor::new(device, rows, columns, &numbers(&format!("upstream {i}"), rows * columns))
    };
    let from: Vec<(&Var, Tensor)> = outputs.clone().zip(outputs.enumerate().map(upstream)).collect();
    let gradients = tape.backward_from(&from, &mut Params::new(device, 0));
    let of = |var: &Var| gradients.of(var).expect("it was on the way").to_vec();
    let of_all = [&x].into_iter().chain(&weights).map(of);
    of_all.map(|gradient| gradient.iter().map(|x| x.to_bits()).collect()).collect()
}

#[test]
fn threads_do_not_change_a_bit() {
    for isa in isas() {
        let [one, two, three] =
            devices(isa).map(|device| (of_sequences(&device, &[0, 1, 2, 3, 4, 5]), gradients(&device)));
        assert!(one == two && two == three, "{isa:?}");
    }
}
