//! Rows of a table by their ids.

use crate::support::{GRADIENTS, HAND, Input, assert_close, by_hand, check, devices, pass, widen};
use couplet_tensor::Var;
use couplet_tensor::ops::{embedding, embedding::reference};
use proptest::prelude::*;

fn run(ids: &[u32]) -> impl Fn(&[Var]) -> Vec<Var> {
    move |vars| vec![embedding(&vars[0], ids)]
}

#[test]
fn equals_the_reference() {
    let many: Vec<u32> = (0..1300).map(|i| i * i % 9).collect(); // enough for two workers
    let ids: [&[u32]; 5] = [&[], &[0], &[8, 0, 8, 3, 8], &[7, 6, 5], &many];
    for ids in ids {
        for width in [1, 7, 8, 9, 33] {
            check(&[Input::random("table", 9, width)], run(ids), |numbers| {
                vec![reference::embedding(&numbers[0], ids, width)]
            });
        }
    }
}

#[test]
fn repeated_ids_add_up_by_hand() {
    // The ids 1, 0, 1 of the table (1 2 / 3 4 / 5 6): the rows (3 4), (1 2), (3 4).
    let table = Input::new("table", 3, 2, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
    let pass = by_hand(&[table], run(&[1, 0, 1]));
    assert_eq!(pass.outputs[0], [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    // Row 0 was taken once, row 1 twice, row 2 never.
    assert_close("gradient of the table", &pass.gradients[0], &[1.0, 1.0, 2.0, 2.0, 0.0, 0.0], HAND);
}

#[test]
#[should_panic(expected = "id 3 in a table of 3 rows")]
fn an_id_outside_of_the_table_is_named() {
    by_hand(&[Input::random("table", 3, 2)], run(&[0, 3]));
}

proptest! {
    #[test]
    fn any_ids(ids in prop::collection::vec(0u32..12, 0..80), width in 1usize..20) {
        let table = Input::random("table", 12, width);
        let upstream = Input::random("upstream", ids.len(), width).numbers;
        let want = reference::embedding(&widen(&table.numbers), &ids, width);
        let mut sums = vec![0.0; 12 * width];
        for (&id, dy) in ids.iter().zip(upstream.chunks(width)) {
            let row = &mut sums[id as usize * width..][..width];
            row.iter_mut().zip(dy).for_each(|(sum, &dy)| *sum += f64::from(dy));
        }
        for device in devices() {
            let pass = pass(&device, std::slice::from_ref(&table), &run(&ids), std::slice::from_ref(&upstream));
            prop_assert_eq!(widen(&pass.outputs[0]), want.clone());
            assert_close("gradient of the table", &pass.gradients[0], &sums, GRADIENTS);
        }
    }
}
