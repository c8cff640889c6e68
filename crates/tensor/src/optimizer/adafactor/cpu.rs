use super::{Place, SMALLEST, SMALLEST_WEIGHT, Step};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::sums::dot;
use crate::optimizer::Clip;
use crate::optimizer::cpu::{factor, square_sum};
use crate::tensor::Tensor;

pub(super) fn apply(
    cpu: &Cpu,
    places: &[(Place, Step)],
    weights: &mut [f32],
    gradients: &Tensor,
    statistics: &mut Tensor,
    clip: Option<Clip>,
) {
    let factor = factor(clip);
    for (place, how) in places {
        let (w, g) = (&mut weights[place.weights.clone()], &gradients.data()[place.weights.clone()]);
        remember(cpu, place, g, statistics, factor, how.mix);
        update(cpu, place, w, g, statistics, factor, *how);
    }
}

/// The mean squares of columns and rows. Each is summed by one worker in one order.
fn remember(cpu: &Cpu, place: &Place, g: &[f32], statistics: &mut Tensor, factor: f32, mix: f32) {
    let (rows, columns) = (place.rows, place.columns);
    let (of_columns, rest) = statistics.data_mut()[place.statistics..].split_at_mut(columns);
    let square = factor * factor;
    let mixed = |before: f32, sum: f32, count: usize| before + mix * (sum * square / count as f32 - before);
    cpu.pool.split_rows(columns, g.len(), [of_columns], |share, [of_columns]| {
        let mut sums = vec![0.0; share.len()];
        for row in g.chunks(columns) {
            sums.iter_mut().zip(&row[share.clone()]).for_each(|(sum, g)| *sum += g * g);
        }
        of_columns.iter_mut().zip(sums).for_each(|(of, sum)| *of = mixed(*of, sum, rows));
    });
    if place.has_rows() {
        cpu.pool.split_rows(rows, g.len(), [&mut rest[..rows]], |share, [of_rows]| {
            for (i, of) in share.zip(of_rows) {
                let row = &g[i * columns..(i + 1) * columns];
                *of = mixed(*of, cpu.isa.run(SquareSum(row)), columns);
            }
        });
    }
}

struct SquareSum<'a>(&'a [f32]);

impl Kernel for SquareSum<'_> {
    type Output = f32;

    #[inline(always)]
    fn run<V: Vector>(self) -> f32 {
        dot::<V>(self.0, self.0)
    }
}

fn update(
    cpu: &Cpu,
    place: &Place,
    w: &mut [f32],
    g: &[f32],
    statistics: &Tensor,
    factor: f32,
    Step { rate, keep, .. }: Step,
) {
    let (rows, columns, count) = (place.rows, place.columns, g.len());
    let device = statistics.device();
    let statistics = statistics.data();
    let (of_columns, of_rows) = (&statistics[place.of_columns()], &statistics[place.of_rows()]);
    let mean_row = of_rows.iter().map(|&x| f64::from(x)).sum::<f64>() / rows as f64;
    let inverse = 1.0 / (mean_row as f32).max(SMALLEST);
    // What a column's statistic is multiplied with in a row.
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
