use crate::layout::SequenceLayout;
use crate::product::Update;
use crate::tensor::Tensor;

/// Copies the columns of `part` to those of `y` from `start` on.
pub(super) fn put_columns(y: &mut Tensor, start: usize, part: &Tensor) {
    let (columns, width) = (y.columns(), part.columns());
    let rows = y.data_mut().chunks_exact_mut(columns.max(1)).zip(part.data().chunks_exact(width.max(1)));
    rows.for_each(|(y, x)| y[start..start + width].copy_from_slice(x));
}

/// Adds the columns of `part` to those from `start` on of rows of so many columns.
pub(super) fn add_columns(dx: &mut [f32], columns: usize, start: usize, part: &Tensor) {
    let width = part.columns();
    let rows = dx.chunks_exact_mut(columns.max(1)).zip(part.data().chunks_exact(width.max(1)));
    rows.for_each(|(dx, part)| Update::Add.apply(&mut dx[start..start + width], part));
}

/// Hands the columns of `dy` from `start` on to the part of so many columns that they came from.
pub(super) fn take_columns(dx: &mut [f32], width: usize, dy: &Tensor, start: usize, update: Update) {
    let rows = dx.chunks_exact_mut(width.max(1)).zip(dy.data().chunks_exact(dy.columns().max(1)));
    rows.for_each(|(dx, dy)| update.apply(dx, &dy[start..start + width]));
}

/// The steps of each sequence side by side, zeros behind them.
pub(super) fn flatten_steps(x: &Tensor, rows: &SequenceLayout, steps: usize) -> Tensor {
    let width = x.columns();
    let mut y = Tensor::zeros(x.device(), rows.batch(), steps * width);
    let numbers = y.data_mut();
    for (row, (place, step)) in rows.places().enumerate() {
        numbers[(place * steps + step) * width..][..width].copy_from_slice(x.row(row));
    }
    y
}

/// Hands what lies side by side in `dy` back to the packed rows of so many columns.
pub(super) fn take_steps(dx: &mut [f32], width: usize, dy: &Tensor, rows: &SequenceLayout, update: Update) {
    for (dx, (place, step)) in dx.chunks_exact_mut(width.max(1)).zip(rows.places()) {
        update.apply(dx, &dy.row(place)[step * width..][..width]);
    }
}
