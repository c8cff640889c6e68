//! Moving rows and columns about: concatenation, blocks of rows, rows in another order.
//!
//! Back, each number's gradient goes where the number came from; where a row was taken several times, they add up.

use crate::ops::embedding;
use crate::product::Update;
use crate::tape::{Var, record};
use crate::tensor::Tensor;
use std::ops::Range;

/// `[a b …]`: the columns of all parts side by side.
pub fn concat_columns(parts: &[&Var]) -> Var {
    assert!(!parts.is_empty(), "nothing to put side by side");
    let rows = parts[0].rows();
    parts
        .iter()
        .for_each(|part| assert_eq!(part.rows(), rows, "parts of different heights: {}", shapes(parts)));
    let columns = parts.iter().map(|part| part.columns()).sum();
    let mut y = Tensor::scratch(parts[0].device(), rows, columns);
    let mut start = 0;
    for part in parts {
        let width = part.columns();
        for (y, x) in
            y.data_mut().chunks_exact_mut(columns.max(1)).zip(part.value().data().chunks_exact(width.max(1)))
        {
            y[start..start + width].copy_from_slice(x);
        }
        start += width;
    }
    let inputs: Vec<Var> = parts.iter().map(|&part| part.clone()).collect();
    let [y] = record(parts, [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let mut start = 0;
        for part in &inputs {
            let width = part.columns();
            gradients.write(part, |dx, update| {
                for (dx, dy) in dx.chunks_exact_mut(width.max(1)).zip(dy.data().chunks_exact(columns.max(1)))
                {
                    update.apply(dx, &dy[start..start + width]);
                }
            });
            start += width;
        }
    });
    y
}

/// The rows of all parts below each other.
pub fn concat_rows(parts: &[&Var]) -> Var {
    assert!(!parts.is_empty(), "nothing to put below each other");
    let columns = parts[0].columns();
    parts
        .iter()
        .for_each(|part| assert_eq!(part.columns(), columns, "parts of different widths: {}", shapes(parts)));
    let rows = parts.iter().map(|part| part.rows()).sum();
    let mut y = Tensor::scratch(parts[0].device(), rows, columns);
    let mut start = 0;
    for part in parts {
        let x = part.value().data();
        y.data_mut()[start..start + x.len()].copy_from_slice(x);
        start += x.len();
    }
    let inputs: Vec<Var> = parts.iter().map(|&part| part.clone()).collect();
    let [y] = record(parts, [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        let mut start = 0;
        for part in &inputs {
            let length = part.value().data().len();
            gradients.write(part, |dx, update| update.apply(dx, &dy.data()[start..start + length]));
            start += length;
        }
    });
    y
}

/// Some rows that lie below each other.
pub fn row_block(x: &Var, rows: Range<usize>) -> Var {
    let columns = x.columns();
    let numbers = rows.start * columns..rows.end * columns;
    let y = Tensor::new(x.device(), rows.len(), columns, &x.value().data()[numbers.clone()]);
    let input = x.clone();
    let [y] = record(&[x], [y], move |gradients, [dy]| {
        let Some(dy) = dy else { return };
        gradients.write(&input, |dx, update| {
            if update == Update::Set {
                dx.fill(0.0);
            }
            Update::Add.apply(&mut dx[numbers], dy.data());
        });
    });
    y
}

/// Row `index[i]` of `x` as row `i`. A row may be taken several times.
pub fn gather_rows(x: &Var, index: &[u32]) -> Var {
    embedding(x, index)
}

fn shapes(parts: &[&Var]) -> String {
    parts.iter().map(|part| format!("{:?}", part.shape())).collect::<Vec<_>>().join(" ")
}
