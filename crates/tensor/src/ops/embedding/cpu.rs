use crate::device::Cpu;
use crate::pool::Worker;
use crate::product::Update;
use crate::shared::SharedSlice;
use crate::tensor::Tensor;

pub(super) fn forward(cpu: &Cpu, table: &Tensor, ids: &[u32]) -> Tensor {
    let width = table.columns();
    let mut y = Tensor::scratch(table.device(), ids.len(), width);
    cpu.pool.split_rows(ids.len(), ids.len() * width, [y.data_mut()], |rows, [y]| {
        for (y, &id) in y.chunks_exact_mut(width.max(1)).zip(&ids[rows]) {
            y.copy_from_slice(table.row(id as usize));
        }
    });
    y
}

/// Adds the rows of `dy` to the rows `ids` of `dtable`. An id may occur several times.
pub(crate) fn backward(cpu: &Cpu, dtable: &mut [f32], ids: &[u32], dy: &Tensor, update: Update) {
    if update == Update::Set {
        let rows = dtable.len() / dy.columns().max(1);
        cpu.pool.split_rows(rows, dtable.len(), [&mut *dtable], |_, [part]| part.fill(0.0));
    }
    let mut sorted: Vec<(u32, u32)> = ids.iter().copied().zip(0..).collect();
    sorted.sort_unstable();
    let segments: Vec<&[(u32, u32)]> = sorted.chunk_by(|a, b| a.0 == b.0).collect();
    let width = dy.columns();
    let shared = SharedSlice::new(dtable);
    cpu.pool.run(cpu.pool.workers_for(ids.len() * width), |worker: &Worker| {
        for segment in &segments[worker.share(segments.len(), 1)] {
            let start = segment[0].0 as usize * width;
            // SAFETY: every segment has an id of its own, and each worker has segments of its own.
            let sum = unsafe { shared.get_mut(start..start + width) };
            for &(_, row) in *segment {
                sum.iter_mut().zip(dy.row(row as usize)).for_each(|(sum, x)| *sum += x);
            }
        }
    });
}
