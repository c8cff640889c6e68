//! Convolutions over packed sequences.

use crate::support::{HAND, Input, any_device, assert_close, by_hand, check};
use couplet_tensor::activation::{Identity, Tanh};
use couplet_tensor::ops::convolution::reference;
use couplet_tensor::ops::dense::{GatedLinear, HiddenUnit};
use couplet_tensor::ops::{Dropout, DropoutMask, DropoutScope, Window, convolution, dropout};
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

const AROUND: Window = Window { before: 1, after: 1 };
const BEFORE: Window = Window { before: 2, after: 0 };

fn equals_the_reference<U: HiddenUnit>(window: Window) {
    let wide = if U::GATED { 2 } else { 1 };
    let batches: [(&[usize], usize, usize); 5] =
        [(&[0, 0], 3, 4), (&[1], 1, 1), (&[2, 0, 5, 1], 7, 3), (&[3, 9, 3], 5, 17), (&[40], 2, 9)];
    for (lengths, inputs, units) in batches {
        let rows = Arc::new(SequenceLayout::new(lengths));
        let inputs_of = [
            Input::random("x", rows.total(), inputs),
            Input::weight("W", wide * units, window.taps() * inputs),
            Input::random("b", 1, wide * units),
        ];
        check(
            &inputs_of,
            |vars| vec![convolution::<U>(&vars[0], &rows, window, (&vars[1], &vars[2]), None)],
            |numbers| {
                let weights = (&numbers[1][..], &numbers[2][..]);
                vec![reference::convolution::<U>(&numbers[0], &rows, window, weights, inputs)]
            },
        );
    }
}

#[test]
fn convolutions_equal_the_reference() {
    for window in [AROUND, BEFORE, Window { before: 0, after: 0 }, Window { before: 0, after: 3 }] {
        equals_the_reference::<Tanh>(window);
        equals_the_reference::<GatedLinear>(window);
    }
}

/// Of the sequence 1 2 3, with W = [10 1 100] and b = 0. Around each step: 0·10 + 1·1 + 2·100 = 201, 1·10 + 2·1 + 3·100 = 312 and
/// 2·10 + 3·1 + 0·100 = 23. Before each step: 100·1, 1·1 + 100·2 and 10·1 + 1·2 + 100·3. Back from ones: a step's gradient is the
/// sum of the weights that lay on it, around 1 + 10 = 11, all of them, 100 + 1 = 101. The sequence 4 beside it is alone with zeros.
#[test]
fn windows_by_hand() {
    let rows = Arc::new(SequenceLayout::new(&[1, 3]));
    // Packed longest first: 1 4 2 3.
    let inputs = [
        Input::new("x", 4, 1, &[1.0, 4.0, 2.0, 3.0]),
        Input::new("W", 1, 3, &[10.0, 1.0, 100.0]),
        Input::new("b", 1, 1, &[0.0]),
    ];
    let run = |window| {
        by_hand(&inputs, |vars| {
            vec![convolution::<Identity>(&vars[0], &rows, window, (&vars[1], &vars[2]), None)]
        })
    };
    let around = run(AROUND);
    assert_close("around", &around.outputs[0], &[201.0, 4.0, 312.0, 23.0], HAND);
    assert_close("dx", &around.gradients[0], &[11.0, 1.0, 111.0, 101.0], HAND);
    assert_close("dW", &around.gradients[1], &[3.0, 10.0, 5.0], HAND);
    let before = run(BEFORE);
    assert_close("before", &before.outputs[0], &[100.0, 400.0, 201.0, 312.0], HAND);
}

/// Neither the sequences beside it nor what comes later changes a bit.
#[test]
fn later_steps_and_other_sequences_change_nothing() {
    let device = any_device();
    let [w, b] = [("W", 10, 9), ("b", 1, 10)]
        .map(|(name, rows, columns)| Var::constant(Input::random(name, rows, columns).tensor(&device)));
    let x = Input::random("x", 40, 3).numbers;
    let run = |rows: &Arc<SequenceLayout>, window: Window| {
        let total = rows.total();
        let x = Var::constant(Tensor::new(&device, total, 3, &x[..total * 3]));
        let y = convolution::<GatedLinear>(&x, rows, window, (&w, &b), None);
        y.value().to_vec().chunks(5).map(<[f32]>::to_vec).collect::<Vec<_>>()
    };
    let [alone, shorter] = [40, 7].map(|length| run(&Arc::new(SequenceLayout::new(&[length])), BEFORE));
    assert_eq!(alone[..7], shorter[..]);
    // Two alike side by side: every row of x stands for both.
    let twins = Arc::new(SequenceLayout::new(&[6, 6]));
    let x_of = |rows: &SequenceLayout| -> Vec<f32> {
        rows.places().flat_map(|(_, step)| x[step * 3..][..3].to_vec()).collect()
    };
    let both = Var::constant(Tensor::new(&device, 12, 3, &x_of(&twins)));
    let y = convolution::<GatedLinear>(&both, &twins, AROUND, (&w, &b), None).value().to_vec();
    let one = run(&Arc::new(SequenceLayout::new(&[6])), AROUND);
    for (row, (_, step)) in twins.places().enumerate() {
        assert_eq!(y[row * 5..][..5], one[step], "row {row}");
    }
}

#[test]
fn drops_what_dropout_drops() {
    let device = any_device();
    let rows = Arc::new(SequenceLayout::with_examples(&[3, 2], &[7, 9]));
    let how = Dropout { rate: 0.4, seed: 5, update: 2, stream: 1, scope: DropoutScope::Element };
    let [x, w, b] = [("x", 5, 4), ("W", 9, 12), ("b", 1, 9)]
        .map(|(name, rows, columns)| Var::constant(Input::random(name, rows, columns).tensor(&device)));
    let run = |dropped: Option<&DropoutMask>| convolution::<Tanh>(&x, &rows, AROUND, (&w, &b), dropped);
    let fused = run(Some(&DropoutMask { how, rows: Arc::clone(&rows) }));
    assert_eq!(fused.value().to_vec(), dropout(&run(None), &rows, how).value().to_vec());
}

#[test]
#[should_panic(expected = "x is (3, 2), W is (4, 4)")]
fn a_tap_is_missing() {
    let of = |rows, columns| Var::constant(Tensor::zeros(&any_device(), rows, columns));
    let rows = Arc::new(SequenceLayout::new(&[3]));
    convolution::<Tanh>(&of(3, 2), &rows, AROUND, (&of(4, 4), &of(1, 4)), None);
}
