use super::{ParamStatistics, SMALLEST, SMALLEST_WEIGHT, Step};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::optimizer::Clip;
use crate::optimizer::cpu::{SquareSum, factor, square_sum};
use crate::tensor::Tensor;

pub(super) fn apply(
    cpu: &Cpu,
    params: &[(ParamStatistics, Step)],
    weights: &mut [f32],
    gradients: &Tensor,
    statistics: &mut Tensor,
    clip: Option<Clip>,
) {
    let factor = factor(clip);
    for (param, how) in params {
        let gradient = ParamGradient { param, g: &gradients.data()[param.weights.clone()], factor };
        update_statistics(cpu, gradient, statistics, how.mix);
        update_weights(cpu, gradient, &mut weights[param.weights.clone()], statistics, *how);
    }
}

/// The gradient of a parameter, and the factor by which clipping scales it.
#[derive(Clone, Copy)]
struct ParamGradient<'a> {
    param: &'a ParamStatistics,
    g: &'a [f32],
    factor: f32,
}

/// The mean squares of columns and rows. Each is summed by one worker in one order.
fn update_statistics(cpu: &Cpu, gradient: ParamGradient, statistics: &mut Tensor, mix: f32) {
    let ParamGradient { param, g, factor } = gradient;
    let (rows, columns) = (param.rows, param.columns);
    let (of_columns, rest) = statistics.data_mut()[param.statistics..].split_at_mut(columns);
    let square = factor * factor;
    let mixed = |before: f32, sum: f32, count: usize| before + mix * (sum * square / count as f32 - before);
    cpu.pool.split_rows(columns, g.len(), [of_columns], |share, [of_columns]| {
        let mut sums = vec![0.0; share.len()];
        for row in g.chunks(columns) {
            sums.iter_mut().zip(&row[share.clone()]).for_each(|(sum, g)| *sum += g * g);
        }
        of_columns.iter_mut().zip(sums).for_each(|(of, sum)| *of = mixed(*of, sum, rows));
    });
    if param.has_rows() {
        cpu.pool.split_rows(rows, g.len(), [&mut rest[..rows]], |share, [of_rows]| {
            for (i, of) in share.zip(of_rows) {
                let row = &g[i * columns..(i + 1) * columns];
                *of = mixed(*of, cpu.isa.run(SquareSum(row)), columns);
            }
        });
    }
}

fn update_weights(cpu: &Cpu, gradient: ParamGradient, w: &mut [f32], statistics: &Tensor, how: Step) {
    let (ParamGradient { param, g, factor }, Step { rate, keep, .. }) = (gradient, how);
    let (rows, columns, count) = (param.rows, param.columns, g.len());
    let device = statistics.device();
    let statistics = statistics.data();
    let (of_columns, of_rows) = (&statistics[param.of_columns()], &statistics[param.of_rows()]);
    let mean_row = of_rows.iter().map(|&x| f64::from(x)).sum::<f64>() / rows as f64;
    let inverse = 1.0 / (mean_row as f32).max(SMALLEST);
    // The factor of a column's statistic in a row.
    let of_row = |i: usize| of_rows.get(i).map_or(1.0, |of| of * inverse);
    let mut sums = Tensor::scratch(device, 1, rows);
    cpu.pool.split_rows(rows, count, [sums.data_mut()], |share, [sums]| {
        for (i, sum) in share.zip(sums) {
            let g = &g[i * columns..(i + 1) * columns];
            *sum = cpu.isa.run(DirectionSquare { g, of_columns, of_row: of_row(i), factor });
        }
    });
    let square: f64 = sums.data().iter().map(|&sum| f64::from(sum)).sum();
    let rms = |sum: f64| (sum / count as f64).sqrt() as f32;
    let size = SMALLEST_WEIGHT.max(rms(square_sum(cpu, device, w)));
    let step = rate * size / rms(square).max(1.0);
    cpu.pool.split_rows(rows, count, [w], |share, [w]| {
        for (i, w) in share.zip(w.chunks_mut(columns)) {
            let g = &g[i * columns..(i + 1) * columns];
            cpu.isa.run(Move { w, g, of_columns, of_row: of_row(i), factor, step, keep });
        }
    });
}

/// The direction of some weights of a row.
#[inline(always)]
fn direction<V: Vector>(g: &[f32], of_columns: &[f32], of_row: f32, factor: f32) -> V {
    let second = (V::load(of_columns) * V::lit(of_row)).max(V::lit(SMALLEST * SMALLEST));
    (V::load(g) * V::lit(factor)).div(second.sqrt())
}

struct DirectionSquare<'a> {
    g: &'a [f32],
    of_columns: &'a [f32],
    of_row: f32,
    factor: f32,
}

impl Kernel for DirectionSquare<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        let mut sum = V::lit(0.0);
        for (g, of_columns) in self.g.chunks(LANES).zip(self.of_columns.chunks(LANES)) {
            let u: V = direction(g, of_columns, self.of_row, self.factor);
            sum = u.mul_add(u, sum);
        }
        sum.sum()
    }
}

struct Move<'a> {
    w: &'a mut [f32],
    g: &'a [f32],
    of_columns: &'a [f32],
    of_row: f32,
    factor: f32,
    step: f32,
    keep: f32,
}

impl Kernel for Move<'_> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let chunks = self.w.chunks_mut(LANES).zip(self.g.chunks(LANES));
        for ((w, g), of_columns) in chunks.zip(self.of_columns.chunks(LANES)) {
            let u: V = direction(g, of_columns, self.of_row, self.factor);
            (V::load(w) * V::lit(self.keep) - V::lit(self.step) * u).store(w);
        }
    }
}
