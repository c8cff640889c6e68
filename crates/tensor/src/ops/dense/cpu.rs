use super::HiddenUnit;
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::ops::dropout::DropoutMask;
use crate::ops::linear;
use crate::tensor::Tensor;
use std::marker::PhantomData;

/// What one number costs, in simple operations.
const COST: usize = 8;

/// The units of rows, and their sums where these are needed again.
pub(crate) fn forward<U: HiddenUnit>(
    cpu: &Cpu,
    x: &Tensor,
    weight: &Tensor,
    bias: &Tensor,
    dropped: Option<&DropoutMask>,
) -> (Tensor, Option<Tensor>) {
    if !U::FROM_SUM {
        let units = |row: usize, first: usize, y: &mut [f32]| {
            cpu.isa.run(InPlace::<U>(y, PhantomData));
            dropped.iter().for_each(|dropped| dropped.apply_part(row, first, y));
        };
        return (linear::cpu::forward(x, weight, Some(bias), Some(&units)), None);
    }
    let sums = linear::cpu::forward(x, weight, Some(bias), None);
    let (rows, width) = sums.shape();
    let units = if U::GATED { width / 2 } else { width };
    let mut y = Tensor::scratch(sums.device(), rows, units);
    cpu.pool.split_rows(rows, rows * width * COST, [y.data_mut()], |share, [y]| {
        for (row, y) in share.zip(y.chunks_exact_mut(units.max(1))) {
            let (u, gate) = sums.row(row).split_at(units);
            cpu.isa.run(Forward::<U> { u, gate, y, unit: PhantomData });
            dropped.iter().for_each(|dropped| dropped.apply_row(row, y));
        }
    });
    (y, Some(sums))
}

/// Some numbers of a gate that may not be there.
#[inline(always)]
fn load_gate<V: Vector>(gate: &[f32], start: usize, count: usize) -> V {
    V::load(gate.get(start..start + count).unwrap_or(&[]))
}

struct InPlace<'a, U>(&'a mut [f32], PhantomData<U>);

impl<U: HiddenUnit> Kernel for InPlace<'_, U> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for y in self.0.chunks_mut(LANES) {
            U::value(V::load(y), V::lit(0.0)).store(y);
        }
    }
}

struct Forward<'a, U> {
    u: &'a [f32],
    gate: &'a [f32],
    y: &'a mut [f32],
    unit: PhantomData<U>,
}

impl<U: HiddenUnit> Kernel for Forward<'_, U> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (i, (y, u)) in self.y.chunks_mut(LANES).zip(self.u.chunks(LANES)).enumerate() {
            let gate = load_gate::<V>(self.gate, i * LANES, u.len());
            U::value(V::load(u), gate).store(y);
        }
    }
}

/// The gradient of the sums. `kept` are the sums, or the units where those suffice.
pub(crate) fn backward<U: HiddenUnit>(
    cpu: &Cpu,
    kept: &Tensor,
    mut dy: Tensor,
    dropped: Option<&DropoutMask>,
) -> Tensor {
    let (rows, units) = dy.shape();
    let operations = rows * units * COST;
    if !U::GATED {
        cpu.pool.split_rows(rows, operations, [dy.data_mut()], |share, [dy]| {
            for (row, dy) in share.zip(dy.chunks_exact_mut(units.max(1))) {
                dropped.iter().for_each(|dropped| dropped.apply_row(row, dy));
                cpu.isa.run(Back::<U> { u: kept.row(row), gate: &[], dy, dgate: &mut [], unit: PhantomData });
            }
        });
        return dy;
    }
    let mut both = Tensor::scratch(dy.device(), rows, 2 * units);
    cpu.pool.split_rows(rows, operations, [both.data_mut()], |share, [both]| {
        for (row, both) in share.zip(both.chunks_exact_mut((2 * units).max(1))) {
            let ((u, gate), (du, dgate)) = (kept.row(row).split_at(units), both.split_at_mut(units));
            du.copy_from_slice(dy.row(row));
            dropped.iter().for_each(|dropped| dropped.apply_row(row, du));
            cpu.isa.run(Back::<U> { u, gate, dy: du, dgate, unit: PhantomData });
        }
    });
    both
}

/// `dy` becomes `du`.
struct Back<'a, U> {
    u: &'a [f32],
    gate: &'a [f32],
    dy: &'a mut [f32],
    dgate: &'a mut [f32],
    unit: PhantomData<U>,
}

impl<U: HiddenUnit> Kernel for Back<'_, U> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (i, (dy, u)) in self.dy.chunks_mut(LANES).zip(self.u.chunks(LANES)).enumerate() {
            let (start, end) = (i * LANES, i * LANES + u.len());
            let gate = load_gate::<V>(self.gate, start, u.len());
            let [du, dgate] = U::back(V::load(u), gate, V::load(dy));
            du.store(dy);
            if U::GATED {
                dgate.store(&mut self.dgate[start..end]);
            }
        }
    }
}
