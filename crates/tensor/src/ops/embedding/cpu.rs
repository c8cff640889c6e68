use crate::device::Cpu;
use crate::pool::Worker;
use crate::product::Update;
use crate::shared::SharedSlice;
use crate::tensor::Tensor;

pub(crate) fn forward(cpu: &Cpu, table: &Tensor, ids: &[u32]) -> Tensor {
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
    let width = dy.columns();
    let shared = SharedSlice::new(dtable);
    cpu.pool.run(cpu.pool.workers_for(ids.len() * width), |worker: &Worker| {
        let share = worker.share(sorted.len(), 1);
        let id = |place: usize| sorted[place].0;
        // A worker's segments are those that begin in its share; the last one may end behind it.
        let begins = |&place: &usize| place == 0 || id(place - 1) != id(place);
        let Some(first) = share.clone().find(begins) else { return };
        let end = (share.end..sorted.len()).find(begins).unwrap_or(sorted.len());
        for segment in sorted[first..end].chunk_by(|a, b| a.0 == b.0) {
            let start = segment[0].0 as usize * width;
            // SAFETY: every segment has an id of its own and one worker.
            let sum = unsafe { shared.get_mut(start..start + width) };
            for &(_, row) in segment {
                sum.iter_mut().zip(dy.row(row as usize)).for_each(|(sum, x)| *sum += x);
            }
        }
    });
}
