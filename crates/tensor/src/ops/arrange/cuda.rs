use crate::cuda::{Cuda, DeviceLayout, Launch, Pointer, Source};
use crate::layout::SequenceLayout;
use crate::product::Update;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("arrange", include_str!("arrange.cu"));

/// A place from which rows go on at a fixed distance.
#[derive(Clone, Copy)]
pub(crate) struct Place {
    pub(crate) pointer: Pointer,
    pub(crate) stride: usize,
}

/// Sets or adds a block of `rows` × `columns` numbers.
pub(crate) fn put_block(cuda: &Cuda, to: Place, from: Place, rows: usize, columns: usize, update: Update) {
    let arguments = [
        to.pointer.into(),
        to.stride.into(),
        from.pointer.into(),
        from.stride.into(),
        rows.into(),
        columns.into(),
        (update == Update::Add).into(),
    ];
    if rows * columns > 0 {
        // SAFETY: the callers' blocks lie inside of their tensors.
        unsafe { cuda.launch(cuda.kernel(&SOURCE, "put_block"), Launch::over(rows * columns), &arguments) };
    }
}

/// Sets or adds so many numbers.
pub(crate) fn put_numbers(cuda: &Cuda, to: Pointer, from: Pointer, length: usize, update: Update) {
    match update {
        Update::Set => cuda.copy(to, from, length),
        Update::Add => {
            let [to, from] = [to, from].map(|pointer| Place { pointer, stride: 0 });
            put_block(cuda, to, from, 1, length, update);
        }
    }
}

/// Copies the columns of `part` to those of `y` from `start` on.
pub(super) fn put_columns(cuda: &Cuda, y: &mut Tensor, start: usize, part: &Tensor) {
    let to = Place { pointer: y.pointer_mut().at(start), stride: y.columns() };
    let from = Place { pointer: part.pointer(), stride: part.columns() };
    put_block(cuda, to, from, part.rows(), part.columns(), Update::Set);
}

/// Adds the columns of `part` to those from `start` on of rows of so many columns.
pub(super) fn add_columns(cuda: &Cuda, dx: Pointer, columns: usize, start: usize, part: &Tensor) {
    let to = Place { pointer: dx.at(start), stride: columns };
    let from = Place { pointer: part.pointer(), stride: part.columns() };
    put_block(cuda, to, from, part.rows(), part.columns(), Update::Add);
}

/// Hands the columns of `dy` from `start` on to the part of so many columns that they came from.
pub(super) fn take_columns(
    cuda: &Cuda,
    dx: Pointer,
    width: usize,
    dy: &Tensor,
    start: usize,
    update: Update,
) {
    let from = Place { pointer: dy.pointer().at(start), stride: dy.columns() };
    put_block(cuda, Place { pointer: dx, stride: width }, from, dy.rows(), width, update);
}

/// Sets every row to the same numbers.
pub(crate) fn fill_rows(cuda: &Cuda, to: Place, row: &Tensor, rows: usize) {
    put_block(cuda, to, Place { pointer: row.pointer(), stride: 0 }, rows, row.columns(), Update::Set);
}

/// The steps of each sequence side by side, zeros behind them.
pub(super) fn flatten_steps(cuda: &Cuda, x: &Tensor, rows: &SequenceLayout, steps: usize) -> Tensor {
    let (batch, columns) = (rows.batch(), steps * x.columns());
    let mut y = Tensor::scratch(x.device(), batch, columns);
    let rows = DeviceLayout::new(x.device(), rows);
    let arguments = [
        y.pointer_mut().into(),
        x.pointer().into(),
        rows.starts().into(),
        rows.lengths().into(),
        batch.into(),
        steps.into(),
        x.columns().into(),
    ];
    // SAFETY: a row of `x` for each packed row, and room in `y` for all steps of each place.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "flatten_steps"), Launch::over(batch * columns), &arguments) };
    y
}

/// Hands what lies side by side in `dy` back to the packed rows of so many columns.
pub(super) fn take_steps(
    cuda: &Cuda,
    dx: Pointer,
    width: usize,
    dy: &Tensor,
    rows: &SequenceLayout,
    update: Update,
) {
    let total = rows.total();
    let rows = DeviceLayout::new(dy.device(), rows);
    let arguments = [
        dx.into(),
        dy.pointer().into(),
        rows.starts().into(),
        rows.steps.into(),
        total.into(),
        dy.columns().into(),
        width.into(),
        (update == Update::Add).into(),
    ];
    // SAFETY: as in the forward pass.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "take_steps"), Launch::over(total * width), &arguments) };
}
