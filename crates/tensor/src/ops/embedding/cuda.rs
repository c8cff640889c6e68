use crate::cuda::{Cuda, Indices, Launch, Pointer, Source};
use crate::product::Update;
use crate::tensor::Tensor;

pub(crate) const SOURCE: Source = Source::plain("embedding", include_str!("embedding.cu"));

pub(super) fn forward(cuda: &Cuda, table: &Tensor, ids: &[u32]) -> Tensor {
    let (device, width) = (table.device(), table.columns());
    let mut y = Tensor::scratch(device, ids.len(), width);
    if ids.is_empty() || width == 0 {
        return y;
    }
    let index = Indices::new(device, ids);
    let arguments = [
        y.pointer_mut().into(),
        table.pointer().into(),
        index.pointer().into(),
        ids.len().into(),
        width.into(),
    ];
    // SAFETY: the ids have been checked against the table.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "gather_rows"), Launch::over(ids.len() * width), &arguments) };
    y
}

/// Adds the rows of `dy` to the rows `ids` of a table of so many rows. An id may occur several times.
pub(super) fn backward(cuda: &Cuda, table: Pointer, rows: usize, ids: &[u32], dy: &Tensor, update: Update) {
    let width = dy.columns();
    if update == Update::Set {
        cuda.zero(table, rows * width);
    }
    let mut sorted: Vec<(u32, u32)> = ids.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let segments: Vec<&[(u32, u32)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    let ends = segments.iter().scan(0, |sum, segment| {
        *sum += segment.len() as u32;
        Some(*sum)
    });
    let numbers: Vec<u32> = (segments.iter().map(|segment| segment[0].0))
        .chain([0])
        .chain(ends)
        .chain(sorted.iter().map(|&(_, row)| row))
        .collect();
    let index = Indices::new(dy.device(), &numbers);
    let (of_ids, starts) = (index.pointer(), index.pointer().at(segments.len()));
    let arguments = [
        table.into(),
        dy.pointer().into(),
        of_ids.into(),
        starts.into(),
        starts.at(segments.len() + 1).into(),
        width.into(),
    ];
    // SAFETY: the ids have been checked against the table, the rows are those of `dy`.
    unsafe { cuda.launch(cuda.kernel(&SOURCE, "add_segments"), Launch::blocks(segments.len()), &arguments) };
}
