//! Binary cross-entropy of single logits.

use crate::support::{HAND, Input, any_device, assert_close, by_hand, check};
use couplet_tensor::ops::logistic_loss;
use couplet_tensor::ops::logistic_loss::reference;
use couplet_tensor::{Params, Tape};

#[test]
fn equals_the_reference() {
    for rows in [0, 1, 7, 8, 33, 130] {
        let targets: Vec<bool> = (0..rows).map(|i| i * i % 3 == 1).collect();
        check(
            &[Input::random("z", rows, 1)],
            |vars| vec![logistic_loss(&vars[0], &targets, 0.25).0],
            |numbers| vec![vec![reference::logistic_loss(&numbers[0], &targets, 0.25)]],
        );
    }
}

#[test]
fn two_rows_by_hand() {
    // z = ln 3: σ = 3/4. Where it is true, −ln 3/4 = 0.287682; where it is not, −ln 1/4 = 1.386294.
    // Half of their sum is 0.836988.
    let z = Input::new("z", 2, 1, &[3.0f32.ln(), 3.0f32.ln()]);
    let pass = by_hand(std::slice::from_ref(&z), |vars| vec![logistic_loss(&vars[0], &[true, false], 0.5).0]);
    assert_close("loss", &pass.outputs[0], &[0.836988], HAND);
    // dz = (σ − target) / 2 = (−1/4 / 2, 3/4 / 2)
    assert_close("gradient", &pass.gradients[0], &[-0.125, 0.375], HAND);
    let (_, of_rows) = logistic_loss(&Tape::new().leaf(z.tensor(&any_device())), &[true, false], 0.5);
    assert_close("loss of each row", &of_rows.to_vec(), &[0.287682, 1.386294], HAND);
}

#[test]
fn far_out_the_loss_is_a_line_or_all_but_zero() {
    // softplus(200) = 200, whose slope is 1; softplus(−80) = e^−80 = 1.804851·10⁻³⁵, which is also its slope.
    let device = any_device();
    let z = Input::new("z", 3, 1, &[200.0, -200.0, 80.0]);
    let tape = Tape::new();
    let z = tape.leaf(z.tensor(&device));
    let (loss, of_rows) = logistic_loss(&z, &[false, true, true], 1.0);
    assert_eq!(loss.value().item(), 400.0);
    let tiny = |x: f32| (x / 1.804_851e-35 - 1.0).abs() < 1e-5;
    assert!(tiny(of_rows.to_vec()[2]), "{of_rows:?}");
    let gradients = tape.backward(&loss, &mut Params::new(&device, 0));
    let dz = gradients.of(&z).expect("it was on the way").to_vec();
    assert!(dz[..2] == [1.0, -1.0] && tiny(-dz[2]), "{dz:?}");
}

#[test]
#[should_panic(expected = "a logit for each of 3 targets")]
fn targets_that_do_not_fit_are_named() {
    by_hand(&[Input::random("z", 2, 1)], |vars| vec![logistic_loss(&vars[0], &[true; 3], 1.0).0]);
}
