use super::{Binary, Unary};
use crate::device::Cpu;
use crate::lane::{Kernel, LANES, Vector};
use crate::tensor::Tensor;

/// What one number costs, in simple operations.
const COST: usize = 8;

struct Forward<'a, F>(F, &'a mut [f32], &'a [f32]);

impl<F: Unary> Kernel for Forward<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (y, x) in self.1.chunks_mut(LANES).zip(self.2.chunks(LANES)) {
            self.0.forward(V::load(x)).store(y);
        }
    }
}

/// `dy` becomes `dx`.
struct Back<'a, F>(F, &'a mut [f32], &'a [f32]);

impl<F: Unary> Kernel for Back<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        for (dy, y) in self.1.chunks_mut(LANES).zip(self.2.chunks(LANES)) {
            self.0.backward(V::load(y), V::load(dy)).store(dy);
        }
    }
}

struct Forward2<'a, F>(F, &'a mut [f32], [&'a [f32]; 2]);

impl<F: Binary> Kernel for Forward2<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let [a, b] = self.2.map(|x| x.chunks(LANES));
        for ((y, a), b) in self.1.chunks_mut(LANES).zip(a).zip(b) {
            self.0.forward(V::load(a), V::load(b)).store(y);
        }
    }
}

/// `dy` becomes `da`.
struct Back2<'a, F>(F, [&'a mut [f32]; 2], [&'a [f32]; 2]);

impl<F: Binary> Kernel for Back2<'_, F> {
    type Output = ();

    #[inline(always)]
    fn run<V: Vector>(self) {
        let [a, b] = self.2.map(|x| x.chunks(LANES));
        let [dy, db] = self.1.map(|x| x.chunks_mut(LANES));
        for (((dy, db), a), b) in dy.zip(db).zip(a).zip(b) {
            let [da, of_b] = self.0.backward(V::load(a), V::load(b), V::load(dy));
            da.store(dy);
            of_b.store(db);
        }
    }
}

pub(super) fn unary<F: Unary>(cpu: &Cpu, x: &Tensor, f: F) -> Tensor {
    let mut y = Tensor::scratch(x.device(), x.rows(), x.columns());
    let n = x.data().len();
    cpu.pool.split_rows(n, n * COST, [y.data_mut()], |range, [y]| {
        cpu.isa.run(Forward(f, y, &x.data()[range]));
    });
    y
}

pub(super) fn unary_back<F: Unary>(cpu: &Cpu, y: &Tensor, mut dy: Tensor, f: F) -> Tensor {
    let n = y.data().len();
    cpu.pool.split_rows(n, n * COST, [dy.data_mut()], |range, [dy]| {
        cpu.isa.run(Back(f, dy, &y.data()[range]));
    });
    dy
}

pub(super) fn binary<F: Binary>(cpu: &Cpu, a: &Tensor, b: &Tensor, f: F) -> Tensor {
    let mut y = Tensor::scratch(a.device(), a.rows(), a.columns());
    let n = a.data().len();
    cpu.pool.split_rows(n, n * COST, [y.data_mut()], |range, [y]| {
        cpu.isa.run(Forward2(f, y, [&a.data()[range.clone()], &b.data()[range]]));
    });
    y
}

pub(super) fn binary_back<F: Binary>(cpu: &Cpu, a: &Tensor, b: &Tensor, mut dy: Tensor, f: F) -> [Tensor; 2] {
    let mut db = Tensor::scratch(a.device(), a.rows(), a.columns());
    let n = a.data().len();
    cpu.pool.split_rows(n, n * COST, [dy.data_mut(), db.data_mut()], |range, parts| {
        cpu.isa.run(Back2(f, parts, [&a.data()[range.clone()], &b.data()[range]]));
    });
    [dy, db]
}
