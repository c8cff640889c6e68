use crate::device::Cpu;
use crate::layout::SequenceLayout;
use crate::tensor::Tensor;

/// What one number costs, in simple operations.
const COST: usize = 2;

/// The first `columns` columns, turned forwards or back.
pub(super) fn turn(
    cpu: &Cpu,
    x: &Tensor,
    rows: &SequenceLayout,
    angles: &Tensor,
    columns: usize,
    back: bool,
) -> Tensor {
    let (count, width) = x.shape();
    let (depth, half) = (angles.columns(), angles.columns() / 2);
    let sign = if back { -1.0 } else { 1.0 };
    let mut y = Tensor::scratch(x.device(), count, width);
    cpu.pool.split_rows(count, count * width * COST, [y.data_mut()], |share, [y]| {
        for (row, y) in share.zip(y.chunks_exact_mut(width.max(1))) {
            let (heads, rest) = y.split_at_mut(columns);
            let (_, step) = rows.locate(row);
            let (cosines, sines) = angles.row(step).split_at(half);
            for (head, x) in heads.chunks_exact_mut(depth).zip(x.row(row).chunks_exact(depth)) {
                let (low, high) = head.split_at_mut(half);
                for pair in 0..half {
                    let (a, b, cos, sin) = (x[pair], x[half + pair], cosines[pair], sign * sines[pair]);
                    low[pair] = a * cos - b * sin;
                    high[pair] = a * sin + b * cos;
                }
            }
            rest.copy_from_slice(&x.row(row)[columns..]);
        }
    });
    y
}
