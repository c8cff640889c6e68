//! As it is defined.

use super::{SMALLEST, SMALLEST_WEIGHT};

/// A parameter with what is remembered of it.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Row after row.
    pub weights: Vec<f64>,
    /// How many numbers a row has.
    pub columns: usize,
    of_rows: Vec<f64>,
    of_columns: Vec<f64>,
}

impl Parameter {
    /// A parameter of which nothing is known yet.
    pub fn new(weights: Vec<f64>, columns: usize) -> Parameter {
        let rows = weights.len() / columns;
        Parameter { weights, columns, of_rows: vec![0.0; rows], of_columns: vec![0.0; columns] }
    }

    /// Step `t`, from 1.
    pub fn step(&mut self, gradients: &[f64], rate: f64, decay: f64, t: i32) {
        let (rows, columns) = (self.of_rows.len(), self.columns);
        let mix = f64::from(t).powf(-0.8);
        let square = |i: usize, j: usize| gradients[i * columns + j].powi(2);
        for (i, statistic) in self.of_rows.iter_mut().enumerate() {
            let mean = (0..columns).map(|j| square(i, j)).sum::<f64>() / columns as f64;
            *statistic += mix * (mean - *statistic);
        }
        for (j, statistic) in self.of_columns.iter_mut().enumerate() {
            let mean = (0..rows).map(|i| square(i, j)).sum::<f64>() / rows as f64;
            *statistic += mix * (mean - *statistic);
        }
        let smallest = f64::from(SMALLEST);
        let mean_row = (self.of_rows.iter().sum::<f64>() / rows as f64).max(smallest);
        let second = |i: usize, j: usize| match rows {
            1 => self.of_columns[j],
            _ => self.of_rows[i] * self.of_columns[j] / mean_row,
        };
        let direction: Vec<f64> = (0..rows * columns)
            .map(|at| gradients[at] / second(at / columns, at % columns).max(smallest * smallest).sqrt())
            .collect();
        let rms = |x: &[f64]| (x.iter().map(|x| x * x).sum::<f64>() / x.len() as f64).sqrt();
        let size = f64::from(SMALLEST_WEIGHT).max(rms(&self.weights));
        let step = rate.min(1.0 / f64::from(t).sqrt()) * size / rms(&direction).max(1.0);
        for (w, u) in self.weights.iter_mut().zip(direction) {
            *w = *w * (1.0 - rate * decay) - step * u;
        }
    }
}
