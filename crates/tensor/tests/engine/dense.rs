//! Layers of hidden units.

use crate::support::{HAND, Input, any_device, assert_close, by_hand, check, devices};
use couplet_tensor::activation::{Relu, Tanh};
use couplet_tensor::ops::dense::{GatedGelu, GatedLinear, Gelu, HiddenUnit, reference};
use couplet_tensor::ops::{Dropout, DropoutMask, DropoutScope, dense, dropout, linear, relu};
use couplet_tensor::{SequenceLayout, Tape, Tensor, Var};
use std::sync::Arc;

fn equals_the_reference<U: HiddenUnit>() {
    let wide = if U::GATED { 2 } else { 1 };
    for [rows, inputs, units] in [[0, 3, 4], [1, 1, 1], [5, 7, 3], [9, 33, 17], [97, 5, 40]] {
        let inputs_of = [
            Input::random("x", rows, inputs),
            Input::weight("W", wide * units, inputs),
            Input::random("b", 1, wide * units),
        ];
        check(
            &inputs_of,
            |vars| vec![dense::<U>(&vars[0], &vars[1], &vars[2], None)],
            |numbers| vec![reference::dense::<U>(&numbers[0], &numbers[1], &numbers[2], inputs)],
        );
    }
}

#[test]
fn units_equal_the_reference() {
    equals_the_reference::<Tanh>();
    equals_the_reference::<Gelu>();
    equals_the_reference::<GatedGelu>();
    equals_the_reference::<GatedLinear>();
}

/// With W = 1 and b = 0, y = a(x). gelu(1) = ½·(1 + tanh(0.797885·1.044715)) = ½·(1 + 0.682384) = 0.841192, gelu(−1) = −0.158808;
/// times a gate of 2: 1.682384. A linear unit of 3 behind a gate of 0: 3·σ(0) = 1.5.
#[test]
fn units_by_hand() {
    let run = |x: f32, unit: fn(&Var, &Var, &Var) -> Var, weights: &[f32]| {
        let inputs = [
            Input::new("x", 1, 1, &[x]),
            Input::new("W", weights.len(), 1, weights),
            Input::new("b", 1, weights.len(), &vec![0.0; weights.len()]),
        ];
        by_hand(&inputs, |vars| vec![unit(&vars[0], &vars[1], &vars[2])]).outputs[0].clone()
    };
    assert_close("relu", &run(-1.0, |x, w, b| dense::<Relu>(x, w, b, None), &[1.0]), &[0.0], HAND);
    assert_close("gelu", &run(1.0, |x, w, b| dense::<Gelu>(x, w, b, None), &[1.0]), &[0.841192], HAND);
    assert_close("gelu", &run(-1.0, |x, w, b| dense::<Gelu>(x, w, b, None), &[1.0]), &[-0.158808], HAND);
    let gated = run(1.0, |x, w, b| dense::<GatedGelu>(x, w, b, None), &[1.0, 2.0]);
    assert_close("gated gelu", &gated, &[1.682384], HAND);
    let gated = run(3.0, |x, w, b| dense::<GatedLinear>(x, w, b, None), &[1.0, 0.0]);
    assert_close("gated linear", &gated, &[1.5], HAND);
}

/// The fused layer is the layer, the unit and dropout one after the other.
#[test]
fn drops_what_dropout_drops() {
    let rows = Arc::new(SequenceLayout::with_examples(&[3, 2], &[7, 9]));
    let how = Dropout { rate: 0.4, seed: 5, update: 2, stream: 1, scope: DropoutScope::Element };
    let dropped = DropoutMask { how, rows: Arc::clone(&rows) };
    for device in devices() {
        let [x, w, b] = [("x", 5, 6), ("W", 9, 6), ("b", 1, 9)]
            .map(|(name, rows, columns)| Input::random(name, rows, columns).tensor(&device));
        let run = |fused: bool| {
            let tape = Tape::new();
            let vars = [&x, &w, &b].map(|tensor| tape.leaf(tensor.clone()));
            let y = if fused {
                dense::<Relu>(&vars[0], &vars[1], &vars[2], Some(&dropped))
            } else {
                dropout(&relu(&linear(&vars[0], &vars[1], Some(&vars[2]))), &rows, how)
            };
            let upstream = Input::random("dy", 5, 9).tensor(&device);
            let mut params = couplet_tensor::Params::new(&device, 0);
            let gradients = tape.backward_from(&[(&y, upstream)], &mut params);
            let of = |var: &Var| gradients.of(var).map(Tensor::to_vec);
            (y.value().to_vec(), vars.each_ref().map(of))
        };
        assert_eq!(run(true), run(false));
    }
}

#[test]
#[should_panic(expected = "W is (3, 2), units and gates")]
fn a_gate_is_missing() {
    let of = |rows, columns| Var::constant(Tensor::zeros(&any_device(), rows, columns));
    dense::<GatedLinear>(&of(1, 2), &of(3, 2), &of(1, 3), None);
}
