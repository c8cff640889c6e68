//! Mean and largest over the steps of packed sequences.

use crate::support::{HAND, Input, Pass, assert_close, by_hand, check, sequence};
use couplet_tensor::SequenceLayout;
use couplet_tensor::ops::pooling::reference;
use couplet_tensor::ops::{Pooling, pool};
use std::sync::Arc;

fn equals_reference(how: Pooling) {
    let many: Vec<usize> = (0..70).map(|i| i % 4).collect();
    let batches: [&[usize]; 6] = [&[], &[0, 0], &[1], &[2, 4, 0, 1], &[33, 3], &many];
    for lengths in batches {
        for width in [1, 7, 8, 33] {
            let rows = Arc::new(SequenceLayout::new(lengths));
            check(
                &[Input::random("x", rows.total(), width)],
                |vars| vec![pool(&vars[0], &rows, how)],
                |numbers| {
                    let of = |place| reference::pool(&sequence(&rows, &numbers[0], width, place), width, how);
                    vec![(0..rows.batch()).flat_map(of).collect()]
                },
            );
        }
    }
}

#[test]
fn the_mean_equals_the_reference() {
    equals_reference(Pooling::Mean);
}

#[test]
fn the_largest_equals_the_reference() {
    equals_reference(Pooling::Max);
}

/// Sequences of two steps, (1, −2) and (3, −6), of one step, (5, 4), and of none. Packed: 1 −2 | 5 4 | 3 −6.
fn three_sequences(how: Pooling) -> Pass {
    let rows = Arc::new(SequenceLayout::new(&[2, 1, 0]));
    let x = Input::new("x", 3, 2, &[1.0, -2.0, 5.0, 4.0, 3.0, -6.0]);
    by_hand(&[x], |vars| vec![pool(&vars[0], &rows, how)])
}

#[test]
fn a_mean_by_hand() {
    // ((1 + 3) / 2, (−2 − 6) / 2) = (2, −4); (5, 4); zeros
    let pass = three_sequences(Pooling::Mean);
    assert_close("mean", &pass.outputs[0], &[2.0, -4.0, 5.0, 4.0, 0.0, 0.0], HAND);
    // Of the sum of all: a half for each of two steps, all for the only one.
    assert_close("gradient", &pass.gradients[0], &[0.5, 0.5, 1.0, 1.0, 0.5, 0.5], HAND);
}

#[test]
fn a_largest_by_hand() {
    // (max(1, 3), max(−2, −6)) = (3, −2); (5, 4); zeros
    let pass = three_sequences(Pooling::Max);
    assert_close("largest", &pass.outputs[0], &[3.0, -2.0, 5.0, 4.0, 0.0, 0.0], HAND);
    // What was largest gets all: the second step of the first column, the first step of the second.
    assert_close("gradient", &pass.gradients[0], &[0.0, 1.0, 1.0, 1.0, 1.0, 0.0], HAND);
}

#[test]
fn of_several_largest_the_first_gets_the_gradient() {
    let rows = Arc::new(SequenceLayout::new(&[3]));
    let x = Input::new("x", 3, 1, &[1.0, 2.0, 2.0]);
    let pass = by_hand(&[x], |vars| vec![pool(&vars[0], &rows, Pooling::Max)]);
    assert_eq!(pass.gradients[0], [0.0, 1.0, 0.0]);
}

#[test]
#[should_panic(expected = "x is (4, 7) for 5 packed rows")]
fn rows_that_do_not_fit_the_batch_are_named() {
    let rows = Arc::new(SequenceLayout::new(&[3, 2]));
    by_hand(&[Input::random("x", 4, 7)], |vars| vec![pool(&vars[0], &rows, Pooling::Max)]);
}
