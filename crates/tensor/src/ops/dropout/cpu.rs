use super::Dropout;
use crate::device::Cpu;
use crate::layout::SequenceLayout;
use crate::tensor::Tensor;

/// What one number costs, in simple operations: the rounds of the generator.
const COST: usize = 16;

/// The same for values and for gradients.
pub(super) fn apply(cpu: &Cpu, x: &Tensor, rows: &SequenceLayout, how: Dropout) -> Tensor {
    let (stream, width) = (how.stream(), x.columns());
    let mut y = Tensor::scratch(x.device(), x.rows(), width);
    cpu.pool.split_rows(x.rows(), x.rows() * width * COST, [y.data_mut()], |share, [y]| {
        for (row, y) in share.zip(y.chunks_exact_mut(width.max(1))) {
            let (place, step) = rows.locate(row);
            let example = rows.examples()[place];
            for (four, (y, x)) in y.chunks_mut(4).zip(x.row(row).chunks(4)).enumerate() {
                let factors = how.factors(&stream, example, step as u32, four as u32);
                y.iter_mut().zip(x).zip(factors).for_each(|((y, x), factor)| *y = x * factor);
            }
        }
    });
    y
}
