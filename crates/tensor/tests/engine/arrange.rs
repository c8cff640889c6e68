//! Rows and columns moved about.

use crate::support::{Input, by_hand, check, sequence};
use couplet_tensor::ops::{
    column_block, concat_columns, concat_rows, flatten_steps, gather_rows, repeat_over_steps, row_block,
    steps_before,
};
use couplet_tensor::{SequenceLayout, Var};
use std::sync::Arc;

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
fn a_block_of_columns() {
    for columns in [0..0, 0..7, 0..3, 2..7, 3..4] {
        check(
            &[Input::random("x", 9, 7)],
            |vars| vec![column_block(&vars[0], columns.clone())],
            |all| vec![all[0].chunks(7).flat_map(|row| row[columns.clone()].to_vec()).collect()],
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

/// Batches of packed sequences.
fn batches() -> impl Iterator<Item = Arc<SequenceLayout>> {
    let lengths: [&[usize]; 5] = [&[], &[0, 0], &[1], &[2, 4, 0, 1], &[3, 3, 1]];
    lengths.into_iter().map(|lengths| Arc::new(SequenceLayout::new(lengths)))
}

#[test]
fn steps_side_by_side() {
    for rows in batches() {
        for steps in [rows.steps(), rows.steps() + 2] {
            check(
                &[Input::random("x", rows.total(), 7)],
                |vars| vec![flatten_steps(&vars[0], &rows, steps)],
                |all| {
                    let place = |place: usize| {
                        let mut own = sequence(&rows, &all[0], 7, place).concat();
                        own.resize(steps * 7, 0.0);
                        own
                    };
                    vec![(0..rows.batch()).flat_map(place).collect()]
                },
            );
        }
    }
}

#[test]
fn a_row_for_all_steps_of_its_place() {
    for rows in batches() {
        check(
            &[Input::random("x", rows.batch(), 7)],
            |vars| vec![repeat_over_steps(&vars[0], &rows)],
            |all| vec![rows.places().flat_map(|(place, _)| all[0][place * 7..][..7].to_vec()).collect()],
        );
    }
}

#[test]
fn rows_of_the_steps_before() {
    for rows in batches() {
        check(
            &[Input::random("x", rows.total(), 7), Input::random("first", rows.batch(), 7)],
            |vars| vec![steps_before(&vars[0], &rows, &vars[1])],
            |all| {
                let before = |(place, step): (usize, usize)| match step {
                    0 => all[1][place * 7..][..7].to_vec(),
                    _ => sequence(&rows, &all[0], 7, place)[step - 1].clone(),
                };
                vec![rows.places().flat_map(before).collect()]
            },
        );
    }
}

#[test]
fn steps_by_hand() {
    // Two steps, 1 and 2, and one step, 3. Packed: 1 3 2.
    let rows = Arc::new(SequenceLayout::new(&[2, 1]));
    let inputs = [Input::new("x", 3, 1, &[1.0, 3.0, 2.0]), Input::new("of places", 2, 1, &[7.0, 8.0])];
    let y = |op: &dyn Fn(&[Var]) -> Var| by_hand(&inputs, |vars| vec![op(vars)]).outputs.concat();
    assert_eq!(y(&|vars| flatten_steps(&vars[0], &rows, 3)), [1.0, 2.0, 0.0, 3.0, 0.0, 0.0]);
    assert_eq!(y(&|vars| repeat_over_steps(&vars[1], &rows)), [7.0, 8.0, 7.0]);
    assert_eq!(y(&|vars| steps_before(&vars[0], &rows, &vars[1])), [7.0, 8.0, 1.0]);
}

#[test]
#[should_panic(expected = "a sequence of 3 steps where 2 have room")]
fn more_steps_than_have_room_are_refused() {
    let rows = Arc::new(SequenceLayout::new(&[3, 1]));
    by_hand(&[Input::random("x", 4, 7)], |vars| vec![flatten_steps(&vars[0], &rows, 2)]);
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
    assert_eq!(y(&|vars| column_block(&vars[0], 1..2)), [2.0, 4.0]);
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
