//! Moving rows and columns about: concatenation, blocks of rows, rows in another order, the steps of packed sequences.
//!
//! Back, each number's gradient goes where the number came from; where a row was taken several times, they add up.

mod cpu;
#[cfg(feature = "cuda")]
pub(crate) mod cuda;

use crate::device::on_device;
use crate::layout::SequenceLayout;
use crate::ops::embedding::rows_of;
use crate::product::Update;
use crate::profile;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::ops::Range;
use std::sync::Arc;

/// `[a b …]`: the columns of all parts side by side.
pub fn concat_columns(parts: &[&Var]) -> Var {
    assert!(!parts.is_empty(), "nothing to put side by side");
    let _span = profile::span("concat_columns", parts[0].device());
    let rows = parts[0].rows();
    parts
        .iter()
        .for_each(|part| assert_eq!(part.rows(), rows, "parts of different heights: {}", shapes(parts)));
    let columns = parts.iter().map(|part| part.columns()).sum();
    let mut y = Tensor::scratch(parts[0].device(), rows, columns);
    let mut start = 0;
    for part in parts {
        on_device!(part.device(),
            _cpu => cpu::put_columns(&mut y, start, part.value()),
            cuda => cuda::put_columns(cuda, &mut y, start, part.value()));
        start += part.columns();
    }
    let inputs: Vec<Var> = parts.iter().map(|&part| part.clone()).collect();
    let [y] = record(parts, [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let mut start = 0;
        for part in &inputs {
            let width = part.columns();
            on_device!(part.device(),
                _cpu => gradients.write(part, |dx, update| cpu::take_columns(dx, width, &dy, start, update)),
                cuda => gradients.write_cuda(part, |dx, update| cuda::take_columns(cuda, dx, width, &dy, start, update)));
            start += width;
        }
    });
    y
}

/// The rows of all parts below each other.
pub fn concat_rows(parts: &[&Var]) -> Var {
    assert!(!parts.is_empty(), "nothing to put below each other");
    let _span = profile::span("concat_rows", parts[0].device());
    let columns = parts[0].columns();
    parts
        .iter()
        .for_each(|part| assert_eq!(part.columns(), columns, "parts of different widths: {}", shapes(parts)));
    let rows = parts.iter().map(|part| part.rows()).sum();
    let mut y = Tensor::scratch(parts[0].device(), rows, columns);
    let mut start = 0;
    for part in parts {
        y.write_from(start, part.value(), 0..part.rows() * columns);
        start += part.rows() * columns;
    }
    let inputs: Vec<Var> = parts.iter().map(|&part| part.clone()).collect();
    let [y] = record(parts, [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let mut start = 0;
        for part in &inputs {
            let length = part.rows() * columns;
            on_device!(part.device(),
            _cpu => gradients.write(part, |dx, update| update.apply(dx, &dy.data()[start..start + length])),
            cuda => gradients.write_cuda(part, |dx, update| {
                cuda::put_numbers(cuda, dx, dy.pointer().at(start), length, update);
            }));
            start += length;
        }
    });
    y
}

/// Some rows that lie below each other.
pub fn row_block(x: &Var, rows: Range<usize>) -> Var {
    let _span = profile::span("row_block", x.device());
    let columns = x.columns();
    let numbers = rows.start * columns..rows.end * columns;
    let mut y = Tensor::scratch(x.device(), rows.len(), columns);
    y.write_from(0, x.value(), numbers.clone());
    let input = x.clone();
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        on_device!(input.device(),
        _cpu => gradients.write(&input, |dx, update| {
            if update == Update::Set {
                dx.fill(0.0);
            }
            Update::Add.apply(&mut dx[numbers], dy.data());
        }),
        cuda => gradients.write_cuda(&input, |dx, update| {
            if update == Update::Set {
                cuda.zero(dx, input.rows() * columns);
            }
            cuda::put_numbers(cuda, dx.at(numbers.start), dy.pointer(), numbers.len(), Update::Add);
        }));
    });
    y
}

