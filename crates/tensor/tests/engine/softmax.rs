//! Softmax over the places that count.

use crate::support::{HAND, Input, assert_close, by_hand, check};
use couplet_tensor::Var;
use couplet_tensor::ops::{softmax, softmax::reference};

fn run(counts: &[u32]) -> impl Fn(&[Var]) -> Vec<Var> {
    move |vars| vec![softmax(&vars[0], counts)]
}

#[test]
fn equals_the_reference() {
    for [rows, width] in [[0, 7], [1, 1], [7, 7], [8, 8], [9, 9], [5, 33], [130, 97]] {
        // From no place to all of them.
        let counts: Vec<u32> = (0..rows as u32).map(|row| row * 5 % (width as u32 + 1)).collect();
        let all = vec![width as u32; rows];
        for counts in [counts, all] {
            check(&[Input::random("x", rows, width)], run(&counts), |numbers| {
                vec![reference::softmax(&numbers[0], &counts, width)]
            });
        }
    }
}

#[test]
fn rows_by_hand() {
    // e^ln 1 = 1, e^ln 2 = 2, e^ln 5 = 5. All three count: (1, 2, 5) / 8. Two count: (1, 2) / 3. None: zeros.
    let logits = [1.0f32, 2.0, 5.0].map(f32::ln);
    let x = Input::new("x", 3, 3, &[logits, logits, logits].concat());
    let pass = by_hand(&[x], run(&[3, 2, 0]));
    let want = [0.125, 0.25, 0.625, 1.0 / 3.0, 2.0 / 3.0, 0.0, 0.0, 0.0, 0.0];
    assert_close("y", &pass.outputs[0], &want, HAND);
}

#[test]
fn a_gradient_by_hand() {
    // y = (0.25, 0.75) of (0, ln 3), and the loss is 2·y_1: dy = (2, 0), Σ y·dy = 0.5
    // dx = (0.25·(2 − 0.5), 0.75·(0 − 0.5)) = (0.375, −0.375)
    let x = Input::new("x", 1, 2, &[0.0, 3.0f32.ln()]);
    let pass = crate::support::pass(&crate::support::any_device(), &[x], &run(&[2]), &[vec![2.0, 0.0]]);
    assert_close("gradient of x", &pass.gradients[0], &[0.375, -0.375], HAND);
}

#[test]
fn large_numbers_do_not_overflow() {
    let x = Input::new("x", 1, 3, &[1000.0, 1000.0, -1000.0]);
    assert_eq!(by_hand(&[x], run(&[3])).outputs[0], [0.5, 0.5, 0.0]);
}

#[test]
#[should_panic(expected = "4 of 3 places")]
fn more_places_than_there_are_are_named() {
    by_hand(&[Input::random("x", 1, 3)], run(&[4]));
}
