use super::Pooling;
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
        for (place, y) in share.zip(y.chunks_exact_mut(width.max(1))) {
            for step in 0..rows.length(place) {
                let x = x.row(rows.row(place, step));
                match how {
                    Pooling::Max if step == 0 => y.copy_from_slice(x),
                    Pooling::Max => y.iter_mut().zip(x).for_each(|(y, x)| *y = if x > y { *x } else { *y }),
                    Pooling::Mean => y.iter_mut().zip(x).for_each(|(y, x)| *y += x),
                }
            }
            if how == Pooling::Mean {
                let length = rows.length(place).max(1) as f32;
                y.iter_mut().for_each(|y| *y /= length);
            }
        }
    });
    y
}

/// Hands `dy` to the steps that `y` was made of.
pub(super) fn backward(
    cpu: &Cpu,
    dx: &mut [f32],
    [x, y]: [&Tensor; 2],
    dy: &Tensor,
    rows: &SequenceLayout,
    how: Pooling,
    update: Update,
) {
    let (total, width) = x.shape();
    let to = Grid::over(dx, width);
    cpu.pool.run(cpu.pool.workers_for(total * width), |worker: &Worker| {
        let mut of_step = vec![0.0; width];
        for place in worker.share(rows.batch(), 1) {
            let (length, y) = (rows.length(place), y.row(place));
            let mut left = dy.row(place).to_vec();
            if how == Pooling::Mean {
                of_step.iter_mut().zip(&left).for_each(|(of_step, dy)| *of_step = dy / length as f32);
            }
            for row in (0..length).map(|step| rows.row(place, step)) {
                if how == Pooling::Max {
                    let both = x.row(row).iter().zip(y);
                    for ((of_step, left), (x, y)) in of_step.iter_mut().zip(&mut left).zip(both) {
                        *of_step = if x == y { std::mem::take(left) } else { 0.0 };
                    }
                }
                // SAFETY: the rows of a place belong to one worker.
                update.apply(unsafe { to.row_mut(row, 0..width) }, &of_step);
            }
        }
    });
}
