//! The likeliest places of a row.

use crate::support::{devices, numbers, widen};
use couplet_tensor::ops::{ScoredIndex, top_k, top_k::reference};
use couplet_tensor::{Device, Isa, Tensor};

fn of_row(row: &[f32], wanted: usize) -> Vec<ScoredIndex> {
    let device = Device::cpu_with(1, Isa::detect());
    top_k(&Tensor::new(&device, 1, row.len(), row), wanted).remove(0)
}

/// `softmax(ln 1, ln 5, ln 2)` is (1, 5, 2) / 8.
#[test]
fn a_row_by_hand() {
    let found = of_row(&[1.0f32.ln(), 5.0f32.ln(), 2.0f32.ln()], 2);
    assert_eq!(found.iter().map(|&(place, _)| place).collect::<Vec<_>>(), [1, 2]);
    let probabilities = found.iter().map(|(_, log_p)| log_p.exp());
    probabilities.zip([0.625, 0.25]).for_each(|(found, wanted)| assert!((found - wanted).abs() < 1e-6));
}

#[test]
fn equals_the_reference() {
    for device in devices() {
        for [rows, width] in [[0, 7], [1, 1], [3, 9], [5, 64], [2, 65], [9, 300]] {
            let x = numbers("x", rows * width);
            for wanted in [1, 2, 10] {
                let found = top_k(&Tensor::new(&device, rows, width, &x), wanted);
                assert_eq!(found.len(), rows);
                for (found, row) in found.iter().zip(x.chunks(width)) {
                    let wanted = reference::top_k(&widen(row), wanted);
                    assert_eq!(found.len(), wanted.len());
                    for (found, wanted) in found.iter().zip(wanted) {
                        assert_eq!(found.0 as usize, wanted.0);
                        assert!((f64::from(found.1) - wanted.1).abs() < 5e-6);
                    }
                }
            }
        }
    }
}

#[test]
fn of_equal_places_the_left_one_comes_first() {
    let row = [0.0, 3.0, 1.0, 3.0, 1.0, 3.0];
    assert_eq!(of_row(&row, 4).iter().map(|&(place, _)| place).collect::<Vec<_>>(), [1, 3, 5, 2]);
}

/// What cannot be copied from a source stands behind its words as −∞, as many times as others beside it have more of them.
#[test]
fn what_is_impossible_behind_a_row_changes_no_bit() {
    for width in 1..100 {
        let row = numbers("x", width);
        let found = of_row(&row, 3);
        for more in [1, 5, 8, 19] {
            let longer = [&row[..], &vec![f32::NEG_INFINITY; more]].concat();
            assert_eq!(of_row(&longer, 3.min(width)), found, "{width} and {more} more");
        }
    }
}

#[test]
fn large_numbers_do_not_overflow() {
    assert_eq!(of_row(&[-1000.0, 1000.0, 1000.0], 1), [(1, -(2.0f32.ln()))]);
}
