//! Dropout: a mask that depends on what is dropped, not on where it lies in the batch.

use crate::support::{
    GRADIENTS, Input, VALUES, any_device, assert_close, by_hand, devices, numbers, pass, widen,
};
use couplet_tensor::ops::{Dropout, DropoutScope, dropout, dropout::reference};
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

const HOW: Dropout = Dropout { rate: 0.3, seed: 11, update: 5, stream: 2, scope: DropoutScope::Element };

/// The mask as the operation applies it: what becomes of ones.
fn mask(rows: &Arc<SequenceLayout>, width: usize, how: Dropout) -> Vec<f32> {
    let ones = Tensor::new(&any_device(), rows.total(), width, &vec![1.0; rows.total() * width]);
    dropout(&Var::constant(ones), rows, how).value().to_vec()
}

/// The mask's rows of one example, step by step.
fn of_example(rows: &SequenceLayout, mask: &[f32], width: usize, example: u32) -> Vec<Vec<f32>> {
    let place = rows.examples().iter().position(|&own| own == example).expect("the example is in the batch");
    (0..rows.length(place)).map(|step| mask[rows.row(place, step) * width..][..width].to_vec()).collect()
}

#[test]
fn values_and_gradients_are_those_of_the_mask() {
    let many = vec![3; 40]; // enough for two workers
    let batches: [&[usize]; 4] = [&[], &[0, 0], &[2, 5, 0, 1], &many];
    for lengths in batches {
        let rows = Arc::new(SequenceLayout::new(lengths));
        for width in [1, 7, 8, 9, 33] {
            for together in [DropoutScope::Element, DropoutScope::Variational, DropoutScope::Sequence] {
                let how = Dropout { scope: together, ..HOW };
                let mask = reference::mask(&rows, width, how);
                let x = Input::random("x", rows.total(), width);
                let dy = numbers("upstream", x.numbers.len());
                let masked = |numbers: &[f32]| -> Vec<f64> {
                    widen(numbers).iter().zip(&mask).map(|(x, m)| x * m).collect()
                };
                for device in devices() {
                    let run = |vars: &[Var]| vec![dropout(&vars[0], &rows, how)];
                    let pass = pass(&device, std::slice::from_ref(&x), &run, std::slice::from_ref(&dy));
                    assert_close("y", &pass.outputs[0], &masked(&x.numbers), VALUES);
                    assert_close("gradient of x", &pass.gradients[0], &masked(&dy), GRADIENTS);
                }
            }
        }
    }
}

#[test]
fn an_example_has_the_same_mask_in_any_batch() {
    let width = 33;
    let one = Arc::new(SequenceLayout::with_examples(&[2, 4, 3], &[70, 80, 90]));
    let other = Arc::new(SequenceLayout::with_examples(&[4, 1, 3, 2], &[80, 60, 90, 70]));
    let masks = [&one, &other].map(|rows| mask(rows, width, HOW));
    for example in [70, 80, 90] {
        let [a, b] = [(&one, &masks[0]), (&other, &masks[1])]
            .map(|(rows, mask)| of_example(rows, mask, width, example));
        assert_eq!(a, b, "example {example}");
    }
}

#[test]
fn a_variational_mask_is_shared_over_time() {
    let width = 33;
    let rows = Arc::new(SequenceLayout::new(&[4, 2]));
    let shared = |together| {
        let mask = mask(&rows, width, Dropout { scope: together, ..HOW });
        let steps = of_example(&rows, &mask, width, 0);
        steps.iter().all(|step| *step == steps[0])
    };
    assert!(shared(DropoutScope::Variational) && !shared(DropoutScope::Element));
    let mask = mask(&rows, width, Dropout { scope: DropoutScope::Variational, ..HOW });
    assert_ne!(of_example(&rows, &mask, width, 0)[0], of_example(&rows, &mask, width, 1)[0]);
}

/// All numbers of a sequence have one fate, whatever its length and the width; at a rate of 0.3, 300 of 1,000 sequences are dropped
/// (a standard deviation: 14.5).
#[test]
fn a_sequence_is_dropped_as_a_whole() {
    let rows = Arc::new(SequenceLayout::new(&[3; 1000]));
    let mask = mask(&rows, 5, Dropout { scope: DropoutScope::Sequence, ..HOW });
    let whole = |example| {
        let numbers = of_example(&rows, &mask, 5, example).concat();
        assert!(numbers.iter().all(|&factor| factor == numbers[0]), "{numbers:?}");
        numbers[0]
    };
    let dropped = (0..1000).filter(|&example| whole(example) == 0.0).count();
    assert!((242..=358).contains(&dropped), "{dropped}");
}

#[test]
fn every_other_setting_gives_another_mask() {
    let rows = Arc::new(SequenceLayout::new(&[3]));
    let others = [
        Dropout { seed: 12, ..HOW },
        Dropout { update: 6, ..HOW },
        Dropout { stream: 3, ..HOW },
        Dropout { scope: DropoutScope::Variational, ..HOW },
        Dropout { scope: DropoutScope::Sequence, ..HOW },
    ];
    for other in others {
        assert_ne!(mask(&rows, 33, HOW), mask(&rows, 33, other), "{other:?}");
    }
}

#[test]
fn the_share_of_zeros_is_near_the_rate() {
    let rows = Arc::new(SequenceLayout::new(&[100; 10]));
    for rate in [0.1, 0.5, 0.9] {
        let mask = mask(&rows, 64, Dropout { rate, ..HOW });
        let zeros = mask.iter().filter(|&&factor| factor == 0.0).count() as f32 / mask.len() as f32;
        // Of 64 000 numbers the share strays by at most 0.002 (one standard deviation): four of them are allowed.
        assert!((zeros - rate).abs() < 0.008, "{zeros} zeros for a rate of {rate}");
    }
}

#[test]
fn what_stays_is_enlarged_by_hand() {
    // At a rate of 0.75, a quarter stays and counts four times as much, so that the mean stays what it was.
    let mask = mask(&Arc::new(SequenceLayout::new(&[8])), 33, Dropout { rate: 0.75, ..HOW });
    assert!(mask.iter().all(|&factor| factor == 0.0 || factor == 4.0));
}

#[test]
fn a_rate_of_zero_changes_nothing() {
    let rows = Arc::new(SequenceLayout::new(&[2]));
    let x = Input::random("x", 2, 7);
    let pass = by_hand(std::slice::from_ref(&x), |vars| {
        vec![dropout(&vars[0], &rows, Dropout { rate: 0.0, ..HOW })]
    });
    assert_eq!(pass.outputs[0], x.numbers);
    assert_eq!(pass.gradients[0], [1.0; 14]);
}

#[test]
#[should_panic(expected = "x is (3, 7) for 2 packed rows")]
fn rows_that_do_not_fit_are_named() {
    let rows = Arc::new(SequenceLayout::new(&[2]));
    by_hand(&[Input::random("x", 3, 7)], |vars| vec![dropout(&vars[0], &rows, HOW)]);
}

#[test]
#[should_panic(expected = "a dropout rate of 1")]
fn a_rate_of_one_is_refused() {
    mask(&Arc::new(SequenceLayout::new(&[2])), 7, Dropout { rate: 1.0, ..HOW });
}
