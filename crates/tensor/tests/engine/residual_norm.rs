//! What a layer adds, normalized.

use crate::support::{HAND, Input, assert_close, by_hand, check, devices};
use couplet_tensor::ops::residual_norm::reference;
use couplet_tensor::ops::{Dropout, DropoutMask, DropoutScope, add, dropout, layer_norm, residual_norm};
use couplet_tensor::{Params, SequenceLayout, Tape, Tensor, Var};
use std::sync::Arc;

fn inputs(rows: usize, width: usize) -> [Input; 4] {
    let of = |name| Input::random(name, rows, width);
    [of("x"), of("f"), Input::random("gain", 1, width), Input::random("bias", 1, width)]
}

fn run(vars: &[Var]) -> Vec<Var> {
    residual_norm(&vars[0], &vars[1], None, &vars[2], &vars[3]).into()
}

#[test]
fn equals_the_reference() {
    for [rows, width] in [[0, 7], [1, 7], [7, 8], [9, 33], [130, 97]] {
        check(&inputs(rows, width), run, |numbers| {
            reference::residual_norm(&numbers[0], &numbers[1], &numbers[2], &numbers[3]).into()
        });
    }
}

/// (2, 1) + (−1, 2) = (1, 3): mean 2, variance 1, so −0.999995·2 + 0.5 and 0.999995·3 − 0.5.
#[test]
fn a_row_by_hand() {
    let inputs = [
        Input::new("x", 1, 2, &[2.0, 1.0]),
        Input::new("f", 1, 2, &[-1.0, 2.0]),
        Input::new("gain", 1, 2, &[2.0, 3.0]),
        Input::new("bias", 1, 2, &[0.5, -0.5]),
    ];
    let pass = by_hand(&inputs, run);
    assert_close("sum", &pass.outputs[0], &[1.0, 3.0], HAND);
    assert_close("y", &pass.outputs[1], &[-1.499990, 2.499985], HAND);
}

/// The fused operation is dropout, sum and norm one after the other, bit by bit.
#[test]
fn drops_what_dropout_drops() {
    let rows = Arc::new(SequenceLayout::with_examples(&[3, 2], &[7, 9]));
    let how = Dropout { rate: 0.4, seed: 5, update: 2, stream: 1, scope: DropoutScope::Variational };
    let dropped = DropoutMask { how, rows: Arc::clone(&rows) };
    for device in devices() {
        let tensors = inputs(5, 11).map(|input| input.tensor(&device));
        let run = |fused: bool, only: usize| {
            let tape = Tape::new();
            let vars = tensors.each_ref().map(|tensor| tape.leaf(tensor.clone()));
            let [x, f, gain, bias] = &vars;
            let outputs = if fused {
                residual_norm(x, f, Some(&dropped), gain, bias)
            } else {
                let sum = add(&dropout(f, &rows, how), x);
                let y = layer_norm(&sum, gain, bias);
                [sum, y]
            };
            let upstream = Input::random("dy", 5, 11).tensor(&device);
            let gradients = tape.backward_from(&[(&outputs[only], upstream)], &mut Params::new(&device, 0));
            let of = |var: &Var| gradients.of(var).map(Tensor::to_vec);
            (outputs.each_ref().map(|y| y.value().to_vec()), vars.each_ref().map(of))
        };
        for only in [0, 1] {
            assert_eq!(run(true, only), run(false, only));
        }
    }
}
