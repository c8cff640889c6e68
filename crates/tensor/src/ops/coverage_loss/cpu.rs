use crate::layout::SequenceLayout;
use crate::tensor::Tensor;

/// The rows of a target, step by step.
fn rows_of(rows: &SequenceLayout, place: usize) -> impl DoubleEndedIterator<Item = usize> {
    (0..rows.length(place)).map(move |step| rows.row(place, step))
}

pub(super) fn forward(weights: &Tensor, rows: &SequenceLayout, scale: f32) -> Tensor {
    let mut sum = 0.0;
    let mut so_far = vec![0.0; weights.columns()];
    for place in 0..rows.batch() {
        so_far.fill(0.0);
        for row in rows_of(rows, place) {
            for (so_far, &weight) in so_far.iter_mut().zip(weights.row(row)) {
                sum += f64::from(weight.min(*so_far));
                *so_far += weight;
            }
        }
    }
    Tensor::new(weights.device(), 1, 1, &[(sum * f64::from(scale)) as f32])
}

pub(super) fn backward(weights: &Tensor, rows: &SequenceLayout, scale: f32, upstream: &Tensor) -> Tensor {
    let factor = scale * upstream.item();
    let columns = weights.columns();
    let mut gradient = vec![0.0; weights.rows() * columns];
    let mut so_far = vec![0.0; columns];
    for place in 0..rows.batch() {
        so_far.fill(0.0);
        for row in rows_of(rows, place) {
            let of_row = gradient[row * columns..][..columns].iter_mut();
            for ((gradient, so_far), &weight) in of_row.zip(&mut so_far).zip(weights.row(row)) {
                *gradient = if weight < *so_far { factor } else { 0.0 };
                *so_far += weight;
            }
        }
        // What the steps behind give to all before them.
        so_far.fill(0.0);
        for row in rows_of(rows, place).rev() {
            for (gradient, behind) in gradient[row * columns..][..columns].iter_mut().zip(&mut so_far) {
                let of_step = if *gradient == 0.0 { factor } else { 0.0 };
                *gradient += *behind;
                *behind += of_step;
            }
        }
    }
    Tensor::new(weights.device(), weights.rows(), columns, &gradient)
}
