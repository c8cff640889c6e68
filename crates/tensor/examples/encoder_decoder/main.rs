//! Trains a small translator to write a sequence backwards: `cargo run --release --example encoder_decoder`.

#![allow(clippy::print_stdout, reason = "an example shows what it does")]

mod model;

use couplet_tensor::optimizer::Optimizer;
use couplet_tensor::random::Stream;
use couplet_tensor::{Device, Params, Tape};
use model::{Batch, Model, Sizes};

const START: u32 = 2;
const END: u32 = 3;
const LETTERS: u32 = 10;

/// A random word, and the word backwards between the start and the end token.
fn pair(stream: &Stream, number: u32) -> (Vec<u32>, Vec<u32>) {
    let length = 3 + stream.at([number, 0, 0, 0])[0] % 6;
    let word: Vec<u32> = (1..=length).map(|i| 4 + stream.at([number, i, 0, 0])[0] % LETTERS).collect();
    let backwards = word.iter().rev().copied();
    let target = [START].into_iter().chain(backwards).chain([END]).collect();
    (word, target)
}

fn main() {
    let device = Device::cpu();
    let mut params = Params::new(&device, 1);
    let vocabulary = LETTERS as usize + 4;
    let sizes = Sizes {
        source_vocabulary: vocabulary,
        target_vocabulary: vocabulary,
        embedding: 32,
        encoder: 32,
        attention: 32,
        layers: 1,
    };
    let model = Model::new(&mut params, &sizes);
    println!("{params:?}");

    let stream = Stream::new(7, 0);
    let mut adam = Optimizer::adam().clipped(1.0);
    for step in 0..400 {
        let pairs: Vec<_> = (0..32).map(|i| pair(&stream, step * 32 + i)).collect();
        let tape = Tape::new();
        let loss = model.loss(&params, Some(&tape), &Batch::new(&pairs), 0.0);
        tape.backward(&loss, &mut params);
        adam.step(&mut params, 5e-3);
        if step % 50 == 49 {
            println!("step {:3}  loss {:.4}", step + 1, loss.value().item());
        }
    }
    let unseen: Vec<_> = (0..64).map(|i| pair(&stream, 1_000_000 + i)).collect();
    let loss = model.loss(&params, None, &Batch::new(&unseen), 0.0).value().item();
    println!("words it has not seen: loss {loss:.4}");
}
