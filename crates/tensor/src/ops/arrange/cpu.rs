use crate::product::Update;
use crate::tensor::Tensor;

/// Copies the columns of `part` to those of `y` from `start` on.
pub(super) fn put_columns(y: &mut Tensor, start: usize, part: &Tensor) {
    let (columns, width) = (y.columns(), part.columns());
    let rows = y.data_mut().chunks_exact_mut(columns.max(1)).zip(part.data().chunks_exact(width.max(1)));
    rows.for_each(|(y, x)| y[start..start + width].copy_from_slice(x));
}

/// Hands the columns of `dy` from `start` on to the part of so many columns that they came from.
pub(super) fn take_columns(dx: &mut [f32], width: usize, dy: &Tensor, start: usize, update: Update) {
    let rows = dx.chunks_exact_mut(width.max(1)).zip(dy.data().chunks_exact(dy.columns().max(1)));
    rows.for_each(|(dx, dy)| update.apply(dx, &dy[start..start + width]));
}
