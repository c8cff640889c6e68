use super::TableRows;
use crate::device::Cpu;
use crate::tensor::Tensor;

/// What one number costs, in simple operations.
const COST: usize = 2;

/// The first `columns` columns, rotated forwards or, with a negative sign, back.
pub(super) fn rotated(
    cpu: &Cpu,
    x: &Tensor,
    angles: &Tensor,
    columns: usize,
    rows: &TableRows,
    sign: f32,
) -> Tensor {
    let (count, width) = x.shape();
    let (depth, half) = (angles.columns(), angles.columns() / 2);
    let mut y = Tensor::scratch(x.device(), count, width);
    cpu.pool.split_rows(count, count * width * COST, [y.data_mut()], |share, [y]| {
        for (row, y) in share.zip(y.chunks_exact_mut(width.max(1))) {
            let (heads, rest) = y.split_at_mut(columns);
            let angle = match rows {
                TableRows::Steps(layout) => layout.locate(row).1,
                TableRows::Given(given) => given[row] as usize,
            };
            let (cosines, sines) = angles.row(angle).split_at(half);
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
