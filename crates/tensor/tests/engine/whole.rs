//! What must hold for a whole model: batch mates, threads, and memory change nothing.

#[path = "../../examples/encoder_decoder/model.rs"]
mod model;

use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::random::Stream;
use couplet_tensor::{Device, Isa, Params, Tape, Var};
use model::{Batch, Model, Sizes};

type Pair = (Vec<u32>, Vec<u32>);

/// Odd sizes, two layers.
const SIZES: Sizes =
    Sizes { source_vocabulary: 23, target_vocabulary: 19, embedding: 7, encoder: 9, attention: 5, layers: 2 };

/// A pair for each two lengths. A source may be empty; a target has its start token and at least one more.
fn pairs(lengths: &[(usize, usize)], seed: u64) -> Vec<Pair> {
    let stream = Stream::new(seed, 0);
    let sentence = |pair: usize, side: u32, length: usize, words: usize| {
        (0..length).map(|i| stream.at([pair as u32, side, i as u32, 0])[0] % words as u32).collect()
    };
    let pair = |(i, &(source, target)): (usize, &(usize, usize))| {
        (sentence(i, 0, source, SIZES.source_vocabulary), sentence(i, 1, target + 1, SIZES.target_vocabulary))
    };
    lengths.iter().enumerate().map(pair).collect()
}

fn ragged() -> Vec<Pair> {
    pairs(&[(3, 5), (7, 1), (1, 9), (0, 2), (7, 7), (4, 5), (33, 3)], 5)
}

fn devices() -> Vec<Device> {
    let split = |threads| Device::cpu_with_grain(threads, Isa::detect(), 1);
    vec![split(1), split(2), split(3), Device::cpu_with_grain(2, Isa::Portable, 1)]
}

fn build(device: &Device) -> (Params, Model) {
    let mut params = Params::new(device, 11);
    let model = Model::new(&mut params, &SIZES);
    (params, model)
}

/// The features of each pair, step by step, whatever order the batch has put them in.
fn features(model: &Model, params: &Params, pairs: &[Pair]) -> Vec<Vec<Vec<f32>>> {
    let batch = Batch::new(pairs);
    let all = model.features(|param| Var::constant(params.tensor(param)), &batch);
    let (numbers, width) = (all.value().to_vec(), all.columns());
    let mut of_pairs = vec![Vec::new(); pairs.len()];
    for (row, (place, _)) in batch.target_rows.places().enumerate() {
        let pair = batch.target_rows.sorted_indices()[place] as usize;
        of_pairs[pair].push(numbers[row * width..(row + 1) * width].to_vec());
    }
    of_pairs
}

/// The gradients of all parameters, for the sum of the losses of all target tokens.
fn gradients(model: &Model, params: &mut Params, pairs: &[Pair]) -> Vec<Vec<f32>> {
    let batch = Batch::new(pairs);
    let tape = Tape::new();
    let loss = model.loss(params, Some(&tape), &batch, 0.1);
    params.zero_gradients();
    tape.backward(&loss, params);
    let tokens = batch.targets() as f32;
    params.iter().map(|param| params.gradient(param).iter().map(|g| g * tokens).collect()).collect()
}

#[test]
fn a_sentence_has_the_same_bits_alone_and_in_any_batch() {
    for device in devices() {
        let (params, model) = build(&device);
        let pairs = ragged();
        let together = features(&model, &params, &pairs);
        let backwards: Vec<Pair> = pairs.iter().rev().cloned().collect();
        let in_other_order = features(&model, &params, &backwards);
        for (i, pair) in pairs.iter().enumerate() {
            let alone = features(&model, &params, std::slice::from_ref(pair));
            assert_eq!(together[i], alone[0], "pair {i} alone, {device:?}");
            assert_eq!(
                together[i],
                in_other_order[pairs.len() - 1 - i],
                "pair {i} in another order, {device:?}"
            );
        }
    }
}

#[test]
fn gradients_of_a_batch_are_the_sum_of_its_sentences() {
    for device in devices() {
        let (mut params, model) = build(&device);
        let pairs = ragged();
        let together = gradients(&model, &mut params, &pairs);
        let mut summed: Vec<Vec<f64>> = together.iter().map(|gradient| vec![0.0; gradient.len()]).collect();
        for pair in &pairs {
            let alone = gradients(&model, &mut params, std::slice::from_ref(pair));
            for (sum, gradient) in summed.iter_mut().zip(alone) {
                sum.iter_mut().zip(gradient).for_each(|(sum, g)| *sum += f64::from(g));
            }
        }
        for (param, (together, summed)) in params.iter().zip(together.iter().zip(&summed)) {
            let largest = summed.iter().fold(0.0f64, |max, g| max.max(g.abs()));
            let apart =
                together.iter().zip(summed).map(|(a, b)| (f64::from(*a) - b).abs()).fold(0.0, f64::max);
            assert!(apart <= 1e-6 * largest.max(1.0), "{}: {apart:e} of {largest:e}", params.name(param));
        }
    }
}

/// The losses and the weights after a few steps of training.
fn train(device: &Device) -> (Vec<f32>, Vec<Vec<f32>>) {
    let (mut params, model) = build(device);
    let mut adam = Optimizer::adam().clipped(0.5);
    let losses = (0..4).map(|seed| {
        let batch = Batch::new(&pairs(&[(5, 4), (2, 9), (8, 1), (33, 8)], seed));
        let tape = Tape::new();
        let loss = model.loss(&params, Some(&tape), &batch, 0.1);
        tape.backward(&loss, &mut params);
        adam.step(&mut params, 1e-2);
        loss.value().item()
    });
    (losses.collect(), params.iter().map(|param| params.tensor(param).to_vec()).collect())
}

#[test]
fn threads_do_not_change_a_bit() {
    for isa in [Isa::detect(), Isa::Portable] {
        let one = train(&Device::cpu_with_grain(1, isa, 1));
        for threads in [2, 3] {
            assert_eq!(one, train(&Device::cpu_with_grain(threads, isa, 1)), "{threads} threads");
        }
    }
}

#[test]
fn the_same_loss_with_and_without_a_tape() {
    let device = Device::cpu();
    let (params, model) = build(&device);
    let batch = Batch::new(&ragged());
    let tape = Tape::new();
    let with = model.loss(&params, Some(&tape), &batch, 0.1).value().item();
    let without = model.loss(&params, None, &batch, 0.1).value().item();
    assert_eq!(with.to_bits(), without.to_bits());
}

#[test]
fn without_a_tape_nothing_is_kept() {
    let device = Device::cpu();
    let (params, model) = build(&device);
    let batch = Batch::new(&ragged());
    // The packed copies of the weights stay with the weights; they are made by the first pass with and without a tape.
    model.loss(&params, None, &batch, 0.0);
    model.loss(&params, Some(&Tape::new()), &batch, 0.0);
    let before = device.memory().bytes_used();
    let loss = model.loss(&params, None, &batch, 0.0);
    let block_of_one_number = 64 * size_of::<f32>();
    assert_eq!(device.memory().bytes_used() - before, block_of_one_number, "only the loss is left");
    drop(loss);
    assert_eq!(device.memory().bytes_used(), before);

    let tape = Tape::new();
    let loss = model.loss(&params, Some(&tape), &batch, 0.0);
    assert!(device.memory().bytes_used() - before > 100_000, "a tape keeps what the way back needs");
    drop((tape, loss));
    assert_eq!(device.memory().bytes_used(), before);
}
