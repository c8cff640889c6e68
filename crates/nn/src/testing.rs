//! What the tests of several modules share.

use crate::encoders::Encoded;
use couplet_tensor::{Device, Params, SequenceLayout, Tensor, Var};

/// Gives parameters other values, by name.
pub(crate) fn set(params: &mut Params, given: &[(&str, &[f32])]) {
    for (name, numbers) in given {
        let param = params.find(name).unwrap_or_else(|| panic!("no parameter {name:?} in {params:?}"));
        params.set(param, numbers);
    }
}

/// Four digits behind the point, which is what a pocket calculator's steps leave.
pub(crate) fn assert_near(found: &[f32], wanted: &[f32]) {
    let near = |(found, wanted): (&f32, &f32)| (found - wanted).abs() < 5e-5;
    assert!(
        found.len() == wanted.len() && found.iter().zip(wanted).all(near),
        "{found:?} and not {wanted:?}"
    );
}

/// Rows of numbers.
pub(crate) fn matrix(rows: &[&[f32]]) -> Var {
    Var::constant(Tensor::new(&Device::cpu(), rows.len(), rows[0].len(), &rows.concat()))
}

/// What a reader of one layer and one part returns for the sources (1, 2) (3, −4) (5, −1) and (7, 8), the latter shorter.
pub(crate) fn two_sources() -> Encoded {
    Encoded {
        states: matrix(&[&[1.0, 2.0], &[7.0, 8.0], &[3.0, -4.0], &[5.0, -1.0]]),
        layout: SequenceLayout::new(&[3, 1]).into(),
        summary: Some(matrix(&[&[5.0, -1.0], &[7.0, 8.0]])),
        final_states: vec![vec![matrix(&[&[5.0, -1.0], &[7.0, 8.0]])]],
        attention_values: None,
    }
}
