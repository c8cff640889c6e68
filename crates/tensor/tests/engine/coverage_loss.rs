//! What is looked at again.

use crate::support::{HAND, Input, assert_close, by_hand, check, sequence};
use couplet_tensor::SequenceLayout;
use couplet_tensor::ops::coverage_loss;
use couplet_tensor::ops::coverage_loss::reference;
use std::sync::Arc;

#[test]
fn equals_the_reference() {
    for (lengths, columns) in [(&[][..], 3), (&[0, 2], 1), (&[3, 1, 4], 7), (&[2, 5, 5, 0], 9)] {
        let rows = Arc::new(SequenceLayout::new(lengths));
        // Weights are never negative.
        let mut weights = Input::random("weights", rows.total(), columns);
        weights.numbers.iter_mut().for_each(|weight| *weight = weight.abs());
        check(
            &[weights],
            |vars| vec![coverage_loss(&vars[0], &rows, 0.25)],
            |numbers| {
                let of = |place| sequence(&rows, &numbers[0], columns, place);
                vec![vec![(0..rows.batch()).map(|place| reference::coverage_loss(&of(place), 0.25)).sum()]]
            },
        );
    }
}

#[test]
fn three_steps_by_hand() {
    // The weights are (0.6, 0.4), (0.5, 0.5) and (0.2, 0.8). Before the second step the sums are (0.6, 0.4), before the third
    // (1.1, 0.9): min(0.5, 0.6) + min(0.5, 0.4) = 0.9, and 0.2 + 0.8 = 1. A shorter target beside it has one step only, and
    // nothing that it could look at again.
    let rows = Arc::new(SequenceLayout::new(&[3, 1]));
    let weights = Input::new("weights", 4, 2, &[0.6, 0.4, 0.3, 0.7, 0.5, 0.5, 0.2, 0.8]);
    let pass = by_hand(&[weights], |vars| vec![coverage_loss(&vars[0], &rows, 0.5)]);
    assert_close("loss", &pass.outputs[0], &[0.95], HAND);
    // The second column of the second step is larger than the sum before it, 0.4 of the first step, which gets its gradient.
    let gradient = [0.0, 0.5, 0.0, 0.0, 0.5, 0.0, 0.5, 0.5];
    assert_close("gradient", &pass.gradients[0], &gradient, HAND);
}