/// Some columns that lie side by side.
pub fn column_block(x: &Var, columns: Range<usize>) -> Var {
    let _span = profile::span("column_block", x.device());
    assert!(columns.end <= x.columns(), "columns {columns:?} of {}", x.columns());
    let mut y = Tensor::scratch(x.device(), x.rows(), columns.len());
    on_device!(x.device(),
        _cpu => cpu::take_columns(y.data_mut(), columns.len(), x.value(), columns.start, Update::Set),
        cuda => cuda::take_columns(cuda, y.pointer_mut(), columns.len(), x.value(), columns.start, Update::Set));
    let input = x.clone();
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let width = input.columns();
        on_device!(input.device(),
        _cpu => gradients.write(&input, |dx, update| {
            if update == Update::Set {
                dx.fill(0.0);
            }
            cpu::add_columns(dx, width, columns.start, &dy);
        }),
        cuda => gradients.write_cuda(&input, |dx, update| {
            if update == Update::Set {
                cuda.zero(dx, input.rows() * width);
            }
            cuda::add_columns(cuda, dx, width, columns.start, &dy);
        }));
    });
    y
}

/// Row `index[i]` of `x` as row `i`. A row may be taken several times.
pub fn gather_rows(x: &Var, index: &[u32]) -> Var {
    rows_of("gather_rows", x, index)
}

/// The steps of each sequence side by side, zeros behind its last one: batch × steps·width, from packed rows × width. There is
/// room for so many steps; no sequence may have more.
pub fn flatten_steps(x: &Var, rows: &Arc<SequenceLayout>, steps: usize) -> Var {
    let _span = profile::span("flatten_steps", x.device());
    assert_eq!(x.rows(), rows.total(), "x is {:?} for {} packed rows", x.shape(), rows.total());
    assert!(rows.steps() <= steps, "a sequence of {} steps where {steps} have room", rows.steps());
    let y = on_device!(x.device(),
        _cpu => cpu::flatten_steps(x.value(), rows, steps),
        cuda => cuda::flatten_steps(cuda, x.value(), rows, steps));
    let (input, rows) = (x.clone(), Arc::clone(rows));
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let width = input.columns();
        on_device!(input.device(),
            _cpu => gradients.write(&input, |dx, update| cpu::take_steps(dx, width, &dy, &rows, update)),
            cuda => gradients.write_cuda(&input, |dx, update| cuda::take_steps(cuda, dx, width, &dy, &rows, update)));
    });
    y
}

/// Each place's row for all of its steps: packed rows × width, from batch × width.
pub fn repeat_over_steps(x: &Var, rows: &SequenceLayout) -> Var {
    assert_eq!(x.rows(), rows.batch(), "x is {:?} for {} sequences", x.shape(), rows.batch());
    let index: Vec<u32> = rows.places().map(|(place, _)| place as u32).collect();
    gather_rows(x, &index)
}

/// For each row the one of the step before; for the first steps, the place's row of `first`, batch × width.
pub fn steps_before(x: &Var, rows: &SequenceLayout, first: &Var) -> Var {
    assert_eq!(x.rows(), rows.total(), "x is {:?} for {} packed rows", x.shape(), rows.total());
    assert_eq!(first.rows(), rows.batch(), "first is {:?} for {} sequences", first.shape(), rows.batch());
    let before = |(place, step): (usize, usize)| match step {
        0 => rows.total() + place,
        _ => rows.row(place, step - 1),
    };
    let index: Vec<u32> = rows.places().map(|at| before(at) as u32).collect();
    gather_rows(&concat_rows(&[x, first]), &index)
}

fn shapes(parts: &[&Var]) -> String {
    parts.iter().map(|part| format!("{:?}", part.shape())).collect::<Vec<_>>().join(" ")
}
