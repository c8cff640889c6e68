//! Rows and columns moved about.

use crate::support::{Input, by_hand, check};
use couplet_tensor::Var;
use couplet_tensor::ops::{concat_columns, concat_rows, gather_rows, row_block};

fn references(vars: &[Var]) -> Vec<&Var> {
    vars.iter().collect()
}

#[test]
fn columns_side_by_side() {
    for rows in [0, 1, 7, 9] {
        let inputs = [Input::random("a", rows, 7), Input::random("b", rows, 1), Input::random("c", rows, 33)];
        check(
            &inputs,
            |vars| vec![concat_columns(&references(vars))],
            |numbers| {
                let row = |row: usize| {
                    let part = move |(part, width): (&Vec<f64>, usize)| part[row * width..][..width].to_vec();
                    numbers.iter().zip([7, 1, 33]).flat_map(part).collect::<Vec<f64>>()
                };
                vec![(0..rows).flat_map(row).collect()]
            },
        );
    }
}

#[test]
fn rows_below_each_other() {
    for columns in [1, 7, 8, 33] {
        let inputs = [2, 0, 7].map(|rows| Input::random(&format!("{rows} rows"), rows, columns));
        check(&inputs, |vars| vec![concat_rows(&references(vars))], |numbers| vec![numbers.concat()]);
    }
}

#[test]
fn a_block_of_rows() {
    for rows in [0..0, 0..9, 2..7, 8..9, 9..9] {
        let numbers = rows.start * 7..rows.end * 7;
        check(
            &[Input::random("x", 9, 7)],
            |vars| vec![row_block(&vars[0], rows.clone())],
            |all| vec![all[0][numbers.clone()].to_vec()],
        );
    }
}

#[test]
fn rows_in_another_order() {
    let indices: [&[u32]; 3] = [&[], &[2, 0, 1], &[3, 3, 0, 3, 8]];
    for index in indices {
        check(
            &[Input::random("x", 9, 7)],
            |vars| vec![gather_rows(&vars[0], index)],
            |all| vec![index.iter().flat_map(|&row| all[0][row as usize * 7..][..7].to_vec()).collect()],
        );
    }
}

#[test]
fn by_hand_of_small_matrices() {
    // (1 2)   (5)
    // (3 4)   (6)
    let inputs = [Input::new("a", 2, 2, &[1.0, 2.0, 3.0, 4.0]), Input::new("b", 2, 1, &[5.0, 6.0])];
    let y = |op: &dyn Fn(&[Var]) -> Var| by_hand(&inputs, |vars| vec![op(vars)]).outputs.concat();
    assert_eq!(y(&|vars| concat_columns(&[&vars[0], &vars[1]])), [1.0, 2.0, 5.0, 3.0, 4.0, 6.0]);
    assert_eq!(y(&|vars| concat_rows(&[&vars[1], &vars[1]])), [5.0, 6.0, 5.0, 6.0]);
    assert_eq!(y(&|vars| row_block(&vars[0], 1..2)), [3.0, 4.0]);
    assert_eq!(y(&|vars| gather_rows(&vars[0], &[1, 0, 1])), [3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn a_part_that_is_used_twice_gets_both_gradients() {
    let pass = by_hand(&[Input::new("x", 1, 1, &[2.0])], |vars| vec![concat_rows(&[&vars[0], &vars[0]])]);
    assert_eq!(pass.gradients[0], [2.0]); // 1 + 1
}

#[test]
#[should_panic(expected = "parts of different heights: ")]
fn columns_of_different_heights_are_refused() {
    by_hand(&[Input::random("a", 2, 3), Input::random("b", 3, 3)], |vars| {
        vec![concat_columns(&references(vars))]
    });
}

#[test]
#[should_panic(expected = "parts of different widths: ")]
fn rows_of_different_widths_are_refused() {
    by_hand(&[Input::random("a", 3, 2), Input::random("b", 3, 3)], |vars| {
        vec![concat_rows(&references(vars))]
    });
}
