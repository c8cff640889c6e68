use super::{Pooled, Pooling};
use crate::device::Cpu;
use crate::layout::SequenceLayout;
use crate::pool::Worker;
use crate::product::Update;
use crate::shared::Grid;
use crate::tensor::Tensor;

pub(super) fn forward(cpu: &Cpu, x: &Tensor, rows: &SequenceLayout, how: Pooling) -> Tensor {
    let (total, width) = x.shape();
    let mut y = Tensor::zeros(x.device(), rows.batch(), width);
    cpu.pool.split_rows(rows.batch(), total * width, [y.data_mut()], |share, [y]| {
        for (index, y) in share.zip(y.chunks_exact_mut(width.max(1))) {
            for step in 0..rows.length(index) {
                let x = x.row(rows.row(index, step));
                match how {
                    Pooling::Max if step == 0 => y.copy_from_slice(x),
                    Pooling::Max => y.iter_mut().zip(x).for_each(|(y, x)| *y = if x > y { *x } else { *y }),
                    Pooling::Mean => y.iter_mut().zip(x).for_each(|(y, x)| *y += x),
                }
            }
            if how == Pooling::Mean {
                let length = rows.length(index).max(1) as f32;
                y.iter_mut().for_each(|y| *y /= length);
            }
        }
    });
    y
}

/// Sets `dx`, or adds to it.
pub(super) fn backward(cpu: &Cpu, pooled: Pooled, dy: &Tensor, dx: &mut [f32], update: Update) {
    let Pooled { x, y, layout, pooling } = pooled;
    let (total, width) = x.shape();
    let to = Grid::over(dx, width);
    cpu.pool.run(cpu.pool.workers_for(total * width), |worker: &Worker| {
        let mut of_step = vec![0.0; width];
        for index in worker.share(layout.batch(), 1) {
            let (length, y) = (layout.length(index), y.row(index));
            let mut left = dy.row(index).to_vec();
            if pooling == Pooling::Mean {
                of_step.iter_mut().zip(&left).for_each(|(of_step, dy)| *of_step = dy / length as f32);
            }
            for row in (0..length).map(|step| layout.row(index, step)) {
                if pooling == Pooling::Max {
                    let both = x.row(row).iter().zip(y);
                    for ((of_step, left), (x, y)) in of_step.iter_mut().zip(&mut left).zip(both) {
                        *of_step = if x == y { std::mem::take(left) } else { 0.0 };
                    }
                }
                // SAFETY: the rows of a sequence belong to one worker.
                update.apply(unsafe { to.row_mut(row, 0..width) }, &of_step);
            }
        }
    });
}
