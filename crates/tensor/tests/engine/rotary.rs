//! Rotary positions.

use crate::support::{HAND, Input, assert_close, by_hand, check};
use couplet_tensor::SequenceLayout;
use couplet_tensor::ops::rotary;
use couplet_tensor::ops::rotary::{RotaryConfig, reference};
use std::sync::Arc;

#[test]
fn equals_the_reference() {
    let sizes: [(&[usize], usize, usize, usize); 4] =
        [(&[1], 2, 1, 0), (&[3, 0, 5], 4, 3, 1), (&[9, 2], 6, 2, 7), (&[40], 16, 2, 3)];
    for (lengths, depth, heads, rest) in sizes {
        for first in [0, 4] {
            let rows = Arc::new(SequenceLayout::new(lengths));
            let (turned, width) =
                (RotaryConfig { depth, columns: depth * heads, first }, depth * heads + rest);
            check(
                &[Input::random("x", rows.total(), width)],
                |vars| vec![rotary(&vars[0], &rows, turned)],
                |numbers| {
                    let rows = numbers[0].chunks(width).zip(rows.places());
                    vec![rows.flat_map(|(row, (_, step))| reference::rotary(row, step, turned)).collect()]
                },
            );
        }
    }
}

/// The second step of a single pair is turned by one radian: (1, 0) becomes (cos 1, sin 1) = (0.540302, 0.841471). The last
/// column stays.
#[test]
fn a_radian_by_hand() {
    let rows = Arc::new(SequenceLayout::new(&[2]));
    let inputs = [Input::new("x", 2, 3, &[1.0, 0.0, 5.0, 1.0, 0.0, 5.0])];
    let turned = RotaryConfig { depth: 2, columns: 2, first: 0 };
    let pass = by_hand(&inputs, |vars| vec![rotary(&vars[0], &rows, turned)]);
    assert_close("y", &pass.outputs[0], &[1.0, 0.0, 5.0, 0.540302, 0.841471, 5.0], HAND);
}
