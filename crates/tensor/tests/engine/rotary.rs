//! Rotary positions.

use crate::support::{HAND, Input, assert_close, by_hand, check, devices};
use couplet_tensor::ops::rotary::{RotaryConfig, reference};
use couplet_tensor::ops::{rotary, rotary_step};
use couplet_tensor::{SequenceLayout, Tensor, Var};
use std::sync::Arc;

#[test]
fn equals_the_reference() {
    let sizes: [(&[usize], usize, usize, usize); 4] =
        [(&[1], 2, 1, 0), (&[3, 0, 5], 4, 3, 1), (&[9, 2], 6, 2, 7), (&[40], 16, 2, 3)];
    for (lengths, depth, heads, rest) in sizes {
        let layout = Arc::new(SequenceLayout::new(lengths));
        let (config, width) = (RotaryConfig { depth, columns: depth * heads }, depth * heads + rest);
        check(
            &[Input::random("x", layout.total(), width)],
            |vars| vec![rotary(&vars[0], &layout, config)],
            |numbers| {
                let rows = numbers[0].chunks(width).zip(layout.places());
                vec![rows.flat_map(|(row, (_, step))| reference::rotary(row, step, config)).collect()]
            },
        );
    }
}

/// Rows of one step each, at the positions that they have in sequences, get the bits that they have there.
#[test]
fn a_step_equals_the_sequence() {
    let layout = Arc::new(SequenceLayout::new(&[4, 1, 6]));
    let config = RotaryConfig { depth: 6, columns: 12 };
    for device in devices() {
        let x = Var::constant(Input::random("x", layout.total(), 13).tensor(&device));
        let whole = rotary(&x, &layout, config);
        let positions: Vec<u32> = layout.places().map(|(_, step)| step as u32).collect();
        let bits = |y: &Var| y.value().to_vec().into_iter().map(f32::to_bits).collect::<Vec<_>>();
        assert_eq!(bits(&rotary_step(&x, &positions, config)), bits(&whole));
        let none = Var::constant(Tensor::zeros(&device, 0, 13));
        assert_eq!(rotary_step(&none, &[], config).shape(), (0, 13));
    }
}

/// The second step of a single pair is rotated by one radian: (1, 0) becomes (cos 1, sin 1) = (0.540302, 0.841471). The last
/// column stays.
#[test]
fn a_radian_by_hand() {
    let layout = Arc::new(SequenceLayout::new(&[2]));
    let inputs = [Input::new("x", 2, 3, &[1.0, 0.0, 5.0, 1.0, 0.0, 5.0])];
    let config = RotaryConfig { depth: 2, columns: 2 };
    let pass = by_hand(&inputs, |vars| vec![rotary(&vars[0], &layout, config)]);
    assert_close("y", &pass.outputs[0], &[1.0, 0.0, 5.0, 0.540302, 0.841471, 5.0], HAND);
}
